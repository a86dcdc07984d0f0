"""Tables of vectors beside the vocab's own: read, refused, kept once and found again."""

import gc
import shutil
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.vectors import BaseVectors, Vectors
from spacy.vocab import Vocab
from thinc.api import NumpyOps

from spacy_multihash.compute.quantization import dequantize, quantize
from spacy_multihash.embed.rows import on_device
from spacy_multihash.embed.vector_tables import (
    PREFIX,
    find_rows,
    find_table,
    has_table,
    load_tables,
    make_load_vectors_v1,
    read_kept_table,
)
from tests.helpers.several_vectors import (
    meta_embed,
    meta_pipeline,
    save_floret,
    save_words,
    trained,
    vectors_of,
)

WORDS = ["Rome", "Anna", "fell"]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


def found_in(vocab: Vocab, name: str, *words: str) -> tuple[numpy.ndarray, list[bool]]:
    table = find_table(vocab, name)
    ids = numpy.array([vocab.strings.add(word) for word in words], dtype="uint64")
    vectors, present = find_rows(vocab, name, table, table.data, ids)
    return vectors, present.tolist()


@pytest.mark.parametrize(
    ("save", "known", "absent"),
    [
        (partial(save_words, words=WORDS, width=4), ["Anna", "fell"], ["zyx", "~~~"]),
        (partial(save_floret, width=4), ["Anna", "zyx"], [""]),
    ],
    ids=["words", "floret"],
)
def test_words_have_the_vectors_of_spacy(
    save: Callable[[Path], str], known: list[str], absent: list[str], nlp: Language, tmp_path: Path
) -> None:
    theirs = spacy.load(save(tmp_path / "es")).vocab
    load_tables(nlp.vocab, {"es": tmp_path / "es"})
    nlp.vocab.vectors = theirs.vectors
    for name in ("es", "vocab"):
        vectors, present = found_in(nlp.vocab, name, *known, *absent, *known)
        expected = [theirs[word].vector for word in known]
        assert present == [True] * 2 + [False] * len(absent) + [True] * 2
        assert_allclose(vectors[present], expected * 2, rtol=1e-6)
        assert not vectors[2:-2].any()


def test_floret_tables_have_no_vectors_of_zeros_and_of_no_string(
    nlp: Language, tmp_path: Path
) -> None:
    load_tables(nlp.vocab, {"es": Path(save_floret(tmp_path / "es", 4))})
    table = find_table(nlp.vocab, "es")
    unknown = numpy.array([12345], dtype="uint64")
    assert not find_rows(nlp.vocab, "es", table, table.data, unknown)[1].any()
    table.data[:] = 0
    assert found_in(nlp.vocab, "es", "Anna")[1] == [False]


def test_pruned_vectors_share_rows_and_removed_words_have_none(
    nlp: Language, tmp_path: Path
) -> None:
    nlp.vocab.vectors = vectors_of(nlp, WORDS, 4)
    nlp.vocab.vectors.add("ROME", row=0)
    nlp.vocab.vectors.key2row[nlp.vocab.strings.add("gone")] = -1
    nlp.to_disk(tmp_path)
    table = read_kept_table("es", tmp_path)
    assert len(table.keys) == 4 and sorted(table.rows.tolist()) == [0, 0, 1, 2]


def test_a_pipeline_that_keeps_the_table_gives_it(nlp: Language, tmp_path: Path) -> None:
    load_tables(nlp.vocab, {"es": Path(save_words(tmp_path / "es", WORDS, 4))})
    nlp.vocab.vectors = vectors_of(nlp, ["other"], 3)
    nlp.to_disk(tmp_path / "pipeline")
    fresh = make_load_vectors_v1({"es": tmp_path / "pipeline"})(spacy.blank("en"))
    assert_array_equal(find_table(fresh.vocab, "es").data, find_table(nlp.vocab, "es").data)
    assert read_kept_table("other", tmp_path / "pipeline").data.shape == (1, 3)


def test_a_saved_pipeline_is_initialized_again_without_the_originals(
    tmp_path: Path, messages: Callable[[], str]
) -> None:
    path = save_words(tmp_path / "es", WORDS, 4)
    saved = trained(meta_pipeline(meta_embed({"es": path})))
    data = find_table(saved.vocab, "es").data.copy()
    saved.to_disk(tmp_path / "saved")
    shutil.rmtree(path)
    nlp = trained(spacy.load(tmp_path / "saved"))
    assert_array_equal(find_table(nlp.vocab, "es").data, data)
    assert f"is at {path}: kept the vocab's table of vectors 'es'" in messages()


@spacy.registry.misc("tests.lookups.v1")
def make_lookups(tables: list[str]) -> Lookups:
    lookups = Lookups()
    for name in tables:
        lookups.add_table(name)
    return lookups


@pytest.mark.parametrize(
    ("place", "tables", "is_refused"),
    [
        ("before_init", ["lexeme_norm"], True),
        ("before_init", [], False),
        ("before_init", None, False),
        ("after_init", ["lexeme_norm"], False),
        ("${vars.callback}", ["lexeme_norm"], True),
        ("${vars.callback}", None, False),
    ],
)
def test_tables_that_lookups_of_the_config_would_replace_are_refused(
    nlp: Language, tmp_path: Path, place: str, tables: Optional[list[str]], is_refused: bool
) -> None:
    settings = nlp.config["initialize"]
    path = save_words(tmp_path / "es", WORDS, 4)
    callback = {"@callbacks": "spacy-multihash.load_vectors.v1", "tables": {"es": path}}
    lookups = None if tables is None else {"@misc": "tests.lookups.v1", "tables": tables}
    if place.startswith("$"):
        nlp.config["vars"] = {"callback": callback, "lookups": lookups}
        settings.update(before_init=place, lookups="${vars.lookups}")
    else:
        settings.update({place: callback, "lookups": lookups})
    if not is_refused:
        nlp.initialize()
        assert has_table(nlp.vocab, "es")
        return
    message = r"\[initialize.lookups\]: .* tables of vectors es. Make it \[initialize.after_init\]"
    with pytest.raises(ValueError, match=message):
        nlp.initialize()
    assert not nlp.vocab.lookups.tables


