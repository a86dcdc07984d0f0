"""The commands of the group `vectors`: what they write, and what they refuse."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.attrs import LOWER
from spacy.tokens import Doc
from spacy.training.initialize import load_vectors_into_model
from spacy.vectors import Vectors
from spacy.vocab import Vocab

from spacy_multihash.cli._vectors_evaluate import read_tokens
from spacy_multihash.vectors.arrays import load_arrays, save_arrays
from spacy_multihash.vectors.quantize import KINDS
from spacy_multihash.vectors.table import CheckedRows
from tests.helpers.cli import said
from tests.helpers.corpora import write_corpus
from tests.helpers.packages import installed
from tests.helpers.vectors import (
    WORDS,
    files,
    loaded,
    random_vectors,
    vectors,
    write_floret,
    write_lines,
    write_pipeline,
)

MAPS = {
    "centre": (),
    "drop-top": ("--number", 2),
    "pca": ("--width", 3, "--drop-top", 1),
    "z-norm": (),
    "unit": (),
    "morty": ("--width", 9, "--batch", 16, "--seed", 2),
}


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
    result = vectors(*args)
    assert result.exit_code == 0, result.output
    return said(result)


def refused(*args: object) -> str:
    """Run a command that fails, and return its error. It writes nothing."""
    before = files(Path())
    result = vectors(*args)
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert isinstance(result.exception, SystemExit), result.exception
    assert files(Path()) == before
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("command", MAPS)
def test_map_is_the_same_twice_in_all_files_and_later(command: str, folder: Path) -> None:
    args = MAPS[command]
    assert "Wrote 60 vectors of width" in ok(command, "in", "out", *args)
    ok(command, "in", "again", *args)
    assert files(folder / "again") == files(folder / "out")
    ok(command, "in.txt", "out.txt.gz", *args)
    ok("apply", "out.txt.gz", "same.txt", "--map", unchanged(folder))
    mapped = loaded(folder / "out")
    lines = (folder / "same.txt").read_text().splitlines()[1:]
    read = numpy.array([line.split(" ")[1:] for line in lines], dtype="float32")
    numpy.testing.assert_allclose(read, mapped, atol=1e-5)
    # New words are mapped by the parameters that were saved.
    write_lines(folder / "new.txt", random_vectors()[:2], ["new", "newer"])
    ok("apply", "new.txt", "new", "--map", "out/vocab/multihash_map.npz")
    numpy.testing.assert_allclose(loaded(folder / "new", ["new", "newer"]), mapped[:2], atol=1e-5)


def unchanged(folder: Path) -> Path:
    """Make the parameters of a map of three or eight columns that changes nothing."""
    from spacy_multihash.vectors.affine import identity, load_map
    from spacy_multihash.vectors.arrays import save_arrays

    width = load_map(folder / "out.txt.gz.map.npz").width
    save_arrays(folder / "same.npz", "affine", identity(width).arrays())
    return folder / "same.npz"


@pytest.mark.parametrize(
    ("args", "titles"),
    [
        (("align", "in", "in.txt", "out"), ["Reading", "Writing"]),
        (("evaluate", "in", "--pairs", "pairs.txt"), ["Reading"]),
        (("merge", "in", "in.txt", "out", "--width", 3), ["Reading", "Writing"]),
        (("quantize", "in", "out.npz"), ["Writing"]),
        (
            ("quantize", "in", "out.npz", "-m", "pq", "--parts", 2, "--centroids", 4),
            ["Centroids", "Writing"],
        ),
    ],
)
def test_progress_is_shown_of_all_chunks(
    args: tuple[object, ...], titles: list[str], folder: Path
) -> None:
    (folder / "pairs.txt").write_text("word1 word2 3\nword3 word4 5\n")
    result = vectors(*args)
    assert result.exit_code == 0, result.output
    # Text that is read shows lines, without a share.
    found = [title for title in titles if f"{title}:   0%|" in result.stderr]
    assert found == titles, result.stderr


@pytest.mark.parametrize("command", ["centre", "drop-top", "morty", "pca", "z-norm"])
def test_statistics_of_floret_are_those_of_words(command: str, folder: Path) -> None:
    args = [*MAPS[command], *(["--no-unit"] if command == "z-norm" else [])]
    ok(command, "floret", "out", "--words", "words.txt", *args)
    write_lines(folder / "as_words.txt", loaded(folder / "floret"))
    ok(command, "as_words.txt", "expected", *args)
    numpy.testing.assert_allclose(loaded(folder / "out"), loaded(folder / "expected"), atol=1e-4)


def test_words_of_a_corpus_are_estimated_on(folder: Path) -> None:
    doc = Doc(Vocab(), words=[*WORDS[:9], "unknown", *WORDS[:9]])
    write_corpus(folder / "corpus.spacy", [doc])
    (folder / "few.txt").write_text("\n".join(WORDS[:9]))
    ok("centre", "in", "out", "--words", "corpus.spacy")
    ok("centre", "in", "expected", "--words", "few.txt")
    (folder / "marked.txt").write_text("\ufeff" + "\n".join(WORDS[:9]), "utf8")
    ok("centre", "in", "marked", "--words", "marked.txt")
    assert files(folder / "marked") == files(folder / "out")
    assert files(folder / "out") == files(folder / "expected")
    numpy.testing.assert_allclose(loaded(folder / "out")[:9].mean(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("centre", "floret"), "a floret table, which has rows of n-grams and no words"),
        (("unit", "floret"), "Scaling to length 1 cannot take floret, a floret table"),
        (("z-norm", "floret", "--words", "words.txt"), "Scaling to length 1 cannot take floret"),
        (("pca", "in", "--width", 9), "axes must be at most 8, was: 9"),
        (("drop-top", "in", "--number", 8), "components to remove must be at most 7, was: 8"),
        (("centre", "nowhere"), "There are no vectors at nowhere"),
        (("centre", "in", "--words", "nowhere.txt"), "There is no file of words"),
        (("centre", "in", "--words", "empty.txt"), "There are no words in empty.txt"),
        (("centre", "in", "--words", "other.txt"), "in has none of the 2 words, such as ['other']"),
        (("apply", "in", "--map", "nowhere.npz"), "There is no file nowhere.npz"),
        (("apply", "in", "--map", "words.txt"), "words.txt is damaged, or no .npz file at all"),
    ],
)
def test_bad_input_is_one_error_and_nothing_written(
    args: tuple[str, ...], message: str, folder: Path
) -> None:
    (folder / "empty.txt").touch()
    (folder / "other.txt").write_text("other\nothers")
    command, source, *options = args
    assert message in refused(command, source, "out", *options)


def test_seed_of_k_means_has_a_limit(folder: Path) -> None:
    result = vectors("quantize", "in", "out", "--method", "pq", "--seed", 2**32)
    assert result.exit_code == 2
    assert "--seed" in said(result) and "4294967295" in said(result)
    assert not (folder / "out").exists()


@pytest.fixture
def huge(folder: Path) -> None:
    """Write vectors whose squares or differences float32 does not hold, and equal ones."""
    X = numpy.where(random_vectors() > 3, 3e38, -3e38).astype("float32")
    write_pipeline(folder / "huge", X)
    write_pipeline(folder / "tiny", (1e-41 * random_vectors()).astype("float32"))
    write_lines(folder / "equal.txt", numpy.ones((60, 8)))


@pytest.mark.usefixtures("huge")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("centre", "huge"), "computed for out must have finite numbers, but row"),
        (("z-norm", "huge"), "computed for out must have finite numbers, but row"),
        (("z-norm", "tiny"), "computed for out must have finite numbers, but row"),
        (("pca", "huge", "--width", 3), "computed for out must have finite numbers, but row"),
        (("morty", "in", "--learn-rate", 0), "learn_rate must be a number above 0, was: 0.0. Give"),
        (("morty", "in", "--learn-rate", "1e38"), "Training diverged with the learning rate 1e+38"),
        (("align", "equal.txt", "in", "--method", "cca", "--ridge", 0), "pairs are equal"),
        (("drop-top", "equal.txt", "--number", 1), "Nothing can be removed: give vectors"),
    ],
)
def test_numbers_that_are_not_finite_are_not_written(args: tuple[str, ...], message: str) -> None:
    at = next((i for i, arg in enumerate(args) if str(arg).startswith("--")), len(args))
    assert message in refused(*args[:at], "out", *args[at:])


@pytest.mark.usefixtures("huge")
def test_centroids_that_are_not_finite_are_not_written() -> None:
    pytest.importorskip("sklearn")
    args = ("--method", "pq", "--parts", 4, "--centroids", 4)
    error = refused("quantize", "huge", "out.npz", *args)
    assert "The centroids of huge must be finite, but those of columns 0 to 1 are not" in error


def test_codebooks_of_another_shape_are_refused(folder: Path) -> None:
    pytest.importorskip("sklearn")
    ok("quantize", "in", "out.npz", "--method", "pq", "--parts", 4, "--centroids", 9)
    arrays = load_arrays(folder / "out.npz", KINDS)
    flat = {name: array for name, array in arrays.items() if name in KINDS["pq"]}
    save_arrays(folder / "flat.npz", "pq", {**flat, "codebooks": arrays["codebooks"].ravel()})
    error = refused("quantize", "in", "again", "--method", "pq", "--codebooks", "flat.npz")
    assert "flat.npz is damaged: codebooks must be of the type float and the shape (n, n," in error


@pytest.mark.usefixtures("huge")
def test_huge_vectors_get_length_one(folder: Path) -> None:
    ok("unit", "huge", "out")
    numpy.testing.assert_allclose(numpy.abs(loaded(folder / "out")), 8**-0.5, rtol=1e-5)


@pytest.mark.parametrize("name", ["in", "in/vocab", "in.txt", "taken", "taken.txt", "in.txt/out"])
def test_output_that_is_there_is_refused_before_the_work(name: str, folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "some").touch()
    (folder / "taken.txt.map.npz").touch()
    source = "in.txt" if name.startswith("in.txt") else "in"
    error = refused("centre", source, name)
    assert "exists" in error or "must not be the same" in error


def test_an_installed_pipeline_is_not_replaced(folder: Path) -> None:
    with installed(folder / "in", "en_read", folder / "site") as data:
        before = sorted(data.rglob("*"))
        for output in (data, data / "vocab", folder / "site" / "en_read"):
            assert "must not be the same directory" in refused("unit", "en_read", output, "--force")
        assert sorted(data.rglob("*")) == before
        assert "given twice" in refused("merge", "en_read", data, "out")


@pytest.mark.parametrize("name", ["o.zip", "o.tar.gz", "o.tgz", "o.bin", "o.vec.BZ2"])
@pytest.mark.usefixtures("folder")
def test_archives_are_not_written(name: str) -> None:
    error = refused("unit", "in", name, "--force")
    assert "OUT must be a folder, or a file that ends in .txt, .vec, .floret, .gz or .npz" in error


def test_force_replaces_a_table(folder: Path) -> None:
    ok("centre", "in", "out")
    ok("unit", "in", "out", "--force")
    numpy.testing.assert_allclose(numpy.linalg.norm(loaded(folder / "out"), axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("prune", "in", "corp", "--words", "corp/train.spacy"), "train.spacy is read, and OUTPUT"),
        (("centre", "in", "out", "--words", "out/words.txt"), "words.txt is read, and OUTPUT"),
        (("pca", "in", "words.txt", "--width", 2, "--words", "words.txt"), "txt is read, and OUT"),
        (("apply", "in", "out", "--map", "out/vocab/multihash_map.npz"), "npz is read, and OUTPUT"),
        (("apply", "in", "out.txt", "--map", "out.txt.map.npz"), "map.npz is read, and OUTPUT"),
        (("unit", "out.txt.codes.npz", "out.txt"), "codes.npz is read, and OUTPUT"),
        (
            ("quantize", "in", "out", "-m", "pq", "--codebooks", "out/words.txt"),
            "words.txt is read, and OUT",
        ),
        (("align", "in", "in.txt", "out", "--dictionary", "out/words.txt"), "txt is read, and OUT"),
        (("merge", "in", "in.txt", "out", "--map", "out/words.txt"), "words.txt is read, and OUT"),
        (("unit", "in", "corp"), "corp is neither a pipeline (meta.json, config.cfg) nor a vocab"),
    ],
)
def test_force_deletes_nothing_else(args: tuple[str, ...], message: str, folder: Path) -> None:
    (folder / "corp").mkdir()
    write_corpus(folder / "corp" / "train.spacy", [Doc(Vocab(), words=WORDS)])
    ok("centre", "in", "out")
    (folder / "out" / "words.txt").write_text("word1")
    ok("centre", "in", "out.txt")
    ok("quantize", "in", "out.txt.codes.npz")
    assert message in refused(*args, "--force")


def test_force_replaces_a_vocab(folder: Path) -> None:
    ok("centre", "in/vocab", "out")
    ok("unit", "in/vocab", "out", "--force")
    assert (folder / "out" / "strings.json").is_file()


@pytest.mark.parametrize("source", ["in", "in.txt", "codes.npz", "floret"])
def test_language_is_that_of_the_option(source: str, folder: Path) -> None:
    ok("quantize", "in", "codes.npz")
    ok("quantize", source, "out", "--lang", "es")
    nlp = spacy.blank("es")
    load_vectors_into_model(nlp, "out")
    assert nlp.vocab.vectors.shape == (60, 8)


def test_joined_tables_have_the_language_of_the_option(folder: Path) -> None:
    ok("align", "in", "in.txt", "aligned", "--lang", "es")
    ok("merge", "in", "in.txt", "merged", "--lang", "es", "--width", 3)
    assert [spacy.load(name).lang for name in ("aligned", "merged")] == ["es", "es"]


@pytest.mark.usefixtures("folder")
def test_unknown_language_is_refused_before_the_work() -> None:
    error = refused("unit", "nowhere", "out", "--lang", "nolanguage")
    assert "--lang must be the code of a language, such as es, or xx for any, was: 'nol" in error


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a row of a table is read."""

    def work(*_: object, **__: object) -> None:
        pytest.fail("The work has begun")

    monkeypatch.setattr(CheckedRows, "__getitem__", work)


