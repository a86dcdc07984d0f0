"""Folders of vectors, and pipelines that read several of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy
import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.vectors import Vectors

from tests.helpers.arrays import random_vectors
from tests.helpers.pipelines import add_embedding
from tests.helpers.sections import ours
from tests.helpers.spacy_pipelines import LISTENER, ner
from tests.helpers.vectors import write_floret, write_pipeline

TEXT = "Anna met ROME xyz fell"


def vectors_of(nlp: Language, words: Sequence[str], width: int, seed: int = 0) -> Vectors:
    data = random_vectors(len(words), width, seed)
    keys = [nlp.vocab.strings.add(word) for word in words]
    return Vectors(strings=nlp.vocab.strings, data=data, keys=keys, name="words")


def floret_of(nlp: Language, width: int, seed: int = 0) -> Vectors:
    data = random_vectors(50, width, seed)
    settings = {"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 2}
    return Vectors(strings=nlp.vocab.strings, data=data, name="floret", **settings)


def save_words(path: Path, words: Sequence[str], width: int, seed: int = 0) -> str:
    return str(write_pipeline(path, random_vectors(len(words), width, seed), words, "en"))


def save_floret(path: Path, width: int) -> str:
    return str(write_floret(path, random_vectors(50, width), "en"))


def meta_embed(
    tables: dict[str, Optional[str]], mode: str = "mme", **settings: Any
) -> dict[str, Any]:
    """Make the section of a MultiHashEmbed with several tables."""
    width = None if mode == "concat" else 7
    vectors = ours("MetaVectors", width=width, tables=tables, mode=mode, **settings)
    sizes = {"width": 16, "attrs": ["SHAPE"], "rows": [50], "include_static_vectors": False}
    return ours("MultiHashEmbed", **sizes, vectors=vectors)


def meta_pipeline(embed: dict[str, Any], own: Optional[str] = None) -> Language:
    """Build a pipeline of a tok2vec and an ner that listens to it, not initialized.

    own: The pipeline with the vocab's own table.
    """
    nlp = spacy.blank("en")
    add_embedding(nlp, "tok2vec", embed)
    model = ner(LISTENER)["model"]
    nlp.add_pipe("ner", config={"model": model}).add_label("PER")  # type: ignore[attr-defined]
    nlp.config["initialize"]["vectors"] = own
    return nlp


def examples_of(nlp: Language) -> list[Example]:
    doc = nlp.make_doc("Anna met Rome and Rome fell")
    return [Example.from_dict(doc, {"entities": [(0, 4, "PER")]})]


def trained(nlp: Language, updates: int = 2) -> Language:
    """Initialize a pipeline, and train it for a few updates."""
    sgd = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(updates):
        nlp.update(examples_of(nlp), sgd=sgd)
    return nlp


def tensor_of(nlp: Language) -> numpy.ndarray:
    return nlp(TEXT).tensor
