"""Words looked up in tables by the tables' attributes, vectors to estimate on, joined words."""

from dataclasses import replace

import numpy
import pytest
from spacy.attrs import IS_ALPHA, LEMMA, LOWER, NORM, ORTH

from spacy_multihash.vectors.align import alike_vectors
from spacy_multihash.vectors.reduce import join_words, merge
from spacy_multihash.vectors.table import VectorTable
from tests.helpers.vectors import FLORET_TABLE, WORDS, make_table, random_vectors

X = random_vectors()
UPPER = [word.upper() for word in WORDS]


def table_of(attr: int, words: list[str] | None = None, name: str = "table") -> VectorTable:
    return replace(make_table(X, words, name), attr=attr)


@pytest.mark.parametrize("floret", [None, FLORET_TABLE])
def test_words_are_looked_up_by_the_attribute_of_the_table(floret: dict | None) -> None:
    table = replace(table_of(LOWER), floret=floret)
    numpy.testing.assert_equal([*table.look_up(UPPER)], [*table.look_up(WORDS)])
    assert table.look_up(UPPER)[0].all()


@pytest.mark.parametrize(
    ("attr", "expected"),
    [(ORTH, "Gonna ‘"), (LOWER, "gonna ‘"), (NORM, "gonna '"), (LEMMA, "Gonna ‘")],
)
def test_values_are_those_of_words_without_context(attr: int, expected: str) -> None:
    assert table_of(attr).values(["Gonna", "‘"]) == expected.split()
    assert table_of(ORTH).values(["Gonna", "‘"], attr) == expected.split()


def test_attribute_that_finds_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match=f"must look words up by ORTH, .* attribute {IS_ALPHA}"):
        table_of(IS_ALPHA).look_up(WORDS)


def test_words_that_are_alike_are_found_by_both_attributes() -> None:
    Y, Z = alike_vectors(table_of(ORTH, UPPER, "one"), table_of(LOWER, name="other"))
    numpy.testing.assert_array_equal(Y, numpy.unique(X, axis=0))
    numpy.testing.assert_array_equal(Z, Y)


def test_floret_is_looked_up_by_its_own_attribute_and_others_must_have_one() -> None:
    floret = replace(table_of(LOWER, name="floret"), floret=FLORET_TABLE)
    upper, lower = table_of(ORTH, UPPER, "upper"), table_of(LOWER, name="lower")
    joined = join_words([upper, floret])
    assert joined.attr == ORTH
    by_words = replace(table_of(ORTH, UPPER), data=floret.look_up(WORDS)[1])
    numpy.testing.assert_allclose(
        merge(joined, [upper, floret], 5).data, merge(joined, [upper, by_words], 5).data, atol=1e-5
    )
    assert join_words([lower, replace(lower, name="another")]).attr == LOWER
    with pytest.raises(ValueError, match="but upper and lower look them up by ORTH and LOWER"):
        join_words([upper, floret, lower])
    unknown = replace(upper, words=[None, *UPPER[1:]])
    assert join_words([unknown, upper]).words[0] == UPPER[0]
    with pytest.raises(ValueError, match="A floret table needs the text of all words"):
        join_words([unknown, floret])


def test_zeros_stand_for_no_vector() -> None:
    X = random_vectors()
    X[3] = 0
    table = make_table(X)
    present, found = table.look_up(["word2", "word3", "unknown"])
    assert present.tolist() == [True, False, False]
    numpy.testing.assert_array_equal(found, [X[2], X[3], X[3]])
    floret = replace(make_table(0 * X), floret=FLORET_TABLE)
    assert not floret.look_up(["word2", ""])[0].any()
    assert len(table.estimation_vectors()) == 59
    by_lower = replace(table, attr=LOWER)
    chosen = by_lower.estimation_vectors(["word2", "word3", "missing", "Word2"])
    numpy.testing.assert_array_equal(chosen, X[2:3])
    shared = replace(make_table(X[:5], ["a", "b", "c"]), rows=numpy.array([2, 1, 2]))
    numpy.testing.assert_array_equal(shared.estimation_vectors(), X[[1, 2]])
    with pytest.raises(ValueError, match=r"table has none of the 1 words, such as \['word3'\]"):
        table.estimation_vectors(["word3"])
