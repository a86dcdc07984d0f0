"""Gold and predicted entities of a doc, matched: scores, mistakes and calibration all use this.

Entities are compared by the tokens of the gold doc, as in spaCy's scorer. Where the gold annotation
is missing, a predicted entity is neither right nor wrong, and is left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Optional

from spacy.tokens import Doc
from spacy.training import Example

Kind = Literal["right", "label", "cut", "both", "spurious", "missed"]
# Maps tokens [start, end) of a predicted doc to tokens of the gold doc.
Places = Callable[[int, int], Optional[tuple[int, int]]]


@dataclass(frozen=True)
class Entity:
    """An entity in a gold doc, or predicted there, by the tokens of the gold doc."""

    start: int
    end: int
    label: str
    text: str
    # None if the recognizer gives none
    probability: Optional[float] = field(default=None, compare=False)

    @property
    def key(self) -> tuple[int, int, str]:
        """The tokens and the label."""
        return self.start, self.end, self.label


class Match(NamedTuple):
    """A gold and a predicted entity that belong together.

    kind (Kind): "right", or what's wrong: the "label", the boundaries ("cut"), or "both". A
        predicted entity without a gold one is "spurious", and a gold one without a predicted one
        "missed".
    """

    kind: Kind
    gold: Optional[Entity]
    predicted: Optional[Entity]


def match(gold: Doc, predicted: Doc) -> list[Match]:
    """Match the entities of a predicted doc with those of a gold doc of the same text, in order.

    Each entity is in one match. Entities that were predicted on tokens without gold annotation are
    in none.
    """
    places, entities = gold_places(gold, predicted), []
    for ent in predicted.ents:
        if place := places(ent.start, ent.end):
            start, end = place
            entities.append(Entity(start, end, ent.label_, gold[start:end].text))
    return pair(gold_entities(gold), entities)


def count(matches: Iterable[Match]) -> tuple[int, int, int]:
    """Count right, spurious and missed entities. Other labels and boundaries are both."""
    right = spurious = missed = 0
    for kind, gold, predicted in matches:
        right += kind == "right"
        spurious += kind != "right" and predicted is not None
        missed += kind != "right" and gold is not None
    return right, spurious, missed


def gold_entities(gold: Doc) -> list[Entity]:
    """List the entities of a gold doc."""
    return [Entity(ent.start, ent.end, ent.label_, ent.text) for ent in gold.ents]


def gold_places(gold: Doc, predicted: Doc) -> Places:
    """Return the function that maps tokens of a predicted doc to tokens of its gold doc.

    It returns None for tokens that don't align, or whose gold annotation is missing.
    """
    x2y = Example(predicted, gold).alignment.x2y
    is_known = [bool(token.ent_iob) for token in gold]

    def place(start: int, end: int) -> Optional[tuple[int, int]]:
        covered = x2y[start:end]
        if not len(covered):
            return None
        first, last = int(covered[0]), int(covered[-1]) + 1
        return (first, last) if all(is_known[first:last]) else None

    return place


def pair(gold: Sequence[Entity], predicted: Sequence[Entity]) -> list[Match]:
    """Pair gold and predicted entities of the same doc, in order.

    Among overlapping entities, those with the same boundaries are paired first, then the same
    label, then the most tokens in common.
    """
    owners: dict[int, int] = {}
    for number, wanted in enumerate(gold):
        owners.update(dict.fromkeys(range(wanted.start, wanted.end), number))
    overlaps = []
    for j, given in enumerate(predicted):
        shared = Counter(owners[i] for i in range(given.start, given.end) if i in owners)
        for i, tokens in shared.items():
            same = (gold[i].start, gold[i].end) == (given.start, given.end)
            is_label = gold[i].label == given.label
            overlaps.append((not (same and is_label), not same, not is_label, -tokens, i, j))
    gold_left, predicted_left = set(range(len(gold))), set(range(len(predicted)))
    pairs: list[tuple[int, Match]] = []
    for is_wrong, is_cut, is_other, _, i, j in sorted(overlaps):
        if i in gold_left and j in predicted_left:
            gold_left.remove(i)
            predicted_left.remove(j)
            kind: Kind = "both" if is_cut and is_other else "cut" if is_cut else "label"
            matched = Match(kind if is_wrong else "right", gold[i], predicted[j])
            pairs.append((gold[i].start, matched))
    pairs += [(gold[i].start, Match("missed", gold[i], None)) for i in gold_left]
    pairs += [(predicted[j].start, Match("spurious", None, predicted[j])) for j in predicted_left]
    return [matched for _, matched in sorted(pairs, key=lambda pair: pair[0])]


# Texts with marked entities, for pages


class Mark(NamedTuple):
    """An entity to mark, by its words. `kind` is its class in CSS."""

    start: int
    end: int
    label: str
    kind: str = ""


class Piece(NamedTuple):
    """A piece of a text. Those with a label are marked."""

    text: str
    label: Optional[str] = None
    kind: str = ""


def pieces(words: Sequence[str], marks: Iterable[Mark]) -> list[Piece]:
    """Cut words, each with its whitespace, into pieces with and without marks.

    A word in several marks is in the first, as where a pipeline splits a gold token.
    """
    cut: list[Piece] = []
    done = 0
    for start, end, label, kind in sorted(marks):
        start = max(start, done)
        text = "".join(words[start:end])
        bare = text.rstrip()
        cut += [Piece("".join(words[done:start])), Piece(bare, label, kind)]
        cut.append(Piece(text[len(bare) :]))
        done = max(done, end)
    return [*cut, Piece("".join(words[done:]))]


def side_by_side(gold: Doc, predicted: Doc) -> list[list[Piece]]:
    """Cut a doc twice: with its gold and with its predicted entities, marked as right or wrong."""
    matches = match(gold, predicted)
    words = [token.text_with_ws for token in gold]
    sides = []
    for side, wrong in (("gold", "missed"), ("predicted", "wrong")):
        marks = [
            Mark(e.start, e.end, e.label, "right" if kind == "right" else wrong)
            for kind, e in ((each.kind, getattr(each, side)) for each in matches)
            if e is not None
        ]
        sides.append(pieces(words, marks))
    return sides
