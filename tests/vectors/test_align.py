"""Alignment: rotations are found again, CCA is the one of its definition, and so is CSLS."""

from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

from spacy_multihash.vectors.affine import AffineMap
from spacy_multihash.vectors.align import (
    cca,
    cosine_nearest,
    csls_nearest,
    mutual_pairs,
    procrustes,
)
from spacy_multihash.vectors.pairs import alike_vectors, pair_vectors, read_pairs
from tests.helpers.vectors import WORDS, make_table, random_vectors


def rotation(width: int = 8) -> numpy.ndarray:
    rng = numpy.random.default_rng(7)
    return numpy.linalg.qr(rng.normal(size=(width, width)))[0]


def test_procrustes_finds_a_rotation_and_a_shift() -> None:
    X = random_vectors()
    Y = (X - 5) @ rotation() + numpy.arange(8)
    one = procrustes(Y, X)
    numpy.testing.assert_allclose(one(Y.astype("float32")), X, atol=1e-3)
    matrix = numpy.asarray(one.matrix)
    numpy.testing.assert_allclose(matrix @ matrix.T, numpy.eye(8), atol=1e-5)
    plain = procrustes(X @ rotation(), X, centre=False)
    numpy.testing.assert_allclose(plain.matrix, rotation().T, atol=1e-5)
    assert not plain(numpy.zeros((1, 8), dtype="float32")).any()


def test_procrustes_is_nearer_than_other_rotations() -> None:
    X, Y = random_vectors(), random_vectors(seed=1)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    best = numpy.linalg.norm(procrustes(Y, X)(Y) - X)
    rng = numpy.random.default_rng(0)
    for _ in range(50):
        other = numpy.linalg.qr(rng.normal(size=(8, 8)))[0]
        assert numpy.linalg.norm(Y @ other - X) > best


def noisy_pairs() -> tuple[numpy.ndarray, numpy.ndarray]:
    rng = numpy.random.default_rng(3)
    shared = rng.normal(size=(500, 4))
    X, Y = (numpy.hstack([shared, rng.normal(size=(500, 4))]) for _ in range(2))
    return X @ rng.normal(size=(8, 8)) + 2, Y @ rng.normal(size=(8, 8)) - 3


def test_cca_maps_one_set_of_canonical_variables_on_the_other() -> None:
    X, Y = noisy_pairs()
    mapped = cca(Y, X, ridge=0)(Y.astype("float32")) - X.mean(axis=0)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    # The canonical correlations, by the singular values of orthonormal bases.
    correlations = numpy.linalg.svd(numpy.linalg.qr(Xc)[0].T @ numpy.linalg.qr(Yc)[0])[1]
    assert (correlations[:4] > 0.99).all() and (correlations[4:] < 0.3).all()
    # Mapped vectors have the covariance of X, and the same canonical axes: those of Y mapped.
    numpy.testing.assert_allclose(mapped.T @ mapped / 500, Xc.T @ Xc / 500, rtol=1e-3, atol=1e-3)
    whiten = numpy.linalg.inv(numpy.linalg.cholesky(Xc.T @ Xc / 500)).T
    between = (Xc @ whiten).T @ (mapped @ whiten) / 500
    numpy.testing.assert_allclose(between, between.T, atol=1e-3)
    numpy.testing.assert_allclose(
        numpy.sort(numpy.linalg.eigvalsh(between))[::-1], correlations, atol=1e-3
    )


@pytest.mark.parametrize("method", [procrustes, cca])
def test_more_pairs_than_columns_are_needed(method: Callable[..., AffineMap]) -> None:
    X, Y = (part[:9] for part in noisy_pairs())
    assert numpy.isfinite(method(Y, X)(Y.astype("float32"))).all()
    with pytest.raises(ValueError, match="8 columns needs more pairs than columns, was given 8"):
        method(Y[:8], X[:8])


def test_tables_of_two_widths_are_not_aligned() -> None:
    X, Y = noisy_pairs()
    for method in (procrustes, cca):
        with pytest.raises(ValueError, match="the same width to be aligned, were: 7 and 8"):
            method(Y[:, :7], X)


@pytest.mark.parametrize("method", [procrustes, cca])
def test_equal_vectors_are_not_aligned(method: Callable[..., AffineMap]) -> None:
    X, Y = noisy_pairs()
    equal = numpy.repeat(X[:1], len(X), axis=0)
    with pytest.raises(ValueError, match="of the table to map must differ, .* all 500 pairs are e"):
        method(equal, Y)
    with pytest.raises(ValueError, match="of the target must differ, to be aligned, but those of"):
        method(Y, equal)


