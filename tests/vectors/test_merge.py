"""Merged tables, beside the definitions with whole matrices."""

from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from spacy_multihash.vectors.arrays import save_arrays
from spacy_multihash.vectors.merge import MergeMap, Views, ViewStream, concat_pca, gcca, load_merge
from tests.helpers.vectors import random_vectors


def tables(noise: float = 0.3) -> list[numpy.ndarray]:
    """Tables that have three columns in common, but for noise, and that differ in all others."""
    rng = numpy.random.default_rng(2)
    shared = rng.normal(size=(200, 3))
    parts = [
        numpy.hstack(
            [shared + noise * rng.normal(size=(200, 3)) * [1, 2, 3], rng.normal(size=(200, n))]
        )
        for n in (3, 4, 2)
    ]
    return [P @ rng.normal(size=(P.shape[1],) * 2) + j for j, P in enumerate(parts)]


def streaming(Xs: list[numpy.ndarray], theres: list[numpy.ndarray] | None = None) -> ViewStream:
    theres = [numpy.ones(len(X), dtype=bool) for X in Xs] if theres is None else theres

    def stream() -> Iterator[Views]:
        for start in range(0, len(Xs[0]), 77):
            part = slice(start, start + 77)
            yield [(there[part], X[part]) for there, X in zip(theres, Xs, strict=True)]

    return stream


def whole(Xs: list[numpy.ndarray]) -> Views:
    return [(numpy.ones(len(X), dtype=bool), X) for X in Xs]


def same_subspace(G: numpy.ndarray, H: numpy.ndarray) -> None:
    cosines = numpy.linalg.svd(numpy.linalg.qr(G)[0].T @ numpy.linalg.qr(H)[0])[1]
    numpy.testing.assert_allclose(cosines, 1, atol=1e-4)


@pytest.mark.parametrize("width", [1, 3, 6])
def test_gcca_has_the_subspace_of_its_definition(width: int) -> None:
    Xs = tables()
    centred = [X - X.mean(axis=0) for X in Xs]
    # M is the sum of the projections onto the columns of each table, as in Equation 3's solution.
    M = sum(X @ numpy.linalg.pinv(X.T @ X) @ X.T for X in centred)
    G = numpy.linalg.eigh(M)[1][:, ::-1][:, :width]
    one = gcca(streaming(Xs), width)
    same_subspace(one(whole(Xs)), G)
    # Each U_j is the regression of G on its table.
    for X, U in zip(centred, one.matrices, strict=True):
        fitted = X @ numpy.linalg.lstsq(X, G, rcond=None)[0]
        scale = numpy.sqrt(len(G)) * numpy.sign((fitted * (X @ U)).sum(axis=0))
        numpy.testing.assert_allclose(X @ U, fitted * scale, atol=1e-3)


def test_gcca_finds_what_tables_share() -> None:
    Xs = tables(noise=0)
    one = gcca(streaming(Xs), 3)
    shared = numpy.random.default_rng(2).normal(size=(200, 3))
    same_subspace(one(whole(Xs)), shared - shared.mean(axis=0))


def test_gcca_averages_over_the_tables_that_have_a_word() -> None:
    Xs = tables()
    one = gcca(streaming(Xs), 3)
    here = numpy.zeros((4, 3), dtype=bool)
    here[0], here[1, 0], here[2, 1:] = True, True, True
    Y = one([(here[:, j], X[:4]) for j, X in enumerate(Xs)])
    parts = [(X[:4] - X.mean(axis=0)) @ U for X, U in zip(Xs, one.matrices, strict=True)]
    expected = [
        (parts[0][0] + parts[1][0] + parts[2][0]) / 3,
        parts[0][1],
        (parts[1][2] + parts[2][2]) / 2,
        numpy.zeros(3),
    ]
    numpy.testing.assert_allclose(Y, expected, atol=1e-4)


def test_gcca_is_estimated_on_common_words() -> None:
    Xs = tables()
    theres = [numpy.arange(200) < 150, numpy.arange(200) >= 20, numpy.ones(200, dtype=bool)]
    one, common = gcca(streaming(Xs, theres), 3), gcca(streaming([X[20:150] for X in Xs]), 3)
    for U, V in zip(one.matrices, common.matrices, strict=True):
        numpy.testing.assert_allclose(U, V, atol=1e-5)


