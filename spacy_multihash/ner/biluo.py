"""The tags of a token: what they are called, how they are numbered, and which may follow which.

With C labels there are 4 * C + 1 tags: 0 is O, outside of all entities; then come B-label, the
first token of an entity of several, for each label; then I-label, inside; L-label, the last; and
U-label, an entity of one token. So the scores of one kind lie side by side, label by label.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence

import numpy

OUTSIDE = 0
# Where a tag is not known: no gold standard for this token.
MISSING = -1


class Kinds(NamedTuple):
    """The columns of each kind of tag, of scores (N, 4 * C + 1)."""

    B: slice
    I: slice  # noqa: E741 (its name)
    L: slice
    U: slice


class Constraints(NamedTuple):
    """What is known of N tokens before they are tagged, (N,) bool each.

    starts: No entity reaches this token from the one before: it begins a doc or a sentence.
    spaces: No entity begins with this token, which is whitespace.
    outside: This token is in no entity: somebody has decided so before.
    """

    starts: numpy.ndarray
    spaces: numpy.ndarray
    outside: numpy.ndarray

    @property
    def begins(self) -> numpy.ndarray:
        """The positions of the first token and of all `starts`, in order."""
        return numpy.append(0, numpy.flatnonzero(self.starts[1:]) + 1)


class Entities(NamedTuple):
    """M entities, (M,) int64 each: of the tokens [start, end), and the number of the label."""

    starts: numpy.ndarray
    ends: numpy.ndarray
    labels: numpy.ndarray


def tag_names(labels: Sequence[str]) -> List[str]:
    """Name all tags, in the order of their numbers."""
    return ["O", *(f"{kind}-{label}" for kind in "BILU" for label in labels)]


def num_labels(nO: int) -> int:
    """Return the number of labels that nO tags are of."""
    return (nO - 1) // 4


def kinds(nO: int) -> Kinds:
    """Find the columns of each kind among nO tags."""
    C = num_labels(nO)
    return Kinds(*(slice(1 + kind * C, 1 + (kind + 1) * C) for kind in range(4)))


def tag_numbers(tags: Sequence[Optional[str]], numbers: Dict[str, int]) -> List[int]:
    """Number tags; `MISSING` for None.

    numbers (Dict[str, int]): The number of each tag.
    """
    return [MISSING if tag is None else numbers[tag] for tag in tags]


def may_follow(nO: int) -> numpy.ndarray:
    """Tell which tag may follow which: (nO, nO) bool, from the row's tag to the column's.

    B and I are followed by I or L of the same label, all others by O, B or U.
    """
    columns = kinds(nO)
    opens, closes = numpy.zeros(nO, dtype=bool), numpy.zeros(nO, dtype=bool)
    opens[OUTSIDE] = opens[columns.B] = opens[columns.U] = True
    closes[OUTSIDE] = closes[columns.L] = closes[columns.U] = True
    allowed = numpy.outer(closes, opens)
    same = numpy.eye(num_labels(nO), dtype=bool)
    for before in (columns.B, columns.I):
        for after in (columns.I, columns.L):
            allowed[before, after] = same
    return allowed


def allowed_tags(constraints: Constraints, nO: int) -> numpy.ndarray:
    """Tell which tags each token may have, by what is known of it alone: (N, nO) bool."""
    columns = kinds(nO)
    allowed = numpy.ones((len(constraints.starts), nO), dtype=bool)
    allowed[constraints.starts, columns.I.start : columns.L.stop] = False
    allowed[constraints.spaces, columns.B] = allowed[constraints.spaces, columns.U] = False
    allowed[constraints.outside, OUTSIDE + 1 :] = False
    return allowed


def are_entities(tags: numpy.ndarray, lengths: numpy.ndarray, nO: int) -> bool:
    """Tell whether all tags are known, and follow each other as they may, from end to end of docs.

    tags (N,) int64.
    lengths (B,) int: The number of tokens of each doc.
    """
    if ((tags < 0) | (tags >= nO)).any():
        return False
    bounds = numpy.append(0, numpy.cumsum(lengths))
    tags = numpy.insert(tags, bounds, OUTSIDE)  # follows what may end a doc, as what may begin one
    return bool(may_follow(nO)[tags[:-1], tags[1:]].all())


def entities_of(tags: numpy.ndarray, nO: int) -> Entities:
    """Read the entities off tags that follow each other as they may.

    tags (N,) int64.
    """
    kind, label = numpy.divmod(tags - 1, max(num_labels(nO), 1))  # O is of kind -1
    (starts,) = numpy.nonzero((kind == 0) | (kind == 3))
    (lasts,) = numpy.nonzero(kind >= 2)
    return Entities(starts, lasts + 1, label[starts])
