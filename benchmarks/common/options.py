"""Options that the benchmarks share."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Optional

import typer

NO_PLOTS = "No plot without matplotlib: pip install 'spacy-multihash[plots]'"


# Options that the scripts share.
Quick = Annotated[bool, typer.Option(help="Try everything in small; no numbers to go by")]
Repeats = Annotated[Optional[int], typer.Option(help="How often each is timed", min=2)]
Plot = Annotated[Optional[Path], typer.Option(help="PNG file, beside the JSON if not given")]
Fresh = Annotated[bool, typer.Option(help="Measure anew what is in the JSON file")]


def can_plot() -> bool:
    """Say whether matplotlib, an extra, is installed."""
    return find_spec("matplotlib") is not None
