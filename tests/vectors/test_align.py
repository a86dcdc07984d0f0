"""Alignment: rotations are found again, and pairs of words are looked up."""

import numpy
import pytest

from spacy_multihash.vectors.align import alike_vectors, pair_vectors, procrustes
from tests.helpers.vectors import WORDS, make_table, random_vectors


def test_procrustes_finds_a_rotation_and_a_shift() -> None:
    X = random_vectors()
    rotation = numpy.linalg.qr(numpy.random.default_rng(7).normal(size=(8, 8)))[0]
    Y = (X - 5) @ rotation + numpy.arange(8)
    one = procrustes(Y, X)
    numpy.testing.assert_allclose(one(Y.astype("float32")), X, atol=1e-3)
    matrix = one.matrix
    numpy.testing.assert_allclose(matrix @ matrix.T, numpy.eye(8), atol=1e-5)


@pytest.mark.parametrize(
    ("Y", "X", "message"),
    [
        (random_vectors(60, 7), random_vectors(), "must have the same width, got 7 and 8"),
        (random_vectors(8), random_vectors(8), "more pairs than columns, got 8"),
        (numpy.ones((60, 8)), random_vectors(), "of all 60 pairs are equal in the table to map"),
        (random_vectors(), numpy.ones((60, 8)), "of all 60 pairs are equal in the target"),
    ],
)
def test_vectors_that_cannot_be_aligned_are_refused(
    Y: numpy.ndarray, X: numpy.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        procrustes(Y, X)
    assert numpy.isfinite(procrustes(random_vectors(9), random_vectors(9, seed=1)).matrix).all()


def assert_pairs(
    found: tuple[numpy.ndarray, numpy.ndarray], Y: numpy.ndarray, X: numpy.ndarray
) -> None:
    """Compare pairs in any order."""
    expected = numpy.unique(numpy.hstack([Y, X]), axis=0)
    numpy.testing.assert_array_equal(numpy.hstack(found), expected)


def test_pairs_that_both_tables_have_are_looked_up() -> None:
    X = random_vectors(4)
    X[3] = 0
    one, other = make_table(X, ["a", "b", "c", "z"]), make_table(X + 1, ["c", "a", "d", "z"])
    *found, unknown = pair_vectors(one, other, [("a", "c"), ("b", "d"), ("b", "q"), ("z", "z")])
    assert unknown == 2
    assert_pairs(found, X[[0, 1]], X[[0, 2]] + 1)
    assert_pairs(alike_vectors(one, other), X[[0, 2]], X[[1, 0]] + 1)


def test_pairs_of_the_same_vectors_count_as_one() -> None:
    X = random_vectors(3)
    words = ["a", "b", "A", "c", "B"]
    one, other = make_table(X[[0, 1, 0, 2, 1]], words), make_table(X[[2, 1, 2, 0, 0]], words)
    for found in (
        alike_vectors(one, other),
        pair_vectors(one, other, [(word, word) for word in words])[:2],
    ):
        assert_pairs(found, X[[0, 1, 2, 1]], X[[2, 1, 0, 0]])


def test_tables_without_common_words_are_refused() -> None:
    one, other = make_table(random_vectors(2), ["a", "b"]), make_table(random_vectors(2), WORDS[:2])
    for find in (lambda: pair_vectors(one, other, [("a", "c")]), lambda: alike_vectors(one, other)):
        with pytest.raises(ValueError, match="have no pair of words"):
            find()
