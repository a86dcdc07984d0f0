"""Centring, top components and PCA, beside the papers' algorithm, step by step."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_multihash.vectors.principal import Moments, centre, drop_top, moments, pca
from spacy_multihash.vectors.scale import z_norm
from tests.helpers.vectors import random_vectors


def found(X: numpy.ndarray, size: int = 1000) -> Moments:
    return moments(lambda: (X[i : i + size] for i in range(0, len(X), size)))


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


def gram(X: numpy.ndarray) -> numpy.ndarray:
    return X @ X.T


def test_moments_are_numpys_whatever_the_chunks() -> None:
    X = random_vectors() + 100
    for size in (1, 7, 60):
        one = found(X, size)
        numpy.testing.assert_allclose(one.mean, X.astype("float64").mean(axis=0), rtol=1e-10)
        expected = numpy.cov(X.astype("float64").T, bias=True)
        numpy.testing.assert_allclose(one.covariance, expected, rtol=1e-8, atol=1e-8)
        assert one.count == 60


def test_axes_are_orthonormal_and_of_falling_variance() -> None:
    one = found(random_vectors())
    numpy.testing.assert_allclose(one.axes.T @ one.axes, numpy.eye(8), atol=1e-12)
    along = numpy.diag(one.axes.T @ one.covariance @ one.axes)
    numpy.testing.assert_allclose(along, one.variances, rtol=1e-8)
    assert (numpy.diff(one.variances) <= 0).all()
    assert (one.axes[numpy.abs(one.axes).argmax(axis=0), numpy.arange(8)] > 0).all()


def test_centred_vectors_have_mean_zero() -> None:
    X = random_vectors()
    numpy.testing.assert_allclose(centre(found(X))(X), X - X.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("number", [0, 1, 3, 7])
def test_drop_top_is_ppa_step_by_step(number: int) -> None:
    X = random_vectors()
    numpy.testing.assert_allclose(drop_top(found(X), number)(X), ppa(X, number), atol=1e-3)


@pytest.mark.parametrize(("width", "top"), [(6, 1), (6, 2), (5, 0), (7, 1)])
def test_pca_after_skipped_axes_is_ppa_pca_ppa(width: int, top: int) -> None:
    X = random_vectors()
    literal = ppa(reduced(ppa(X, top), width), top)
    closed = pca(found(X), width - top, skip=2 * top)(X)
    numpy.testing.assert_allclose(gram(closed), gram(literal), atol=2e-2)
    assert closed.shape == (60, width - top)


@given(st.integers(1, 8), st.integers(0, 7), st.integers(0, 100))
def test_pca_keeps_the_variance_of_its_axes(width: int, skip: int, seed: int) -> None:
    X = random_vectors(seed=seed)
    one = found(X)
    if width + skip > 8:
        with pytest.raises(ValueError, match=r"axes must be at most 8, was: \d+\. The 60 vectors"):
            pca(one, width, skip=skip)
        return
    Y = pca(one, width, skip=skip)(X).astype("float64")
    expected = numpy.diag(one.variances[skip : skip + width])
    numpy.testing.assert_allclose(
        numpy.cov(Y.T, bias=True).reshape(width, width),
        expected,
        rtol=1e-3,
        atol=1e-4 * one.variances[0],
    )


def test_origin_stays_where_no_mean_is_subtracted() -> None:
    one, zeros = found(random_vectors()), numpy.zeros((1, 8), dtype="float32")
    for kept, moved in (
        (drop_top(one, 2, keep_origin=True), drop_top(one, 2)),
        (pca(one, 3, keep_origin=True), pca(one, 3)),
    ):
        assert not kept(zeros).any()
        assert moved(zeros).any()


def test_components_beyond_the_rank_are_refused() -> None:
    X = numpy.repeat(random_vectors(4), 15, axis=0)
    with pytest.raises(ValueError, match="components to remove must be at most 2, was: 3"):
        drop_top(found(X), 3)
    with pytest.raises(ValueError, match="differ in 3 dimensions only"):
        pca(found(X), 2, skip=2)


@pytest.mark.parametrize(
    ("X", "rank"),
    [
        (random_vectors(1), 0),
        (numpy.full((60, 8), 0.1, dtype="float32"), 0),
        (numpy.repeat(random_vectors(2), 30, axis=0), 1),
    ],
)
def test_vectors_without_components_to_remove_are_refused(X: numpy.ndarray, rank: int) -> None:
    message = rf"at most 0, was: 1. .* in {rank} dimensions only. Nothing can be removed: give vec"
    with pytest.raises(ValueError, match=f"components to remove must be {message}"):
        drop_top(found(X), 1)


def test_equal_vectors_have_no_axes() -> None:
    with pytest.raises(ValueError, match="axes must be at most 0, was: 3.*Nothing can be kept: gi"):
        pca(found(random_vectors(1)), 3)


def test_no_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="no vectors to estimate a mean on"):
        moments(lambda: iter(()))


def test_z_norm_is_column_wise_and_then_of_length_one() -> None:
    X = random_vectors()
    columns = z_norm(found(X), unit=False)(X)
    numpy.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-5)
    numpy.testing.assert_allclose(columns.std(axis=0), 1, rtol=1e-4)
    rows = z_norm(found(X))(X)
    lengths = numpy.linalg.norm(columns, axis=1, keepdims=True)
    numpy.testing.assert_allclose(rows, columns / lengths, atol=1e-6)


def test_z_norm_makes_zeros_of_a_constant_column() -> None:
    X = random_vectors()
    X[:, 2] = 0.1
    Y = z_norm(found(X), unit=False)(X)
    assert numpy.abs(Y[:, 2]).max() < 1e-6
