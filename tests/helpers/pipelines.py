"""Pipelines with weighted embeddings, of tokens and of n-grams."""

from collections.abc import Iterable
from typing import Any, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from tests.helpers.sections import ours, spacys, tok2vec

ROWS = {"rows": [30, 8], "importance_rows": [200, 11]}
WEIGHTED = ours("MultiWeightedHashEmbed", attrs=["NORM", "SHAPE"], **ROWS, seeds=[5, 6])
TEXTCAT = ours("TextCatHashEmbed", exclusive_classes=True, width=4, rows=30, importance_rows=60)
TEXTS = ["what a joke this is", "it is what it is", "", "what a joke", "is"]


def add_embedding(nlp: Language, name: str, embed: dict[str, Any]) -> None:
    embed = {"width": 16, "include_static_vectors": False, **embed}
    encode = spacys("MaxoutWindowEncoder.v2", width=16, depth=1, window_size=1, maxout_pieces=2)
    nlp.add_pipe("tok2vec", name, config={"model": tok2vec(embed, encode)})


def weighted_pipeline(**settings: Any) -> Language:
    """Build a pipeline with a weighted embedding of tokens."""
    nlp = spacy.blank("en")
    if not settings.get("train_importance", True):
        settings["importance_rows"] = None  # it would have no effect
    add_embedding(nlp, "tok2vec", {**WEIGHTED, **settings})
    nlp.initialize()
    return nlp


def textcat_pipeline(model: dict[str, Any], second: Optional[dict[str, Any]] = None) -> Language:
    """Build a pipeline with a text classifier of two labels, and maybe a second one."""
    nlp = spacy.blank("en")
    for name, each in (("textcat", model), ("second", second)):
        if each is not None:
            textcat: Any = nlp.add_pipe("textcat", name, config={"model": each})
            for label in "XY":
                textcat.add_label(label)
    nlp.initialize()
    return nlp


def two_textcats() -> Language:
    """Build a pipeline with text classifiers by n-grams of different orders."""
    first = {**TEXTCAT, "ngram_orders": [1, 3]}
    return textcat_pipeline(first, {**TEXTCAT, "seed": 3, "ngram_orders": [2]})


def token_docs(nlp: Language) -> list[Doc]:
    return [nlp.make_doc(text) for text in TEXTS]


def ngrams_by_loop(docs: Iterable[Doc], *orders: int) -> list[str]:
    words = [[token.lower_ for token in doc] for doc in docs]
    return [
        " ".join(own[i : i + order])
        for own in words
        for i in range(len(own))
        for order in orders
        if i + order <= len(own)
    ]
