"""The tools for tables of vectors: what they write, and what they refuse."""

import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from spacy.attrs import IDS, LOWER
from spacy.tokens import Doc
from spacy.training.initialize import load_vectors_into_model
from spacy.vocab import Vocab

from spacy_multihash.tables.vectors import (
    WrittenVectors,
    align_vectors,
    merge_vectors,
    prune_vectors,
    read_pairs,
    reduce_vectors,
)
from spacy_multihash.vectors.files import read_table
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import write_corpus
from tests.helpers.vectors import (
    WORDS,
    files,
    loaded,
    random_vectors,
    write_floret,
    write_lines,
    write_pipeline,
)

PCA: dict[str, Any] = {"width": 3, "drop_top": 1}


@pytest.fixture
def folder(here: Path) -> Path:
    """Write a table in several kinds of files, and go there."""
    X = random_vectors()
    write_pipeline(here / "in", X)
    write_lines(here / "in.txt", X)
    write_floret(here / "floret", X)
    (here / "words.txt").write_text("\n".join(WORDS), "utf8")
    return here


def align(source: str, target: str, output: str, **settings: Any) -> WrittenVectors:
    return align_vectors(source, target, Path(output), **settings)


def merge(*sources: str, output: str = "out", width: int = 3, **settings: Any) -> WrittenVectors:
    return merge_vectors(sources, Path(output), width=width, **settings)


def pca(source: str, output: str = "out", width: int = 3, **settings: Any) -> WrittenVectors:
    return reduce_vectors(source, Path(output), width=width, **settings)


def prune(source: str, output: str = "out", **settings: Any) -> WrittenVectors:
    return prune_vectors(source, Path(output), **{"words": "words.txt", **settings})


def test_shorter_table_is_the_same_twice_and_in_all_files(folder: Path) -> None:
    done = pca("in", "out", **PCA)
    assert (done.vectors, done.width, done.table.data.shape) == (60, 3, (60, 3))
    pca("in", "again", **PCA)
    assert pca("in", "with_top").table.data[0] != pytest.approx(done.table.data[0])
    assert files(folder / "again") == files(folder / "out")
    pca("in.txt", "out.txt.gz", **PCA)
    prune("out.txt.gz", "unpacked")
    numpy.testing.assert_allclose(loaded(folder / "unpacked"), loaded(folder / "out"), atol=1e-5)


def test_statistics_of_floret_are_those_of_words(folder: Path) -> None:
    pca("floret", "out", words=WORDS, **PCA)
    write_lines(folder / "as_words.txt", loaded(folder / "floret"))
    pca("as_words.txt", "expected", **PCA)
    numpy.testing.assert_allclose(loaded(folder / "out"), loaded(folder / "expected"), atol=1e-4)


