"""Files that are damaged in ways that numpy and zipfile tell by errors of their own kinds."""

import re
import zipfile
from pathlib import Path

import numpy
import pytest
from spacy.vocab import Vocab

from spacy_multihash.embed.vector_tables import load_tables
from spacy_multihash.vectors.arrays import load_arrays, save_arrays
from spacy_multihash.vectors.compressed import is_compressed
from spacy_multihash.vectors.files import open_table
from spacy_multihash.vectors.morty import morty
from tests.helpers.vectors import random_vectors, write_pipeline


@pytest.fixture
def unclosed(tmp_path: Path) -> Path:
    """Write a pipeline whose table has a header that never ends."""
    path = write_pipeline(tmp_path / "in", random_vectors()) / "vocab" / "vectors"
    path.write_bytes(path.read_bytes().replace(b"}", b"(", 1))
    return tmp_path / "in"


def test_damaged_header_of_a_table_is_refused(unclosed: Path) -> None:
    assert not is_compressed(unclosed / "vocab")
    with pytest.raises(ValueError, match=r"vocab/vectors is damaged \(TokenError: .*Copy or make"):
        with open_table(unclosed):
            pass


def test_damaged_header_of_a_table_for_meta_vectors_is_refused(unclosed: Path) -> None:
    vocab = Vocab()
    with pytest.raises(ValueError, match=r"Vectors 'nl': .*vocab/vectors is damaged \(TokenError"):
        load_tables(vocab, {"nl": unclosed})
    assert not len(vocab.lookups)


@pytest.mark.parametrize(
    ("local", "central", "value", "error"),
    [
        (6, 8, 1, "RuntimeError: .* encrypted"),
        (4, 6, 99, "NotImplementedError: zip file version 9.9"),
        (8, 10, 77, "NotImplementedError: That compression method"),
    ],
)
def test_archives_that_python_cannot_read_are_refused(
    local: int, central: int, value: int, error: str, tmp_path: Path
) -> None:
    path = tmp_path / "map.npz"
    save_arrays(path, "affine", {"mean": numpy.zeros(3)})
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        for found in re.finditer(mark, bytes(data)):
            data[found.start() + offset] = value
    path.write_bytes(data)
    assert zipfile.is_zipfile(path)
    with pytest.raises(ValueError, match=rf"map.npz is damaged, or no .npz .*\({error}"):
        load_arrays(path, {"affine": ("mean",)})


def test_hidden_layer_that_memory_cannot_hold_is_refused() -> None:
    X = random_vectors()
    match = r"MoRTy: initial weights, .* GB are available. Give a smaller --width"
    with pytest.raises(ValueError, match=match):
        morty(lambda: iter([X]), X.shape[1], hidden=10**12)
