"""Tables of vectors in files: what spaCy writes is read, and what is written spaCy reads."""

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

from spacy_multihash.vectors.files import read_table, write_table
from spacy_multihash.vectors.table import word_keys
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

X = random_vectors()
# Words that are hard to write one a line, or that have numbers of their own in spaCy.
ODD = ["a b", "\u2028x", "\x85", "PERSON", "<", "7", "x\tz", "ORTH"]
# Genuine words with blanks: of GloVe, of tables of phrases, and of numbers.
ODD += ["New York", ". . .", "at name@domain.com", "3.5 mm", "1 . 5", "Apollo 11", "4.5", "a 1.5.2"]


@pytest.mark.parametrize("name", ["plain.txt", "packed.txt.gz"])
def test_text_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    odd = X[: len(ODD)]
    write_table(tmp_path / name, make_table(odd, ODD))
    table = read_table(tmp_path / name, lang="de")
    assert list(table.words) == ODD
    numpy.testing.assert_array_equal(table.data, odd)
    write_table(tmp_path / "folder", table)
    numpy.testing.assert_array_equal(loaded(tmp_path / "folder", ODD), odd)
    assert spacy.load(tmp_path / "folder").lang == "de"


def test_text_is_what_spacy_reads(tmp_path: Path) -> None:
    from spacy.training.initialize import read_vectors

    write_table(tmp_path / "out.txt.gz", make_table(X))
    assert (tmp_path / "out.txt.gz").read_bytes()[4:8] == bytes(4)  # no date of today
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
                archive.writestr(f"__MACOSX/{member}", b"")  # as macOS does
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


@pytest.mark.parametrize("name", ["in.zip", "in.tar.gz", "in.TGZ"])
def test_only_file_of_an_archive_is_read(name: str, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "in.txt", X).read_bytes()
    path = pack(tmp_path, name, {"some/vectors.txt": data})
    table = read_table(path)
    assert list(table.words) == WORDS
    numpy.testing.assert_array_equal(table.data, X)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"PK"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged after line \d+ \("):
            read_table(path)
    with pytest.raises(ValueError, match="the archive has no file"):
        read_table(pack(tmp_path, name, {}))
    widths = {f"glove.{width}d.txt": data for width in (50, 100)}
    with pytest.raises(ValueError, match=r"/in\.\w+.*: .* one file, got glove.50d.txt, glove.100d"):
        read_table(pack(tmp_path, name, widths))


@pytest.mark.parametrize("name", ["in", "in/vocab"])
def test_pipelines_and_vocabs_are_written_as_pipelines(name: str, tmp_path: Path) -> None:
    source = write_pipeline(tmp_path / "in", X)
    table = read_table(tmp_path / name)
    assert table.words == WORDS
    write_table(tmp_path / "out", table)
    before, after = files(source), files(tmp_path / "out")
    for file_ in ("vocab/vectors", "vocab/key2row", "vocab/strings.json", "vocab/vectors.cfg"):
        assert after[file_] == before[file_]
    vocab = spacy.load(tmp_path / "out").vocab
    assert {word: vocab[word].has_vector for word in WORDS} == dict.fromkeys(WORDS, True)


def test_package_is_read_without_loading_its_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pipeline(tmp_path / "some", X)
    monkeypatch.chdir(tmp_path.parent)
    with installed(tmp_path / "some", "xx_some", tmp_path):
        table = read_table("xx_some")
    assert (table.lang, table.title, len(table.keys)) == ("xx", "some.vectors", 60)


def test_floret_is_read_and_written(tmp_path: Path) -> None:
    source = write_floret(tmp_path / "in", X)
    table = read_table(source)
    write_table(tmp_path / "out", table)
    write_table(tmp_path / "out.floret", table)
    present, vectors = table.look_up([*WORDS, ""])
    assert present.tolist() == [True] * 60 + [False]
    numpy.testing.assert_allclose(vectors[:60], loaded(source))
    numpy.testing.assert_array_equal(loaded(tmp_path / "out"), loaded(source))
    write_table(tmp_path / "again", read_table(tmp_path / "out.floret"))
    numpy.testing.assert_array_equal(loaded(tmp_path / "again"), loaded(source))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("has_header", [True, False])
def test_text_may_lack_a_header_and_begin_with_a_mark(
    mark: bytes, has_header: bool, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "in.txt", X)
    data = path.read_bytes()
    path.write_bytes(mark + (data if has_header else data.partition(b"\n")[2]))
    table = read_table(path)
    assert list(table.words) == WORDS
    numpy.testing.assert_array_equal(table.data, X)


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\r"])
def test_other_line_ends_are_refused(tmp_path: Path, end: str) -> None:
    (tmp_path / "in.txt").write_text(f"a 1.0 2.0\nb 3.0 4.0{end}c 5.0 6.0\n", newline="")
    with pytest.raises(ValueError, match=r"in\.txt:2: expected a word and 2 numbers"):
        read_table(tmp_path / "in.txt")


@pytest.mark.parametrize("end", ["", "\n \t\r\n"])
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
def test_blanks_and_tabs_separate_columns_and_blank_lines_are_skipped(
    text: str, end: str, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_bytes(f"{text}{end}".encode())
    table = read_table(tmp_path / "in.txt")
    assert table.words == ["a", "b c"]
    numpy.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])


