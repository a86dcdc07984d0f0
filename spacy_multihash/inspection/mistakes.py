"""A mistake of a recognizer, groups of them, and the labels that are confused."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Optional

from ..corpus.spans import Entity, Kind, Mark, Piece, pieces
from .explain import Explanation, signed
from .similar import Neighbour

Side = Literal["gold", "predicted"]
# Gold and predicted labels, None for no entity, and how often they come together.
Confusion = Mapping[tuple[Optional[str], Optional[str]], int]
SUSPECT = "The annotation may be wrong"
# Groups with this many mistakes or fewer are open at first.
_FEW = 20
# How many tokens and features to name in the summary of an explanation.
_STRONGEST = 4


@dataclass
class Mistake:
    """A mistake. `gold` is None if it's spurious, and `predicted` if it's missed.

    confidence (Optional[float]): The probability of the predicted entity, or that a missed entity
        is no entity. None without probabilities.
    seen (Optional[bool]): Whether the training corpus has an entity with the same text as the gold
        or spurious entity. None without a training corpus.
    same_words (tuple[Neighbour, ...]): The training entities with most words in common.
    same_shape (tuple[Neighbour, ...]): For the training entities whose words have the same
        shapes, a frequent entity of each label, and their count.
    is_suspect (bool): Whether the annotation may be wrong: the model is confident, and training
        annotates the words as the model does.
    explanation (Optional[Explanation]): The reasons for the predicted or the missed entity.
    """

    kind: Kind
    doc: int  # the number of the gold doc
    gold: Optional[Entity]
    predicted: Optional[Entity]
    words: tuple[str, ...] = ()  # of its sentence, each with trailing whitespace
    first: int = 0  # the number of the first word in the doc
    gold_around: tuple[Entity, ...] = ()  # all entities of the sentence
    predicted_around: tuple[Entity, ...] = ()
    confidence: Optional[float] = None
    seen: Optional[bool] = None
    same_words: tuple[Neighbour, ...] = ()
    same_shape: tuple[Neighbour, ...] = ()
    is_suspect: bool = False
    explanation: Optional[Explanation] = None

    @property
    def entity(self) -> Entity:
        """The gold or the spurious entity."""
        return next(iter(self.sides.values()))

    @property
    def sides(self) -> dict[Side, Entity]:
        """The entities by side. One of them may be missing."""
        sides: dict[Side, Optional[Entity]] = {"gold": self.gold, "predicted": self.predicted}
        return {name: entity for name, entity in sides.items() if entity is not None}

    @property
    def text(self) -> str:
        """The text of the gold or the spurious entity, on a line."""
        return _one_line(self.entity.text)

    @property
    def about(self) -> str:
        """The labels, the probabilities, whether it's seen, and the doc."""
        parts = []
        for side, entity in self.sides.items():
            chance = "" if entity.probability is None else f", p {_percent(entity.probability)}"
            parts.append(f"{side} {entity.label}{chance}")
        if self.seen is not None:
            parts.append("seen" if self.seen else "unseen")
        return " · ".join([*parts, f"doc {self.doc}"])

    @property
    def in_training(self) -> str:
        """The similar entities in training."""
        kinds = (("Same words in training", self.same_words), ("Same shape", self.same_shape))
        return ". ".join(f"{kind}: {'; '.join(map(str, some))}" for kind, some in kinds if some)

    @property
    def why(self) -> str:
        """The main reasons for a predicted entity, or against a missed one."""
        assert self.explanation is not None
        why, sign = ("Why not", -1) if self.predicted is None else ("Why", 1)
        values = [
            (sign * value, f"{effects.word} {feature} {signed(value, 1)}")
            for effects in self.explanation.effects
            for feature, value in zip(self.explanation.features, effects.values, strict=False)
        ]
        strongest = [text for value, text in sorted(values, reverse=True)[:_STRONGEST] if value > 0]
        reasons = " · ".join(strongest) or "Nothing around it counts."
        return f"{why} {self.explanation.label}? {reasons}"

    def marks(self, side: Side) -> list[Piece]:
        """Mark the entities of a side in the sentence."""
        own, around, kind = {
            "gold": (self.gold, self.gold_around, "missed"),
            "predicted": (self.predicted, self.predicted_around, "wrong"),
        }[side]
        marks = [
            Mark(e.start - self.first, e.end - self.first, e.label, kind if e == own else "")
            for e in around
        ]
        return pieces(self.words, marks)

    def __str__(self) -> str:
        """Describe the mistake in a line."""
        entities = [
            f"{side} {entity.label} {_one_line(entity.text)!r}"
            + ("" if entity.probability is None else f" (p {_percent(entity.probability)})")
            for side, entity in self.sides.items()
        ]
        suspect = f"{SUSPECT.lower()}: " if self.is_suspect else ""
        return f"{suspect}{self.kind}: {', '.join(entities)}"


class Cell(NamedTuple):
    """A cell of a confusion matrix: its number, what it means, and its share of the row."""

    number: int
    kind: Literal["right", "missed", "wrong"]
    share: float


def shaded(confusion: Confusion) -> dict[str, list[Cell]]:
    """Return the rows of a confusion matrix: the gold labels, and "no entity" if there's None."""
    labels = list[Optional[str]]()
    labels += sorted({x for pair in confusion for x in pair if x is not None})
    if any(None in pair for pair in confusion):
        labels.append(None)
    rows = {}
    for gold in labels:
        counts = {predicted: confusion.get((gold, predicted), 0) for predicted in labels}
        total = max(sum(counts.values()), 1)
        rows["no entity" if gold is None else gold] = [
            Cell(
                count,
                "right" if predicted == gold else "missed" if predicted is None else "wrong",
                count / total,
            )
            for predicted, count in counts.items()
        ]
    return rows


class Group(NamedTuple):
    """Mistakes of a kind on a page, by label if they're many."""

    title: str
    intro: str
    total: int
    mistakes: Sequence[Mistake]

    @property
    def is_open(self) -> bool:
        """Whether the page shows the mistakes at first."""
        return self.total <= _FEW

    @property
    def by_label(self) -> list[tuple[str, Sequence[Mistake]]]:
        """The mistakes by label, the most frequent label first."""
        labels = Counter(mistake.entity.label for mistake in self.mistakes)
        if self.is_open or len(labels) == 1:
            return [("", self.mistakes)]
        return [
            (label, [mistake for mistake in self.mistakes if mistake.entity.label == label])
            for label, _ in labels.most_common()
        ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _percent(probability: float) -> str:
    """Format a probability with enough digits to tell it from 0 and 1."""
    percent = 100 * probability
    return "< 0.1 %" if percent < 0.1 else "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"
