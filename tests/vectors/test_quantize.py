"""Fewer bits and fewer words, beside numpy's own rounding and a search of all centroids."""

from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_multihash.vectors.arrays import load_arrays, save_arrays
from spacy_multihash.vectors.files import open_table, write_table
from spacy_multihash.vectors.prune import prune
from spacy_multihash.vectors.quantize import (
    KINDS,
    METHODS,
    Method,
    decode,
    describe,
    encode,
    make_codebooks,
    quantize,
    widen,
)
from spacy_multihash.vectors.vocab import word_keys
from tests.helpers.vectors import FLORET, WORDS, make_table, random_vectors


def codebooks(table: object, parts: int = 4, centroids: int = 9) -> numpy.ndarray:
    pytest.importorskip("sklearn")
    return make_codebooks(table, parts, centroids)


def widened(X: numpy.ndarray, method: Method) -> numpy.ndarray:
    return widen(quantize(make_table(X), method, None))[: len(X)]


@given(st.integers(0, 100), st.floats(1e-3, 1e3))
def test_int8_is_within_half_a_step_of_each_row(seed: int, scale: float) -> None:
    X = (random_vectors(20, seed=seed) * scale).astype("float32")
    X[3] = 0
    step = numpy.abs(X).max(axis=1, keepdims=True) / 127
    assert (numpy.abs(widened(X, "int8") - X) <= 0.5001 * step).all()


def test_float16_is_numpys() -> None:
    X = random_vectors()
    expected = X.astype("float16").astype("float32")
    numpy.testing.assert_array_equal(widened(X, "float16"), expected)


def test_vectors_that_float16_would_make_zeros_are_refused() -> None:
    X = random_vectors()
    X[4], X[5] = 2.0**-25, 0
    with pytest.raises(
        ValueError, match="numbers up to 3e-08: 1 or more vectors would become zeros, which"
    ):
        widened(X, "float16")
    X[4, 0] = 2.0**-24
    assert widened(X, "float16")[4].any()


def test_number_beyond_float16_is_refused() -> None:
    X = random_vectors()
    X[4, 4] = 7e4
    with pytest.raises(ValueError, match="float16 holds numbers up to 65,504, but the table has"):
        widened(X, "float16")


def test_codes_of_pq_are_the_nearest_centroids() -> None:
    rng = numpy.random.default_rng(0)
    books, X = rng.normal(size=(4, 9, 2)), rng.normal(size=(30, 8))
    codes = encode(X, books)
    for row, code in zip(X, codes, strict=True):
        for part, number in enumerate(code):
            distances = ((books[part] - row[2 * part : 2 * part + 2]) ** 2).sum(axis=1)
            assert number == distances.argmin()
    expected = [[books[part, number] for part, number in enumerate(code)] for code in codes]
    numpy.testing.assert_array_equal(decode(codes, books), numpy.reshape(expected, (30, 8)))


def test_centroids_are_means_of_clusters_that_stand_apart() -> None:
    rng = numpy.random.default_rng(0)
    centres = rng.normal(size=(5, 4)) * 100
    X = (centres[numpy.arange(60) % 5] + rng.normal(size=(60, 4))).astype("float32")
    table = make_table(X)
    books = codebooks(table, 2, 5)
    rows = widen(quantize(table, "pq", books))[:60]
    assert numpy.abs(rows - X).max() < 5
    numpy.testing.assert_array_equal(codebooks(table, 2, 5), books)


def test_rows_of_zeros_are_no_centroids_and_stay_zeros(tmp_path: Path) -> None:
    X = random_vectors()
    X[::2] = 0
    table = make_table(X)
    with pytest.raises(ValueError, match="centroids must be at most 30, was: 31"):
        codebooks(table, centroids=31)
    books = codebooks(table)
    numpy.testing.assert_array_equal(books, codebooks(make_table(X[1::2])))
    assert books.any(axis=2).all()
    codes = quantize(table, "pq", books)
    numpy.testing.assert_array_equal(widen(codes)[:60][::2], 0)
    assert widen(codes)[:60][1::2].any(axis=1).all()
    write_table(tmp_path / "codes.npz", table, {"codes": ("pq", {**codes, **describe(table)})})
    with open_table(tmp_path / "codes.npz") as read:
        numpy.testing.assert_array_equal(read.data[slice(0, 60)], widen(codes)[:60])
    with pytest.raises(ValueError, match="centroids must be at most 0, was: 9"):
        codebooks(make_table(0 * X))


