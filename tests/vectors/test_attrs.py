"""Tables that find words by another attribute than ORTH: commands look words up by it too."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import srsly
from spacy.attrs import IDS, IS_ALPHA, LEMMA, LOWER, NORM, ORTH
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_multihash.vectors.files import open_table
from spacy_multihash.vectors.lookup import stream_of, values_of, views_of, word_vectors
from spacy_multihash.vectors.neighbours import neighbours
from spacy_multihash.vectors.pairs import alike_vectors
from spacy_multihash.vectors.table import VectorTable
from tests.helpers import vectors as helpers
from tests.helpers.cli import said
from tests.helpers.corpora import write_corpus
from tests.helpers.vectors import (
    WORDS,
    loaded,
    make_table,
    random_vectors,
    vectors,
    write_pipeline,
)

X = random_vectors()
FLORET = {"mode": "floret", **helpers.FLORET}
UPPER = [word.upper() for word in WORDS]


def table_of(attr: int, words: list[str] | None = None, name: str = "table") -> VectorTable:
    return replace(make_table(X, words, name), attr=attr)


def lower_pipeline(path: Path, words: Sequence[str] = WORDS) -> Path:
    write_pipeline(path, X[: len(words)], list(words))
    srsly.write_json(path / "vocab" / "vectors.cfg", {"mode": "default", "attr": LOWER})
    return path


@pytest.mark.parametrize("floret", [None, FLORET])
def test_words_are_looked_up_by_the_attribute_of_the_table(floret: dict | None) -> None:
    table = replace(table_of(LOWER), floret=floret)
    for found, expected in zip(word_vectors(table, UPPER), word_vectors(table, WORDS), strict=True):
        numpy.testing.assert_array_equal(found, expected)
    assert word_vectors(table, UPPER)[0].all()


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
    assert values_of(table_of(attr), ["Gonna", "‘"]) == expected
    assert values_of(table_of(ORTH), ["Gonna", "‘"], attr) == expected


def test_attribute_that_finds_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match=f"table must find words by ORTH, .* attribute {IS_ALPHA}"):
        word_vectors(table_of(IS_ALPHA), WORDS)


def test_stream_takes_words_of_one_value_once() -> None:
    chosen = stream_of(table_of(LOWER), ["Word2", "word2", "WORD5"])
    numpy.testing.assert_array_equal(numpy.concatenate(list(chosen())), X[[2, 5]])


def test_neighbours_are_no_other_spellings_of_the_word() -> None:
    lower, both = (
        list(neighbours(table_of(LOWER), words))
        for words in (WORDS, [*WORDS[:9], *UPPER[:9], *WORDS])
    )
    assert both == lower


def test_words_that_are_alike_are_found_by_both_attributes() -> None:
    Y, Z = alike_vectors(table_of(ORTH, UPPER, "one"), table_of(LOWER, name="other"))
    numpy.testing.assert_array_equal(Y, X)
    numpy.testing.assert_array_equal(Z, X)


def test_floret_is_looked_up_by_its_own_attribute_and_others_must_have_one() -> None:
    floret = replace(table_of(LOWER, name="floret"), floret=FLORET)
    upper, lower = table_of(ORTH, UPPER, "upper"), table_of(LOWER, name="lower")
    merged, look_up = views_of([upper, floret])
    assert merged.attr == ORTH
    numpy.testing.assert_array_equal(look_up(slice(0, 60))[1][1], word_vectors(floret, WORDS)[1])
    assert views_of([lower, replace(lower, name="another")])[0].attr == LOWER
    with pytest.raises(ValueError, match="same attribute, but upper does by ORTH and lower by LOW"):
        views_of([upper, floret, lower])


def test_prune_keeps_words_by_the_attribute_of_the_table_or_the_one_given(tmp_path: Path) -> None:
    lower_pipeline(tmp_path / "lower")
    write_pipeline(tmp_path / "orth", X)
    corpus = write_corpus(tmp_path / "in.spacy", [Doc(Vocab(), words=["Word3", "WORD9", "x"])])
    for name, options in (("lower", []), ("orth", ["--attr", "LOWER"])):
        args = ["prune", tmp_path / name, tmp_path / f"{name}.out", "--words", corpus, *options]
        result = vectors(*args)
        assert "Wrote 2 vectors" in said(result), result.output
        found = loaded(tmp_path / f"{name}.out", ["word3", "word9"])
        numpy.testing.assert_array_equal(found, X[[3, 9]])
        with open_table(tmp_path / f"{name}.out") as table:
            assert table.attr == IDS[name.upper()]
    result = vectors("prune", tmp_path / "orth", tmp_path / "no", "--words", corpus)
    assert "orth has none of the 3 words to keep" in " ".join(result.stderr.split())


def test_evaluate_looks_pairs_up_by_the_attribute_of_the_table(tmp_path: Path) -> None:
    lower_pipeline(tmp_path / "lower")
    (tmp_path / "pairs.txt").write_text("Word1 WORD2 1\nWord3 Word4 2\nword5 Word6 3\n")
    result = vectors("evaluate", tmp_path / "lower", "--pairs", tmp_path / "pairs.txt", "--json")
    assert '"found":3' in result.stdout.replace(" ", ""), result.output
