"""PCA, merged tables and fewer words, beside their definitions."""

from dataclasses import replace

import numpy
import pytest
from numpy.testing import assert_array_equal

from spacy_multihash.vectors.reduce import (
    AffineMap,
    join_words,
    map_table,
    merge,
    moments,
    pca,
    prune,
)
from spacy_multihash.vectors.table import VectorTable, word_keys
from tests.helpers.vectors import FLORET_TABLE, WORDS, make_table, random_vectors


def some_map() -> AffineMap:
    rng = numpy.random.default_rng(1)
    return AffineMap(*(rng.normal(size=s).astype("float32") for s in ((8,), (8, 3), (3,))))


def test_map_is_affine_and_words_without_a_vector_keep_zeros() -> None:
    X, function = random_vectors(), some_map()
    X[5] = 0
    Y = map_table(make_table(X), function).data
    expected = (X - function.mean) @ function.matrix + function.offset
    expected[5] = 0
    numpy.testing.assert_allclose(Y, expected, rtol=1e-4, atol=1e-4)


def test_words_of_floret_are_mapped_by_its_rows() -> None:
    X = random_vectors()
    X[5] = 0  # a row of floret is no word's, and zeros have no meaning
    table = replace(make_table(X), floret=FLORET_TABLE)
    mapped = map_table(table, some_map())
    expected = some_map()(table.look_up(WORDS)[1])
    numpy.testing.assert_allclose(mapped.look_up(WORDS)[1], expected, rtol=1e-3, atol=1e-3)


def ppa(X: numpy.ndarray, number: int) -> numpy.ndarray:
    """Remove the mean, and then the top components one by one, as Algorithm 1 says."""
    X = X.astype("float64") - X.astype("float64").mean(axis=0)
    axes = numpy.linalg.svd(X, full_matrices=False)[2]
    left = X.copy()
    for axis in axes[:number]:
        left -= numpy.outer(X @ axis, axis)
    return left


