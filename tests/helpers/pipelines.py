"""Pipelines with weighted embeddings, of tokens and of n-grams."""

from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_multihash import Tables, count_symbols, cut_tables, make_tables, set_tables
from spacy_multihash.embed.attributes import attr_id
from spacy_multihash.embed.find import ngram_layers
from spacy_multihash.tables.set_tables import count_corpus
from tests.helpers.corpora import make_docs

WEIGHTED = {
    "@architectures": "spacy-multihash.MultiWeightedHashEmbed.v1",
    "attrs": ["NORM", "SHAPE"],
    "rows": [30, 8],
    "importance_rows": [200, 11],
    "seeds": [5, 6],
}
TEXTCAT = {
    "@architectures": "spacy-multihash.TextCatHashEmbed.v1",
    "exclusive_classes": True,
    "width": 4,
    "rows": 30,
    "importance_rows": 60,
}
ENSEMBLE = {
    "@architectures": "spacy-multihash.TextCatEnsemble.v1",
    "*": {
        "first": {**TEXTCAT, "ngram_orders": [1, 3]},
        "second": {**TEXTCAT, "seed": 3, "ngram_orders": [2]},
    },
}
DICTIONARY = {
    **TEXTCAT,
    "importance_by": "lookup",
    "importance_rows": None,
    "ngram_orders": [1, 2],
}
TEXTS = ["what a joke this is", "it is what it is", "", "what a joke", "is"]


def add_embedding(nlp: Language, name: str, embed: dict[str, Any]) -> None:
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 16, "depth": 1}
    encode |= {"window_size": 1, "maxout_pieces": 2}
    embed = {"width": 16, "include_static_vectors": False, **embed}
    model = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    nlp.add_pipe("tok2vec", name, config={"model": model})


def weighted_pipeline(**settings: Any) -> Language:
    """Build a pipeline, with tables of symbols for those that look them up."""
    nlp = spacy.blank("en")
    looked_up = settings.get("importance_by") == "lookup"
    if looked_up or not settings.get("train_importance", True):
        settings["importance_rows"] = None  # it would have no effect
    add_embedding(nlp, "tok2vec", {**WEIGHTED, **settings})
    if looked_up:
        counts = count_symbols(make_docs(), {name: attr_id(name) for name in ("NORM", "SHAPE")})
        set_tables(nlp.get_pipe("tok2vec").model, make_tables(counts, min_freq=2))  # type: ignore[attr-defined]
    nlp.initialize()
    return nlp


def textcat_pipeline(model: dict[str, Any]) -> Language:
    """Build a pipeline, with a dictionary of n-grams for a model that looks them up."""
    nlp = spacy.blank("en")
    textcat: Any = nlp.add_pipe("textcat", config={"model": model})
    for label in "XY":
        textcat.add_label(label)
    if any(node.name == "lookup_rows" for node in textcat.model.walk()):
        counts = count_corpus(token_docs(nlp), ngram_layers(textcat.model))
        set_tables(textcat.model, cut_tables(Tables(counts), min_freq=2))
    nlp.initialize()
    return nlp


def token_docs(nlp: Language) -> list[Doc]:
    return [nlp.make_doc(text) for text in TEXTS]