# Files of vocabs that are damaged in other ways are in tests/vectors/test_files.py.
DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "lookups": (
        lambda folder: (folder / "lookups.bin").write_bytes(b"\x81"),
        "Cannot read .*vocab/lookups.bin",
    ),
    "no file": (shutil.rmtree, "There are no vectors at"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_table_that_cannot_be_used_is_refused_and_none_is_kept(
    nlp: Language, tmp_path: Path, case: str
) -> None:
    damage, message = DAMAGES[case]
    good, bad = (save_words(tmp_path / name, WORDS, 4) for name in ("good", "bad"))
    damage(tmp_path / "bad" / "vocab")
    with pytest.raises(ValueError, match=f"Vectors 'nl': .*{message}"):
        load_tables(nlp.vocab, {"es": Path(good), "nl": Path(bad)})
    assert not nlp.vocab.lookups.tables


def test_two_tables_of_one_name_are_refused(nlp: Language, tmp_path: Path) -> None:
    load_tables(nlp.vocab, {"es": Path(save_words(tmp_path / "es", WORDS, 4))})
    renamed = Path(save_words(tmp_path / "renamed", [*WORDS[:2], "rose"], 4))
    other = Path(save_words(tmp_path / "other", WORDS, 4, seed=1))
    for path in (renamed, other):
        with pytest.raises(ValueError, match=r"two tables of this name.*remove_table\('spacy-mul"):
            load_tables(nlp.vocab, {"nl": path, "es": path})
    assert nlp.vocab.lookups.tables == [PREFIX + "es"]
    nlp.vocab.lookups.remove_table(PREFIX + "es")
    load_tables(nlp.vocab, {"nl": other, "es": other})


def test_a_table_that_nobody_gave_is_refused(nlp: Language) -> None:
    with pytest.raises(ValueError, match="'es': the vocab .* no table but its own. Give .* path"):
        load_tables(nlp.vocab, {"es": None})
    with pytest.raises(ValueError, match=r"'vocab': .* no vectors of its own.*\[initialize\]"):
        load_tables(nlp.vocab, {"vocab": None})
    with pytest.raises(ValueError, match="others than vocab, got 'vocab' .*load_vectors.v1"):
        make_load_vectors_v1({"vocab": Path("x")})
    nlp.vocab.vectors = Vectors(data=numpy.ones((5, 6), dtype="float32"))
    with pytest.raises(ValueError, match=r"'vocab': the vocab has vectors, but no words\."):
        load_tables(nlp.vocab, {"vocab": None})


class OtherVectors(BaseVectors):
    def __init__(self) -> None:
        pass


def test_vectors_of_other_classes_are_refused(nlp: Language) -> None:
    nlp.vocab.vectors = OtherVectors()
    with pytest.raises(ValueError, match="vectors of OtherVectors, neither default nor floret"):
        find_table(nlp.vocab, "vocab")


class OtherDevice(NumpyOps):
    """Ops of a device whose arrays are not numpy's own: it copies what it is given."""

    def asarray(self, data: Any, dtype: Any = None) -> Any:
        return numpy.array(data)


def test_tables_are_copied_to_a_device_once() -> None:
    data = numpy.ones((3, 4), dtype="float32")
    assert on_device(NumpyOps(), data) is data
    ops = OtherDevice("gpu", 3)
    copy = on_device(ops, data)
    assert copy is not data and on_device(OtherDevice("gpu", 3), data) is copy
    assert on_device(OtherDevice("gpu", 4), data) is not copy
    gone = weakref.ref(copy)
    del copy, data
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_vocabs_own_table_may_have_other_floats(nlp: Language, dtype: str) -> None:
    nlp.vocab.vectors = vectors_of(nlp, WORDS, 4)
    expected = nlp.vocab.vectors.data[0].astype(dtype)
    keys = [nlp.vocab.strings[word] for word in WORDS]
    data = nlp.vocab.vectors.data.astype(dtype)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, keys=keys)
    load_tables(nlp.vocab, {"vocab": None})
    vectors, present = found_in(nlp.vocab, "vocab", WORDS[0], "xyz")
    assert vectors.dtype == "float32" and present == [True, False]
    assert_allclose(vectors[0], expected, rtol=1e-6)


@pytest.mark.parametrize(("precision", "size"), [("int8", 1e6), ("float16", 1)])
def test_a_table_that_compress_rounded_is_the_same(
    nlp: Language, tmp_path: Path, precision: Any, size: float
) -> None:
    path = Path(save_words(tmp_path / "es", WORDS, 40))
    table = tmp_path / "es" / "vocab" / "vectors"
    numpy.save(table, numpy.load(table) * numpy.float32(size))
    (tmp_path / "es" / "vocab" / "vectors.npy").replace(table)
    load_tables(nlp.vocab, {"es": path})
    kept = find_table(nlp.vocab, "es")
    rounded = dequantize(*quantize(kept.data, precision))
    assert not numpy.array_equal(kept.data, rounded)
    kept.data[:] = rounded
    load_tables(nlp.vocab, {"es": path})
    assert_array_equal(find_table(nlp.vocab, "es").data, rounded)
    numpy.multiply(kept.data, 1.003, out=kept.data)
    with pytest.raises(ValueError, match="two tables of this name"):
        load_tables(nlp.vocab, {"es": path})