@pytest.mark.parametrize(
    "args", [("unit", "odd"), ("quantize", "odd"), ("merge", "odd", "in", "--width", 3)]
)
def test_word_with_a_line_feed_is_refused_before_the_work(
    args: tuple[str, ...], folder: Path, request: pytest.FixtureRequest
) -> None:
    write_pipeline(folder / "odd", random_vectors(3), ["a", "b\nc", "word1"])
    ok("prune", "odd", "pruned.txt", "--words", "words.txt")
    ok("unit", "odd", "folder")
    request.getfixturevalue("no_work")
    at = next((i for i, arg in enumerate(args) if str(arg).startswith("--")), len(args))
    error = refused(*args[:at], "out.txt", *args[at:])
    assert "odd has 1 words with a line feed, such as 'b\\nc', but text has a line for" in error


@pytest.mark.parametrize("source", ["in", "floret"])
def test_table_by_another_attribute_is_refused_as_text_before_the_work(
    source: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    path = folder / source / "vocab/vectors.cfg"
    path.write_text(json.dumps({**json.loads(path.read_text()), "attr": LOWER}))
    ok("quantize", source, "folder")
    assert json.loads((folder / "folder/vocab/vectors.cfg").read_text())["attr"] == LOWER
    request.getfixturevalue("no_work")
    error = refused("quantize", source, "out.txt")
    assert f"{source} finds words by LOWER, and text has no place for that" in error


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("args", "options"),
    [
        (("morty", "in"), ()),
        (("prune", "in"), ("--words", "words.txt")),
        (("align", "in", "in.txt"), ()),
        (("merge", "in", "in.txt"), ("--width", 3)),
    ],
)
def test_codes_are_refused_before_the_work(
    args: tuple[str, ...], options: tuple[Any, ...], folder: Path
) -> None:
    error = refused(*args, "out.npz", *options)
    assert "out.npz would be codes, which quantize writes. Give another OUT." in error


