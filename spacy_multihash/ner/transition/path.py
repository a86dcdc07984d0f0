"""The way through docs that decisions at single states lead to.

A decision depends on the state alone, a token and the first token of the open entity. So there is
no need to go from state to state. Where an entity may begin is known for all tokens at once: these
are the candidates. Where each of them ends depends on no other. Last comes a walk from left to
right, which leaves out candidates that begin within an entity:

    token         0   1   2   3   4   5   6
    outside       O   B   O   B   O   U   O
    candidates        1 ----> L               on the way
                              3 > L           left out, since it begins within the first
                                      5       on the way
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple, Union

import numpy

from ..biluo import Entities
from .actions import NO_ACTION, NO_LABEL, Actions

# In place of the end of a candidate: not known yet.
_UNKNOWN = -1
# How many tokens of every candidate are tried at once, one number after the other. Few entities are
# longer than all of them together. A longer candidate is followed only if the walk comes to it: so
# a model that begins entities everywhere takes no time squared.
_FIRST_WIDTHS = (3, 8)
# Candidates up to which all of these tokens are tried at once.
_FEW = 16
_LONGEST_WIDTH = 1024
# How many states are decided on at once, to bound memory.
_MOST_STATES = 2**14

# Applies a function to each of some arrays.
Each = Callable[[Callable[[numpy.ndarray], None], Sequence[numpy.ndarray]], object]


class Openings(NamedTuple):
    """The tokens where the decision outside is neither O nor U-, in order.

    tokens, columns (M,) int64: Their positions, and the action, `NO_ACTION` if none is valid.
    """

    tokens: numpy.ndarray
    columns: numpy.ndarray


class States(NamedTuple):
    """R states in entities, (R,) int64 each.

    candidates: The number of the candidate that each is of.
    starts, labels: The first token and the label of the open entity.
    tokens: The token that comes next.
    """

    candidates: numpy.ndarray
    starts: numpy.ndarray
    labels: numpy.ndarray
    tokens: numpy.ndarray


class Decisions(NamedTuple):
    """What comes next in R states in entities, (R,) bool each: L, or no valid action."""

    closes: numpy.ndarray
    stuck: numpy.ndarray


class Path(NamedTuple):
    """The M candidates on the way through docs, in order, (M,) int64 each.

    numbers: Which of the openings they are.
    starts, ends, labels: As those of `Entities`. A candidate that is stuck ends after the token
        where no action is valid. That of an opening without an action is the token itself.
    stuck (M,) bool: Whether no action is valid before the entity's end. spaCy gives up the rest of
        the doc there.
    """

    numbers: numpy.ndarray
    starts: numpy.ndarray
    ends: numpy.ndarray
    labels: numpy.ndarray
    stuck: numpy.ndarray

    @property
    def entities(self) -> Entities:
        """The entities that are whole."""
        whole = ~self.stuck
        return Entities(self.starts[whole], self.ends[whole], self.labels[whole])


def _one_by_one(function: Callable[[numpy.ndarray], None], arrays: Sequence[numpy.ndarray]) -> None:
    for array in arrays:
        function(array)


def follow(
    openings: Openings,
    actions: Actions,
    stops: numpy.ndarray,
    decide: Callable[[States], Decisions],
    begins: Union[int, numpy.ndarray] = 1,
    each: Each = _one_by_one,
) -> Path:
    """Follow decisions through docs with N tokens in all.

    openings (Openings): The decisions outside.
    stops (N,) int64: The end of the doc that each token is in.
    decide (Callable): Makes the decisions in states in entities, R of them at once.
    begins (int or (M,) int64): Of each opening that is a B, how many tokens after it decisions
        begin.
    each (Callable): Applies a function to each of some arrays, such as in threads.

    An entity that is still open at the end of the doc ends there.
    """
    starts, columns = openings
    if not len(starts):
        return Path(starts, starts, starts, starts, numpy.zeros(0, dtype=bool))
    nowhere = columns == NO_ACTION
    labels = numpy.where(nowhere, NO_LABEL, actions.label_of[columns])
    ends = starts + 1
    stuck = nowhere.copy()
    candidates = numpy.flatnonzero(actions.opens[columns] & ~nowhere)
    ends[candidates] = _UNKNOWN
    tried = 0

    def look(candidates: numpy.ndarray, width: int) -> numpy.ndarray:
        """Look for ends among the next tokens, and return the candidates without one."""

        def look_at(some: numpy.ndarray) -> None:
            first = starts[some] + (begins if isinstance(begins, int) else begins[some]) + tried
            ends[some], stuck[some] = _find_ends(
                some, starts[some], labels[some], first, stops, width, decide
            )

        if len(candidates) * width <= _MOST_STATES:
            look_at(candidates)
        else:
            parts = -(-len(candidates) * width // _MOST_STATES)
            each(look_at, numpy.array_split(candidates, parts))
        return candidates[ends[candidates] == _UNKNOWN]

    for width in _FIRST_WIDTHS if len(candidates) > _FEW else (sum(_FIRST_WIDTHS),):
        if len(candidates):
            candidates = look(candidates, width)
            tried += width

    def finish(candidates: numpy.ndarray) -> None:
        """Find the ends of candidates, however long they are."""
        nonlocal tried
        tried, width = sum(_FIRST_WIDTHS), _FIRST_WIDTHS[-1]
        while len(candidates):
            width = min(2 * width, _LONGEST_WIDTH)
            candidates = look(candidates, width)
            tried += width

    numbers = _walk(starts, ends, stuck, stops, finish)
    return Path(numbers, starts[numbers], ends[numbers], labels[numbers], stuck[numbers])


def _find_ends(
    candidates: numpy.ndarray,
    starts: numpy.ndarray,
    labels: numpy.ndarray,
    first: numpy.ndarray,
    stops: numpy.ndarray,
    width: int,
    decide: Callable[[States], Decisions],
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find where M candidates end among `width` tokens from the first on, and which are stuck.

    Returns (M,) int64, `_UNKNOWN` for those that go on, and (M,) bool.
    """
    tokens = first[:, None] + numpy.arange(width)
    last = stops[starts]
    within = tokens < last[:, None]
    rows, _ = within.nonzero()
    decisions = decide(States(candidates[rows], starts[rows], labels[rows], tokens[within]))
    ending = numpy.zeros(within.shape, dtype=bool)
    ending[within] = decisions.closes | decisions.stuck
    places = ending.argmax(axis=1)
    going_on = numpy.where(first + width >= last, last, _UNKNOWN)
    ends = numpy.where(ending.any(axis=1), first + places + 1, going_on)
    stuck = numpy.zeros(len(starts), dtype=bool)
    if decisions.stuck.any():
        ending[within] = decisions.stuck
        stuck = ending[numpy.arange(len(starts)), places]
    return ends, stuck