def test_words_of_a_corpus_are_estimated_on(folder: Path) -> None:
    doc = Doc(Vocab(), words=[*WORDS[:9], "unknown", *WORDS[:9]])
    write_corpus(folder / "corpus.spacy", [doc])
    (folder / "few.txt").write_text("\ufeff" + "\n".join(WORDS[:9]), "utf8")
    for output, words in (("out", "corpus.spacy"), ("expected", "few.txt")):
        pca("in", output, words=words)
    assert files(folder / "out") == files(folder / "expected")
    numpy.testing.assert_allclose(loaded(folder / "out")[:9].mean(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda: pca("floret"), "a floret table, which has no list of words"),
        (lambda: pca("huge"), "computed for out must have finite numbers, but row"),
        (lambda: pca("nowhere"), "There are no vectors at nowhere"),
        (lambda: pca("in", words="empty.txt"), "There are no words in empty.txt"),
        (lambda: pca("in", words=["other", "more"]), "in has none of the 2 words, such"),
        (lambda: pca("in", lang="nolanguage"), "Can't import language nolanguage"),
        (lambda: prune("in", words=["other", "more"]), "in has none of the 2 words to keep"),
        (lambda: prune("floret"), "prune can't take floret, a floret table"),
        (lambda: align("floret", "floret2", "out"), "floret tables, which have no list of words"),
        (lambda: align("in", "in.txt", "out", dictionary="bad"), "bad:2: expected two words"),
        (lambda: merge("in"), "needs two or more tables, got"),
        (lambda: merge("in", "./in"), "in/vocab is the same folder"),
        (lambda: merge("in", "in/vocab"), "in/vocab is the same folder"),
        (lambda: merge("floret", "floret2"), "All tables are of floret"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(do: Any, message: str, folder: Path) -> None:
    write_pipeline(folder / "huge", numpy.where(random_vectors() > 3, 3e38, -3e38).astype("f"))
    write_floret(folder / "floret2", random_vectors())
    (folder / "empty.txt").touch()
    (folder / "bad").write_text("word1 word1\nword2\n")
    before = files(Path())
    with pytest.raises((ImportError, OSError, ValueError), match=message):
        do()
    assert files(Path()) == before


def test_words_and_pairs_without_a_vector_are_counted(folder: Path) -> None:
    given = [*WORDS[:20], "unknown"]
    assert prune("in", words=given).unknown == {"words": 1}
    done = pca("in", "short", words=given)
    assert done.unknown == {"words": 1} and "1 of the words given" in str(done)
    pairs = [(word, word) for word in given]
    assert align("in", "in.txt", "aligned", dictionary=pairs).unknown == {"pairs": 1}
    assert pca("in", "all").unknown == {}


@pytest.mark.parametrize("source", ["in", "in/vocab"])
def test_force_replaces_a_table(source: str, folder: Path) -> None:
    prune(source)
    with pytest.raises(ValueError, match="exists"):
        pca(source)
    pca(source, force=True)
    assert read_table(folder / "out").width == 3


@pytest.mark.parametrize("source", ["in", "in.txt"])
def test_language_is_that_of_the_option(source: str, folder: Path) -> None:
    prune(source, lang="es")
    nlp = spacy.blank("es")
    load_vectors_into_model(nlp, "out")
    assert nlp.vocab.vectors.shape == (60, 8)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a table is read."""

    def read(*_: object, **__: object) -> None:
        pytest.fail("The work has begun")

    monkeypatch.setattr("spacy_multihash.tables.vectors.read_table", read)


@pytest.mark.usefixtures("no_work", "folder")
def test_what_cannot_be_written_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("o.zip", "o.tar.gz", "o.tgz", "o.bin", "o.vec.BZ2"):
        with pytest.raises(ValueError, match=f"a file that ends in .txt, .*, got {name}"):
            pca("in", name, force=True)
    for module in ("sudachipy", "sudachidict_core"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="Japanese support requires SudachiPy"):
        pca("in", lang="ja")


def test_words_that_text_cannot_hold_are_refused_before_tables_are_merged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pipeline(folder / "odd", random_vectors(3), ["a", "b\nc", "word1"])
    prune("odd", "pruned.txt")
    monkeypatch.setattr("spacy_multihash.vectors.reduce.merge", None)
    with pytest.raises(ValueError, match="odd has 1 words with a line feed, such as"):
        merge("odd", "in", output="out.txt")


@pytest.mark.parametrize("name", ["lower", "orth"])
def test_words_are_kept_by_the_attribute_of_the_table_or_the_one_given(
    name: str, folder: Path
) -> None:
    write_pipeline(folder / "lower", random_vectors())
    srsly.write_json(folder / "lower/vocab/vectors.cfg", {"mode": "default", "attr": LOWER})
    corpus = [Doc(Vocab(), words=["Word3", "WORD9", "x"])]
    write_corpus(folder / "corpus.spacy", corpus)
    source, attr = ("lower", None) if name == "lower" else ("in", "LOWER")
    assert prune(source, words="corpus.spacy", attr=attr).vectors == 2
    found = loaded(folder / "out", ["word3", "word9"])
    numpy.testing.assert_array_equal(found, random_vectors()[[3, 9]])
    assert read_table("out").attr == IDS[name.upper()]
    with pytest.raises(ValueError, match="in has none of the 3 words to keep"):
        prune("in", "no", words="corpus.spacy")


def rotated(X: numpy.ndarray) -> numpy.ndarray:
    rotation = numpy.linalg.qr(numpy.random.default_rng(5).normal(size=(8, 8)))[0]
    return (X @ rotation + 1).astype("float32")


def test_rotated_table_is_mapped_back(folder: Path) -> None:
    X = random_vectors()
    write_pipeline(folder / "rotated", rotated(X))
    assert align("rotated", "in", "out").pairs == 60
    numpy.testing.assert_allclose(loaded(folder / "out"), X, atol=1e-2)
    align("rotated", "in", "again")
    assert files(folder / "again") == files(folder / "out")
    write_lines(folder / "other.txt", rotated(X), [f"wort{i}" for i in range(60)])
    (folder / "pairs").write_text("".join(f"wort{i}\tword{i}\n" for i in range(20)))
    assert align("other.txt", "in", "other", dictionary="pairs").pairs == 20
    found = loaded(folder / "other", [f"wort{i}" for i in range(60)])
    numpy.testing.assert_allclose(found, X, atol=1e-2)


@pytest.mark.parametrize("source", ["floret", "in.txt"])
def test_floret_is_aligned_by_words_of_the_other_table(source: str, folder: Path) -> None:
    write_pipeline(folder / "rotated", rotated(loaded(folder / "floret")))
    args = ("floret", "rotated") if source == "floret" else ("rotated", "floret")
    align(*args, "out")
    expected = loaded(folder / args[1])
    numpy.testing.assert_allclose(loaded(folder / "out"), expected, atol=1e-2)


def test_merged_table_has_the_words_of_all(folder: Path) -> None:
    write_lines(folder / "more.txt", random_vectors(80, 5, 1), [f"word{i}" for i in range(80)])
    assert merge("in", "more.txt", width=4).vectors == 80
    merge("in", "more.txt", output="again", width=4)
    assert files(folder / "again") == files(folder / "out")


def test_merged_table_has_the_texts_that_any_table_knows(folder: Path) -> None:
    write_pipeline(folder / "unknown", random_vectors(seed=3))
    (folder / "unknown/vocab/strings.json").write_text(srsly.json_dumps(WORDS[:3]))
    write_lines(folder / "narrow.txt", random_vectors(60, 5))
    merge("unknown", "narrow.txt", "floret", output="out.txt", width=4)
    lines = (folder / "out.txt").read_text().splitlines()[1:]
    assert sorted(line.split(" ")[0] for line in lines) == sorted(WORDS)


def test_floret_is_merged_at_the_words_of_others(folder: Path) -> None:
    merge("floret", "in", width=10)
    write_lines(folder / "as_words.txt", loaded(folder / "floret"))
    merge("as_words.txt", "in", output="expected", width=10)
    numpy.testing.assert_allclose(loaded(folder / "out"), loaded(folder / "expected"), atol=1e-4)


def test_pairs_are_read_with_tabs_or_blanks(tmp_path: Path) -> None:
    text = "\ufeffhuis\tcasa\n\nNew York\tNueva York\r\nhond  perro\ncasa\thuis\n"
    (tmp_path / "pairs").write_text(text, "utf8")
    expected = [("huis", "casa"), ("New York", "Nueva York"), ("hond", "perro"), ("casa", "huis")]
    assert read_pairs(tmp_path / "pairs") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a b\nc\n", r":2: expected two words with a tab between, got 'c'"),
        (b"a b c\n", ":1: expected two words"),
        (b"a\t\n", ":1: expected two words"),
        (b"a b\nc d\na b", ":3: .* got a pair that line 1 has"),
        (b"\n", "has no pairs"),
        (b"\xff", "pairs:1: expected UTF-8"),
    ],
)
def test_bad_pairs_are_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_pairs(tmp_path / "pairs")


# The commands


@pytest.mark.parametrize(
    ("args", "do"),
    [
        ("align floret in by_command", lambda: align("floret", "in", "out")),
        ("merge in floret by_command --width 4", lambda: merge("in", "floret", width=4)),
        ("pca in by_command --width 3 --drop-top 1", lambda: pca("in", **PCA)),
        ("prune in by_command --words words.txt", lambda: prune("in")),
    ],
)
def test_commands_write_what_functions_do(args: str, do: Any, folder: Path) -> None:
    done = do()
    result = said(cli.ok("vectors", *args.split()))
    assert f"{done.vectors} {done.width}" in result and "to by_command" in result
    assert files(folder / "by_command") == files(folder / "out")
    assert "--force" in cli.refused("vectors", *args.split())