@pytest.mark.parametrize("command", ["centre", "z-norm"])
def test_vectors_that_do_not_differ_are_refused(command: str, folder: Path) -> None:
    write_pipeline(folder / "same", numpy.full((60, 8), 1 / 3, dtype="float32"))
    assert "The 60 vectors do not differ, so that all would become" in refused(
        command, "same", "out"
    )
    (folder / "one.txt").write_text("word3")
    error = refused(command, "in", "out", "--words", "one.txt")
    assert "The 1 vectors do not differ" in error and "Give a table, or --words" in error


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("quantize", "in", "out", "--parts", 4), "--parts would do nothing with --method int8"),
        (
            ("quantize", "in", "out", "--method", "float16", "--codebooks", "x", "--seed", 0),
            "--seed and --codebooks would do nothing with --method float16",
        ),
        (
            ("quantize", "in", "out", "-m", "pq", "--codebooks", "x", "--centroids", 3),
            "--centroids would do nothing with --codebooks",
        ),
        (
            ("align", "in", "in.txt", "out", "--ridge", 0),
            "--ridge would do nothing with --method procrustes",
        ),
        (
            ("align", "in", "in.txt", "out", "--method", "cca", "--no-centre"),
            "--no-centre would do nothing with --method cca",
        ),
        (
            ("align", "in", "in.txt", "out", "--frequent", 9),
            "--frequent would do nothing without --refine",
        ),
        (
            ("merge", "in", "in.txt", "out", "--map", "x", "--width", 3, "--method", "pca"),
            "--width and --method would do nothing with --map",
        ),
    ],
)
def test_options_without_effect_are_refused(
    args: tuple[Any, ...], message: str, folder: Path
) -> None:
    assert f"{message}. Leave out what does not." in refused(*args)