def _walk(
    starts: numpy.ndarray,
    ends: numpy.ndarray,
    stuck: numpy.ndarray,
    stops: numpy.ndarray,
    finish: Callable[[numpy.ndarray], None],
) -> numpy.ndarray:
    """Go through candidates from left to right, without those that begin within an entity.

    finish (Callable): Sets the ends of candidates that are not known yet.

    Returns the numbers of the candidates on the way, in order.
    """
    begins, lasts = starts.tolist(), stops[starts].tolist()
    known, gives_up = ends.tolist(), stuck.tolist()
    on_the_way: list[int] = []
    parts = [(0, len(begins))]  # of the candidates: at first all, then the rest of some docs
    while parts:
        waiting: list[int] = []
        for number, last in parts:
            while number < last:
                free = lasts[number]  # the first token that is in no entity yet
                if known[number] == _UNKNOWN:
                    waiting.append(number)
                else:
                    on_the_way.append(number)
                    if not gives_up[number]:
                        free = known[number]
                number = bisect_left(begins, free, number + 1, last)
        if waiting:
            finish(numpy.array(waiting))
        for number in waiting:
            known[number], gives_up[number] = int(ends[number]), bool(stuck[number])
        parts = [(number, bisect_left(begins, lasts[number], number)) for number in waiting]
    return numpy.array(sorted(on_the_way), dtype="int64")
