"""What the commands do alike: measure, show, draw."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Optional

from wasabi import msg

from benchmarks.common.results import RecordT, Results

NO_PLOTS = "No plot without matplotlib: pip install 'spacy-multihash[plots]'"


def run_benchmark(
    output: Path,
    plot: Optional[Path],
    facts: Mapping[str, object],
    *,
    fresh: bool,
    measure: Callable[[Results[RecordT]], None],
    show: Callable[[Mapping[str, RecordT]], None],
    draw: Callable[[Path, Mapping[str, RecordT]], None],
) -> None:
    """Measure what the results lack, show all of them, and draw them if matplotlib is installed.

    output (Path): JSON file of the results.
    plot (Optional[Path]): PNG file. None takes the name of the JSON file.
    facts (Mapping[str, object]): The machine, the text and the settings, which all records share.
    fresh (bool): Whether to replace the results that are there.
    measure (Callable): Measures what the results lack. A ValueError ends the command.
    show (Callable): Prints the records.
    draw (Callable): Draws the records to a file.
    """
    if not can_plot():
        msg.warn(NO_PLOTS)
    try:
        results: Results[RecordT] = Results(output, facts, fresh=fresh)
        measure(results)
        if not results.records:
            raise ValueError(
                "There is nothing to measure here: all that was asked for is left out."
            )
    except ValueError as error:
        msg.fail("Cannot measure", str(error), exits=1)
    show(results.records)
    msg.good("Wrote the times", output)
    if can_plot():
        plot = plot or output.with_suffix(".png")
        draw(plot, results.records)
        msg.good("Drew them", plot)


def can_plot() -> bool:
    """Return whether matplotlib, which is an extra, is installed."""
    return find_spec("matplotlib") is not None
