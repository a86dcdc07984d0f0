"""What is measured: layers, pipelines, sizes and cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.common.options import check_only
from benchmarks.common.paths import has_md
from benchmarks.common.timing import ALL, ONE

LAYERS = [
    f"{layer}-{step}" for layer in ("embed", "encoder", "tok2vec") for step in ("predict", "train")
]
PIPELINES = ["pipeline-predict", "pipeline-train"]
# Endings of names: while another process keeps a core busy, and in two processes.
LOADED, N_PROCESS = "-loaded", "-n_process=2"
HARD = ["pipeline-predict" + LOADED, "pipeline-train" + LOADED, "pipeline-predict" + N_PROCESS]
MD = "en_core_web_md"
NAMES = [*LAYERS, *PIPELINES, *HARD, MD]
LIMIT = "bare products"


@dataclass(frozen=True)
class Settings:
    """The sizes of everything.

    widths: The widths of the vectors. Only the layers alone are measured with the second.
    depth: The depth of the encoder.
    repeats: The number of rounds of a case.
    docs, long_docs: The number of docs in a batch that is predicted, of short and of long ones.
    words: The least number of words in a training batch, and in a long doc.
    batches: The number of batches that the rounds take in turn.
    steps: The number of steps that pipelines are trained for before.
    """

    widths: tuple[int, int] = (96, 256)
    depth: int = 8
    repeats: int = 20
    docs: int = 256
    long_docs: int = 16
    words: int = 1000
    batches: int = 4
    steps: int = 60


QUICK = Settings((16, 24), depth=2, repeats=3, docs=8, long_docs=2, words=60, batches=2, steps=4)


class Case(NamedTuple):
    """One comparison.

    what: One of NAMES.
    width: The width of the vectors.
    text: "short" or "long", for the docs.
    threads: ONE or ALL.
    """

    what: str
    width: int
    text: str
    threads: str

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        return f"{self.what}/width{self.width}/{self.text}/{self.threads.replace(' ', '-')}"


def plan(settings: Settings, only: Sequence[str]) -> list[Case]:
    """List the cases.

    Raises ValueError for an unknown name.
    """
    check_only(only, NAMES)
    narrow, wide = settings.widths
    groups = [(NAMES, narrow, "short"), (LAYERS, wide, "short"), (LAYERS, narrow, "long")]
    return [
        Case(what, width, text, threads)
        for whats, width, text in groups
        for what in whats
        if (not only or what in only) and (what != MD or has_md())
        for threads in ([ALL] if what in HARD else [ONE, ALL])
    ]
