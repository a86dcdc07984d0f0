"""The learning curve of a corpus: would more of it help?"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, Optional

from spacy.tokens import Doc

from ..common.progress import Progress
from ..common.result import Result, Table, to_json
from ..corpus.intervals import Counts, Difference, Interval, compare, f1_interval
from ..corpus.read import text_labels
from ..corpus.splits import MIN_GROUPS
from .plan import FitPlan
from .report import best_split, format_interval, percent
from .run import score_splits, trained_again
from .scores import SplitScores
from .splits import Split

SHARES = (0.25, 0.5, 0.75)  # of train; the pipeline itself has all of it
_BLOCKS = 40  # stretches of texts to draw, if no documents are known
_FLAT = 0.01  # F1 that isn't worth more annotation
# What to do, and why, by whether more data helps.
VERDICTS: Mapping[Optional[bool], tuple[str, str]] = {
    True: (
        "Annotate more texts",
        "More of them help. Curves flatten, so expect less of as many again than the last half "
        "brought.",
    ),
    False: ("Don't annotate more of the same", "More texts of the same kind hardly help."),
    None: (
        "Decide by other means whether to annotate more",
        "There are too few texts to score on to tell whether more of them help in training.",
    ),
}


@dataclass(frozen=True)
class Point:
    """The F1 after training on a part of train.

    share (float): The part, 0 to 1, of its tokens.
    annotated (int): Its entities, or its texts with labels.
    interval (Optional[Interval]): Contains F1 in 95 % of samples.
    counts (Sequence[Counts]): Right, spurious and missed entities of each unit.
    """

    share: float
    docs: int
    annotated: int
    f: float
    interval: Optional[Interval]
    counts: Sequence[Counts] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Curve(Result):
    """The F1 by the amount of training data, all on the same texts.

    split (str): The texts: "test", or "dev" without a test set.
    unit (str): The unit of bootstrap samples.
    points (Sequence[Point]): From the smallest part to all of train.
    """

    split: str
    unit: str
    points: Sequence[Point]

    @property
    def gains(self) -> dict[float, Difference]:
        """What all of train has gained over each part, by its share."""
        *parts, whole = self.points
        return {part.share: compare(part.counts, whole.counts) for part in parts}

    @property
    def line(self) -> list[tuple[int, float]]:
        """F1 in percent, by documents."""
        return [(point.docs, 100 * point.f) for point in self.points]

    @property
    def spans(self) -> list[tuple[int, float, float]]:
        """The intervals in percent, by documents."""
        return [
            (p.docs, 100 * p.interval[0], 100 * p.interval[1]) for p in self.points if p.interval
        ]

    @property
    def ticks(self) -> list[tuple[int, str]]:
        """The documents of each part."""
        return [(point.docs, f"{point.docs:,}") for point in self.points]

    @property
    def range(self) -> tuple[int, int]:
        """The tens below and above all F1, in percent."""
        shown = [f for _, f in self.line] + [bound for _, *span in self.spans for bound in span]
        return max(0, min(90, int(min(shown) // 10 * 10))), min(
            100, int(max(shown) // 10 * 10) + 10
        )

    def to_json(self) -> dict[str, Any]:
        """Return the points, and what all of train has gained over each part."""
        gains = [{"share": share, **to_json(gain)} for share, gain in self.gains.items()]
        return {**super().to_json(), "gains": gains}

    def tables(self) -> Iterator[Table]:
        """A row for each part."""
        gains = [*(gain.in_points for gain in self.gains.values()), ""]
        rows = []
        for point, gain in zip(self.points, gains, strict=True):
            scores = (percent(point.f), format_interval(point.interval), gain)
            rows.append((f"{100 * point.share:.0f} %", point.docs, point.annotated, *scores))
        f1 = f"F1 on {self.split}"
        header = ("part of train", "documents", "annotated", f1, "95 % interval", "gain to 100 %")
        yield Table("Learning curve", header, rows)

    def notes(self) -> Iterator[str]:
        """Where the curve points."""
        yield self.outlook

    @property
    def outlook(self) -> str:
        """What the curve shows, with its numbers."""
        gains = [
            f"{gain.in_points} from {100 * share:.0f} to 100 % of train"
            for share, gain in list(self.gains.items())[::-1][:2]
        ]
        if not gains:
            return "The parts of train are too small to train on."
        return (
            f"F1 on {self.split} changes by {' and '.join(gains)}. {VERDICTS[self.helps][1]} "
            "(The intervals are of texts. Another --seed differs as well.)"
        )

    @property
    def advice(self) -> str:
        """What to do, in a few words."""
        return VERDICTS[self.helps][0]

    @property
    def helps(self) -> Optional[bool]:
        """Whether the second half of train raised F1, up to its end. None if that's uncertain."""
        last = [*self.gains.values()][-2:]  # of the second half, and of the last quarter
        if not last:
            return None
        low, high = last[0].interval or (last[0].gain, last[0].gain)
        return True if low > 0 and last[-1].gain > 0 else False if high < _FLAT else None


