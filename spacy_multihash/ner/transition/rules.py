"""Which actions are valid at a token, whatever the scores: the rules of spaCy's recognizer.

They depend on the token, on the next one, and on the label of the entity that is open. The rules
are those of `Begin.is_valid` ... `Out.is_valid` in spaCy's pipeline/_parser_internals/ner.pyx:

- Entities that a doc has already (`ent_iob`, `ent_type`) stay: there is one valid action at each of
  their tokens. Blocked tokens get no entity.
- No entity goes on beyond the end of a sentence or of a doc.
- No entity begins with whitespace.
"""

from collections.abc import Sequence
from typing import NamedTuple, Union

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, SENT_START
from spacy.tokens import Doc
from thinc.api import get_array_module

from ...common.types import Array
from ..docs import IOB_BEGINS, IOB_INSIDE, IOB_MISSING, IOB_OUTSIDE, lengths_of
from .actions import ANY_LABEL, NO_ACTION, NO_LABEL, Actions


class Rules(NamedTuple):
    """What N tokens of a batch allow. A label is its number, `ANY_LABEL` or `NO_LABEL`.

    begins, units (N,) int64: With which label B and U are valid while no entity is open.
    outside, blocked (N,) bool: Whether O and U- are.
    goes_on (N,) int64: With which label I is valid, if it is that of the open entity.
    closes (N,) int64: With which label L is valid. `ANY_LABEL` is that of the open entity.
    ends (N,) int64: Where the token's doc ends in the batch.
    has_entities: Whether docs have entities, or blocked tokens, already.
    """

    begins: numpy.ndarray
    units: numpy.ndarray
    outside: numpy.ndarray
    blocked: numpy.ndarray
    goes_on: numpy.ndarray
    closes: numpy.ndarray
    ends: numpy.ndarray
    has_entities: bool


class Steps(NamedTuple):
    """What may come next in R states in entities, (R,) each.

    I, L: Of the two actions, the columns, `NO_ACTION` for one that is not valid; or the scores.
    """

    I: Array  # noqa: E741 (its name)
    L: Array


def rules_of(docs: Sequence[Doc], actions: Actions) -> Rules:
    """Read off docs what their tokens allow."""
    read = [SENT_START, IS_SPACE, ENT_IOB, ENT_TYPE]
    known = numpy.concatenate([doc.to_array(read) for doc in docs])
    lengths = lengths_of(docs)
    ends = numpy.repeat(lengths.cumsum(), lengths)
    sentence_starts, spaces, iob, types = known.T
    last = ends == numpy.arange(1, len(ends) + 1)
    stops = last.copy()
    stops[:-1] |= sentence_starts[1:] == 1
    space = spaces == 1
    if not iob.any():
        return _without_entities(stops, space, ends)
    return _with_entities(stops, space, ends, last, iob, actions.numbers_of(types), types == 0)


def rule_out(
    values: Array,
    rules: Rules,
    actions: Actions,
    tokens: Union[slice, numpy.ndarray],
    fill: float,
) -> None:
    """Set what is not valid outside to a value, in place.

    values (R, M): Of `actions.outside`, on any device.
    tokens (slice or (R,) int64): The states' tokens.
    fill (float): The value, such as -inf for scores.
    """
    xp = get_array_module(values)

    def set_all(where: numpy.ndarray, columns: numpy.ndarray) -> None:
        if where.any():
            (rows,) = where.nonzero()
            values[xp.asarray(rows[:, None]), xp.asarray(columns)] = fill

    begins, units = rules.begins[tokens], rules.units[tokens]
    places = actions.places
    set_all(begins == NO_LABEL, places.B)
    set_all(units == NO_LABEL, places.U)
    if not rules.has_entities:
        values[:, places.blocked] = fill
        return
    set_all(~rules.outside[tokens], places.O)
    set_all(~rules.blocked[tokens], places.blocked)
    for allowed, columns in ((begins, actions.B), (units, actions.U)):
        for label in numpy.unique(allowed[allowed >= 0]).tolist():
            others = numpy.isin(actions.outside, numpy.delete(columns, label))
            set_all(allowed == label, numpy.flatnonzero(others))


def valid_inside(
    rules: Rules, actions: Actions, tokens: numpy.ndarray, labels: numpy.ndarray
) -> Steps:
    """Tell which actions are valid at R tokens, in open entities with these labels, (R,) each."""
    on, closing = rules.goes_on[tokens], rules.closes[tokens]
    closing = numpy.where(closing == ANY_LABEL, labels, closing)
    return Steps(
        numpy.where((on == ANY_LABEL) | (on == labels), actions.I[labels], NO_ACTION),
        numpy.where(closing == NO_LABEL, NO_ACTION, actions.L[numpy.maximum(closing, 0)]),
    )


def _without_entities(stops: numpy.ndarray, space: numpy.ndarray, ends: numpy.ndarray) -> Rules:
    free = numpy.full(len(ends), ANY_LABEL)
    return Rules(
        begins=numpy.where(stops | space, NO_LABEL, ANY_LABEL),
        units=numpy.where(space, NO_LABEL, ANY_LABEL),
        outside=numpy.ones(len(ends), dtype=bool),
        blocked=numpy.zeros(len(ends), dtype=bool),
        goes_on=numpy.where(stops, NO_LABEL, ANY_LABEL),
        closes=free,
        ends=ends,
        has_entities=False,
    )


def _with_entities(
    stops: numpy.ndarray,
    space: numpy.ndarray,
    ends: numpy.ndarray,
    last: numpy.ndarray,
    iob: numpy.ndarray,
    labels: numpy.ndarray,
    unlabelled: numpy.ndarray,
) -> Rules:
    following = numpy.append(iob[1:], IOB_MISSING)
    following[last] = IOB_MISSING
    begins, inside = iob == IOB_BEGINS, iob == IOB_INSIDE
    next_begins, next_inside = following == IOB_BEGINS, following == IOB_INSIDE
    next_free = (following == IOB_MISSING) | (following == IOB_OUTSIDE)

    def choose(no: numpy.ndarray, of_entity: numpy.ndarray) -> numpy.ndarray:
        """Any label; the label of the token's own entity; or none, which goes first."""
        return numpy.where(no, NO_LABEL, numpy.where(of_entity, labels, ANY_LABEL))

    return Rules(
        begins=choose(
            last | inside | numpy.where(begins, ~next_inside, next_begins | stops | space), begins
        ),
        units=choose(next_inside | (~begins & space), begins),
        outside=~begins & ~inside,
        blocked=begins & unlabelled,
        goes_on=choose(last | begins | next_begins | numpy.where(inside, next_free, stops), inside),
        closes=choose(next_inside, inside),
        ends=ends,
        has_entities=True,
    )