def test_more_centroids_than_vectors_are_refused() -> None:
    table = make_table(random_vectors(6))
    with pytest.raises(ValueError, match="centroids must be at most 6, was: 9. table has no more"):
        codebooks(table)
    with pytest.raises(ValueError, match="parts must divide the width 8, was: 3"):
        codebooks(table, 3)


def test_codebooks_of_another_width_are_refused() -> None:
    books = numpy.zeros((2, 9, 3), dtype="float32")
    with pytest.raises(ValueError, match="must be of the width 8, which table has, was: 6"):
        quantize(make_table(random_vectors()), "pq", books)
    with pytest.raises(ValueError, match="pq needs codebooks"):
        quantize(make_table(random_vectors()), "pq", None)


@pytest.mark.parametrize("method", METHODS)
def test_file_of_codes_is_a_table_of_what_they_stand_for(method: Method, tmp_path: Path) -> None:
    table = replace(make_table(random_vectors()), lang="de", title="some")
    codes = quantize(table, method, codebooks(table) if method == "pq" else None)
    write_table(tmp_path / "codes.npz", table, {"codes": (method, {**codes, **describe(table)})})
    with open_table(tmp_path / "codes.npz") as read:
        numpy.testing.assert_array_equal(read.data[slice(0, 60)], widen(codes)[:60])
        assert (list(read.words), read.lang, read.title) == (WORDS, "de", "some")
        numpy.testing.assert_array_equal(read.keys, table.keys)


def test_damaged_codes_are_refused(tmp_path: Path) -> None:
    table = make_table(random_vectors())
    codes = {**quantize(table, "int8", None), **describe(table)}
    path = tmp_path / "codes.npz"
    for name, value, message in (
        ("head", numpy.zeros(3, dtype="uint8"), "is damaged"),
        ("keys", table.keys[:5], "its arrays do not fit together"),
        ("rows", table.rows + 1, "a word has row 60, but the rows are 0 to 59"),
        ("scales", numpy.full(60, numpy.nan, dtype="float32"), "row 0 has NaN"),
    ):
        save_arrays(path, "int8", {**codes, name: value})
        with pytest.raises(ValueError, match=message), open_table(path) as read:
            read.data[slice(0, 60)]
    save_arrays(path, "int8", {name: codes[name] for name in ("codes", "keys")})
    with pytest.raises(ValueError, match="must be of the kind float16 or int8 or pq, with all"):
        load_arrays(path, KINDS)


def test_only_codes_are_written_to_npz(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="would be codes, which quantize writes"):
        write_table(tmp_path / "out.npz", make_table(random_vectors()))


# Fewer words


def test_pruned_table_has_the_words_and_their_rows() -> None:
    X = random_vectors(6)
    words = ["a", "b", "c", "d", "e", "f", "also c"]
    table = replace(
        make_table(X), keys=word_keys(words), rows=numpy.array([0, 1, 2, 3, 4, 5, 2]), words=words
    )
    pruned = prune(table, ["e", "also c", "unknown"])
    assert list(pruned.words) == ["e", "also c"]
    assert pruned.rows.tolist() == [1, 0]
    numpy.testing.assert_array_equal(pruned.data[slice(0, 2)], X[[2, 4]])
    assert list(prune(table, ["e"], first=3).words) == ["a", "b", "c", "e", "also c"]


def test_pruned_words_have_the_texts_that_are_given() -> None:
    table = replace(make_table(random_vectors(3)), words=[None, None, None])
    names = make_table(random_vectors(3)).words
    assert list(prune(table, [names[2], "unknown"], first=1).words) == [None, names[2]]


def test_pruning_refuses_floret_and_other_words() -> None:
    table = make_table(random_vectors())
    with pytest.raises(ValueError, match="table has none of the 1 words to keep"):
        prune(table, ["unknown"])
    with pytest.raises(ValueError, match="prune cannot take table, a floret table"):
        prune(replace(table, floret=FLORET), ["a"])
