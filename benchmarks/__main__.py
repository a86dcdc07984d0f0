"""The command `python -m benchmarks`."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional

import typer
from spacy.util import is_package
from wasabi import msg

from benchmarks.cases import CASES, Settings, can_run
from benchmarks.report import RESULTS, ROOT, Row, describe_run, report, show_row, write_results
from benchmarks.worker import measure_in_process

MODEL, SMALL = "en_core_web_md", "en_core_web_sm"
REPORT = "report"


def main(
    what: list[str] = typer.Argument(
        None,
        help="Cases to measure, or the first part of their names, such as text or md/text. All by "
        f"default. '{REPORT}' measures nothing, and puts the results into the docs",
        show_default=False,
    ),
    output: Optional[Path] = typer.Option(
        None,
        help="JSON file to write. Default: none. A file of the repository must have all cases",
    ),
    corpus: Path = typer.Option(
        ROOT / "corpus" / "wnut17",
        help="Folder with train.spacy and dev.spacy. If it isn't there, the project's sample",
    ),
    model: Optional[str] = typer.Option(
        None, help=f"Trained pipeline of the cases md. By default {MODEL}, if it is installed"
    ),
    small: Optional[str] = typer.Option(
        None, help=f"Trained pipeline of the cases sm. By default {SMALL}, if it is installed"
    ),
    seconds: float = typer.Option(8.0, help="Time budget of a case"),
    quick: bool = typer.Option(
        False, "--quick", help="Take a second for each case, and leave out the largest inputs"
    ),
) -> None:
    """Measure spaCy's pipelines and ours side by side, in turns, in one run.

    Ratios are spaCy's time divided by ours: the median of the rounds, and the range of the middle
    80 % of them. Arms are first checked to find the same entities and vectors.
    """
    if what == [REPORT]:
        paths = sorted(RESULTS.glob("3.*.json"), key=lambda path: path.stem)
        report(paths if output is None else [output])
        msg.good("Put the results into the docs")
        return
    names = [name for name in CASES if not what or any(is_in(name, part) for part in what)]
    if not names:
        msg.fail("There are no such cases", f"Choose of: {', '.join(CASES)}", exits=1)
    if model is None and is_package(MODEL):
        model = MODEL
    if small is None and is_package(SMALL):
        small = SMALL
    start = time.perf_counter()
    with find_corpus(corpus) as (folder, description):
        settings = Settings(folder, model, small, 1.0 if quick else seconds, quick)
        can = [name for name in names if can_run(name, settings)]
        if output is not None:
            check_output(output, can, quick=quick)
        for name in names:
            if name not in can:
                msg.warn(f"{name}  left out")
        facts = {**describe_run(description), "seconds": settings.seconds}
        rows = measure(can, settings)
    measured = {name: row for name, row in rows.items() if row is not None}
    failed = [name for name in can if name not in measured]
    if output is not None and not (failed and is_of_repository(output)):
        write_results(output, {**facts, "rows": measured})
        msg.good(f"Wrote {output} after {time.perf_counter() - start:.0f} seconds")
    if failed:
        msg.fail(f"Failed: {', '.join(failed)}", exits=1)


def check_output(output: Path, names: Sequence[str], *, quick: bool) -> None:
    """Refuse to write quick or incomplete measurements into the repository."""
    missing = [name for name in CASES if name not in names]
    if is_of_repository(output) and (quick or missing):
        why = "--quick measures too little" if quick else f"missing: {', '.join(missing)}"
        advice = f"Its results need all cases, without --quick ({why}). Give another --output."
        msg.fail(f"{output} is in the repository", advice, exits=1)


def is_of_repository(path: Path) -> bool:
    """Return whether a path is in the folder of the project."""
    return ROOT in path.resolve().parents


def measure(names: Sequence[str], settings: Settings) -> dict[str, Optional[Row]]:
    """Measure cases and print them. RETURNS: Rows in the order of names, None for failures."""
    rows = {}
    for threads in sorted({CASES[name].threads for name in names}):
        group = [name for name in names if CASES[name].threads == threads]
        for name, row in measure_in_process(group, settings, threads):
            rows[name] = row
            typer.echo(f"{name}  {'failed' if row is None else show_row(row)}")
    return {name: rows[name] for name in names}


def is_in(name: str, part: str) -> bool:
    """Return whether a name selects a case, by its full name or its first part."""
    return name == part or name.startswith(f"{part}/")


@contextmanager
def find_corpus(corpus: Path) -> Iterator[tuple[Path, str]]:
    """Yield a folder with a corpus, and its name. Makes the sample corpus if needed."""
    if (corpus / "train.spacy").is_file():
        yield corpus.resolve(), corpus.resolve().name
        return
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "experiments", "make-sample", folder]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        yield Path(folder), "the sample corpus"


if __name__ == "__main__":
    typer.run(main)
