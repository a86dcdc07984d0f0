"""Vectors in small files, beside spaCy's own: the same keys, rows and results."""

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.vectors import Vectors

from spacy_multihash.vectors.compressed import (
    CompressedVectors,
    SortedKeys,
    compress_vectors,
    is_compressed,
    pack_keys,
    unpack_keys,
)
from spacy_multihash.vectors.files import read_table, write_table
from tests.helpers.several_vectors import save_floret, save_words

WORDS = ["Anna", "met", "Rome", "fell", "rain"]
ROWS = st.integers(-1, 3) | st.integers(-1, 70_000)  # some have several keys


@given(st.dictionaries(st.integers(0, 2**64 - 1), ROWS, max_size=1500))
def test_keys_are_those_of_the_dict(key2row: dict[int, int]) -> None:
    keys = unpack_keys(pack_keys(SortedKeys.of(key2row)))
    assert dict(keys.items()) == key2row
    assert keys == key2row
    assert list(keys) == [key for key, _ in keys.items()]
    assert keys.values() == [row for _, row in keys.items()]
    assert {row: key for key, row in keys.items()} == {row: key for key, row in key2row.items()}
    ids = numpy.array([*key2row, 7, 2**64 - 1], dtype="uint64")
    assert keys.find(ids).tolist() == [key2row.get(int(key), -1) for key in ids]
    assert [keys.get(key, -1) for key in ids.tolist()] == keys.find(ids).tolist()
    assert not any(key in keys for key in ("word", 1.5, -1, 2**64, None))


@pytest.mark.parametrize("size", [0, 300, 600, 140_000])
def test_many_keys_are_packed_without_their_first_bytes(size: int) -> None:
    ids = numpy.random.default_rng(0).integers(0, 2**64 - 1, size, dtype="uint64")
    key2row = dict(zip(ids.tolist(), range(size), strict=True))
    packed = pack_keys(SortedKeys.of(key2row))
    assert packed["ends"].shape[1] == {0: 8, 300: 8, 600: 7, 140_000: 6}[size]
    assert dict(unpack_keys(packed)) == key2row


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return Path(save_words(tmp_path / "words", WORDS, 6)) / "vocab"


def both(folder: Path, precision: str = "int8") -> tuple[Vectors, CompressedVectors]:
    """The vectors of a folder, and what is read when it is compressed."""
    spacys = Vectors().from_disk(folder)
    compress_vectors(folder, precision, lossy=True)
    return spacys, CompressedVectors().from_disk(folder)


@pytest.mark.parametrize("precision", ["int8", "float16", "float32"])
def test_vectors_of_words_are_nearly_the_same(words: Path, precision: str) -> None:
    spacys, ours = both(words, precision)
    assert ours.data.dtype == "float32"
    limit = {"int8": 0.5 / 127 + 1e-4, "float16": 2**-11, "float32": 0}[precision]
    largest = numpy.abs(spacys.data).max(axis=1, keepdims=True)
    assert (numpy.abs(ours.data - spacys.data) <= limit * largest).all()
    keys = [*spacys.keys(), 5]
    assert ours.find(keys=keys).tolist() == spacys.find(keys=keys).tolist()
    assert ours.find(keys=numpy.array(keys, "uint64")).tolist() == [*range(5), -1]
    assert ours.find(key="Rome") == spacys.find(key="Rome")
    assert ours.find(rows=[2, 0]).tolist() == spacys.find(rows=[2, 0]).tolist()
    assert (ours.n_keys, ours.is_full, ours.shape) == (5, True, (5, 6))
    queries = spacys.data[:2].copy()
    found = [v.most_similar(queries.copy(), n=1)[0].tolist() for v in (spacys, ours)]
    assert found[0] == found[1]


def test_floret_vectors_are_nearly_the_same(tmp_path: Path) -> None:
    spacys, ours = both(Path(save_floret(tmp_path / "floret", 6)) / "vocab")
    assert (ours.mode, ours.minn, ours.maxn, ours.hash_count) == ("floret", 2, 3, 2)
    numpy.testing.assert_allclose(ours["Anna"], spacys["Anna"], atol=0.02)
    assert not (tmp_path / "floret" / "vocab" / "vectors.keys").exists()


