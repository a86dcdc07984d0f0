"""Tables of vectors in files: what spaCy writes is read, and what is written spaCy reads."""

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.attrs import LOWER
from spacy.vectors import Vectors
from spacy.vocab import Vocab

from spacy_multihash.vectors.compressed import is_compressed
from spacy_multihash.vectors.files import open_table, text_words, write_codes, write_table
from spacy_multihash.vectors.reduce import AffineMap, Method, map_table, rounded
from spacy_multihash.vectors.table import CHUNK_ROWS, stream_of
from spacy_multihash.vectors.vocab import word_keys
from tests.helpers.packages import installed
from tests.helpers.vectors import (
    WORDS,
    files,
    loaded,
    make_table,
    random_vectors,
    write_floret,
    write_lines,
    write_pipeline,
)

# Words that are hard to write one a line, or that have numbers of their own in spaCy.
ODD = ["a b", "\u2028x", "\x85", "PERSON", "<", "7", "x\tz", "ORTH"]


@pytest.mark.parametrize("name", ["plain.txt", "plain.vec", "packed.txt.gz"])
def test_text_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    X = random_vectors(len(ODD))
    write_table(tmp_path / name, make_table(X, ODD))
    with open_table(tmp_path / name, lang="de") as table:
        assert list(table.words) == ODD
        numpy.testing.assert_array_equal(table.data[:8], X)
        write_table(tmp_path / "folder", table)
    numpy.testing.assert_array_equal(loaded(tmp_path / "folder", ODD), X)
    assert spacy.load(tmp_path / "folder").lang == "de"
    with open_table(tmp_path / "folder") as table:
        assert list(table.words) == ODD
        write_table(tmp_path / f"again_{name}", table)
    with open_table(tmp_path / f"again_{name}") as table:
        assert list(table.words) == ODD
        numpy.testing.assert_array_equal(table.data[:8], X)


def test_text_is_what_spacy_reads(tmp_path: Path) -> None:
    from spacy.training.initialize import read_vectors

    X = random_vectors()
    write_table(tmp_path / "out.txt.gz", make_table(X))
    data, keys, _ = read_vectors(tmp_path / "out.txt.gz", 0)
    assert keys == WORDS
    numpy.testing.assert_array_equal(data, X)