def naive_csls(Y: numpy.ndarray, X: numpy.ndarray, k: int) -> numpy.ndarray:
    cosines = numpy.array(
        [[y @ x / numpy.linalg.norm(y) / numpy.linalg.norm(x) for x in X] for y in Y]
    )
    of_y = numpy.array([sorted(row)[-k:] for row in cosines]).mean(axis=1)
    of_x = numpy.array([sorted(row)[-k:] for row in cosines.T]).mean(axis=1)
    return 2 * cosines - of_y[:, None] - of_x


def test_csls_is_that_of_its_definition() -> None:
    Y, X = random_vectors(20), random_vectors(30, seed=4)
    scores = naive_csls(Y, X, 5)
    of_y, of_x = csls_nearest(Y, X, neighbours=5)
    assert of_y.tolist() == scores.argmax(axis=1).tolist()
    assert of_x.tolist() == scores.argmax(axis=0).tolist()
    mutual = [(i, j) for i, j in enumerate(of_y.tolist()) if of_x[j] == i]
    assert numpy.stack(mutual_pairs(Y, X, neighbours=5), axis=1).tolist() == [*map(list, mutual)]
    assert cosine_nearest(X, X).tolist() == list(range(30))


@pytest.mark.parametrize("ridge", [-1e-3, numpy.nan, numpy.inf, 1e307])
def test_ridge_out_of_range_is_refused(ridge: float) -> None:
    X = random_vectors()
    with pytest.raises(ValueError, match="cca: ridge must be a number from 0 to 1,000,000, was: "):
        cca(X, X, ridge=ridge)


# Pairs of words


def test_pairs_are_read_with_tabs_or_blanks(tmp_path: Path) -> None:
    text = "\ufeffhuis\tcasa\n\nNew York\tNueva York\r\nhond  perro\ncasa\thuis\n"
    (tmp_path / "pairs").write_text(text, "utf8")
    assert read_pairs(tmp_path / "pairs") == [
        ("huis", "casa"),
        ("New York", "Nueva York"),
        ("hond", "perro"),
        ("casa", "huis"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a b\nc\n", r"line 2: expected two words, with tabs between them, was 'c'"),
        (b"a b c\n", "line 1: expected two words"),
        (b"a\t\n", "line 1: expected two words"),
        (b"a b\nc d\na b", r"line 3: the pair \('a', 'b'\) is in line 1 already"),
        (b"\n", "has no pairs"),
        (b"\xff", "must be UTF-8"),
    ],
)
def test_bad_pairs_are_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_pairs(tmp_path / "pairs")
    with pytest.raises(FileNotFoundError, match="There is no file of pairs"):
        read_pairs(tmp_path / "nowhere")


def test_pairs_that_both_tables_have_are_looked_up() -> None:
    X = random_vectors(4)
    X[3] = 0
    one, other = make_table(X, ["a", "b", "c", "z"]), make_table(X + 1, ["c", "a", "d", "z"])
    Y, Z = pair_vectors(one, other, [("a", "c"), ("b", "d"), ("b", "q"), ("z", "z")])
    numpy.testing.assert_array_equal(Y, X[[0, 1]])
    numpy.testing.assert_array_equal(Z, X[[0, 2]] + 1)
    Y, Z = alike_vectors(one, other)
    numpy.testing.assert_array_equal(Y, X[[0, 2]])
    numpy.testing.assert_array_equal(Z, X[[1, 0]] + 1)


def test_pairs_of_the_same_vectors_count_as_one() -> None:
    X = random_vectors(3)
    words = ["a", "b", "A", "c", "B"]
    one, other = make_table(X[[0, 1, 0, 2, 1]], words), make_table(X[[2, 1, 2, 0, 0]], words)
    for Y, Z in (
        alike_vectors(one, other),
        pair_vectors(one, other, [(word, word) for word in words]),
    ):
        numpy.testing.assert_array_equal(Y, X[[0, 1, 2, 1]])
        numpy.testing.assert_array_equal(Z, X[[2, 1, 0, 0]])


def test_tables_without_common_words_are_refused() -> None:
    one, other = make_table(random_vectors(2), ["a", "b"]), make_table(random_vectors(2), WORDS[:2])
    with pytest.raises(ValueError, match="None of the 1 pairs is in both table and table"):
        pair_vectors(one, other, [("a", "c")])
    with pytest.raises(ValueError, match="table and table have no word that is written alike"):
        alike_vectors(one, other)
