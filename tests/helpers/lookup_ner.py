"""A small trained pipeline whose embedding looks symbols up."""

from collections import Counter

from spacy.attrs import LOWER, SHAPE
from spacy.language import Language
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config, fix_random_seed

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
[components.tagger_ner.model.tok2vec.encode]
@architectures = "spacy-multihash.IteratedDilatedEncoder.v1"
width = 8
dilations = [1]
repeats = 1
"""


def trained_lookup(updates: int = 60) -> Language:
    """Train tagger_ner with a MultiEmbed on the sentences of make_docs."""
    fix_random_seed(0)
    config = Config().from_str(_CONFIG)
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
