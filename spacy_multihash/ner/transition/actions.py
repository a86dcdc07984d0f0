"""The actions of spaCy's recognizer: which column of the scores is which.

An action consumes one token. B-x begins an entity with the label x, I-x goes on with it, and L-x
ends it. U-x is an entity of one token. O is a token outside of all entities. One more, U-, is for
tokens that are blocked: they are outside and stay so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.strings import get_string_id

# In place of the column of an action that a model does not have.
NO_ACTION = -1
# In place of the number of a label: any label, or none of them.
ANY_LABEL, NO_LABEL = -1, -2

_KINDS = "BILU"


class Places(NamedTuple):
    """Where actions of a kind are in a list of columns, (K,) or (1,) int64 each, or (0,)."""

    B: numpy.ndarray
    U: numpy.ndarray
    O: numpy.ndarray  # noqa: E741 (its name)
    blocked: numpy.ndarray


@dataclass(frozen=True)
class Actions:
    """The columns of a model's actions, for K labels.

    labels: The names of the labels, as strings, each once.
    ids (K,) uint64: Their hashes in the StringStore.
    B, I, L, U (K,) int64: The column of an action of each label, `NO_ACTION` where there is none.
    O, blocked: The columns of O and of U-.
    nO: How many columns there are.
    """

    labels: Sequence[str]
    ids: numpy.ndarray
    B: numpy.ndarray
    I: numpy.ndarray  # noqa: E741 (its name)
    L: numpy.ndarray
    U: numpy.ndarray
    O: int  # noqa: E741 (its name)
    blocked: int
    nO: int

    @cached_property
    def outside(self) -> numpy.ndarray:
        """The columns of actions while no entity is open, in order: B, U, O and U-."""
        columns = numpy.sort(numpy.r_[self.B, self.U, self.O, self.blocked])
        return columns[columns != NO_ACTION]

    @cached_property
    def places(self) -> "Places":
        """Where the actions are in `outside`."""
        kinds = (self.B, self.U, self.O, self.blocked)
        return Places(*(numpy.flatnonzero(numpy.isin(self.outside, kind)) for kind in kinds))

    @cached_property
    def opens(self) -> numpy.ndarray:
        """Whether each column is a B, (nO,) bool."""
        return numpy.isin(numpy.arange(self.nO), self.B)

    @cached_property
    def stays(self) -> numpy.ndarray:
        """Whether each column is O or U-, (nO,) bool."""
        return numpy.isin(numpy.arange(self.nO), [self.O, self.blocked])

    @cached_property
    def makes_entity(self) -> numpy.ndarray:
        """Whether each of `outside` is a B or a U, (M,) bool."""
        return ~self.stays[self.outside]

    @cached_property
    def label_of(self) -> numpy.ndarray:
        """The number of each column's label, (nO,) int64, `NO_LABEL` for O and U-."""
        labels = numpy.full(self.nO, NO_LABEL)
        for columns in (self.B, self.I, self.L, self.U):
            present = columns != NO_ACTION
            labels[columns[present]] = numpy.flatnonzero(present)
        return labels

    @cached_property
    def complete(self) -> numpy.ndarray:
        """The hashes of the labels that have all four actions, in no order."""
        columns = numpy.stack([self.B, self.I, self.L, self.U])
        return self.ids[(columns != NO_ACTION).all(axis=0)]

    def numbers_of(self, ids: numpy.ndarray) -> numpy.ndarray:
        """Number labels by their hashes: (N,) uint64 -> (N,) int64, `NO_LABEL` for 0 and others."""
        if not len(self.ids):
            return numpy.full(len(ids), NO_LABEL)
        order = numpy.argsort(self.ids)
        places = numpy.searchsorted(self.ids, ids, sorter=order)
        numbers = order[numpy.minimum(places, len(order) - 1)]
        return numpy.where(self.ids[numbers] == ids, numbers, NO_LABEL)


def read_actions(moves: TransitionSystem) -> Actions:
    """List the actions of spaCy's transition system of entities."""
    names = [moves.get_class_name(column) for column in range(moves.n_moves)]
    columns: dict[str, dict[str, int]] = {kind: {} for kind in _KINDS}
    outside = blocked = NO_ACTION
    for column, name in enumerate(names):
        kind, _, label = name.partition("-")
        if kind == "O":
            outside = column
        elif name == "U-":
            blocked = column
        elif kind in columns and label:  # no action of an empty label is ever valid
            columns[kind][label] = column
    labels = list(dict.fromkeys(label for kind in _KINDS for label in columns[kind]))
    ids = numpy.array([get_string_id(label) for label in labels], dtype="uint64")
    B, I, L, U = (  # noqa: E741 (their names)
        numpy.array([columns[kind].get(label, NO_ACTION) for label in labels], dtype="int64")
        for kind in _KINDS
    )
    return Actions(labels, ids, B, I, L, U, outside, blocked, len(names))
