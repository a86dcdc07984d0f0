"""A small corpus with entities, in files and in a config."""

from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import load_model_from_config
from thinc.api import Config

from tests.helpers.paths import ROOT
from tests.helpers.sections import ours

SENTENCES = [
    (["Anna", "met", "Bob", "in", "Rome", "."], ["B-PER", "O", "B-PER", "O", "B-GPE", "O"]),
    (["Bob", "left", "Rome", "."], ["B-PER", "O", "B-GPE", "O"]),
    (["Anna", "likes", "Oslo", "."], ["B-PER", "O", "B-GPE", "O"]),
    (["They", "like", "rain", "."], ["O", "O", "O", "O"]),
]


def make_docs(repeats: int = 1) -> list[Doc]:
    vocab = spacy.blank("en").vocab
    return [Doc(vocab, words=words, ents=ents) for words, ents in SENTENCES] * repeats


def write_corpus(path: Path, docs: list[Doc]) -> Path:
    DocBin(docs=docs).to_disk(path)
    return path


def small_config(corpus: Path, embed: dict[str, Any], **callback: Any) -> Config:
    """The base of all configs, small enough to train in a moment."""
    config = Config().from_disk(ROOT / "configs" / "report.cfg", interpolate=False)
    config["nlp"]["lang"] = "en"
    config["paths"].update(train=str(corpus), dev=str(corpus))
    config["components"]["tok2vec"]["model"]["embed"] = embed
    config["components"]["tok2vec"]["model"]["encode"].update(width=16, depth=1)
    config["training"].update(max_steps=40, eval_frequency=20)
    config["initialize"]["before_init"] = callback or None
    return config


WIDTH = "${components.tok2vec.model.encode.width}"
EMBED: dict[str, Any] = {"width": WIDTH, "attrs": ["NORM", "SHAPE"]}
EMBED["include_static_vectors"] = False
LOOKUP = ours("MultiEmbed", **EMBED)
HASH = ours("MultiHashEmbed", **EMBED, rows=[50, 20])
CALLBACK = {"@callbacks": "spacy-multihash.init_tables.v1", "min_freq": 1}


def build(config: Config) -> Any:
    return load_model_from_config(config, auto_fill=True)
