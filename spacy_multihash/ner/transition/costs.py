"""Costs of actions, given the gold entities: `Begin.cost` ... `Out.cost` of spaCy's ner.pyx.

An action costs 1 if fewer gold entities can be reached after it than before. So after a mistake,
the best remaining actions cost nothing. An action that makes an entity that is known to be wrong
costs 1 more.
"""

from typing import NamedTuple, Optional

import numpy

from ..biluo import MISSING, OUTSIDE, Entities
from .rules import NO_ACTION, NO_LABEL, Actions, Rules, Steps, valid_inside, valid_outside

# The cost of an invalid action.
INVALID = 9
# Kinds of gold tags.
_B, _I, _L, _U = range(4)
_O, _MISSING = 4, 5


class Gold(NamedTuple):
    """The gold entities of N tokens, and their rules.

    kinds (N,) int64: B, I, L, U, O or missing.
    labels (N,) int64: The number of the label, arbitrary outside of entities.
    wrong (Optional[Entities]): Unique entities that are known to be wrong, sorted by start.
    """

    kinds: numpy.ndarray
    labels: numpy.ndarray
    wrong: Optional[Entities]
    rules: Rules
    actions: Actions

    @property
    def in_entity(self) -> numpy.ndarray:
        """Whether each token is in an entity, (N,) bool."""
        return self.kinds < _O


def gold_of(tags: numpy.ndarray, wrong: Optional[Entities], rules: Rules, actions: Actions) -> Gold:
    """Split BILUO tags, numbered as in biluo.py, into kinds and labels.

    tags (N,) int64: `biluo.MISSING` if a tag is unknown.
    """
    kinds, labels = numpy.divmod(tags - 1, max(len(actions.labels), 1))
    kinds = numpy.where(tags == MISSING, _MISSING, numpy.where(tags == OUTSIDE, _O, kinds))
    return Gold(kinds, labels, wrong, rules, actions)


def costs_of(
    gold: Gold, tokens: numpy.ndarray, starts: numpy.ndarray, labels: numpy.ndarray
) -> numpy.ndarray:
    """Find the costs of all actions in R states, (R, nO) uint8, `INVALID` if invalid.

    tokens, starts, labels (R,) int64: Each state's token, and the first token and the label of the
        open entity. The label is `NO_LABEL` if no entity is open.
    """
    nO = gold.actions.nO
    costs = numpy.full((len(tokens), nO + 1), INVALID, "uint8")  # NO_ACTION is the last
    (outside,), (inside,) = numpy.nonzero(labels == NO_LABEL), numpy.nonzero(labels != NO_LABEL)
    costs[outside, :-1] = outside_costs(gold, tokens[outside])
    tokens, starts, labels = tokens[inside], starts[inside], labels[inside]
    steps = valid_inside(gold.rules, gold.actions, tokens, labels)
    costs[inside, steps.I], costs[inside, steps.L] = inside_costs(
        gold, steps, tokens, starts, labels
    )
    return costs[:, :-1]


def outside_costs(gold: Gold, tokens: numpy.ndarray) -> numpy.ndarray:
    """Find the costs of actions at R tokens while no entity is open, (R, nO) uint8."""
    rules, actions = gold.rules, gold.actions
    kinds, labels = gold.kinds[tokens][:, None], gold.labels[tokens][:, None]
    numbers = numpy.arange(len(actions.labels))
    is_known, same = kinds != _MISSING, labels == numbers
    costs = numpy.zeros((len(tokens), actions.nO + 1), dtype="uint8")  # NO_ACTION is the last
    costs[:, actions.B] = is_known & ~((kinds == _B) & same)
    costs[:, actions.U] = is_known & ~((kinds == _U) & same)
    costs[:, [actions.blocked]] = is_known
    costs[:, [actions.O]] = (kinds == _B) | (kinds == _U)
    if gold.wrong is not None:
        near = _near(gold.wrong, tokens)
        only_L = near.starts + 2 >= rules.ends_of(near.starts)  # can follow B
        single = near.ends == near.starts + 1
        for columns, chosen in ((actions.B, only_L), (actions.U, single)):
            _add_wrong(costs, columns, tokens, Entities(*(column[chosen] for column in near)))
    costs = costs[:, :-1]
    costs[~valid_outside(rules, actions, tokens)] = INVALID
    return costs


def _near(wrong: Entities, starts: numpy.ndarray) -> Entities:
    """Take the entities that begin from the first to the last of R tokens."""
    first, last = starts.min(initial=numpy.iinfo("int64").max), starts.max(initial=-1)
    near = slice(*numpy.searchsorted(wrong.starts, [first, last + 1]))
    return Entities(*(column[near] for column in wrong))


def _add_wrong(
    costs: numpy.ndarray, columns: numpy.ndarray, tokens: numpy.ndarray, wrong: Entities
) -> None:
    """Add 1 to the costs of actions that begin an entity that is known to be wrong."""
    begins, numbers = numpy.unique(wrong.starts, return_inverse=True)
    is_wrong = numpy.zeros((len(begins), len(columns)), dtype="uint8")
    is_wrong[numbers, wrong.labels] = 1
    (rows,) = numpy.nonzero(numpy.isin(tokens, begins))
    costs[rows[:, None], columns] += is_wrong[numpy.searchsorted(begins, tokens[rows])]


def inside_costs(
    gold: Gold, steps: Steps, tokens: numpy.ndarray, starts: numpy.ndarray, labels: numpy.ndarray
) -> Steps:
    """Find I's and L's costs in R states in entities, (R,) uint8 each.

    steps (Steps): What `valid_inside` says of the states.
    """
    kinds = gold.kinds[tokens]
    is_last = tokens + 1 == gold.rules.ends_of(tokens)
    following = numpy.where(is_last, _O, numpy.append(gold.kinds[1:], _O)[tokens])
    begun = gold.kinds[starts]
    sunk = ~((begun == _B) | (begun == _U)) | (gold.labels[starts] != labels)
    then_free = (following == _O) | (following == _MISSING)
    I = numpy.select(  # noqa: E741 (its name)
        [kinds == _L, kinds == _O, kinds == _U],
        [~(sunk & then_free), ~then_free, following != _O],
        False,
    ).astype("uint8")
    L = ((kinds == _I) & ~sunk).astype("uint8")
    if gold.wrong is not None:
        made = Entities(starts, tokens + 1, gold.actions.label_of[steps.L])
        L += _are_among(made, _near(gold.wrong, starts))
    I[steps.I == NO_ACTION] = INVALID
    L[steps.L == NO_ACTION] = INVALID
    return Steps(I, L)


def _are_among(entities: Entities, others: Entities) -> numpy.ndarray:
    """Find which of R entities are among others, (R,) bool."""
    columns = [numpy.concatenate(pair) for pair in zip(others, entities, strict=True)]
    columns = [column - column.min(initial=0) for column in columns]
    keys = numpy.ravel_multi_index(columns, [column.max(initial=0) + 1 for column in columns])
    return numpy.isin(keys[len(others.starts) :], keys[: len(others.starts)])
