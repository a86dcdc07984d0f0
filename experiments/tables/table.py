"""What a table is: its lines, its columns of numbers, and what is concluded from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from experiments.arms.tasks import NER, SENTENCES
from experiments.runs.vector_files import NO_VECTORS, VECTORS

# The arm of each line of a table, by the line's name. None stands for an arm that was never run. An
# evaluation after the training of an arm is named behind it, as ARM+EVALUATION.
ArmsT = Mapping[str, Optional[str]]
AFTER = "+"

# A free data set with the labels of OntoNotes, which the report used and which needs a licence.
STAND_IN = "turku-one"
# The data sets of the report. Sentences of conll-nl are only in docs/dilated-results.md.
DATASETS = tuple(name for name in NER.langs if name not in (STAND_IN, SENTENCES))
WITH_STAND_IN = (*DATASETS, STAND_IN)


@dataclass(frozen=True)
class Metric:
    """A kind of number, and how it is shown.

    header (str): Its name and unit.
    ours, report (str): The formats of our numbers, and of the report's.
    tie (float): The unit of the last digit that the report prints. It cannot show smaller
        differences.
    timed (bool): Whether it depends on the machine.
    counted (bool): Whether it is computed of the F1 of what `counts` counts, of a part of a split.
    """

    header: str
    ours: str = ".3f"
    report: str = ".2f"
    tie: float = 0.01
    timed: bool = False
    counted: bool = False


SECONDS, INCREASE = "train_cpu_seconds", "error_increase"
METRICS = {
    "p": Metric("P"),
    "r": Metric("R"),
    "f": Metric("F1", counted=True),
    INCREASE: Metric("%", "+.1f", "+.0f", 1.0, counted=True),
    "accuracy": Metric("accuracy", counted=True),  # each doc has one category
    "macro_f": Metric("macro F1"),
    "parameters": Metric("parameters", ",.0f"),
    SECONDS: Metric("training, CPU s", ".0f", timed=True),
    "model_mb": Metric("model, MB", ".1f"),
    "words_per_second": Metric("words/s", ",.0f", timed=True),
}


@dataclass(frozen=True)
class Group:
    """Columns of a table: one of our numbers, and the report's beside it if it has one.

    arms (ArmsT): The arm of each line. All groups of a table have the same lines.
    metric (str): A key of `METRICS`.
    split, part (str): The split, and "all", "seen" or "unseen" entities. Both are "" for costs.
    title (str): What distinguishes the group from others of the same metric.
    report (bool): Whether the report has this number.
    """

    arms: ArmsT
    metric: str = "f"
    split: str = ""
    part: str = ""
    title: str = ""
    report: bool = False

    @property
    def header(self) -> str:
        """The name of the group's columns."""
        return ", ".join(filter(None, (self.title, METRICS[self.metric].header)))


@dataclass(frozen=True)
class Comparison:
    """Two numbers from whose order we conclude something: the first minus the second.

    first (tuple[Group, str]): The group and the line of the first number.
    second (Optional[tuple[Group, str]]): Those of the second number, or None if the first is a
        difference already.
    label (str): What is compared.
    """

    first: tuple[Group, str]
    second: Optional[tuple[Group, str]]
    label: str


@dataclass(frozen=True)
class Table:
    """A table of the report, or one of ours.

    name (str): The name in the markers of the page. "table-9" is the report's Table 9.
    title (str): What it shows.
    groups (tuple[Group, ...]): Its columns.
    comparisons (tuple[Comparison, ...]): What is concluded, for each data set.
    datasets (tuple[str, ...]): Its data sets. With `vectors` all of them have static vectors.
    vectors (bool): Whether the runs have static vectors.
    note (str): What a reader must know beyond the title.
    lines (str): The header of the column with the names of the lines.
    facts (Mapping[str, Mapping[str, str]]): Columns that do not come from runs: the text of each
        line, by the column's header.
    """

    name: str
    title: str
    groups: tuple[Group, ...]
    comparisons: tuple[Comparison, ...] = ()
    datasets: tuple[str, ...] = DATASETS
    vectors: bool = False
    note: str = ""
    lines: str = "embedding"
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def number(self) -> str:
        """The number of the report's table, or "" for one of ours."""
        return self.name.removeprefix("table-") if self.name.startswith("table-") else ""

    def vectors_of(self, dataset: str) -> str:
        """Return the static vectors of a data set's runs."""
        return VECTORS[dataset] if self.vectors else NO_VECTORS


def arm_and_step(name: Optional[str]) -> tuple[str, str]:
    """Return the arm of a line, and the evaluation after its training, or "" without one."""
    arm, _, step = (name or "").partition(AFTER)
    return arm, step


def on_dev_and_test(arms: ArmsT) -> tuple[Group, Group]:
    """Return the groups of F1 of all entities on dev and on test."""
    return Group(arms, "f", "dev", "all", "dev"), Group(arms, "f", "test", "all", "test")


def against(base: str, *groups: Group) -> tuple[Comparison, ...]:
    """Compare each line of groups with one of their lines, the base."""
    return tuple(
        Comparison((group, line), (group, base), _label(group, f"{line} – {base}"))
        for group in groups
        for line in group.arms
        if line != base and group.arms[line]
    )


def _label(group: Group, text: str) -> str:
    """Begin a label with the title of the group, or with its header if it shows no score."""
    title = group.title or ("" if group.metric in NER.metrics else group.header)
    return f"{title}: {text}" if title else text
