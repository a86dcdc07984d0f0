"""The tables that commands print."""

import re

import pytest

from spacy_multihash.cli._show import show_collisions, show_table, unbroken
from spacy_multihash.inspection.rows import Collisions, Count

LONG = " ".join(f"number{i}" for i in range(9))


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a table, without its title."""
    lines = re.sub(r"\x1b\[\d+m", "", capsys.readouterr().out).splitlines()
    return [line.rstrip() for line in lines if line and "====" not in line]


def test_texts_are_on_the_left_and_numbers_on_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("Title", ("a", "b", "text"), [("x", "100", "x"), ("long", "7", "y")], aligns="lrl")
    assert printed(capsys) == [
        "a        b   text",
        "----   ---   ----",
        "x      100   x",
        "long     7   y",
    ]


def test_table_without_rows_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("Title", ("a",), [])
    assert capsys.readouterr().out == ""


def test_title_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("Of what", ("a",), [("1",)])
    assert re.search("=== Of what ===", capsys.readouterr().out)


def test_header_is_broken_before_cells_are(capsys: pytest.CaptureFixture[str]) -> None:
    header = ("name", "a header of many words", "numbers")
    show_table("Title", header, [(LONG[:40], "5", "1 2 3 4 5 6 7 8")])
    assert printed(capsys) == [
        " " * 43 + "a header of many",
        "name" + " " * 50 + "words           numbers",
        "-" * 40 + "   " + "-" * 16 + "   " + "-" * 15,
        LONG[:40].ljust(58) + "5   1 2 3 4 5 6 7 8",
    ]


def test_blanks_between_columns_are_fewer_before_cells_are_broken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_table("Title", ("a", "b", "c"), [(LONG[:40], LONG[:31], "12345")], aligns="ll")
    assert printed(capsys)[-1] == f"{LONG[:40]}  {LONG[:31]}  12345"


def test_cells_are_broken_at_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("Title", ("name", "such as", "n"), [(LONG, LONG, "5"), ("x", "y", "6")], aligns="ll")
    lines = printed(capsys)
    assert max(map(len, lines)) <= 80
    words = [word for line in lines for word in line.split()]
    assert sorted(words[7:]) == sorted([*LONG.split() * 2, "5", "x", "y", "6"])
    assert re.fullmatch(r"number0 .* number0 .* 5", lines[2])
    assert re.fullmatch(r"x +y +6", lines[-1])


def test_texts_that_must_not_be_broken_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    phrases = [f"'the {word}'" for word in LONG.split()]
    show_table("Title", ("of", "such as"), [("x", " ".join(map(unbroken, phrases)))], aligns="ll")
    output = "\n".join(printed(capsys))
    assert output.count("\n") > 2 and all(phrase in output for phrase in phrases)


def test_words_that_are_too_long_are_broken_at_last(capsys: pytest.CaptureFixture[str]) -> None:
    phrase = unbroken("'to be or not to be'" * 6)
    show_table("Title", ("a", "b", "n"), [("x" * 100, phrase, "1,234")], aligns="ll")
    lines = printed(capsys)
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("x") == 100
    assert "".join(lines[2:]).count("t") == 3 * 6
    assert lines[2].endswith("  1,234")


def test_words_that_stay_whole_are_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["[word]", "a-b_c.d", "y" * 30, "z" * 31]
    show_table("Title", ("a", "b"), [(word, "1" * 75) for word in words], aligns="L")
    cells = [line.split()[0] for line in printed(capsys)[2:]]
    assert cells == [*words[:3], "z" * 30, "z"]


def test_numbers_are_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("Title", ("a", "b"), [("x" * 100, "1" * 75)], aligns="l")
    assert "1" * 75 in "\n".join(printed(capsys))


def test_collisions_have_a_row_for_each_count(capsys: pytest.CaptureFixture[str]) -> None:
    fixed = Collisions("ner", "", "SHAPE", 1, 9, Count(3, 2.5, 1.0), probability=0.25)
    trained = Collisions("ner", "0", "NORM", 1, 1000, Count(8, 7.5), Count(2), Count(1), None)
    show_collisions("Symbols in collision", [fixed, trained])
    rows = [line.split() for line in printed(capsys)[2:6]]
    assert rows == [
        ["ner.SHAPE", "9", "components", "3", "2.5", "0.25"],
        ["ner[0].NORM", "1,000", "components", "8", "7.5"],
        ["ner[0].NORM", "1,000", "importance", "2", "-"],
        ["ner[0].NORM", "1,000", "both", "1", "-", "-"],
    ]


def test_no_collisions_are_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_collisions("Symbols in collision", [])
    assert capsys.readouterr().out == ""