def test_merge_says_which_command_takes_its_parameters(folder: Path) -> None:
    said = ok("merge", "in", "in.txt", "out", "--width", 3)
    assert "The parameters, for --map of merge: out/vocab/multihash_map.npz" in said
    ok("merge", "in", "in.txt", "again", "--map", "out/vocab/multihash_map.npz")
    assert files(folder / "again") == files(folder / "out")
    assert "for --map of apply: new/vocab/multihash_map.npz" in ok("unit", "in", "new")


def test_parameters_of_a_former_text_are_removed(folder: Path) -> None:
    ok("pca", "in", "out.txt", "--width", 3)
    ok("quantize", "in", "out.txt", "--force")
    assert not (folder / "out.txt.map.npz").exists() and (folder / "out.txt.codes.npz").exists()
    ok("prune", "in", "out.txt", "--words", "words.txt", "--force")
    assert sorted(path.name for path in folder.glob("out*")) == ["out.txt"]


def test_help_of_the_group_has_no_options_of_its_own() -> None:
    assert "--install-completion" not in ok("--help")


# Smaller tables


def test_pruned_table_has_the_words_of_a_corpus(folder: Path) -> None:
    write_corpus(folder / "corpus.spacy", [Doc(Vocab(), words=["word3", "unknown", "word1"])])
    assert "Wrote 2 vectors of width 8" in ok("prune", "in", "out.txt", "--words", "corpus.spacy")
    lines = (folder / "out.txt").read_text().splitlines()
    assert [line.split(" ")[0] for line in lines] == ["2", "word1", "word3"]


