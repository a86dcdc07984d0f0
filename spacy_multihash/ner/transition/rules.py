"""The actions of spaCy's recognizer, and the rules of valid actions.

An action consumes one token. B-x begins an entity with the label x, I-x goes on with it, and L-x
ends it. U-x is a single-token entity. O is a token outside of all entities. U- is for blocked
tokens: they are outside and stay so.

Which actions are valid depends on the token, the next token, and the label of the open entity. The
rules follow `Begin.is_valid` ... `Out.is_valid` in spaCy's pipeline/_parser_internals/ner.pyx:

- Existing entities (`ent_iob`, `ent_type`) stay: each of their tokens has a single valid action.
  Blocked tokens get no entity.
- No entity goes on beyond the end of a sentence or of a doc.
- No entity begins with whitespace.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy
from spacy.attrs import ENT_TYPE
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.strings import get_string_id

from ..entities import CONSTRAINING, IOB_BEGINS, IOB_INSIDE, IOB_MISSING, IOB_OUTSIDE

# The column of an action that is invalid, or that the model lacks.
NO_ACTION = -1
# Instead of a label's number: any label, or no label.
ANY_LABEL, NO_LABEL = -1, -2

_KINDS = "BILU"
# The attributes of tokens that rules depend on.
ATTRS = [*CONSTRAINING, ENT_TYPE]


@dataclass(frozen=True)
class Actions:
    """The columns of a model's actions, for K labels.

    labels: The names of the labels, as strings, each once.
    ids (K,) uint64: Their hashes in the StringStore.
    columns (4, K) int64: The columns of B, I, L and U of each label, or `NO_ACTION`.
    O, blocked: The columns of O and of U-.
    nO: How many columns there are.
    """

    labels: Sequence[str]
    ids: numpy.ndarray
    columns: numpy.ndarray
    O: int  # noqa: E741 (its name)
    blocked: int
    nO: int

    B = property(lambda self: self.columns[0], doc="The column of B of each label, (K,) int64.")
    I = property(lambda self: self.columns[1], doc="The column of I.")  # noqa: E741 (its name)
    L = property(lambda self: self.columns[2], doc="The column of L.")
    U = property(lambda self: self.columns[3], doc="The column of U.")

    @cached_property
    def label_of(self) -> numpy.ndarray:
        """The number of each column's label, (nO,) int64, `NO_LABEL` for O and U-."""
        labels = numpy.full(self.nO, NO_LABEL)
        for columns in self.columns:
            present = columns != NO_ACTION
            labels[columns[present]] = numpy.flatnonzero(present)
        return labels

    @cached_property
    def complete(self) -> numpy.ndarray:
        """The hashes of the labels that have all four actions, in no order."""
        return self.ids[(self.columns != NO_ACTION).all(axis=0)]

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
    ids = numpy.array(list(map(get_string_id, labels)), dtype="uint64")
    table = [[columns[kind].get(label, NO_ACTION) for label in labels] for kind in _KINDS]
    return Actions(labels, ids, numpy.array(table, "int64"), outside, blocked, len(names))


class Rules(NamedTuple):
    """The rules of N tokens of a batch. A label is its number, `ANY_LABEL` or `NO_LABEL`.

    table (6, N) int64: Rows for B and U, the valid label while no entity is open; for I and L, the
        valid label in an open entity, where `ANY_LABEL` is its own; for O and U-, whether they're
        valid while no entity is open, 0 or 1.
    doc_ends (D,) int64: Where each doc ends in the batch.
    """

    table: numpy.ndarray
    doc_ends: numpy.ndarray

    def ends_of(self, tokens: numpy.ndarray) -> numpy.ndarray:
        """Return where the docs of R tokens end, (R,) int64."""
        return self.doc_ends[numpy.searchsorted(self.doc_ends, tokens, side="right")]


class Steps(NamedTuple):
    """The columns of I and L in R states in entities, (R,) or (R, K) each; or their costs.

    The column of an invalid action is `NO_ACTION`.
    """

    I: numpy.ndarray  # noqa: E741 (its name)
    L: numpy.ndarray


def rules_of(attrs: numpy.ndarray, lengths: numpy.ndarray, actions: Actions) -> Rules:
    """Make rules of N >= 1 tokens of D docs.

    attrs (N, 4) uint64: `ATTRS`. lengths (D,) int64: How many tokens each doc has.
    """
    starts, spaces, iob, types = attrs.T
    doc_ends, space = lengths.cumsum(), spaces.astype(bool)
    last = numpy.zeros(len(iob), dtype=bool)
    last[doc_ends[lengths > 0] - 1] = True
    stops = last | numpy.append(starts[1:] == 1, True)
    labels, following = actions.numbers_of(types), numpy.append(iob[1:], IOB_MISSING)
    following[last] = IOB_MISSING
    begins, inside = iob == IOB_BEGINS, iob == IOB_INSIDE
    next_begins, next_inside = following == IOB_BEGINS, following == IOB_INSIDE
    next_free = (following == IOB_MISSING) | (following == IOB_OUTSIDE)
    own_B, own_I = numpy.where(begins, labels, ANY_LABEL), numpy.where(inside, labels, ANY_LABEL)
    no_B = last | inside | numpy.where(begins, ~next_inside, next_begins | stops | space)
    no_U = next_inside | (~begins & space)
    no_I = last | begins | next_begins | numpy.where(inside, next_free, stops)
    table = numpy.stack(
        [
            numpy.where(no_B, NO_LABEL, own_B),
            numpy.where(no_U, NO_LABEL, own_B),
            numpy.where(no_I, NO_LABEL, own_I),
            numpy.where(next_inside, NO_LABEL, own_I),
            ~begins & ~inside,
            begins & (types == 0),
        ]
    )
    return Rules(table, doc_ends)


def valid_outside(rules: Rules, actions: Actions, tokens: numpy.ndarray) -> numpy.ndarray:
    """Find the valid actions at R tokens while no entity is open, (R, nO) bool."""
    begins, units, _, _, outside, blocked = rules.table[:, tokens, None]
    numbers = numpy.arange(len(actions.labels))
    valid = numpy.zeros((len(tokens), actions.nO + 1), dtype=bool)  # NO_ACTION is the last
    valid[:, actions.B] = (begins == ANY_LABEL) | (begins == numbers)
    valid[:, actions.U] = (units == ANY_LABEL) | (units == numbers)
    valid[:, [actions.O]] = outside
    valid[:, [actions.blocked]] = blocked
    return valid[:, :-1]


def valid_inside(
    rules: Rules, actions: Actions, tokens: numpy.ndarray, labels: numpy.ndarray
) -> Steps:
    """Find the valid actions in open entities.

    tokens, labels: The states' tokens, and the labels of the open entities; they broadcast.
    """
    on, closing = rules.table[2:4, tokens]
    closing = numpy.where(closing == ANY_LABEL, labels, closing)
    return Steps(
        numpy.where((on == ANY_LABEL) | (on == labels), actions.I[labels], NO_ACTION),
        numpy.where(closing == NO_LABEL, NO_ACTION, actions.L[numpy.maximum(closing, 0)]),
    )
