"""Symbols that are counted in pieces, and those of the whole."""

import pickle
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.lang.en import English
from spacy.tokens import Doc
from spacy.vocab import create_vocab

from spacy_multihash.embed.features import parse_feature
from spacy_multihash.tables.find import component_models, ngram_layers
from spacy_multihash.tables.set_tables import count_corpus
from spacy_multihash.tables.tables import Tables, add_tables
from tests.helpers.pieces import TEXTS, cut, merged
from tests.helpers.pipelines import TEXTCAT, textcat_pipeline

TEXTCAT_MODEL = component_models(textcat_pipeline({**TEXTCAT, "ngram_orders": [1, 2]}))["textcat"]
EXTRACTORS: dict[str, Any] = {
    "NORM": None,
    "SHAPE": None,
    **{name: parse_feature(name) for name in ("ORTH[:2]", "LOWER{2,3}")},
    **ngram_layers(TEXTCAT_MODEL),
}


def count(texts: Sequence[list[str]]) -> Tables:
    """Count docs that are made with a vocab of their own, as in another process."""
    vocab = create_vocab("en", English.Defaults)
    return Tables(count_corpus((Doc(vocab, words=words) for words in texts), EXTRACTORS))


def as_bytes(tables: Tables) -> list[Any]:
    return [(n, t.keys.tobytes(), t.counts.tobytes()) for n, t in tables.tables.items()]


@settings(max_examples=25)
@given(texts=TEXTS, data=st.data())
def test_pieces_have_the_counts_of_the_whole(texts: list[list[str]], data: st.DataObject) -> None:
    parts = [count(piece) for piece in cut(texts, data)]
    assert as_bytes(merged(parts, add_tables, data)) == as_bytes(count(texts))


def test_what_was_counted_travels_and_grows_with_its_symbols_alone() -> None:
    texts = [["Anna", "met", "Bob", "."], ["Bob", "met", "Rome"]]
    few, many = (pickle.dumps(count(texts * repeats)) for repeats in (1, 200))
    assert len(many) == len(few)
    assert as_bytes(pickle.loads(many)) == as_bytes(count(texts * 200))