def test_concatenation_is_the_pca_of_scaled_tables() -> None:
    Xs = tables()
    scaled = [(X - X.mean(axis=0)) / numpy.sqrt(X.var(axis=0).sum()) for X in Xs]
    U, s, _ = numpy.linalg.svd(numpy.hstack(scaled), full_matrices=False)
    Y = concat_pca(streaming(Xs), 5)(whole(Xs))
    numpy.testing.assert_allclose(Y @ Y.T, (U[:, :5] * s[:5] ** 2) @ U[:, :5].T, atol=1e-4)


def test_missing_words_count_as_the_mean() -> None:
    Xs = tables()
    theres = [numpy.arange(200) < 150, numpy.ones(200, dtype=bool), numpy.ones(200, dtype=bool)]
    one = concat_pca(streaming(Xs, theres), 5)
    views = [(there, X) for there, X in zip(theres, Xs, strict=True)]
    filled = Xs[0].copy()
    filled[150:] = Xs[0][:150].mean(axis=0)
    numpy.testing.assert_allclose(one(views), one(whole([filled, *Xs[1:]])), atol=1e-5)


def test_width_beyond_the_rank_is_refused() -> None:
    Xs = [random_vectors(200), random_vectors(200)]
    with pytest.raises(ValueError, match="width must be at most 8, was: 9. The vectors of the 200"):
        gcca(streaming(Xs), 9)
    with pytest.raises(ValueError, match="width must be at most 8, was: 9"):
        concat_pca(streaming(Xs), 9)


def test_tables_without_a_common_word_have_no_gcca() -> None:
    Xs = tables()[:2]
    theres = [numpy.arange(200) < 100, numpy.arange(200) >= 100]
    with pytest.raises(ValueError, match="The 2 tables have no word in common"):
        gcca(streaming(Xs, theres), 1)


def test_merge_is_read_as_it_was_saved(tmp_path: Path) -> None:
    Xs = tables()
    one: MergeMap = gcca(streaming(Xs), 3)
    save_arrays(tmp_path / "map.npz", "merge", one.arrays())
    read = load_merge(tmp_path / "map.npz", 3)
    numpy.testing.assert_array_equal(read(whole(Xs)), one(whole(Xs)))
    with pytest.raises(ValueError, match="map.npz maps 3 tables, but 2 are given"):
        load_merge(tmp_path / "map.npz", 2)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("tables", numpy.array("x"), r"damaged: tables must be of the type int .*, was: <U1, \(\)"),
        ("tables", numpy.array([3]), r"damaged: tables must be of .* \(\), was: int64, \(1,\)"),
        ("average", numpy.array(0.5), r"damaged: average must be of the type bool .* float64"),
        ("mean1", numpy.float32(1), r"damaged: mean1 must be .*\(n\), was: float32, \(\)"),
        ("matrix1", numpy.ones((6, 3), "f"), r"damaged: matrix1 must .*\(7, 3\), was: .*\(6, 3\)"),
        ("matrix1", numpy.ones((7, 2), "f"), r"damaged: matrix1 must .*\(7, 3\), was: .*\(7, 2\)"),
        ("matrix0", numpy.ones((6, 0), "f"), r"damaged: matrix0 must .*\(6, n\), was: .*\(6, 0\)"),
        ("matrix2", numpy.ones((5, 3), "i4"), "damaged: matrix2 must be of the type float .*int32"),
        ("mean2", numpy.full(5, numpy.nan, "f"), "cannot be used: mean2 has NaN, infinity, or a"),
        ("matrix0", numpy.full((6, 3), numpy.inf, "f"), "cannot be used: matrix0 has NaN, infin"),
    ],
)
def test_damaged_merge_is_refused(
    name: str, array: numpy.ndarray, message: str, tmp_path: Path
) -> None:
    arrays = {**gcca(streaming(tables()), 3).arrays(), name: numpy.asarray(array)}
    save_arrays(tmp_path / "map.npz", "merge", arrays)
    with pytest.raises(ValueError, match=f"map.npz (is )?{message}.*Make it again"):
        load_merge(tmp_path / "map.npz", 3)


def test_merge_that_lacks_an_array_is_refused(tmp_path: Path) -> None:
    arrays = dict(gcca(streaming(tables()), 3).arrays())
    del arrays["matrix2"]
    save_arrays(tmp_path / "map.npz", "merge", arrays)
    with pytest.raises(ValueError, match="map.npz is damaged: it lacks 'matrix2'. Make it again"):
        load_merge(tmp_path / "map.npz", 3)
