"""A small trained pipeline whose embedding looks symbols up."""

from collections import Counter
from typing import Optional

import spacy
from spacy.attrs import LOWER, SHAPE
from spacy.language import Language
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config, Model, fix_random_seed

from spacy_multihash import count_symbols, make_tables, set_tables
from tests.helpers.corpora import make_docs

ATTRS = ["LOWER", "SHAPE"]
_CONFIG = """
[nlp]
lang = "en"
pipeline = ["tagger_ner"]
[components]
[components.tagger_ner]
factory = "tagger_ner"
[components.tagger_ner.model]
@architectures = "spacy-multihash.TokenTagger.v1"
[components.tagger_ner.model.tok2vec]
@architectures = "spacy.Tok2Vec.v2"
[components.tagger_ner.model.tok2vec.embed]
@architectures = "spacy-multihash.MultiEmbed.v1"
width = 8
attrs = ["LOWER","SHAPE"]
include_static_vectors = false
ard_warmup = 0
[components.tagger_ner.model.tok2vec.encode]
@architectures = "spacy-multihash.IteratedDilatedEncoder.v1"
width = 8
dilations = [1]
repeats = 1
"""


def trained_lookup(ard: Optional[float] = None, updates: int = 60) -> Language:
    """Train tagger_ner with a MultiEmbed on the sentences of make_docs."""
    fix_random_seed(0)
    config = Config().from_str(_CONFIG)
    config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]["ard"] = ard
    nlp = load_model_from_config(config, auto_fill=True)
    docs = make_docs()
    counts: dict[str, Counter[int]] = count_symbols(docs, {"LOWER": LOWER, "SHAPE": SHAPE})
    set_tables(nlp.get_pipe("tagger_ner").model, make_tables(counts, min_freq=1))  # type: ignore[attr-defined]
    examples = [Example(nlp.make_doc(" ".join(t.text for t in doc)), doc) for doc in docs]
    sgd = nlp.initialize(lambda: examples)
    sgd.learn_rate = 0.01
    for _ in range(updates):
        nlp.update(examples, sgd=sgd, losses={})
    return nlp


def tables_of(nlp: Language) -> dict[str, tuple[Model, Model]]:
    """Find the layers of each table, by attribute: the lookup and the weights."""
    model: Model = nlp.get_pipe("tagger_ner").model  # type: ignore[attr-defined]
    nodes = [node for node in model.walk() if len(node.layers) == 2]
    lookups = [node.layers for node in nodes if node.layers[0].name == "lookup_rows"]
    return {lookup.attrs["attr"].value: (lookup, weights) for lookup, weights in lookups}


def reload(nlp: Language) -> Language:
    """Copy a pipeline by its bytes, so that a test may change it."""
    return spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