def measure_curve(plan: FitPlan, scores: Mapping[str, SplitScores], progress: Progress) -> Curve:
    """Train on parts of train, and score them on the texts that the whole was scored on.

    scores (Mapping[str, SplitScores]): The scores of the pipeline that has all of train.
    """
    name, split = best_split(scores), plan.split
    docs, whole = split.docs, scores[best_split(scores)]
    textcat, seed = plan.options.textcat, plan.options.seed
    parts = [part for part in nested_parts(split, seed) if is_enough(part, textcat=textcat)]
    points = []
    for part in progress(parts, desc="Learning curve", unit=" parts"):
        with trained_again(plan, {**docs, "train": part}) as (nlp, paths):
            of_part = score_splits(plan, nlp, paths, [name])[name]
        points.append(_point(part, docs["train"], of_part))
    return Curve(name, whole.unit, [*points, _point(docs["train"], docs["train"], whole)])


def _point(part: Sequence[Doc], train: Sequence[Doc], scores: SplitScores) -> Point:
    annotated = sum(len(doc.ents) or len(text_labels(doc.cats)) for doc in part)
    share = sum(map(len, part)) / max(sum(map(len, train)), 1)
    f = scores.parts["all"].f or 0.0
    return Point(share, len(part), annotated, f, f1_interval(scores.counts), scores.counts)


def is_enough(docs: Sequence[Doc], *, textcat: bool) -> bool:
    """Return whether a classifier, or a recognizer, can be trained on docs."""
    labels = {label for doc in docs for label in text_labels(doc.cats)}
    return len(labels) > 1 if textcat else any(doc.ents for doc in docs)


def nested_parts(split: Split, seed: int) -> list[list[Doc]]:
    """Return parts of train, each with all docs of the smaller ones, in the order of train.

    Docs of a group come together, as someone would annotate them. If the corpus shows no groups,
    stretches of it do, or single docs if its order means nothing.
    """
    docs, units = split.docs["train"], _units(split)
    tokens = Counter[Hashable]()
    for unit, doc in zip(units, docs, strict=True):
        tokens[unit] += len(doc)
    order = list(tokens)
    Random(seed).shuffle(order)
    total = tokens.total()
    ends = accumulate(tokens[unit] for unit in order)
    middles = {unit: end - tokens[unit] / 2 for unit, end in zip(order, ends, strict=True)}
    return [
        [doc for unit, doc in zip(units, docs, strict=True) if middles[unit] < share * total]
        for share in SHARES
    ]


def _units(split: Split) -> Sequence[Hashable]:
    """Return what each doc of train comes together with."""
    number = len(split.docs["train"])
    named = [split.groups[i] for i in split.places["train"]] if split.groups else []
    units = [i if group == "" else group for i, group in enumerate(named)]
    if MIN_GROUPS <= len({*units}) < number:
        return units
    if split.by == "chance":
        return range(number)
    return [i * _BLOCKS // number for i in range(number)]
