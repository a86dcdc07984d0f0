"""Affine maps: the tables that they are applied to, and the files that they are kept in."""

from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from spacy_multihash.vectors.affine import AffineMap, identity, load_map, map_table, to_unit
from spacy_multihash.vectors.arrays import save_arrays
from spacy_multihash.vectors.lookup import word_vectors
from spacy_multihash.vectors.table import CheckedRows
from tests.helpers.vectors import FLORET, WORDS, make_table, random_vectors


def some_map(unit: bool = False) -> AffineMap:
    rng = numpy.random.default_rng(1)
    mean, matrix, offset = (rng.normal(size=s).astype("float32") for s in ((8,), (8, 3), (3,)))
    return AffineMap(mean, matrix, offset, unit)


def test_map_is_affine() -> None:
    X, one = random_vectors(), some_map()
    expected = (X - one.mean) @ one.matrix + one.offset
    numpy.testing.assert_allclose(one(X), expected, rtol=1e-4, atol=1e-4)
    assert (one.width, identity(8).width) == (3, 8)


def test_rows_of_length_one_leave_zeros() -> None:
    X = numpy.array([[3, 4], [0, 0]], dtype="float32")
    assert to_unit(X).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]


@pytest.mark.parametrize("size", [3e38, 1e-40])
def test_rows_whose_squares_float32_cannot_hold_get_length_one(size: float) -> None:
    X = numpy.full((1, 4), size, dtype="float32")
    assert to_unit(X).dtype == "float32"
    numpy.testing.assert_allclose(to_unit(X), 0.5, rtol=1e-4)


def test_words_without_a_vector_keep_zeros() -> None:
    X = random_vectors()
    X[5] = 0
    Y = map_table(make_table(X), some_map()).data[:60]
    assert not Y[5].any()
    numpy.testing.assert_allclose(Y[6:7], some_map()(X[6:7]), rtol=1e-5)


def test_words_of_floret_are_mapped_by_its_rows() -> None:
    X = random_vectors()
    X[5] = 0  # a row of floret is no word's, and zeros have no meaning
    table = replace(make_table(X), floret={"mode": "floret", **FLORET}, keys=word_keys_none())
    mapped = map_table(table, some_map())
    mapped = replace(mapped, data=CheckedRows(mapped.data[:60], "mapped"))
    expected = some_map()(word_vectors(table, WORDS)[1])
    numpy.testing.assert_allclose(word_vectors(mapped, WORDS)[1], expected, rtol=1e-3, atol=1e-3)


def word_keys_none() -> numpy.ndarray:
    return numpy.zeros(0, dtype="uint64")


def test_lengths_of_floret_are_refused() -> None:
    table = replace(make_table(random_vectors()), floret={"mode": "floret", **FLORET})
    with pytest.raises(ValueError, match="Scaling to length 1 cannot take table, a floret table"):
        map_table(table, identity(8, unit=True))


def test_table_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="must be of the width 5, which the map has, was: 8"):
        map_table(make_table(random_vectors()), identity(5))


@pytest.mark.parametrize("one", [some_map(), some_map(unit=True), identity(8, unit=True)])
def test_map_is_read_as_it_was_saved(one: AffineMap, tmp_path: Path) -> None:
    save_arrays(tmp_path / "map.npz", "affine", one.arrays())
    X = random_vectors()
    numpy.testing.assert_array_equal(load_map(tmp_path / "map.npz")(X), one(X))
    before = (tmp_path / "map.npz").read_bytes()
    save_arrays(tmp_path / "map.npz", "affine", one.arrays())
    assert (tmp_path / "map.npz").read_bytes() == before


def test_damaged_map_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    save_arrays(path, "affine", some_map().arrays())
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"map.npz is damaged, or no .npz file at all"):
            load_map(path)
    changed = bytearray(whole)
    changed[whole.index(some_map().mean.tobytes())] ^= 1
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=r"map.npz is damaged.*CRC"):
        load_map(path)


def test_other_files_are_no_maps(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    with pytest.raises(FileNotFoundError, match="There is no file .*expected an .npz"):
        load_map(path)
    numpy.savez(path, mean=numpy.zeros(3))
    with pytest.raises(ValueError, match="expected the format spacy-multihash.vectors, version 1"):
        load_map(path)
    save_arrays(path, "codes", some_map().arrays())
    with pytest.raises(ValueError, match="must be of the kind affine, with all its arrays, was: c"):
        load_map(path)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("mean", numpy.float32(1), r"mean must be of the type float and the shape \(n\), was: f"),
        ("mean", numpy.zeros(0, "f"), r"mean must be .* the shape \(n\), was: float32, \(0,\)"),
        ("mean", numpy.array(["a"] * 8), r"mean must be of the type float .*, was: <U1, \(8,\)"),
        ("matrix", numpy.ones((7, 3), "f"), r"matrix must be .*\(8, n\), was: float32, \(7, 3\)"),
        ("matrix", numpy.ones(24, "f"), r"matrix must be .*\(8, n\), was: float32, \(24,\)"),
        ("offset", numpy.ones(7, "f"), r"offset must be .*\(3\), was: float32, \(7,\)"),
        ("offset", numpy.ones((3, 1), "f"), r"offset must be .*\(3\), was: float32, \(3, 1\)"),
        ("unit", numpy.array("no"), r"unit must be of the type bool and the shape \(\), was: <U2"),
    ],
)
def test_map_with_another_array_is_refused(
    name: str, array: numpy.ndarray, message: str, tmp_path: Path
) -> None:
    save_arrays(tmp_path / "map.npz", "affine", {**some_map().arrays(), name: numpy.asarray(array)})
    with pytest.raises(ValueError, match=f"map.npz is damaged: {message}.*Make it again"):
        load_map(tmp_path / "map.npz")


@pytest.mark.parametrize("name", ["mean", "matrix", "offset"])
@pytest.mark.parametrize("wrong", [numpy.nan, -numpy.inf, 1e300])
def test_map_that_is_not_finite_is_refused(name: str, wrong: float, tmp_path: Path) -> None:
    array = some_map().arrays()[name].astype("float64")
    array.flat[1] = wrong
    save_arrays(tmp_path / "map.npz", "affine", {**some_map().arrays(), name: array})
    with pytest.raises(ValueError, match=f"map.npz cannot be used: {name} has NaN, infinity, or a"):
        load_map(tmp_path / "map.npz")


def test_floret_of_float16_is_mapped() -> None:
    X = random_vectors().astype("float16")
    table = replace(make_table(X), floret={"mode": "floret", **FLORET}, keys=word_keys_none())
    wide = replace(table, data=CheckedRows(X.astype("float32"), "table"))
    found, expected = (word_vectors(each, WORDS)[1] for each in (table, wide))
    numpy.testing.assert_array_equal(found, expected)
