"""Options that the commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer
from typer.models import OptionInfo

from benchmarks.common.paths import RESULTS

Quick = Annotated[
    bool, typer.Option(help="Try everything at small sizes. The numbers mean nothing")
]
Repeats = Annotated[Optional[int], typer.Option(help="Number of rounds", min=2)]
Plot = Annotated[Optional[Path], typer.Option(help="PNG file. Default: beside the JSON file")]
Fresh = Annotated[bool, typer.Option(help="Start anew, and replace the JSON file")]


def output_option(name: str) -> OptionInfo:
    """Make the option for the results of a benchmark."""
    return typer.Option(help=f"JSON file of the results. Default: benchmarks/results/{name}.json")


def only_option(names: Sequence[str]) -> OptionInfo:
    """Make the option for the parts that are measured."""
    return typer.Option(help=f"Part to measure: {', '.join(names)}. Can be repeated")


def choose_output(output: Optional[Path], name: str, *, quick: bool) -> Path:
    """Return the JSON file of the results of a benchmark: the given one, or the default."""
    return output or RESULTS / (f"{name}-quick.json" if quick else f"{name}.json")


def check_only(only: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError if a part is asked for that is not in the names."""
    if unknown := sorted(set(only) - set(names)):
        raise ValueError(f"--only takes {', '.join(names)}, was given {', '.join(unknown)}.")