@pytest.mark.parametrize("method", ["float16", "int8", "pq"])
def test_quantized_table_and_its_codes_are_the_same_vectors(method: str, folder: Path) -> None:
    args: tuple[Any, ...] = ("--method", method)
    if method == "pq":
        pytest.importorskip("sklearn")
        args = (*args, "--parts", 4, "--centroids", 9)
    ok("quantize", "in", "out", *args)
    ok("quantize", "in", "out.npz", *args)
    assert (folder / "out.npz").read_bytes() == files(folder / "out")["vocab/multihash_codes.npz"]
    ok("prune", "out.npz", "again", "--words", "words.txt")
    numpy.testing.assert_array_equal(loaded(folder / "again"), loaded(folder / "out"))
    error = numpy.abs(loaded(folder / "out") - random_vectors())
    assert error.mean() < random_vectors().std() / 2


def test_new_words_are_quantized_by_the_same_centroids(folder: Path) -> None:
    pytest.importorskip("sklearn")
    ok("quantize", "in", "out", "--method", "pq", "--parts", 4, "--centroids", 9)
    write_lines(folder / "new.txt", random_vectors()[:2], ["new", "newer"])
    codes = "out/vocab/multihash_codes.npz"
    ok("quantize", "new.txt", "new", "--method", "pq", "--codebooks", codes)
    expected = loaded(folder / "out")[:2]
    numpy.testing.assert_array_equal(loaded(folder / "new", ["new", "newer"]), expected)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("prune", "in", "--words", "other.txt"), "in has none of the 1 words to keep"),
        (("prune", "floret", "--words", "words.txt"), "prune cannot take floret"),
        (("quantize", "in", "--method", "pq"), "parts must divide the width 8, was: 30"),
        (("quantize", "in", "--method", "pq", "--codebooks", "in.txt"), "in.txt is damaged, or no"),
        (("centre", "in"), "would be codes, which quantize writes"),
    ],
)
def test_bad_sizes_are_one_error(args: tuple[str, ...], message: str, folder: Path) -> None:
    (folder / "other.txt").write_text("other")
    command, source, *options = args
    output = "out.npz" if command == "centre" else "out"
    assert message in refused(command, source, output, *options)


# Several tables


def rotated(X: numpy.ndarray) -> numpy.ndarray:
    rotation = numpy.linalg.qr(numpy.random.default_rng(5).normal(size=(8, 8)))[0]
    return (X @ rotation + 1).astype("float32")


@pytest.mark.parametrize("method", ["procrustes", "cca"])
def test_rotated_table_is_mapped_back(method: str, folder: Path) -> None:
    X = random_vectors()
    write_pipeline(folder / "rotated", rotated(X))
    ridge = ("--ridge", 1e-9) if method == "cca" else ()
    said = ok("align", "rotated", "in", "out", "--method", method, *ridge)
    assert "cosine 100.0 6 60 CSLS 100.0 6 60" in said
    numpy.testing.assert_allclose(loaded(folder / "out"), X, atol=1e-2)
    ok("align", "rotated", "in", "again", "--method", method, *ridge)
    assert files(folder / "again") == files(folder / "out")


def test_pairs_of_a_dictionary_align_other_words(folder: Path) -> None:
    X = random_vectors()
    write_lines(folder / "other.txt", rotated(X), [f"wort{i}" for i in range(60)])
    (folder / "pairs").write_text("".join(f"wort{i}\tword{i}\n" for i in range(20)))
    said = ok("align", "other.txt", "in", "out", "--dictionary", "pairs", "--refine", 2)
    assert "Pairs: 20, too few to hold some out" in said
    assert said.count("Mutual neighbours: 60 pairs") == 2
    found = loaded(folder / "out", [f"wort{i}" for i in range(60)])
    numpy.testing.assert_allclose(found, X, atol=1e-2)