def test_first_vector_of_a_word_is_kept(tmp_path: Path, messages: Callable[[], str]) -> None:
    text = "6 2\ncat 1 2\ndog 3 4\ncat 5 6\ndog 7 8\n.... 1 1\n.... 2 2\n"
    (tmp_path / "in.txt").write_text(text)
    table = read_table(tmp_path / "in.txt")
    assert table.words == ["cat", "dog", "...."]
    assert "has 3 words more than once, such as 'cat': the first" in messages()
    numpy.testing.assert_array_equal(table.data[table.rows], [[1, 2], [3, 4], [1, 1]])


LINE = st.text("ab \t0.1-e\u00a0\u2028\r", max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        table = read_table(tmp_path / "in.txt")
    except ValueError as error:
        assert "in.txt" in str(error)
        return
    lines = [line.split() for line in data[:end].decode("utf-8-sig").split("\n")]
    lines = [line for line in lines if line]
    for word, row in zip(table.words, table.data[table.rows], strict=True):
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


def test_keys_of_old_tables_are_read(tmp_path: Path) -> None:
    path = write_pipeline(tmp_path / "in", X) / "vocab"
    (path / "key2row").unlink()
    with (path / "keys").open("wb") as file_:
        numpy.save(file_, word_keys(WORDS))
    table = read_table(path)
    assert table.words == WORDS and table.rows.tolist() == [*range(60)]


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "in.txt is empty"),
        ("x" * 999 + "\n", r":1: .*, got 'x{60} \.\.\.'. Give"),
        ("hello\n", "in.txt:1: expected the numbers of words and of columns"),
        ("0 3\n", "in.txt:1: there are no vectors, but '0 3'"),
        ("2 2\na 1 2\nb 1\n", "in.txt:3: expected a word and 2 numbers, .* got 'b 1'"),
        ("2 2\na 1 2\nb 1 x\n", "in.txt:3: could not convert string to float: 'x'"),
        ("2 2\na 1 2\nb 1 nan\n", "row 1 of the word 'b' has NaN"),
        ("2 2\na 1 2\nb 1 1e39\n", "row 1 of the word 'b' has NaN, infinity, or a"),
        ("3 2\na 1 2\nb 1 2\n", "cut off: its first line says 3 vectors, but it has 2"),
        ("2 2\n 1 2\nb 1 2\n", "in.txt:2: the word is empty in ' 1 2'"),
        ("2 2\na\t1\nb\t1\t2\n", "in.txt:2: expected a word and 2 numbers"),
        ("a\0 1 2\n", "in.txt:1: got a zero byte.* gensim"),
        ("1 1\n\udcff 1\n", "in.txt:2: expected UTF-8.* gensim"),
        ("2 1 2 3 1 0 < >\n0 1\n2 1\n", "must number the rows of floret from 0 on"),
        ("2 1 2 3 9 0 < >\n0 1\n1 1\n", "in.txt has wrong settings of floret"),
    ],
)
def test_bad_text_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(text.encode("utf8", "surrogateescape"))
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "in.txt")