def test_rows_without_key_are_left_out(tmp_path: Path) -> None:
    data = numpy.random.default_rng(0).normal(size=(9, 6)).astype("float32")
    vectors = Vectors(shape=(9, 6))
    vectors.data = data
    for key, row in ((10, 7), (11, 2), (12, 7)):
        vectors.add(key, row=row)
    vectors.to_disk(tmp_path)
    assert compress_vectors(tmp_path, "float32", lossy=True) == 7
    found = CompressedVectors().from_disk(tmp_path)
    numpy.testing.assert_array_equal(found.data, data[[2, 7]])
    assert dict(found.key2row.items()) == {10: 1, 11: 0, 12: 1}


def test_form_of_spacy_is_read_and_written(words: Path, tmp_path: Path) -> None:
    spacys = Vectors().from_disk(words)
    ours = CompressedVectors().from_disk(words)
    assert ours == spacys
    ours.to_disk(tmp_path / "again")
    assert not is_compressed(tmp_path / "again")
    assert ours == Vectors().from_disk(tmp_path / "again")
    ours.data[0, 0] += 1
    assert ours != spacys
    assert spacys != ours


@pytest.mark.parametrize("copy", [
    lambda v: pickle.loads(pickle.dumps(v)),
    lambda v: CompressedVectors().from_bytes(v.to_bytes()),
    lambda v: Vectors().from_bytes(v.to_bytes()),
])  # fmt: skip
def test_copies_are_the_same(words: Path, copy: Any) -> None:
    _, ours = both(words)
    copied = copy(ours)
    numpy.testing.assert_array_equal(copied.data, ours.data)
    assert dict(copied.key2row.items()) == dict(ours.key2row.items())


def test_keys_can_be_added_and_rows_resized(words: Path) -> None:
    spacys, ours = both(words, "float32")
    for vectors in (spacys, ours):
        vectors.resize((7, 6))
        assert vectors.add("snow", vector=numpy.ones(6, "float32")) == 5
        removed = [(vectors.strings[word], row) for word, row in (("rain", 4), ("snow", 5))]
        assert vectors.resize((4, 6)) == removed
    assert ours == spacys
    ours.clear()
    assert ours.find(keys=["Anna"]).tolist() == [-1]


def test_exact_vectors_stay_small_and_others_stay_as_they_are(words: Path) -> None:
    _, ours = both(words)
    sizes = []
    for change in (0, 1e-3):
        ours.data[0, 0] += change
        ours.to_disk(words)
        compress_vectors(words, "int8", lossy=False)
        numpy.testing.assert_array_equal(CompressedVectors().from_disk(words).data, ours.data)
        sizes.append((words / "vectors").stat().st_size)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("name", ["vectors", "vectors.keys"])
def test_damaged_file_is_refused(words: Path, name: str) -> None:
    both(words)
    data = (words / name).read_bytes()
    (words / name).write_bytes(data[: len(data) - 9])
    with pytest.raises(ValueError, match=rf"{name}.*copy the pipeline, or compress"):
        CompressedVectors().from_disk(words)


def test_vocab_without_vectors_stays_as_it_is(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path)
    before = (tmp_path / "vocab" / "vectors").read_bytes()
    assert compress_vectors(tmp_path / "vocab", "int8", lossy=True) == 0
    assert (tmp_path / "vocab" / "vectors").read_bytes() == before
    assert not is_compressed(tmp_path / "vocab")
    shutil.rmtree(tmp_path / "vocab")
    assert not is_compressed(tmp_path / "vocab")


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_tools_of_vectors_read_a_compressed_pipeline(
    words: Path, tmp_path: Path, precision: str
) -> None:
    _, ours = both(words, precision)
    table = read_table(words.parent)
    write_table(tmp_path / "out", table)
    written = spacy.load(tmp_path / "out").vocab.vectors
    assert dict(written.key2row) == dict(ours.key2row.items())
    assert written.n_keys == len(table.keys) == len(WORDS)
    numpy.testing.assert_array_equal(written.data, ours.data)
    (words / "vectors.keys").write_bytes(b"\x81")
    with pytest.raises(ValueError, match="Cannot read .*vectors.keys"):
        read_table(words)