def test_words_without_a_vector_are_no_neighbours(folder: Path) -> None:
    X = random_vectors()
    zeros = numpy.zeros((3, X.shape[1]), dtype="float32")
    for name, table in (("one", rotated(X)), ("other", X)):
        write_lines(
            folder / name, numpy.concatenate([zeros, table]), [f"{name}{i}" for i in range(63)]
        )
        (folder / name).rename(folder / f"{name}.txt")
    lines = [f"one{i}\tother{i}\n" for i in range(3, 23)]
    (folder / "pairs").write_text("".join(lines))
    args = ["align", "one.txt", "other.txt", "out", "--dictionary", "pairs", "--no-centre"]
    for frequent in ((), ("--frequent", 60)):
        assert "Mutual neighbours: 60 pairs" in ok(*args, "--refine", 1, *frequent, "--force")


def test_accuracy_is_of_the_map_before_refinement(folder: Path) -> None:
    write_pipeline(folder / "rotated", rotated(random_vectors()))
    said = ok("align", "rotated", "in", "out", "--refine", 1)
    assert "held out, before refinement" in said
    assert "before refinement" not in ok("align", "rotated", "in", "plain")


def test_words_alike_with_vectors_of_zeros_align_nothing(folder: Path) -> None:
    X = random_vectors()
    X[:30] = 0
    write_lines(folder / "zeros.txt", X)
    write_lines(folder / "half.txt", random_vectors(30), WORDS[:30])
    error = refused("align", "half.txt", "zeros.txt", "out")
    assert "The 30 words that are written alike" in error and "vectors of zeros" in error


@pytest.mark.parametrize("method", ["procrustes", "cca"])
@pytest.mark.parametrize("forms", [1, 3])
def test_words_that_share_a_row_are_held_out_together(
    method: str, forms: int, folder: Path
) -> None:
    """Tables without any relation translate no word that was held out."""
    words = [f"w{i}" for i in range(103)]
    for seed, name in enumerate(("one", "other")):
        write_spellings(folder / name, random_vectors(103, 50, seed), words, forms)
    (folder / "pairs").write_text("".join(f"{w}{f}\t{w}{f}\n" for f in range(forms) for w in words))
    for options in ((), ("--dictionary", "pairs")):
        said = ok("align", "one", "other", "out", "--method", method, "--force", *options)
        assert "cosine 0.0 10 103 CSLS 0.0 10 103" in said


def write_spellings(folder: Path, X: numpy.ndarray, words: list[str], forms: int) -> None:
    """Write a table whose rows are shared by several spellings of a word."""
    nlp = spacy.blank("xx")
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=X, name="spellings")
    for form in range(forms):
        for row, word in enumerate(words):
            nlp.vocab.vectors.add(nlp.vocab.strings.add(f"{word}{form}"), row=row)
    nlp.to_disk(folder)


@pytest.mark.parametrize("method", ["procrustes", "cca"])
def test_more_pairs_than_columns_are_needed(method: str, folder: Path) -> None:
    X = random_vectors(51, 50)
    write_lines(folder / "one.txt", X, WORDS[:51])
    write_lines(folder / "two.txt", X[:, ::-1] + 1, WORDS[:51])
    args = ("align", "one.txt", "two.txt", "out", "--method", method)
    # Without those that would be held out, 46 pairs are too few.
    assert "Pairs: 51, too few to hold some out" in ok(*args)
    for number in (50, 1):
        pairs = folder / f"pairs{number}"
        pairs.write_text("".join(f"{word} {word}\n" for word in WORDS[:number]))
        error = refused(*args, "--dictionary", pairs, "--force")
        assert f"Aligning 50 columns needs more pairs than columns, was given {number}" in error


@pytest.mark.parametrize("source", ["floret", "in.txt"])
def test_floret_is_aligned_by_words_of_the_other_table(source: str, folder: Path) -> None:
    write_pipeline(folder / "rotated", rotated(loaded(folder / "floret")))
    args = ("floret", "rotated") if source == "floret" else ("rotated", "floret")
    ok("align", *args, "out")
    expected = loaded(folder / args[1])
    numpy.testing.assert_allclose(loaded(folder / "out"), expected, atol=1e-2)


@pytest.mark.parametrize("method", ["pca", "gcca"])
def test_merged_table_has_the_words_of_all(method: str, folder: Path) -> None:
    write_lines(folder / "more.txt", random_vectors(80, 5, 1), [f"word{i}" for i in range(80)])
    args = ("--method", method, "--width", 4)
    assert "Wrote 80 vectors of width 4" in ok("merge", "in", "more.txt", "out", *args)
    ok("merge", "in", "more.txt", "again", *args)
    assert files(folder / "again") == files(folder / "out")
    # New words are merged by the same parameters.
    write_lines(folder / "new1.txt", random_vectors()[:2], ["new", "newer"])
    write_lines(folder / "new2.txt", random_vectors(80, 5, 1)[:2], ["new", "newer"])
    ok("merge", "new1.txt", "new2.txt", "new", "--map", "out/vocab/multihash_map.npz")
    expected = loaded(folder / "out")[:2]
    numpy.testing.assert_allclose(loaded(folder / "new", ["new", "newer"]), expected, atol=1e-5)