def pack(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    """Write an archive of files, with the folder `some` before them."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("some/", "")
            for member, data in members.items():
                archive.writestr(member, data)
        return folder / name
    with tarfile.open(folder / name, "w:gz") as tar:
        directory = tarfile.TarInfo("some")
        directory.type = tarfile.DIRTYPE
        tar.addfile(directory)
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return folder / name


ARCHIVES = ["in.zip", "in.tar.gz", "in.TGZ"]


@pytest.mark.parametrize("name", ARCHIVES)
def test_first_file_of_an_archive_is_read(name: str, tmp_path: Path) -> None:
    X = random_vectors()
    data = write_lines(tmp_path / "in.txt", X).read_bytes()
    path = pack(tmp_path, name, {"some/vectors.txt": data, "another": b"no vectors"})
    with open_table(path) as table:
        assert list(table.words) == WORDS
        numpy.testing.assert_array_equal(table.data[:60], X)


@pytest.mark.parametrize("name", ARCHIVES)
def test_bad_archives_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no file in it: expected one with vectors"):
        with open_table(pack(tmp_path, name, {})):
            pass
    lines = write_lines(tmp_path / "in.txt", random_vectors(60, 50)).read_bytes()
    path = pack(tmp_path, name, {"in.txt": lines})
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"PK"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"is damaged after line \d+ \("), open_table(path):
            pass


def test_pipelines_and_vocabs_are_written_as_they_were_read(tmp_path: Path) -> None:
    X = random_vectors()
    source = write_pipeline(tmp_path / "in", X)
    for name, kind in (("in", "pipeline"), ("in/vocab", "vocab")):
        with open_table(tmp_path / name) as table:
            assert (table.kind, table.words) == (kind, WORDS)
            write_table(tmp_path / kind, table)
    numpy.testing.assert_array_equal(loaded(tmp_path / "pipeline"), X)
    assert spacy.load(tmp_path / "pipeline").meta["vectors"] == spacy.load(source).meta["vectors"]
    vocab = Vocab().from_disk(tmp_path / "vocab")
    assert {word: vocab[word].has_vector for word in WORDS} == dict.fromkeys(WORDS, True)


def test_bytes_of_rows_and_keys_are_spacys(tmp_path: Path) -> None:
    source = write_pipeline(tmp_path / "in", random_vectors())
    with open_table(source) as table:
        write_table(tmp_path / "out", table)
    before, after = files(source), files(tmp_path / "out")
    for name in ("vocab/vectors", "vocab/key2row", "vocab/strings.json", "vocab/vectors.cfg"):
        assert after[name] == before[name]


def test_package_is_read_without_loading_its_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pipeline(tmp_path / "some", random_vectors())
    monkeypatch.chdir(tmp_path.parent)
    with installed(tmp_path / "some", "xx_some", tmp_path), open_table("xx_some") as table:
        assert (table.lang, table.title, len(table.keys)) == ("xx", "some.vectors", 60)


def test_several_words_of_a_row_and_rows_of_no_word_stay(tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=random_vectors(5))
    for word, row in (("a", 1), ("b", 1), ("c", 3)):
        nlp.vocab.vectors.add(nlp.vocab.strings.add(word), row=row)
    nlp.to_disk(tmp_path / "in")
    with open_table(tmp_path / "in") as table:
        write_table(tmp_path / "out", table)
        rows = numpy.concatenate(list(stream_of(table)()))
    numpy.testing.assert_array_equal(rows, random_vectors(5)[[1, 3]])
    vectors = spacy.load(tmp_path / "out").vocab.vectors
    assert (vectors.shape, vectors.n_keys) == ((5, 8), 3)


@pytest.mark.parametrize("sign", ["", " ", "a b", "<\n"])
def test_floret_whose_signs_a_line_cannot_hold_is_no_text(tmp_path: Path, sign: str) -> None:
    with open_table(write_floret(tmp_path / "in", random_vectors())) as table:
        table = replace(table, floret={**table.floret, "eow": sign})
        with pytest.raises(ValueError, match=re.escape(f"has eow = {sign!r}, which the f")):
            write_table(tmp_path / "out.floret", table)
    assert not (tmp_path / "out.floret").exists()


def test_floret_is_read_and_written(tmp_path: Path) -> None:
    source = write_floret(tmp_path / "in", random_vectors())
    with open_table(source) as table:
        write_table(tmp_path / "out", table)
        write_table(tmp_path / "out.floret", table)
        there, X = table.look_up([*WORDS, ""])
    assert there.tolist() == [True] * 60 + [False]
    numpy.testing.assert_allclose(X[:60], loaded(source))
    numpy.testing.assert_array_equal(loaded(tmp_path / "out"), loaded(source))
    with open_table(tmp_path / "out.floret") as table:
        numpy.testing.assert_array_equal(table.look_up(WORDS)[1], X[:60])
        write_table(tmp_path / "again", table)
    numpy.testing.assert_array_equal(loaded(tmp_path / "again"), loaded(source))


class CountedRows:
    """Rows of zeros that keep in mind how many were asked for at once."""

    def __init__(self, rows: int) -> None:
        self.shape = (rows, 2)
        self.most = 0

    def __getitem__(self, index: slice) -> numpy.ndarray:
        number = len(range(*index.indices(self.shape[0])))
        self.most = max(self.most, number)
        return numpy.full((number, 2), index.start, dtype="float32")


@pytest.mark.parametrize("name", ["out", "out.txt"])
def test_rows_are_written_a_chunk_at_a_time(name: str, tmp_path: Path) -> None:
    rows, words = CountedRows(3 * CHUNK_ROWS), [f"w{i}" for i in range(3 * CHUNK_ROWS)]
    table = replace(make_table(numpy.zeros((1, 2)), ["w"]), data=rows, words=words)
    table = replace(table, keys=word_keys(words), rows=numpy.arange(len(words)))
    mapped = map_table(table, AffineMap(numpy.zeros(2, "f"), numpy.eye(2, dtype="f")))
    if name == "out.txt":
        mapped = replace(mapped, data=Sliced(mapped.data))
    write_table(tmp_path / name, mapped)
    assert rows.most == CHUNK_ROWS


class Sliced:
    """Rows that are asked for by slices, in place of the numbers of a slice."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.shape = rows.shape

    def __getitem__(self, index: numpy.ndarray) -> numpy.ndarray:
        return self.rows[slice(index[0], index[-1] + 1)]


# Genuine words with blanks: of GloVe, of tables of phrases, and of numbers.
BLANKS = [
    "New York",
    ". . .",
    "at name@domain.com",
    "3.5 mm",
    "1 . 5",
    "Apollo 11",
    "4.5",
    "a 1.5.2",
]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("has_header", [True, False])
def test_text_may_lack_a_header_and_begin_with_a_mark(
    mark: bytes, has_header: bool, tmp_path: Path
) -> None:
    X = random_vectors()
    path = write_lines(tmp_path / "in.txt", X)
    data = path.read_bytes()
    path.write_bytes(mark + (data if has_header else data.partition(b"\n")[2]))
    with open_table(path) as table:
        assert list(table.words) == WORDS
        numpy.testing.assert_array_equal(table.data[:60], X)


def test_words_with_blanks_are_read(tmp_path: Path) -> None:
    X = random_vectors(len(BLANKS))
    with open_table(write_lines(tmp_path / "in.txt", X, BLANKS)) as table:
        assert table.words == BLANKS
        numpy.testing.assert_array_equal(table.data[: len(X)], X)


@pytest.mark.parametrize("number", ["-7.86", ".5", "1e-05", "+2.", "1.5E+3"])
def test_lines_that_are_wider_than_line_1_says_are_refused(number: str, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "in.txt", random_vectors(5)).read_text().splitlines()

    def wider(line: int) -> str:
        word, _, vector = lines[line - 1].partition(" ")
        return f"{word} {number} {vector}"

    one = [*lines[:3], wider(4), *lines[4:]]
    files = {
        "all.txt": (2, [lines[0], *map(wider, range(2, 7))]),
        "one.txt": (4, one),
        "no_header.txt": (3, one[1:]),
        "narrow.txt": (2, [lines[1], *map(wider, range(3, 7))]),  # without a header
    }
    for name, (line, written) in files.items():
        (tmp_path / name).write_text("\n".join(written))
        match = (
            rf"{name}, line {line}: expected a word and 8 numbers, .*would be 'word\d {number[:1]}"
        )
        with pytest.raises(ValueError, match=match.replace("+", r"\+")):
            with open_table(tmp_path / name):
                pass


def test_words_that_could_not_be_read_again_are_not_written() -> None:
    table = make_table(random_vectors(3), ["a", "$ 3.5", "b 5"])
    match = r"table has 1 words with a blank or number .*such as '\$ 3.5'"
    with pytest.raises(ValueError, match=match):
        text_words(table)


# Bad input


def damaged(folder: Path, name: str) -> Path:
    """Write a pipeline, and damage a file of it."""
    path = write_pipeline(folder / "in", random_vectors())
    whole = (path / name).read_bytes()
    (path / name).write_bytes(whole[: len(whole) // 2])
    return path


@pytest.mark.parametrize("name", ["vectors", "key2row", "vectors.cfg", "strings.json"])
def test_damaged_vocab_is_refused(name: str, tmp_path: Path) -> None:
    path = damaged(tmp_path, f"vocab/{name}")
    with pytest.raises(ValueError, match=rf"vocab/{name} is damaged"), open_table(path):
        pass


def test_other_values_in_files_of_a_vocab_are_refused(tmp_path: Path) -> None:
    path = write_pipeline(tmp_path / "in", random_vectors())
    srsly.write_msgpack(path / "vocab" / "key2row", {5: 60})
    with pytest.raises(ValueError, match="a word has row 60, but the rows are 0 to 59"):
        with open_table(path):
            pass
    srsly.write_msgpack(path / "vocab" / "key2row", {"a": "b"})
    with pytest.raises(ValueError, match="key2row is damaged: expected rows by keys"):
        with open_table(path):
            pass
    with (path / "vocab" / "vectors").open("wb") as file_:
        numpy.save(file_, numpy.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="vocab is damaged: expected a table of floats"):
        with open_table(path):
            pass
    (path / "vocab" / "vectors").unlink()
    with pytest.raises(FileNotFoundError, match="There is no file .*vectors, which a vocab has"):
        with open_table(path):
            pass


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("minn", "x", "minn must be a whole number from 0 to 4294967295, was: 'x'"),
        ("minn", 4, "maxn must be a whole number from 4 to 4294967295, was: 3"),
        ("maxn", 2.5, "maxn must be a whole number from 2 to 4294967295, was: 2.5"),
        ("hash_count", 9, "hash_count must be a whole number from 1 to 4, was: 9"),
        ("hash_count", None, "hash_count must be a whole number from 1 to 4, was: None"),
        ("hash_seed", -1, "hash_seed must be a whole number from 0 to 4294967295, was: -1"),
        ("bow", 1, "bow must be a string, was: 1"),
        ("eow", None, "eow must be a string, was: None"),
    ],
)
def test_other_settings_of_floret_are_refused(
    name: str, value: object, message: str, tmp_path: Path
) -> None:
    path = write_floret(tmp_path / "in", random_vectors()) / "vocab" / "vectors.cfg"
    srsly.write_json(path, {**srsly.read_json(path), name: value})
    with pytest.raises(ValueError, match=f"vectors.cfg: {message}. Copy or make it again"):
        with open_table(tmp_path / "in"):
            pass


def test_attribute_of_the_words_is_kept(tmp_path: Path) -> None:
    path = write_pipeline(tmp_path / "in", random_vectors()) / "vocab" / "vectors.cfg"
    srsly.write_json(path, {"mode": "default", "attr": LOWER})
    with open_table(tmp_path / "in") as table:
        write_codes(tmp_path / "codes.npz", table, "int8")
    with open_table(tmp_path / "codes.npz") as table:
        write_table(tmp_path / "out", table)
    assert Vectors().from_disk(tmp_path / "out" / "vocab").attr == LOWER
    srsly.write_json(path, {"mode": "default", "attr": "LOWER"})
    with pytest.raises(ValueError, match="expected the number of an attribute .*, was: 'LOWER'"):
        with open_table(tmp_path / "in"):
            pass


def test_words_of_no_row_and_texts_that_are_not_needed_are_left_out(tmp_path: Path) -> None:
    path = write_pipeline(tmp_path / "in", random_vectors())
    key2row = srsly.read_msgpack(path / "vocab" / "key2row")
    srsly.write_msgpack(path / "vocab" / "key2row", key2row | {next(iter(key2row)): -1})
    with open_table(path) as table:
        assert table.words == WORDS[1:]
        assert table.rows.tolist() == [*range(1, 60)]
    (path / "vocab" / "strings.json").unlink()
    with open_table(path, words=False) as table:
        assert (table.words, len(table.keys)) == ([None] * 59, 59)
    with pytest.raises(FileNotFoundError, match="There is no file .*strings.json"):
        with open_table(path):
            pass


def test_keys_of_old_tables_are_read(tmp_path: Path) -> None:
    path = write_pipeline(tmp_path / "in", random_vectors()) / "vocab"
    (path / "key2row").unlink()
    with (path / "keys").open("wb") as file_:
        numpy.save(file_, word_keys(WORDS))
    with open_table(path) as table:
        assert table.words == WORDS and table.rows.tolist() == [*range(60)]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    spacy.blank("xx").to_disk(tmp_path / "empty")
    with pytest.raises(ValueError, match="empty has no vectors: .* an array of shape 0 x 0"):
        with open_table(tmp_path / "empty"):
            pass
    for name in ("nothing", str(tmp_path)):
        with pytest.raises(FileNotFoundError, match="There are no vectors at .*a package's name"):
            with open_table(name):
                pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "in.txt is empty"),
        ("x" * 999 + "\n", r"line 1: .*, was: 'x{60} \.\.\.'. Give"),
        ("hello\n", "in.txt, line 1: expected the numbers of words and of columns"),
        ("0 3\n", "in.txt has no vectors: its first line says '0 3'. Give a file with"),
        ("2 2\na 1 2\nb 1\n", "in.txt, line 3: expected a word and 2 numbers, was a word and 1"),
        ("2 2\na 1 2\nb 1 x\n", "in.txt, line 3: could not convert string to float: 'x'"),
        ("2 2\na 1 2\nb 1 nan\n", "in.txt, line 3: the vector of 'b' has NaN or infinity"),
        ("2 2\na 1 2\nb 1 1e39\n", "in.txt, line 3: the vector of 'b' has NaN or infinity"),
        ("3 2\na 1 2\nb 1 2\n", "cut off: its first line says 3 vectors, but it has 2"),
        ("2 2\n 1 2\nb 1 2\n", "in.txt, line 2: the word is empty, in ' 1 2'"),
        ("2 2\na\t1\nb\t1\t2\n", "in.txt, line 2: expected a word and 2 numbers, was a word and 1"),
        ("a\0 1 2\n", "in.txt is a binary file: expected vectors as text"),
        ("2 1 2 3 1 0 < >\n0 1\n2 1\n", "must number the rows of floret from 0 on"),
        ("2 1 2 3 9 0 < >\n0 1\n1 1\n", "in.txt, line 1: hash_count must be .* 1 to 4, was: 9"),
    ],
)
def test_bad_text_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(text)
    with pytest.raises(ValueError, match=message), open_table(tmp_path / "in.txt"):
        pass


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", "\n \t\n"])
@pytest.mark.parametrize(
    "text",
    [
        "2 2\na 1 2\nb c 3 4",
        "2\t2\na\t1\t2\nb c\t3\t4",
        "a\t1 2\nb c\t3 4",
        "2  2\na    1  2\nb c  3 \t4",
        "2 2\n\na 1 2\t\n\nb c 3 4 ",
        "2 2\r\na 1 2\r\nb c 3 4",
    ],
)
def test_blanks_and_tabs_part_columns_and_blank_lines_are_skipped(
    text: str, end: str, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_bytes(f"{text}{end}".encode())
    with open_table(tmp_path / "in.txt") as table:
        assert table.words == ["a", "b c"]
        numpy.testing.assert_array_equal(table.data[:2], [[1, 2], [3, 4]])


def test_first_vector_of_a_word_is_kept(tmp_path: Path, messages: Callable[[], str]) -> None:
    text = "6 2\ncat 1 2\ndog 3 4\ncat 5 6\ndog 7 8\n.... 1 1\n.... 2 2\n"
    (tmp_path / "in.txt").write_text(text)
    with open_table(tmp_path / "in.txt") as table:
        words = ["cat", "dog", "...."]
        assert table.words == words
        numpy.testing.assert_array_equal(table.look_up(words)[1], [[1, 2], [3, 4], [1, 1]])
        write_table(tmp_path / "out", table)
    assert "has 3 words more than once, such as 'cat': the first" in messages()
    numpy.testing.assert_array_equal(loaded(tmp_path / "out", words), [[1, 2], [3, 4], [1, 1]])


@pytest.mark.parametrize("name", ["GoogleNews.bin", "model.kv"])
def test_binary_files_are_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"2 2\ncat " + numpy.array([1, -2], "<f4").tobytes() + b"\n")
    with pytest.raises(ValueError, match=f"{name} is a binary file.*gensim"):
        with open_table(tmp_path / name):
            pass


