"""The commands of the group `vectors`: what they write, and what they refuse."""

import sys
from pathlib import Path

import numpy
import pytest
import spacy
import srsly
from spacy.attrs import IDS, LOWER
from spacy.tokens import Doc
from spacy.training.initialize import load_vectors_into_model
from spacy.vocab import Vocab

from spacy_multihash.vectors.files import read_table
from spacy_multihash.vectors.tools import read_pairs
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

PCA = ("--width", 3, "--drop-top", 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a table in several kinds of files, and go there."""
    X = random_vectors()
    write_pipeline(tmp_path / "in", X)
    write_lines(tmp_path / "in.txt", X)
    write_floret(tmp_path / "floret", X)
    (tmp_path / "words.txt").write_text("\n".join(WORDS), "utf8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ok(*args: object) -> str:
    return said(cli.ok("vectors", *args))


def refused(*args: object) -> str:
    """Run a command that fails, and return its error. It writes nothing."""
    before = files(Path())
    error = cli.refused("vectors", *args)
    assert files(Path()) == before
    return error


def test_shorter_table_is_the_same_twice_and_in_all_files(folder: Path) -> None:
    assert "vectors width ------- ----- 60 3" in ok("pca", "in", "out", *PCA)
    ok("pca", "in", "again", *PCA)
    assert files(folder / "again") == files(folder / "out")
    ok("pca", "in.txt", "out.txt.gz", *PCA)
    ok("prune", "out.txt.gz", "unpacked", "--words", "words.txt")
    numpy.testing.assert_allclose(loaded(folder / "unpacked"), loaded(folder / "out"), atol=1e-5)


def test_statistics_of_floret_are_those_of_words(folder: Path) -> None:
    ok("pca", "floret", "out", "--words", "words.txt", *PCA)
    write_lines(folder / "as_words.txt", loaded(folder / "floret"))
    ok("pca", "as_words.txt", "expected", *PCA)
    numpy.testing.assert_allclose(loaded(folder / "out"), loaded(folder / "expected"), atol=1e-4)


def test_words_of_a_corpus_are_estimated_on(folder: Path) -> None:
    doc = Doc(Vocab(), words=[*WORDS[:9], "unknown", *WORDS[:9]])
    write_corpus(folder / "corpus.spacy", [doc])
    (folder / "few.txt").write_text("\ufeff" + "\n".join(WORDS[:9]), "utf8")
    for output, words in (("out", "corpus.spacy"), ("expected", "few.txt")):
        ok("pca", "in", output, "--words", words, "--width", 3)
    assert files(folder / "out") == files(folder / "expected")
    numpy.testing.assert_allclose(loaded(folder / "out")[:9].mean(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("pca floret out --width 3", "a floret table, which has no list of words"),
        ("pca huge out --width 3", "computed for out must have finite numbers, but row"),
        ("pca nowhere out --width 3", "There are no vectors at nowhere"),
        ("pca in out --width 3 --words empty.txt", "There are no words in empty.txt"),
        ("pca in out --width 3 --words other.txt", "in has none of the 2 words, such"),
        ("pca in out --width 3 --lang nolanguage", "Can't import language nolanguage"),
        ("prune in out --words other.txt", "in has none of the 2 words to keep"),
        ("align floret floret2 out", "floret tables, which have no list of words"),
        ("align in in.txt out --dictionary bad", "bad, line 2: expected two words"),
        ("merge in out --width 3", "to merge, got in. Name the others."),
        ("merge in ./in out --width 3", "The table ./in is given twice"),
        ("merge in in/vocab out --width 3", "The table in/vocab is given twice"),
        ("merge floret floret2 out --width 3", "All tables are of floret"),
    ],
)
def test_bad_input_is_one_error_and_nothing_written(args: str, message: str, folder: Path) -> None:
    write_pipeline(folder / "huge", numpy.where(random_vectors() > 3, 3e38, -3e38).astype("f"))
    write_floret(folder / "floret2", random_vectors())
    (folder / "empty.txt").touch()
    (folder / "other.txt").write_text("other\nothers")
    (folder / "bad").write_text("word1 word1\nword2\n")
    assert message in refused(*args.split())


@pytest.mark.parametrize("source", ["in", "in/vocab"])
def test_force_replaces_a_table(source: str, folder: Path) -> None:
    ok("prune", source, "out", "--words", "words.txt")
    ok("pca", source, "out", "--width", 3, "--force")
    assert read_table(folder / "out").width == 3


@pytest.mark.parametrize("source", ["in", "in.txt"])
def test_language_is_that_of_the_option(source: str, folder: Path) -> None:
    ok("prune", source, "out", "--words", "words.txt", "--lang", "es")
    nlp = spacy.blank("es")
    load_vectors_into_model(nlp, "out")
    assert nlp.vocab.vectors.shape == (60, 8)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a table is read."""

    def read(*_: object, **__: object) -> None:
        pytest.fail("The work has begun")

    monkeypatch.setattr("spacy_multihash.vectors.tools.read_table", read)


@pytest.mark.usefixtures("no_work", "folder")
def test_what_cannot_be_written_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("o.zip", "o.tar.gz", "o.tgz", "o.bin", "o.vec.BZ2"):
        error = refused("pca", "in", name, "--width", 3, "--force")
        assert f"a folder or a file that ends in .txt, .vec, .floret, .gz, got {name}." in error
    for module in ("sudachipy", "sudachidict_core"):
        monkeypatch.setitem(sys.modules, module, None)
    error = refused("pca", "in", "out", "--width", 3, "--lang", "ja")
    assert "Japanese support requires SudachiPy" in error


def test_words_that_text_cannot_hold_are_refused_before_tables_are_merged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pipeline(folder / "odd", random_vectors(3), ["a", "b\nc", "word1"])
    ok("prune", "odd", "pruned.txt", "--words", "words.txt")
    monkeypatch.setattr("spacy_multihash.vectors.reduce.merge", None)
    error = refused("merge", "odd", "in", "out.txt", "--width", 3)
    assert "odd has 1 words with a line feed, such as 'b\\nc'" in error


@pytest.mark.parametrize("name", ["lower", "orth"])
def test_words_are_kept_by_the_attribute_of_the_table_or_the_one_given(
    name: str, folder: Path
) -> None:
    write_pipeline(folder / "lower", random_vectors())
    srsly.write_json(folder / "lower/vocab/vectors.cfg", {"mode": "default", "attr": LOWER})
    corpus = [Doc(Vocab(), words=["Word3", "WORD9", "x"])]
    write_corpus(folder / "corpus.spacy", corpus)
    source, options = ("lower", ()) if name == "lower" else ("in", ("--attr", "LOWER"))
    assert "----- 2 8" in ok("prune", source, "out", "--words", "corpus.spacy", *options)
    found = loaded(folder / "out", ["word3", "word9"])
    numpy.testing.assert_array_equal(found, random_vectors()[[3, 9]])
    assert read_table("out").attr == IDS[name.upper()]
    error = refused("prune", "in", "no", "--words", "corpus.spacy")
    assert "in has none of the 3 words to keep" in error


def rotated(X: numpy.ndarray) -> numpy.ndarray:
    rotation = numpy.linalg.qr(numpy.random.default_rng(5).normal(size=(8, 8)))[0]
    return (X @ rotation + 1).astype("float32")


def test_rotated_table_is_mapped_back(folder: Path) -> None:
    X = random_vectors()
    write_pipeline(folder / "rotated", rotated(X))
    assert "60 8 60" in ok("align", "rotated", "in", "out")
    numpy.testing.assert_allclose(loaded(folder / "out"), X, atol=1e-2)
    ok("align", "rotated", "in", "again")
    assert files(folder / "again") == files(folder / "out")
    write_lines(folder / "other.txt", rotated(X), [f"wort{i}" for i in range(60)])
    (folder / "pairs").write_text("".join(f"wort{i}\tword{i}\n" for i in range(20)))
    assert "Pairs: 20" in ok("align", "other.txt", "in", "other", "--dictionary", "pairs")
    found = loaded(folder / "other", [f"wort{i}" for i in range(60)])
    numpy.testing.assert_allclose(found, X, atol=1e-2)


@pytest.mark.parametrize("source", ["floret", "in.txt"])
def test_floret_is_aligned_by_words_of_the_other_table(source: str, folder: Path) -> None:
    write_pipeline(folder / "rotated", rotated(loaded(folder / "floret")))
    args = ("floret", "rotated") if source == "floret" else ("rotated", "floret")
    ok("align", *args, "out")
    expected = loaded(folder / args[1])
    numpy.testing.assert_allclose(loaded(folder / "out"), expected, atol=1e-2)


def test_merged_table_has_the_words_of_all(folder: Path) -> None:
    write_lines(folder / "more.txt", random_vectors(80, 5, 1), [f"word{i}" for i in range(80)])
    assert "vectors width ------- ----- 80 4" in ok("merge", "in", "more.txt", "out", "--width", 4)
    ok("merge", "in", "more.txt", "again", "--width", 4)
    assert files(folder / "again") == files(folder / "out")


def test_merged_table_has_the_texts_that_any_table_knows(folder: Path) -> None:
    write_pipeline(folder / "unknown", random_vectors(seed=3))
    (folder / "unknown/vocab/strings.json").write_text(srsly.json_dumps(WORDS[:3]))
    write_lines(folder / "narrow.txt", random_vectors(60, 5))
    ok("merge", "unknown", "narrow.txt", "floret", "out.txt", "--width", 4)
    lines = (folder / "out.txt").read_text().splitlines()[1:]
    assert sorted(line.split(" ")[0] for line in lines) == sorted(WORDS)


def test_floret_is_merged_at_the_words_of_others(folder: Path) -> None:
    ok("merge", "floret", "in", "out", "--width", 10)
    write_lines(folder / "as_words.txt", loaded(folder / "floret"))
    ok("merge", "as_words.txt", "in", "expected", "--width", 10)
    numpy.testing.assert_allclose(loaded(folder / "out"), loaded(folder / "expected"), atol=1e-4)


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
        (b"a b\nc\n", r"line 2: expected two words, separated by a tab, got 'c'"),
        (b"a b c\n", "line 1: expected two words"),
        (b"a\t\n", "line 1: expected two words"),
        (b"a b\nc d\na b", "line 3: .* got a pair that line 1 has"),
        (b"\n", "has no pairs"),
        (b"\xff", "pairs:1: expected UTF-8"),
    ],
)
def test_bad_pairs_are_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_pairs(tmp_path / "pairs")