@pytest.mark.parametrize("method", ["pca", "gcca"])
def test_zeros_are_merged_as_words_that_a_table_lacks(method: str, folder: Path) -> None:
    X, Y = random_vectors(), random_vectors(60, 5, 1)
    write_lines(folder / "lacking.txt", X[:50])
    X[50:] = 0
    write_lines(folder / "zeros.txt", X)
    write_lines(folder / "narrow.txt", Y)
    args = ("narrow.txt", "out", "--method", method, "--width", 4)
    ok("merge", "lacking.txt", *args)
    expected = loaded(folder / "out")
    ok("merge", "zeros.txt", *args, "--force")
    numpy.testing.assert_allclose(loaded(folder / "out"), expected, atol=1e-4)


def test_merged_table_has_the_texts_that_any_table_knows(folder: Path) -> None:
    write_pipeline(folder / "unknown", random_vectors(seed=3))
    (folder / "unknown/vocab/strings.json").write_text(json.dumps(WORDS[:3]))
    write_lines(folder / "narrow.txt", random_vectors(60, 5))
    ok("merge", "unknown", "narrow.txt", "floret", "out.txt", "--width", 4)
    lines = (folder / "out.txt").read_text().splitlines()[1:]
    assert sorted(line.split(" ")[0] for line in lines) == sorted(WORDS)


def test_floret_is_merged_at_the_words_of_others(folder: Path) -> None:
    ok("merge", "floret", "in", "out", "--width", 10)
    write_lines(folder / "as_words.txt", loaded(folder / "floret"))
    ok("merge", "as_words.txt", "in", "expected", "--width", 10)
    numpy.testing.assert_allclose(loaded(folder / "out"), loaded(folder / "expected"), atol=1e-4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("align", "in", "narrow.txt"), "the same width to be aligned, were: 8 and 5"),
        (("align", "in", "other.txt"), "no word that is written alike"),
        (("align", "floret", "floret2"), "floret tables, which have no list of words"),
        (("align", "in", "in.txt", "--dictionary", "bad"), "bad, line 2: expected two words"),
        (("align", "in", "in.txt", "--dictionary", "pairs"), "None of the 1 pairs is in both"),
        (("align", "floret", "in", "--refine", 1), "--refine cannot take floret, a floret table"),
        (("merge", "in", "--width", 3), "to merge, was: in. Name the others before OUT."),
        (("merge", "in", "./in", "--width", 3), "The table ./in is given twice"),
        (("merge", "in", "in/vocab", "--width", 3), "The table in/vocab is given twice"),
        (("merge", "in", "in.txt"), "--width is missing"),
        (("merge", "in", "in.txt", "--width", 9), "width must be at most 8, was: 9"),
        (("merge", "in", "other.txt", "--method", "gcca", "--width", 2), "no word in common"),
        (("merge", "floret", "floret2", "--width", 3), "All tables are of floret"),
        (("merge", "in", "narrow.txt", "--map", "words.txt"), "words.txt is damaged"),
        (
            ("merge", "in", "narrow.txt", "--map", "map.npz"),
            "[8, 8], as those of the former merge, were: 8",
        ),
    ],
)
def test_bad_joins_are_one_error(args: tuple[str, ...], message: str, folder: Path) -> None:
    write_lines(folder / "narrow.txt", random_vectors(60, 5))
    write_lines(folder / "other.txt", random_vectors(), [f"wort{i}" for i in range(60)])
    write_floret(folder / "floret2", random_vectors())
    (folder / "bad").write_text("word1 word1\nword2\n")
    (folder / "pairs").write_text("wort1 wort1\n")
    ok("merge", "in", "in.txt", "merged", "--width", 3)
    (folder / "map.npz").write_bytes((folder / "merged/vocab/multihash_map.npz").read_bytes())
    at = next((i for i, arg in enumerate(args) if str(arg).startswith("--")), len(args))
    assert message in refused(*args[:at], "out", *args[at:])


# Evaluation


@pytest.fixture
def corpora(folder: Path) -> None:
    doc = Doc(Vocab(), words=WORDS[:20], ents=["B-PER", "O"] * 10)
    write_corpus(folder / "train.spacy", [doc])
    write_corpus(folder / "test.spacy", [doc])
    lines = [f"word{i}\tword{i + 1}\t{i}" for i in range(9)]
    (folder / "pairs").write_text("\n".join([*lines, "word1\tunknown\t3"]))