LINE = st.text("ab \t0.1-e\u00a0\u2028\r", max_size=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.lists(LINE, max_size=5).map("\n".join).map(str.encode),
        st.lists(st.text(max_size=8), max_size=3).map(lambda words: as_text(words).encode()),
    ),
    st.integers(0, 60),
)
def test_any_file_is_read_as_it_stands_or_refused(tmp_path: Path, data: bytes, end: int) -> None:
    (tmp_path / "in.txt").write_bytes(data[:end])
    try:
        with open_table(tmp_path / "in.txt") as table:
            words, X = list(table.words), table.data[table.rows]
    except ValueError as error:
        assert "in.txt" in str(error)
        return
    lines = [line.split() for line in data[:end].decode("utf-8-sig").split("\n")]
    lines = [line for line in lines if line]
    for word, row in zip(words, X, strict=True):
        line = [*(word or "").split(), *row.tolist()]
        assert any(same_line(line, other) for other in lines), (word, row, lines)


def as_text(words: list[str]) -> str:
    return f"{len(words)} 2\n" + "".join(f"{word} 1 -2.5\n" for word in words)


def same_line(line: list[Any], other: list[str]) -> bool:
    if len(line) != len(other):
        return False
    return all(
        mine == theirs or (isinstance(mine, float) and numpy.float32(theirs) == numpy.float32(mine))
        for mine, theirs in zip(line, other, strict=True)
    )


