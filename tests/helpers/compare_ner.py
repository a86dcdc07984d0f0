"""Whether batch_ner finds the entities of ner, on all tokens of published corpora."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from spacy.attrs import ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.api import Model

# What a recognizer sets.
SET = [ENT_IOB, ENT_TYPE, ENT_KB_ID, ENT_ID]
# Scores that are as near to each other may fall either way by rounding, relative to their size.
NEAR = 1e-4
# The actions that lead to an IOB tag: if the entity ends with the token, and if it goes on.
_ACTIONS = {"B": "UB", "I": "LI"}


@dataclass(frozen=True)
class Difference:
    """The first token of a doc where batch_ner does something else than ner.

    doc (int): The number of the doc.
    token (int): The number of the token.
    expected (str): What ner did with it, as `tags` tells.
    found (str): What batch_ner did with it.
    margin (float): How far ner's action is ahead of its second, relative to the scores.
    """

    doc: int
    token: int
    expected: str
    found: str
    margin: float

    @property
    def is_near_tie(self) -> bool:
        """Whether rounding can decide between the two actions."""
        return self.margin < NEAR


def find_entities(pipe: EntityRecognizer, docs: Sequence[Doc]) -> list[Doc]:
    """Return copies of docs, with the entities that a recognizer finds in them as one batch."""
    copies = [doc.copy() for doc in docs]
    pipe.set_annotations(copies, pipe.predict(copies))
    return copies


def find_differences(
    ner: EntityRecognizer, docs: Sequence[Doc], expected: Sequence[Doc], found: Sequence[Doc]
) -> list[Difference]:
    """Tell where docs differ that two recognizers annotated: IOB codes, labels and ids.

    ner (EntityRecognizer): spaCy's ner.
    docs (Sequence[Doc]): A batch without the entities.
    expected (Sequence[Doc]): The same docs with what ner found in them.
    found (Sequence[Doc]): The same docs with what batch_ner found in them.
    """
    differences = []
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if (one.to_array(SET) != other.to_array(SET)).any():
            pairs = list(zip(tags(one), tags(other), strict=True))
            token = next(token for token, (a, b) in enumerate(pairs) if a != b)
            far = margin(ner, docs, number, token)
            differences.append(Difference(number, token, *pairs[token], far))
    return differences


def tags(doc: Doc) -> list[str]:
    """Tell of each token of a doc which action leads to its entities, such as B-PER or O."""
    goes_on = [token.ent_iob_ == "I" for token in doc][1:] + [False]
    actions = [
        _ACTIONS.get(token.ent_iob_, "OO")[on] for token, on in zip(doc, goes_on, strict=True)
    ]
    return [f"{action}-{token.ent_type_}" for action, token in zip(actions, doc, strict=True)]


def margin(pipe: EntityRecognizer, docs: Sequence[Doc], number: int, token: int) -> float:
    """Tell how far the best valid action at a token of a doc is ahead, relative to the scores.

    It is infinity where no other action is valid.

    spaCy's own states are stepped through, and scored in double precision.

    pipe (EntityRecognizer): spaCy's ner.
    docs (Sequence[Doc]): The docs without their entities.
    number (int): The doc.
    token (int): The token.

    Raises ValueError if there is no state at the token.
    """
    names = [pipe.moves.get_class_name(i) for i in range(pipe.moves.n_moves)]
    unseen = pipe.model.attrs["unseen_classes"]
    step = pipe.model.predict(docs)
    state = pipe.moves.init_batch(docs)[number]
    before = sum(map(len, docs[:number]))
    while not state.is_final():
        features = step.get_token_ids([state])[0]
        scores = _scores(pipe.model, step.tokvecs, features)
        valid = [i for i, name in enumerate(names) if pipe.moves.is_valid(state, name)]
        valid.sort(key=lambda i: (i not in unseen, scores[i]), reverse=True)
        if features[0] - before == token:
            if len(valid) == 1:
                return float("inf")
            best, second = scores[valid[:2]]
            return float(abs(best - second) / max(1.0, numpy.abs(scores).max()))
        pipe.moves.apply_transition(state, names[valid[0]])
    raise ValueError(f"ner has no state at token {token}, where the recognizers differ")


def _scores(model: Model, X: NDArray, features: NDArray) -> NDArray:
    """Score all actions in a state in double precision."""
    lower = model.get_ref("lower")
    W, b, pad = (numpy.asarray(lower.get_param(name), "float64") for name in ("W", "b", "pad"))
    sums = b.copy()
    for f, token in enumerate(features):
        sums += pad[0, f] if token < 0 else W[f] @ X[token]
    hidden = sums.max(axis=-1)
    if not model.attrs["has_upper"]:
        return hidden
    upper = model.get_ref("upper")
    return upper.get_param("W").astype("float64") @ hidden + upper.get_param("b")
