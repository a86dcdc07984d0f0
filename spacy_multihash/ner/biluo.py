"""The tags of a token: their names, their numbers, and which may follow which.

O is outside of all entities. In an entity of several tokens, B is the first token, L the last, and
I the tokens between. U is a single-token entity. With C labels there are 4 * C + 1 tags. A tag's
number is its column in scores (N, 4 * C + 1), where each kind has its C labels side by side:

    column   0    1 .. C    C+1 .. 2C    2C+1 .. 3C    3C+1 .. 4C
    tag      O       B          I             L             U
                  <------ BI ------->
                            <--------- IL -------->
    OLU      x                                x             x
    OBU      x       x                                      x

An entity is open after BI and before IL. No entity is open after OLU and before OBU.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy

OUTSIDE = 0
# The tag of a token without gold annotation.
MISSING = -1


class TagColumns(NamedTuple):
    """The columns of each kind of tag, as in the picture at the top of this module."""

    B: slice
    I: slice  # noqa: E741 (its name)
    L: slice
    U: slice

    @property
    def BI(self) -> slice:
        """The columns after which an entity is open."""
        return slice(self.B.start, self.I.stop)

    @property
    def IL(self) -> slice:
        """The columns before which an entity is open."""
        return slice(self.I.start, self.L.stop)

    @property
    def OLU(self) -> numpy.ndarray:
        """The columns after which no entity is open, (2 * C + 1,) int64."""
        return numpy.r_[OUTSIDE, self.L, self.U]

    @property
    def OBU(self) -> numpy.ndarray:
        """The columns before which no entity is open, (2 * C + 1,) int64."""
        return numpy.r_[OUTSIDE, self.B, self.U]


class Constraints(NamedTuple):
    """Constraints on the tags of N tokens, (N,) bool each.

    starts: This token begins a doc or a sentence, so no entity continues into it.
    spaces: This token is whitespace, so no entity begins with it.
    outside: This token is O, for example because it is in another entity already.
    """

    starts: numpy.ndarray
    spaces: numpy.ndarray
    outside: numpy.ndarray

    @property
    def begins(self) -> numpy.ndarray:
        """The positions of the first token and of all `starts`, in order."""
        return numpy.append(0, numpy.flatnonzero(self.starts[1:]) + 1)


class Entities(NamedTuple):
    """M entities of a batch, (M,) int64 each.

    starts, ends: The tokens [start, end) of each, by position in the batch.
    labels: The number of each label.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    labels: numpy.ndarray


def as_entities(rows: Sequence[tuple[int, int, int]]) -> Entities:
    """Make entities of rows (start, end, label)."""
    return Entities(*numpy.array(rows, dtype="int64").reshape(-1, 3).T)


def tag_names(labels: Sequence[str]) -> list[str]:
    """Name all tags, in the order of their numbers."""
    return ["O", *(f"{kind}-{label}" for kind in "BILU" for label in labels)]


def num_labels(nO: int) -> int:
    """Return the number of labels, C, that have nO tags."""
    return (nO - 1) // 4


def tag_columns(nO: int) -> TagColumns:
    """Find the columns of each kind among nO tags."""
    C = num_labels(nO)
    return TagColumns(*(slice(1 + kind * C, 1 + (kind + 1) * C) for kind in range(4)))


def columns_after_adding(nO: int, new_nO: int) -> numpy.ndarray:
    """Find where the columns of nO tags are once labels are appended: (nO,) int64."""
    kinds, labels = numpy.arange(4)[:, None], numpy.arange(num_labels(nO))
    return numpy.append(OUTSIDE, 1 + kinds * num_labels(new_nO) + labels)


def may_follow(nO: int) -> numpy.ndarray:
    """Find which tags (columns) may follow each tag (row): (nO, nO) bool.

    I or L of the same label follow B and I; O, B or U follow all other tags.
    """
    columns = tag_columns(nO)
    same_label = numpy.eye(num_labels(nO), dtype=bool)
    allowed = numpy.zeros((nO, nO), dtype=bool)
    allowed[numpy.ix_(columns.OLU, columns.OBU)] = True
    allowed[columns.BI, columns.IL] = numpy.tile(same_label, (2, 2))
    return allowed


def allowed_tags(constraints: Constraints, nO: int) -> numpy.ndarray:
    """Find the tags that each token may have by its own constraints: (N, nO) bool."""
    columns = tag_columns(nO)
    allowed = numpy.ones((len(constraints.starts), nO), dtype=bool)
    allowed[constraints.starts, columns.IL] = False
    allowed[constraints.spaces, columns.B] = allowed[constraints.spaces, columns.U] = False
    allowed[constraints.outside, OUTSIDE + 1 :] = False
    return allowed


def are_entities(tags: numpy.ndarray, lengths: numpy.ndarray, nO: int) -> bool:
    """Check if all tags are known, and form a valid sequence in each doc.

    tags (N,) int64.
    lengths (B,) int: The number of tokens of each doc.
    """
    if ((tags < 0) | (tags >= nO)).any():
        return False
    bounds = numpy.append(0, numpy.cumsum(lengths))
    tags = numpy.insert(tags, bounds, OUTSIDE)  # valid before and after any doc
    return bool(may_follow(nO)[tags[:-1], tags[1:]].all())


def entities_of(tags: numpy.ndarray, nO: int) -> Entities:
    """Read the entities from valid sequences of tags.

    tags (N,) int64.
    """
    kind, label = numpy.divmod(tags - 1, max(num_labels(nO), 1))  # O is -1, then B, I, L, U
    (starts,) = numpy.nonzero((kind == 0) | (kind == 3))
    (lasts,) = numpy.nonzero(kind >= 2)
    return Entities(starts, lasts + 1, label[starts])
