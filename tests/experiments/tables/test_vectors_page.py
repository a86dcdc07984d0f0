"""Numbers of docs/vectors-results.md that are of tables of vectors, and not of runs."""

import re
from pathlib import Path

import numpy

from spacy_multihash.vectors.align import procrustes
from spacy_multihash.vectors.files import open_table
from spacy_multihash.vectors.pairs import alike_vectors
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "vectors-results.md").read_text("utf8")
TEXT = " ".join(re.sub(r"<!-- (?:= [^\n]*?|/) -->", "", PAGE).split())


def mean_cosine(X: numpy.ndarray, Y: numpy.ndarray) -> float:
    lengths = numpy.linalg.norm(X, axis=1) * numpy.linalg.norm(Y, axis=1)
    return float(((X * Y).sum(axis=1) / lengths).mean())


def test_numbers_of_the_tables_of_two_languages_are_theirs(shared: Path) -> None:
    names = ("nl_e5_words", "es_e5_words")
    for source, target in (names, names[::-1]):
        with (
            open_table(str(shared / "vectors" / source)) as one,
            open_table(str(shared / "vectors" / target)) as other,
        ):
            Y, X = alike_vectors(one, other)
            vectors = numpy.array(one.data[numpy.arange(40_000)])
            assert one.width == 300
        ends = mean_cosine(Y, X), mean_cosine(procrustes(Y, X)(Y), X)
        said = "Procrustes takes the mean cosine of such pairs from {:.2f} to {:.2f}."
        assert said.format(*ends) in TEXT
        length = numpy.linalg.norm(vectors, axis=1).mean()
        assert f"`unit` and `z-norm` make the `e5` vectors {length:.0f} times shorter." in TEXT
        assert abs(vectors.mean(axis=0)).max() < 0.00003
        assert "centring moves no number of them by more than 0.00003." in TEXT
