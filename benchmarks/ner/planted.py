"""A recognizer of any number of labels, which finds the entities that it is told.

The first two numbers in the vector of a token tell whether an entity begins and ends there. The
weights make B, U, I and L of them, and the other numbers choose among the labels at random. So the
share and the lengths of entities are those of the text, or any others.

All weights and vectors are small multiples of powers of two. Sums of them are exact in float32, so
that the order of the sums cannot change an action.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy
import spacy
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span

from benchmarks.common.pipelines import make_examples
from benchmarks.common.text import count_tokens

BEGINS, ENDS = 0, 1  # columns of vectors, and hidden units
# The share of tokens within entities that would begin another one, were none open. It was 0.09 for
# en_core_web_md on tweets, and 0.04 to 0.09 for `ner` on Spanish news after 60 and 100 updates.
RIVALS = 0.1
# Tokens in entities, where they have a given length.
SHARE = 1 / 8
# What an action scores by its kind, where nothing begins or ends, and what is added where an entity
# begins, and where one ends. What is chosen at random adds less than 3 to that.
SCORES = {"B": (-8, 16, -16), "U": (-24, 16, 16), "I": (0, 0, 0), "L": (-8, 0, 16), "O": (0, 0, 0)}
RANDOM = 1 / 1024  # times numbers of up to about 3000


def plant_entities(docs: Sequence[Doc], labels: int, length: int) -> list[Doc]:
    """Copy docs, and give them entities of random labels.

    labels (int): The number of labels.
    length (int): The number of tokens of each entity, which are SHARE of all tokens. 0 takes the
        entities that the docs have.
    """
    rng = numpy.random.default_rng(0)
    copies = []
    for doc in docs:
        copy = doc.copy()
        places = _places(len(doc), length, rng)
        if not length:
            places = [(ent.start, ent.end) for ent in doc.ents]
        names = (f"L{rng.integers(labels)}" for _ in places)
        pairs = zip(places, names, strict=True)
        copy.set_ents([Span(copy, start, end, label=name) for (start, end), name in pairs])
        copies.append(copy)
    return copies


def _places(words: int, length: int, rng: numpy.random.Generator) -> list[tuple[int, int]]:
    """Draw places of entities in a doc of a number of words, at most one in each part of it."""
    part = round(length / SHARE)
    firsts = range(0, words - part + 1, part) if part else []
    starts = [first + int(rng.integers(part - length + 1)) for first in firsts]
    return [(start, start + length) for start in starts]


def build_planted(lang: str, docs: Sequence[Doc], labels: int, hidden_width: int) -> Language:
    """Build a pipeline of spaCy's ner, which finds entities by `planted_vectors`."""
    nlp = spacy.blank(lang)
    ner: Any = nlp.add_pipe("ner", config={"model": {"hidden_width": hidden_width}})
    for label in range(labels):
        ner.add_label(f"L{label}")
    nlp.initialize(partial(make_examples, nlp, docs[:10]))
    set_weights(ner)
    return nlp


def set_weights(ner: EntityRecognizer) -> None:
    """Set the weights of the layers that score actions."""
    rng = numpy.random.default_rng(1)
    lower, upper = ner.model.get_ref("lower"), ner.model.get_ref("upper")
    W, b, pad = (_quarters(rng, lower.get_param(name).shape) for name in ("W", "b", "pad"))
    W[..., [BEGINS, ENDS]] = 0
    for unit in (BEGINS, ENDS):
        W[:, unit] = b[unit] = pad[:, :, unit] = 0
        W[0, unit, 0, unit] = 1  # the first piece is what the vector of the state's own token says
    for name, values in (("W", W), ("b", b), ("pad", pad)):
        lower.set_param(name, values)
    actions = [ner.moves.get_class_name(action) for action in range(ner.moves.n_moves)]
    scores = numpy.array([SCORES[action[0]] for action in actions], dtype="float32")
    W = _quarters(rng, upper.get_param("W").shape) * RANDOM
    W[[action[0] == "O" for action in actions]] = 0
    W[:, [BEGINS, ENDS]] = scores[:, 1:]
    upper.set_param("W", W)
    # spaCy reads the numbers in memory one after the other
    upper.set_param("b", scores[:, 0].copy())


def planted_vectors(docs: Sequence[Doc], width: int) -> numpy.ndarray:
    """Make vectors that tell where the entities of docs are: (N, width) float32."""
    rng = numpy.random.default_rng(2)
    X = 2 * _quarters(rng, (count_tokens(docs), width))
    X[:, [BEGINS, ENDS]] = 0
    offset = 0
    for doc in docs:
        for ent in doc.ents:
            start, end = offset + ent.start, offset + ent.end
            X[start:end, BEGINS] = rng.random(end - start) < RIVALS
            X[start, BEGINS] = X[end - 1, ENDS] = 1
        offset += len(doc)
    return X


def _quarters(rng: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """Draw quarters from -1/2 to 1/2, float32."""
    return (rng.integers(-2, 3, size=shape) / 4).astype("float32")