@pytest.mark.parametrize("number", ["-7.86", ".5", "+2.", "1.5E+3"])
def test_lines_with_an_extra_column_are_refused(number: str, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "in.txt", X[:5]).read_text().splitlines()

    def wider(line: int) -> str:
        word, _, vector = lines[line - 1].partition(" ")
        return f"{word} {number} {vector}"

    one = [*lines[:3], wider(4), *lines[4:]]
    cases = {
        "all.txt": (2, [lines[0], *map(wider, range(2, 7))]),
        "one.txt": (4, one),
        "no_header.txt": (3, one[1:]),
        "narrow.txt": (2, [lines[1], *map(wider, range(3, 7))]),  # without a header
    }
    for name, (line, written) in cases.items():
        (tmp_path / name).write_text("\n".join(written))
        quoted = rf"got 'word\d {re.escape(number)}"
        with pytest.raises(ValueError, match=rf"{name}:{line}: expected a word .*{quoted}"):
            read_table(tmp_path / name)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def write_rows(path: Path, rows: Any) -> None:
    with path.open("wb") as file_:
        numpy.save(file_, rows)


def set_config(**values: object) -> Callable[[Path], None]:
    return lambda path: srsly.write_json(path, {**srsly.read_json(path), **values})


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("vectors", cut, "Cannot read .*vocab"),
        ("key2row", cut, "Cannot read .*vocab"),
        ("vectors.cfg", cut, "Cannot read .*vocab"),
        ("strings.json", cut, "Cannot read .*vocab"),
        ("strings.json", Path.unlink, "Cannot read .*vocab.*strings.json"),
        ("vectors", lambda p: p.write_bytes(p.read_bytes().replace(b"}", b"(", 1)), "TokenError"),
        ("vectors", lambda p: write_rows(p, numpy.arange(6).reshape(2, 3)), "array of int64 and"),
        ("vectors", lambda p: write_rows(p, X[:0]), r"has no vectors: .* of shape \(0, 8\)"),
        ("vectors", lambda p: write_rows(p, X * numpy.float64(1e300)), "row 0 .* float32"),
        ("vectors", Path.unlink, "There are no vectors at .*a package's name"),
        ("key2row", lambda p: srsly.write_msgpack(p, {5: 60}), "has row 60, but the rows are 0 to"),
        ("key2row", lambda p: srsly.write_msgpack(p, {"a": "b"}), "Cannot read .*vocab"),
        ("key2row", lambda p: srsly.write_msgpack(p, {}), "has vectors, but no words"),
        ("vectors.cfg", set_config(attr="LOWER"), "Cannot read .*vocab"),
    ],
)
def test_damaged_vocab_is_refused(
    name: str, damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    path = write_pipeline(tmp_path / "in", X)
    damage(path / "vocab" / name)
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        read_table(path)


@pytest.mark.parametrize(
    "values", [{"minn": "x"}, {"minn": 4}, {"hash_count": 9}, {"hash_seed": -1}, {"bow": 1}]
)
def test_settings_of_floret_that_are_out_of_range_are_refused(
    values: dict[str, object], tmp_path: Path
) -> None:
    set_config(**values)(write_floret(tmp_path / "in", X) / "vocab" / "vectors.cfg")
    with pytest.raises(ValueError, match="Cannot read .*vocab|in has wrong settings of floret"):
        read_table(tmp_path / "in")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": ["a", "b\nc"]}, r"has 1 words with a line feed, such as 'b\\nc'"),
        ({"words": ["a", "$ 3.5"]}, r"has 1 words that end in a blank or number, such as '\$ 3"),
        ({"words": ["a", None]}, "lacks the text of 1 words"),
        ({"attr": LOWER}, "finds words by LOWER, and would be read as a table by ORTH"),
        ({"words": [], "floret": {"bow": "<", "eow": ""}}, "has the signs .*, but blanks separate"),
        ({"words": [], "floret": {"bow": "a b", "eow": ">"}}, "has the signs .*, but blanks separ"),
        ({"data": X[:2] * numpy.nan}, "row 0 of the word 'a' has NaN"),
    ],
)
def test_tables_that_text_cannot_hold_are_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = replace(make_table(X[:2], ["a", "b"]), **changes)
    with pytest.raises(ValueError, match=message):
        write_table(tmp_path / "out.txt", table)
    assert not [*tmp_path.iterdir()]
