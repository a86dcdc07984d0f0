"""The actions of spaCy's parser, as columns of its scores.

S-hift moves the next token to the stack, and D (reduce) removes the top of the stack. L-x and R-x
add an arc with the label x between the two, from right to left and from left to right. B-reak
begins a sentence. Which actions are valid in a state, and what they do, is in compute/parse.h.
"""

from typing import NamedTuple

import numpy
from spacy.pipeline._parser_internals.nonproj import is_decorated
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.strings import get_string_id

# How many tokens a state is scored by, for state_type = "parser".
NUM_FEATURES = (8, 13)
# In the order of compute/parse.h.
_KINDS = "SDLRB"
_SUBTOK = "subtok"


class Actions(NamedTuple):
    """The columns of a model's actions.

    kinds (nO,) uint8: The kind of each action, its place in "SDLRB".
    labels (nO,) uint64: The hash of its label in the StringStore.
    is_subtok (nO,) uint8: Whether it's an arc that joins a token to the token before it.
    is_decorated (nO,) uint8: Whether its label is one that spaCy splits after parsing, such as
        "prep||dobj".
    root (int): The hash of the label of tokens without a head.
    """

    kinds: numpy.ndarray
    labels: numpy.ndarray
    is_subtok: numpy.ndarray
    is_decorated: numpy.ndarray
    root: int


def read_actions(moves: TransitionSystem) -> Actions:
    """List the actions of spaCy's transition system of arcs."""
    names = [moves.get_class_name(column).partition("-") for column in range(moves.n_moves)]
    labels = [label for _, _, label in names]
    return Actions(
        numpy.array([_KINDS.index(kind) for kind, _, _ in names], dtype="uint8"),
        numpy.array(list(map(get_string_id, labels)), dtype="uint64"),
        numpy.array([label == _SUBTOK for label in labels], dtype="uint8"),
        numpy.array(list(map(is_decorated, labels)), dtype="uint8"),
        moves.root_label,
    )
