"""N-grams of docs, by plain loops."""

from collections.abc import Iterable

import numpy
from spacy.tokens import Doc
from thinc.api import to_numpy
from thinc.types import Ragged


def split(ngrams: Ragged) -> list[list[int]]:
    ends = to_numpy(ngrams.lengths).cumsum()
    assert len(ngrams.dataXd) == (ends[-1] if len(ends) else 0)
    return [part.tolist() for part in numpy.split(to_numpy(ngrams.dataXd), ends)[:-1]]


def ngrams_by_loop(docs: Iterable[Doc], *orders: int) -> list[str]:
    words = [[token.lower_ for token in doc] for doc in docs]
    return [
        " ".join(own[i : i + order])
        for own in words
        for i in range(len(own))
        for order in orders
        if i + order <= len(own)
    ]
