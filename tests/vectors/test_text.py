"""Vectors as text whose lines have more numbers than columns, and words with blanks."""

from pathlib import Path

import numpy
import pytest

from spacy_multihash.vectors.files import open_table, text_words
from tests.helpers.vectors import make_table, random_vectors, write_lines

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


def test_mark_of_utf_8_at_the_beginning_is_no_part_of_the_text(tmp_path: Path) -> None:
    X = random_vectors()
    path = write_lines(tmp_path / "in.txt", X)
    head, _, rest = path.read_bytes().partition(b"\n")
    for data in (head + b"\n" + rest, rest):
        path.write_bytes(b"\xef\xbb\xbf" + data)
        with open_table(path) as table:
            assert (table.words[0], table.data.shape) == ("word0", (60, 8))
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
    with pytest.raises(ValueError, match=r"table has 1 words with a number .*such as '\$ 3.5'"):
        text_words(table)
