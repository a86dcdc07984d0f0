"""Decoders, against all sequences of tags there are, and against a loop over tokens."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.ner.biluo import Constraints, may_follow, num_labels, tag_columns, tag_names
from spacy_multihash.ner.tagger.decode import decode_constrained, decode_crf, decode_greedy
from tests.helpers import linear_chain
from tests.helpers.kernels import using_kernels
from tests.helpers.linear_chain import valid_sequences

SEED = 20170913


class Batch(NamedTuple):
    """What is decoded: all that the three decoders take."""

    scores: numpy.ndarray
    lengths: numpy.ndarray
    transitions: numpy.ndarray
    constraints: Constraints


def greedy(batch: Batch) -> numpy.ndarray:
    return decode_greedy(batch.scores, batch.constraints)


def constrained(batch: Batch) -> numpy.ndarray:
    return decode_constrained(batch.scores, batch.constraints)


def crf(batch: Batch) -> numpy.ndarray:
    return decode_crf(*batch)


DECODERS = pytest.mark.parametrize("decode", [greedy, constrained, crf])
Decoder = Callable[[Batch], numpy.ndarray]


@st.composite
def batches(draw: st.DrawFn, num_labels: st.SearchStrategy[int], max_tokens: int = 5) -> Batch:
    """Draw small whole scores: their sums are exact, and many sums are equal."""
    nO = 4 * draw(num_labels) + 1
    lengths = numpy.array(draw(st.lists(st.integers(0, max_tokens), max_size=3)), "int32")
    N = int(lengths.sum())
    rng = numpy.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    constraints = Constraints(*(draw(arrays.arrays(bool, N)) for _ in Constraints._fields))
    constraints.starts[(numpy.cumsum(lengths) - lengths)[lengths > 0]] = True
    scores, transitions = (rng.integers(-2, 3, (n, nO)).astype("float32") for n in (N, nO))
    return Batch(scores, lengths, transitions, constraints)


def random_batch(lengths: list[int], num_labels: int) -> Batch:
    drawn = linear_chain.Batch(lengths, num_labels, seed=SEED)
    return Batch(drawn.scores, drawn.lengths, drawn.transitions, drawn.constraints)


def split(batch: Batch) -> list[Batch]:
    ends = numpy.cumsum(batch.lengths)
    return [
        Batch(
            batch.scores[end - length : end],
            numpy.array([length]),
            batch.transitions,
            Constraints(*(known[end - length : end] for known in batch.constraints)),
        )
        for end, length in zip(ends, batch.lengths, strict=True)
    ]


# All sequences


@cache
def sequences(length: int, nO: int) -> numpy.ndarray:
    """List all sequences of tags that follow each other as they may: (M, length).

    They are sorted by the last tag, then the one before it, as decoders prefer them.
    """
    tags = sorted(valid_sequences(num_labels(nO), length), key=lambda tags: tags[::-1])
    return numpy.array(tags, dtype="int64").reshape(len(tags), length)


def best_tags(doc: Batch, transitions: numpy.ndarray) -> list[int]:
    """Find the best of all tags of a doc, and the first of the best."""
    (length,), nO = doc.lengths, doc.scores.shape[1]
    tags = sequences(int(length), nO)
    kind = tag_columns(nO)
    starts, spaces, outside = doc.constraints
    continues = (tags >= kind.I.start) & (tags < kind.L.stop)
    wrong = (starts & continues) | (spaces & (tags > 0) & ~continues) | (outside & (tags > 0))
    tags = tags[~wrong.any(axis=1)]
    sums = doc.scores[numpy.arange(length), tags].sum(axis=1)
    sums += transitions[tags[:, :-1], tags[:, 1:]].sum(axis=1)
    return tags[sums.argmax()].tolist()


@pytest.mark.parametrize("decode", [constrained, crf])
@given(batch=batches(st.integers(0, 2)))
def test_best_tags_are_found_by_all_kernels(decode: Decoder, batch: Batch) -> None:
    pairs = batch.transitions if decode is crf else numpy.zeros_like(batch.transitions)
    expected = [tag for doc in split(batch) for tag in best_tags(doc, pairs)]
    for kernels in available_kernels():
        with using_kernels(kernels):
            assert decode(batch).tolist() == expected


def test_decode_crf_reads_no_transition_that_is_not_allowed() -> None:
    batch = random_batch([7, 4], 2)
    transitions = numpy.where(may_follow(9), batch.transitions, numpy.float32("nan"))
    changed = batch._replace(transitions=transitions)
    numpy.testing.assert_array_equal(crf(changed), crf(batch))


# The greedy rule


def decode_by_loop(batch: Batch) -> list[int]:
    """Take the best tag of each token, and look for whole entities, one after the other."""
    names = tag_names([str(label) for label in range(num_labels(batch.scores.shape[1]))])
    starts, spaces, outside = batch.constraints
    best: list[str] = []
    for i, scores in enumerate(batch.scores):
        allowed = [
            tag
            for tag, name in enumerate(names)
            if not (outside[i] and tag > 0) and not (spaces[i] and name[0] in "BU")
        ]
        best.append(names[max(allowed, key=lambda tag: scores[tag])])  # noqa: B023
    kept = ["O"] * len(best)
    for i, name in enumerate(best):
        label, end = name[1:], i + 1
        if name[0] == "B":
            while end < len(best) and best[end] == f"I{label}" and not starts[end]:
                end += 1
            if end < len(best) and best[end] == f"L{label}" and not starts[end]:
                kept[i : end + 1] = best[i : end + 1]
        elif name[0] == "U":
            kept[i] = name
    return [names.index(name) for name in kept]


NONE = numpy.zeros(2, dtype=bool)
# B and L, of which L begins a sentence
ACROSS = Batch(
    numpy.eye(5, dtype="float32")[[1, 3]],
    numpy.array([2], dtype="int32"),
    numpy.zeros((5, 5), dtype="float32"),
    Constraints(~NONE, NONE, NONE),
)


@given(batch=batches(st.integers(0, 2), max_tokens=12))
@example(batch=ACROSS)
def test_decode_greedy_keeps_what_a_loop_does(batch: Batch) -> None:
    assert greedy(batch).tolist() == decode_by_loop(batch)


# All decoders


@DECODERS
def test_decoders_find_the_same_where_all_scores_of_a_token_are_higher(decode: Decoder) -> None:
    # Sixteenths, of which all sums are exact in float64; float32 has no room for them
    batch = random_batch([2000, 30], 4)
    scores = numpy.round(batch.scores * 16) / 16
    transitions = numpy.round(batch.transitions * 16) / 16
    higher = numpy.random.default_rng(SEED).integers(0, 30_000, (len(scores), 1))
    batch = batch._replace(scores=scores, transitions=transitions)
    changed = batch._replace(scores=scores + higher.astype("float32"))
    numpy.testing.assert_array_equal(decode(changed), decode(batch))
