"""Words looked up in tables by the tables' attributes, streams of vectors, and joined words."""

from dataclasses import replace

import numpy
import pytest
from spacy.attrs import IS_ALPHA, LEMMA, LOWER, NORM, ORTH

from spacy_multihash.vectors.align import alike_vectors
from spacy_multihash.vectors.table import CheckedRows, VectorTable, join_words, stream_of
from tests.helpers import vectors as helpers
from tests.helpers.vectors import WORDS, make_table, random_vectors

X = random_vectors()
FLORET = {"mode": "floret", **helpers.FLORET}
UPPER = [word.upper() for word in WORDS]


def table_of(attr: int, words: list[str] | None = None, name: str = "table") -> VectorTable:
    return replace(make_table(X, words, name), attr=attr)


@pytest.mark.parametrize("floret", [None, FLORET])
def test_words_are_looked_up_by_the_attribute_of_the_table(floret: dict | None) -> None:
    table = replace(table_of(LOWER), floret=floret)
    for found, expected in zip(table.look_up(UPPER), table.look_up(WORDS), strict=True):
        numpy.testing.assert_array_equal(found, expected)
    assert table.look_up(UPPER)[0].all()


@pytest.mark.parametrize(
    ("attr", "expected"),
    [
        (ORTH, ["Gonna", "‘"]),
        (LOWER, ["gonna", "‘"]),
        (NORM, ["gonna", "'"]),
        (LEMMA, ["Gonna", "‘"]),
    ],
)
def test_values_are_those_of_words_without_context(attr: int, expected: list[str]) -> None:
    assert table_of(attr).values(["Gonna", "‘"]) == expected
    assert table_of(ORTH).values(["Gonna", "‘"], attr) == expected


def test_attribute_that_finds_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match=f"table must find words by ORTH, .* attribute {IS_ALPHA}"):
        table_of(IS_ALPHA).look_up(WORDS)


def test_stream_takes_words_of_one_value_once() -> None:
    chosen = stream_of(table_of(LOWER), ["Word2", "word2", "WORD5"])
    numpy.testing.assert_array_equal(numpy.concatenate(list(chosen())), X[[2, 5]])


def test_words_that_are_alike_are_found_by_both_attributes() -> None:
    Y, Z = alike_vectors(table_of(ORTH, UPPER, "one"), table_of(LOWER, name="other"))
    numpy.testing.assert_array_equal(Y, X)
    numpy.testing.assert_array_equal(Z, X)


def test_floret_is_looked_up_by_its_own_attribute_and_others_must_have_one() -> None:
    floret = replace(table_of(LOWER, name="floret"), floret=FLORET)
    upper, lower = table_of(ORTH, UPPER, "upper"), table_of(LOWER, name="lower")
    merged, look_up = join_words([upper, floret])
    assert merged.attr == ORTH
    numpy.testing.assert_array_equal(look_up(slice(0, 60))[1][1], floret.look_up(WORDS)[1])
    assert join_words([lower, replace(lower, name="another")])[0].attr == LOWER
    with pytest.raises(ValueError, match="same attribute, but upper does by ORTH and lower by LOW"):
        join_words([upper, floret, lower])


def test_words_with_zeros_are_not_there() -> None:
    X = random_vectors()
    X[3] = 0
    table = make_table(X)
    there, found = table.look_up(["word2", "word3", "unknown"])
    assert there.tolist() == [True, False, False]
    numpy.testing.assert_array_equal(found, [X[2], X[3], X[3]])
    floret = replace(make_table(0 * X), floret=FLORET)
    assert not floret.look_up(["word2", ""])[0].any()
    with pytest.raises(ValueError, match="table has none of the 1 words, such as"):
        stream_of(table, ["word3"])


def test_stream_takes_given_words_or_all_but_zeros() -> None:
    X = random_vectors()
    X[3] = 0
    table = make_table(X)
    assert sum(map(len, stream_of(table)())) == 59
    chosen = stream_of(table, ["word2", "word3", "missing", "word2"])
    for _ in range(2):
        numpy.testing.assert_array_equal(numpy.concatenate(list(chosen())), X[2:3])
    with pytest.raises(ValueError, match=r"table has none of the 1 words, such as \['missing'\]"):
        stream_of(table, ["missing"])


def test_floret_of_float16_is_looked_up() -> None:
    half = X.astype("float16")
    table = replace(make_table(half), floret=FLORET, keys=numpy.zeros(0, dtype="uint64"))
    wide = replace(table, data=CheckedRows(half.astype("float32"), "table"))
    found, expected = (each.look_up(WORDS)[1] for each in (table, wide))
    numpy.testing.assert_array_equal(found, expected)