def test_words_with_line_feeds_are_shown_on_one_line(folder: Path) -> None:
    write_floret(folder / "floret", random_vectors())
    write_corpus(folder / "words.spacy", [Doc(Vocab(), words=["word1", "\n", "word2"])])
    said = ok("evaluate", "floret", "--words", "words.spacy")
    assert "'\\n'" in said


def test_codes_may_be_named_in_capitals(folder: Path) -> None:
    ok("quantize", "in", "codes.NPZ", "--method", "int8")
    assert (folder / "codes.NPZ").is_file()
    ok("unit", "codes.NPZ", "out")


@pytest.mark.usefixtures("corpora")
def test_tables_are_compared_at_one_width(folder: Path) -> None:
    pytest.importorskip("sklearn")
    write_lines(folder / "narrow.txt", random_vectors(60, 5))
    args = ["evaluate", "in", "narrow.txt", "--pairs", "pairs", "--words", "words.txt"]
    args += ["--train", "train.spacy", "--test", "test.spacy", "--seeds", "2"]
    said = ok(*args)
    assert "Word similarity" in said
    assert "in 10 9" in said
    assert "Entity tags from vectors of width 5" in said
    assert said.count("logistic regression") == said.count("MLP") == 4
    assert "Neighbours in narrow.txt" in said
    found = json.loads(vectors(*args, "--json").stdout)
    assert [*found] == ["in", "narrow.txt"]
    assert [*found["in"]] == ["similarity", "probes", "neighbours"]
    assert [probe["normalized"] for probe in found["in"]["probes"]] == [False, False, True, True]


@pytest.mark.usefixtures("corpora")
def test_words_for_neighbours_leave_the_similarity_as_it_is(folder: Path) -> None:
    (folder / "few.txt").write_text("\n".join(WORDS[:20]))
    plain, listed = (
        json.loads(vectors("evaluate", "in", "--pairs", "pairs", "--json", *args).stdout)["in"]
        for args in ((), ("--words", "few.txt"))
    )
    assert [*plain] == ["similarity"] and [*listed] == ["similarity", "neighbours"]
    assert plain["similarity"] == listed["similarity"]


@pytest.mark.usefixtures("corpora")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("in",), "Nothing to do. Give --pairs"),
        (("in", "--train", "train.spacy"), "--train and --test belong together"),
        (("in", "--pairs", "bad"), "bad, line 1: expected two words and a number"),
        (("in", "./in", "--words", "words.txt"), "The table ./in is given twice"),
        (
            ("in", "--train", "train.spacy", "--test", "test.spacy", "--width", 9),
            "of in, was: 9. Give a smaller one, or",
        ),
        (
            ("in", "--words", "words.txt", "--width", 3, "--seeds", 9),
            "--width and --seeds would do nothing without --train and --test",
        ),
        (
            ("in", "--pairs", "pairs", "--of-band", 2),
            "--of-band would do nothing without --words",
        ),
        (("floret", "--pairs", "pairs"), "Give a file of words with --words"),
        (("in", "--train", "nowhere", "--test", "nowhere"), "There is no corpus at nowhere"),
        (("in", "--train", "train.spacy", "--test", "none.spacy"), "The test corpus has no tokens"),
        (("in", "--train", "train.spacy", "--test", "no.spacy"), "The test corpus has no entities"),
        (("nowhere", "--words", "words.txt"), "There are no vectors at nowhere"),
    ],
)
def test_bad_evaluations_are_one_error(args: tuple[str, ...], message: str, folder: Path) -> None:
    (folder / "bad").write_text("word1 word2\n")
    write_corpus(folder / "none.spacy", [Doc(Vocab(), words=[])])
    write_corpus(folder / "no.spacy", [Doc(Vocab(), words=WORDS[:3], ents=["O"] * 3)])
    assert message in refused("evaluate", *args)


def test_probes_count_no_token_whose_annotation_is_missing(tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["Anna", "ran"], ents=["B-PER", "O"])]
    docs += [Doc(Vocab(), words=["Anna", "fell"]) for _ in range(3)]
    path = write_corpus(tmp_path / "half.spacy", docs)
    assert read_tokens(path) == {("Anna", "PER"): 1, ("ran", "O"): 1}


def test_a_tokenizer_whose_package_is_missing_is_named_before_the_work(
    folder: Path, no_work: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sudachipy", "sudachidict_core"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("spacy_multihash.vectors.files.read_text", None)
    for source in ("in", "in.txt"):
        error = refused("unit", source, "out", "--lang", "ja")
        assert "Japanese support requires SudachiPy" in error
