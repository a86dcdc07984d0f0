"""Keeping to a dictionary, against a loop over n-grams."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Ops
from thinc.types import Ragged

from spacy_multihash.common.types import NgramFilter
from spacy_multihash.layers import Symbols, known_ngrams, lookup_rows
from tests.helpers.ngrams import split

DOCS = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6)


def build(known: list[int]) -> NgramFilter:
    lookup = lookup_rows(attr="LOWER[1]")
    lookup.attrs["symbols"] = Symbols.from_ordered(numpy.array(known, dtype="uint64"))
    return known_ngrams(lookup)


def ragged(ops: Ops, docs: list[list[int]]) -> Ragged:
    ids = numpy.array([id_ for doc in docs for id_ in doc], dtype="uint64")
    return Ragged(ops.asarray(ids), ops.asarray1i([len(doc) for doc in docs]))


@given(docs=DOCS, known=st.lists(st.integers(0, 12), unique=True, min_size=1))
def test_known_ngrams_of_each_doc_are_kept_in_their_order(
    docs: list[list[int]], known: list[int]
) -> None:
    model = build(known)
    kept = model.predict(ragged(model.ops, docs))
    assert split(kept) == [[id_ for id_ in doc if id_ in known] for doc in docs]
    assert kept.dataXd.dtype == "uint64" and kept.lengths.dtype == "int32"


def test_known_ngrams_run_on_all_devices(ops: Ops) -> None:
    model = build([3, 5])
    docs = ragged(ops, [[5, 1, 3], [], [2], [3]])
    kept, backprop = model.begin_update(docs)
    assert split(kept) == [[5, 3], [], [], [3]]
    assert isinstance(kept.dataXd, ops.xp.ndarray)
    assert backprop(kept).dataXd.shape == (5,)


def test_a_dictionary_that_is_not_there_is_said() -> None:
    model = known_ngrams(lookup_rows(attr="LOWER[1]"))
    with pytest.raises(ValueError, match="has no table of symbols"):
        model.initialize()
