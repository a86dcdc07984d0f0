"""Layers of ours in models that hold spaCy's own layers too."""

from typing import Any

import pytest
import spacy
from spacy.attrs import NORM, SHAPE

from spacy_multihash import count_symbols, find_tables, make_tables, set_tables
from spacy_multihash.tables.find import lookup_names, ngram_layers
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.corpora import HASH, LOOKUP, make_docs
from tests.helpers.spacy_pipelines import ENCODE

BOW = {
    "@architectures": "spacy.TextCatBOW.v3",
    "exclusive_classes": True,
    "ngram_size": 2,
    "length": 64,
    "no_output_layer": False,
}


def spacy_ensemble(embed: dict[str, Any]) -> dict[str, Any]:
    """spaCy's ensemble around an embedding of ours, beside its own bag of words."""
    tok2vec = {"@architectures": "spacy.Tok2Vec.v2", "embed": {**embed, "width": 16}}
    tok2vec["encode"] = ENCODE
    name = "spacy.TextCatEnsemble.v2"
    return {"@architectures": name, "linear_model": BOW, "tok2vec": tok2vec}


@pytest.mark.parametrize(("embed", "looked_up"), [(LOOKUP, ["NORM", "SHAPE"]), (HASH, [])])
def test_layers_that_extract_ngrams_are_ours(embed: dict[str, Any], looked_up: list[str]) -> None:
    nlp, docs = spacy.blank("en"), make_docs(3)
    textcat: Any = nlp.add_pipe("textcat", config={"model": spacy_ensemble(embed)})
    model = textcat.model
    assert any(node.name == "extract_ngrams" for node in model.walk())
    assert list(ngram_layers(model)) == []
    assert lookup_names(model) == looked_up
    assert list(count_tables([model], docs).tables) == looked_up
    if looked_up:
        counts = count_symbols(docs, {"NORM": NORM, "SHAPE": SHAPE})
        set_tables(model, make_tables(counts, min_freq=1))
    found = [(table.component, table.attr) for table in find_tables(nlp)]
    assert found == [("textcat", "NORM"), ("textcat", "SHAPE")]


def test_weighted_embeddings_have_two_tables_each() -> None:
    nlp = spacy.blank("en")
    name = "spacy-multihash.MultiWeightedHashEmbed.v1"
    nlp.add_pipe("tok2vec", config={"model": {**HASH, "@architectures": name, "width": 8}})
    parts = [(table.attr, table.part) for table in find_tables(nlp)]
    assert parts == [(a, part) for a in ("NORM", "SHAPE") for part in ("components", "importance")]
