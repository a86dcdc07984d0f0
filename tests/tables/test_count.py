"""Symbols that are counted in pieces, and those of the whole."""

import pickle
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.lang.en import English
from spacy.strings import get_string_id
from spacy.tokens import Doc, DocBin, Token
from spacy.vocab import create_vocab

from spacy_multihash import build_multi_embed_v1
from spacy_multihash.corpus.read import model_examples, tokens_of
from spacy_multihash.embed.features import parse_feature
from spacy_multihash.tables.find import component_models, ngram_layers
from spacy_multihash.tables.set_tables import count_corpus, count_tables
from spacy_multihash.tables.tables import Tables, merge_tables
from tests.helpers.features import ngrams
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
    assert as_bytes(merged(parts, lambda *pair: merge_tables(pair), data)) == as_bytes(count(texts))


def test_what_was_counted_travels_and_grows_with_its_symbols_alone() -> None:
    texts = [["Anna", "met", "Bob", "."], ["Bob", "met", "Rome"]]
    few, many = (pickle.dumps(count(texts * repeats)) for repeats in (1, 200))
    assert len(many) == len(few)
    assert as_bytes(pickle.loads(many)) == as_bytes(count(texts * 200))


KINDS = {"Rome": ["place", "city"], "Bob": "person", "Anna": ["person"]}
ATTRS = ["NORM", "ORTH[:2]", "LOWER[-3:]", "LOWER{3,4}", "LEMMA[1:]", "MORPH[Case]", "_.kinds"]


def pieces_of(token: Token) -> list[list[str]]:
    """Cut the symbols of a token in plain Python, by feature."""
    kinds, case = token._.kinds, token.morph.get("Case", [])
    word, lower = token.text, token.lower_
    kinds = [kinds] if isinstance(kinds, str) else [*kinds]
    single = ([x] for x in (token.norm_, word[:2], lower[-3:], token.lemma_[1:], ",".join(case)))
    norm, start, end, lemma, cases = single
    return [norm, start, end, ngrams(lower, 3, 4), lemma, cases, kinds]


def test_tables_count_the_annotation_of_the_corpus(tmp_path: Path) -> None:
    Token.set_extension("kinds", default=None)
    nlp = spacy.blank("en")
    docs = [Doc(nlp.vocab, words=w.split()) for w in ("Anna met Bob in Rome .", "Bananas fell")]
    for token in (token for doc in docs for token in doc):
        token.lemma_ = token.lower_.removesuffix("s")
        token.set_morph("Case=Nom|Number=Sing" if token.is_title else "Number=Plur")  # type: ignore[attr-defined]
        token._.kinds = KINDS.get(token.text, [])
    try:
        found = [pieces_of(token) for doc in docs for token in doc]
        DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "train.spacy")
        model = build_multi_embed_v1(4, ATTRS, False, count_repeats=False)
        examples = model_examples(nlp, tmp_path / "train.spacy")
        tables = count_tables([model], tokens_of(examples)).tables
    finally:
        Token.remove_extension("kinds")
    assert {*tables} == {*ATTRS}
    for name, of_tokens in zip(ATTRS, zip(*found, strict=True), strict=True):
        expected = Counter(get_string_id(text) for texts in of_tokens for text in {*texts})
        keys, counts = tables[name].keys.tolist(), tables[name].counts.tolist()
        assert dict(zip(keys, counts, strict=True)) == expected
        assert counts == sorted(counts, reverse=True)
