"""Small pipelines that are too sure of the entities that they find."""

from functools import cache
from typing import Any, Optional

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Config, fix_random_seed

from tests.helpers.corpora import make_docs

EMBED = {"width": 16, "rows": [50, 50, 50, 50]}
CONFIGS = {
    "tagger_ner": {"model": {"tok2vec": {"embed": EMBED, "encode": {"width": 16}}}},
    "batch_ner": {"model": {"hidden_width": 8, "tok2vec": {"width": 16, "embed_size": 50}}},
}


def trained(factory: str, config: Optional[dict[str, Any]] = None) -> Language:
    """Train a pipeline on the sentences of make_docs, with more settings than its small ones."""
    trained_config, data = _trained(factory, srsly.json_dumps(config or {}))
    return spacy.blank("en").from_config(trained_config).from_bytes(data)


@cache
def _trained(factory: str, settings: str) -> tuple[Config, bytes]:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, config=Config(CONFIGS[factory]).merge(srsly.json_loads(settings)))
    examples = [Example(nlp.make_doc(" ".join(t.text for t in d)), d) for d in make_docs()]
    sgd = nlp.initialize(lambda: examples)
    for _ in range(100):
        nlp.update(examples, sgd=sgd, losses={})
    return nlp.config, nlp.to_bytes()


def wrong_docs() -> list[Doc]:
    """Docs in which a quarter of the entities that the pipelines find are no entities."""
    docs = [doc.copy() for doc in make_docs(4)]
    for doc in docs[: len(docs) // 4]:
        doc.set_ents([], default="outside")
    return docs