def reduced(X: numpy.ndarray, width: int) -> numpy.ndarray:
    """Coordinates on the top axes of a PCA."""
    X = X - X.mean(axis=0)
    return X @ numpy.linalg.svd(X, full_matrices=False)[2][:width].T


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_moments_are_numpys_whatever_the_batch(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_multihash.vectors.reduce._BATCH", batch)
    X = random_vectors() + 100
    stats = moments(X)
    assert stats.count == 60
    numpy.testing.assert_allclose(stats.mean, X.astype("float64").mean(axis=0), rtol=1e-10)
    covariance = numpy.cov(X.astype("float64").T, bias=True)
    numpy.testing.assert_allclose(stats.axes.T @ stats.axes, numpy.eye(8), atol=1e-12)
    along = stats.axes.T @ covariance @ stats.axes
    numpy.testing.assert_allclose(along, numpy.diag(stats.variances), atol=1e-6)
    assert (numpy.diff(stats.variances) <= 0).all()
    assert (stats.axes[numpy.abs(stats.axes).argmax(axis=0), numpy.arange(8)] > 0).all()


@pytest.mark.parametrize(("width", "top"), [(6, 1), (6, 2), (5, 0), (7, 1)])
def test_pca_after_skipped_axes_is_ppa_pca_ppa(width: int, top: int) -> None:
    X = random_vectors()
    literal = ppa(reduced(ppa(X, top), width), top)
    closed = pca(moments(X), width - top, skip=2 * top)(X)
    numpy.testing.assert_allclose(closed @ closed.T, literal @ literal.T, atol=2e-2)
    assert closed.shape == (60, width - top)


def test_origin_stays_where_no_mean_is_subtracted() -> None:
    stats, zeros = moments(random_vectors()), numpy.zeros((1, 8), dtype="float32")
    assert not pca(stats, 3, keep_origin=True)(zeros).any()
    assert pca(stats, 3)(zeros).any()


def test_axes_beyond_the_rank_are_refused() -> None:
    X = numpy.repeat(random_vectors(4), 15, axis=0)
    with pytest.raises(ValueError, match="differ in 3 dimensions"):
        pca(moments(X), 2, skip=2)
    with pytest.raises(ValueError, match="width must be at most 0, got 3"):
        pca(moments(random_vectors(1)), 3)
    with pytest.raises(ValueError, match="no vectors to estimate a mean on"):
        moments(X[:0])


def tables() -> list[numpy.ndarray]:
    """Tables that have three columns in common, but for noise, and that differ in all others."""
    rng = numpy.random.default_rng(2)
    shared = rng.normal(size=(200, 3))
    parts = [
        numpy.hstack(
            [shared + 0.3 * rng.normal(size=(200, 3)) * [1, 2, 3], rng.normal(size=(200, n))]
        )
        for n in (3, 4, 2)
    ]
    return [P @ rng.normal(size=(P.shape[1],) * 2) + j for j, P in enumerate(parts)]


def keyed(X: numpy.ndarray) -> VectorTable:
    """Make a table of the words 0, 1, ..."""
    return make_table(X.astype("float32"), [str(i) for i in range(len(X))])


def merged(Xs: list[VectorTable], width: int) -> numpy.ndarray:
    return merge(join_words(Xs), Xs, width).data


@pytest.mark.parametrize(("batch", "known"), [(77, 200), (2**14, 200), (77, 150)])
def test_concatenation_is_the_pca_of_scaled_tables(
    batch: int, known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_multihash.vectors.reduce._BATCH", batch)
    *whole, part = tables()
    part = part[:known]
    scaled = [(X - X.mean(axis=0)) / numpy.sqrt(X.var(axis=0).sum()) for X in (*whole, part)]
    # Words that the last table lacks count as its mean.
    scaled[-1] = numpy.pad(scaled[-1], ((0, 200 - known), (0, 0)))
    U, s, _ = numpy.linalg.svd(numpy.hstack(scaled), full_matrices=False)
    Y = merged([*map(keyed, whole), keyed(part)], 5)
    numpy.testing.assert_allclose(Y @ Y.T, (U[:, :5] * s[:5] ** 2) @ U[:, :5].T, atol=1e-4)


def test_words_that_no_table_has_get_zeros_and_width_is_limited() -> None:
    X = random_vectors(200)
    X[7] = 0
    both = [keyed(X), keyed(X)]
    assert numpy.flatnonzero(~merged(both, 8).any(axis=1)).tolist() == [7]
    with pytest.raises(ValueError, match="width must be at most 8, got 9 .*the 200 vectors"):
        merged(both, 9)


def test_words_that_share_a_row_in_each_table_share_one() -> None:
    X = random_vectors(200)
    one = replace(keyed(X), rows=numpy.arange(200) // 2)
    other = replace(keyed(X[:180]), rows=numpy.arange(180)[::-1] // 4)
    both = merge(join_words([one, other]), [one, other], 5)
    assert both.data.shape == (100, 5)
    assert_array_equal(both.rows, numpy.arange(200) // 2)
    apart = merge(join_words([one, keyed(X)]), [one, keyed(X)], 5)
    assert_array_equal(apart.rows, numpy.arange(200))


def test_pruned_table_has_the_words_and_their_rows() -> None:
    X = random_vectors(6)
    words = ["a", "b", "c", "d", "e", "f", "also c"]
    rows = numpy.array([0, 1, 2, 3, 4, 5, 2])
    table = replace(make_table(X), keys=word_keys(words), rows=rows, words=words)
    pruned = prune(table, ["e", "also c", "unknown"])
    assert list(pruned.words) == ["e", "also c"]
    assert pruned.rows.tolist() == [1, 0]
    numpy.testing.assert_array_equal(pruned.data, X[[2, 4]])
    assert list(prune(table, ["e"], first=3).words) == ["a", "b", "c", "e", "also c"]


def test_pruned_words_have_the_texts_that_are_given() -> None:
    table = replace(make_table(random_vectors(3)), words=[None, None, None])
    names = make_table(random_vectors(3)).words
    assert list(prune(table, [names[2], "unknown"], first=1).words) == [None, names[2]]