def test_text_that_is_damaged_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"1000 1\n" + b"".join(b"w%d %d\n" % (i, i**5) for i in range(1000)))
    (tmp_path / "in.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"in.gz is damaged after line \d+"):
        with open_table(tmp_path / "in.gz"):
            pass
    (tmp_path / "in.txt").write_bytes(b"1 1\n\xff 1\n")
    with pytest.raises(ValueError, match="line 2: expected UTF-8"):
        with open_table(tmp_path / "in.txt"):
            pass


@pytest.mark.parametrize("name", ["out", "out.txt", "out.txt.gz"])
def test_rows_that_are_not_finite_are_refused_and_nothing_written(
    name: str, tmp_path: Path
) -> None:
    X = random_vectors()
    X[7, 3] = numpy.nan
    beyond = make_table(random_vectors().astype("float64") * 1e300)
    computed = AffineMap(numpy.full(8, -3e38, "f"), numpy.eye(8, dtype="f"))
    mapped = map_table(make_table(numpy.full((60, 8), 3e38, "f")), computed)
    for table, message in (
        (make_table(X), "but row 7 has NaN"),
        (beyond, "but row 0 has NaN, infinity, or a number that float32 cannot hold"),
        (mapped, f"computed for .*{name} must .* row 0 of the word 'word0' .* Scale the vec"),
    ):
        with pytest.raises(ValueError, match=message):
            write_table(tmp_path / name, table)
    assert not [*tmp_path.iterdir()]


def test_words_whose_text_is_unknown_are_not_written_as_text(tmp_path: Path) -> None:
    source = write_pipeline(tmp_path / "in", random_vectors())
    srsly.write_json(source / "vocab" / "strings.json", WORDS[2:])
    with open_table(source) as table:
        assert table.words[:3] == [None, None, "word2"]
        with pytest.raises(ValueError, match="The text of 2 words of .* is not known"):
            write_table(tmp_path / "out.txt", table)
        write_table(tmp_path / "out", table)
    numpy.testing.assert_array_equal(loaded(tmp_path / "out"), random_vectors())


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
    path = tmp_path / "codes.npz"
    write_codes(path, make_table(random_vectors()), "int8")
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        for found in re.finditer(mark, bytes(data)):
            data[found.start() + offset] = value
    path.write_bytes(data)
    assert zipfile.is_zipfile(path)
    with pytest.raises(ValueError, match=rf"codes.npz is damaged, or no .npz .*\({error}"):
        with open_table(path):
            pass


# Codes


@pytest.mark.parametrize("method", ["float16", "int8"])
def test_file_of_codes_is_a_table_of_what_they_stand_for(method: Method, tmp_path: Path) -> None:
    table = replace(make_table(random_vectors()), lang="de", title="some")
    for name in ("codes.npz", "again.npz"):
        write_codes(tmp_path / name, table, method)
    assert (tmp_path / "codes.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "codes.npz") as archive:
        assert {info.date_time[0] for info in archive.infolist()} == {1980}  # no date of today
    with open_table(tmp_path / "codes.npz") as read:
        expected = rounded(table, method).data[slice(0, 60)]
        numpy.testing.assert_array_equal(read.data[slice(0, 60)], expected)
        assert (list(read.words), read.lang, read.title) == (WORDS, "de", "some")
        numpy.testing.assert_array_equal(read.keys, table.keys)


def test_damaged_codes_are_refused(tmp_path: Path) -> None:
    table, path = make_table(random_vectors()), tmp_path / "codes.npz"
    write_codes(path, table, "int8")
    whole = path.read_bytes()
    with numpy.load(path) as archive:
        arrays = dict(archive)
    for changed, message in (
        ({"head": numpy.zeros(3, dtype="uint8")}, "is damaged"),
        ({"keys": table.keys[:5]}, r"is damaged \(5 keys, 60 rows and 60 words\)"),
        ({"rows": table.rows + 1}, "a word has row 60, but the rows are 0 to 59"),
        ({"scales": numpy.full(60, numpy.nan, dtype="float32")}, "row 0 has NaN"),
        ({"kind": numpy.array("pq")}, "must have the codes of float16 or int8 .*, was: pq"),
        ({"version": numpy.array(2)}, "must have the codes of float16 or int8"),
    ):
        numpy.savez(path, **{**arrays, **changed})
        with pytest.raises(ValueError, match=message), open_table(path) as read:
            read.data[slice(0, 60)]
    del arrays["scales"]
    numpy.savez(path, **arrays)
    with pytest.raises(ValueError, match="must have the codes of"), open_table(path):
        pass
    for size in (0, 10, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"is damaged, or no .npz file"), open_table(path):
            pass
    path.unlink()
    with pytest.raises(FileNotFoundError, match="expected codes that quantize wrote"):
        with open_table(path):
            pass
