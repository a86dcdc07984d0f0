"""Pipelines with tagger_ner, and a few sentences that they learn."""

from collections.abc import Iterable
from typing import Any

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, fix_random_seed

from spacy_multihash.ner.entities import lengths_of
from spacy_multihash.ner.gold import gold_tags
from spacy_multihash.ner.tagger.component import EntityTagger
from spacy_multihash.ner.tagger.crf import tagging_loss
from tests.helpers import sections
from tests.helpers.corpora import HASH
from tests.helpers.weights import params

SENTENCES: list[tuple[str, list[tuple[int, int, str]]]] = [
    ("Anna met Bob in New York .", [(0, 4, "PER"), (9, 12, "PER"), (16, 24, "GPE")]),
    ("Bob left Rome .", [(0, 3, "PER"), (9, 13, "GPE")]),
    ("Anna likes New York .", [(0, 4, "PER"), (11, 19, "GPE")]),
    ("They like rain .", []),
]
TEXTS = [text for text, _ in SENTENCES] + ["", "Zoë met Anna", "Rome", "  ", "They like Bob ."]
ITERATED = sections.ours("IteratedDilatedEncoder", width=16, dilations=[1, 2, 1], repeats=2)
MAXOUT = sections.windows()
EMBED = {**HASH, "width": 16, "rows": [100, 50]}
LISTENER = sections.listener()

# What a doc's entities are: start, end, label, and the ids of links.
Found = list[tuple[int, int, str, str, str]]


def tok2vec(encode: dict[str, Any] = ITERATED, embed: dict[str, Any] = EMBED) -> dict[str, Any]:
    return sections.tok2vec(embed, encode)


def tagger(vectors: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    return sections.ours("TokenTagger", tok2vec=vectors or tok2vec(), **model)


CRF = tagger(learn_transitions=True)


def blank(model: dict[str, Any] | None = None, **config: Any) -> Language:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner", config={"model": model or tagger(), **config})
    return nlp


def pipe_of(nlp: Language, name: str = "tagger_ner") -> EntityTagger:
    pipe = nlp.get_pipe(name)
    assert isinstance(pipe, EntityTagger)
    return pipe


def examples_of(nlp: Language) -> list[Example]:
    return [Example.from_dict(nlp.make_doc(text), {"entities": ents}) for text, ents in SENTENCES]


def fit(nlp: Language, steps: int = 40, *, drop: float = 0.0) -> Language:
    batch = examples_of(nlp)
    sgd = nlp.initialize(lambda: batch)
    sgd.learn_rate = 0.01
    for _ in range(steps):
        nlp.update(batch, sgd=sgd, drop=drop)
    return nlp


def trained(model: dict[str, Any] | None = None, steps: int = 40, **config: Any) -> Language:
    return fit(blank(model, **config), steps, drop=0.1)


def initialized(model: dict[str, Any] | None = None, **config: Any) -> Language:
    return fit(blank(model, **config), 0)


def randomize(model: Model) -> None:
    """Draw all weights: of few inputs, entities of all lengths come out of it."""
    rng = numpy.random.default_rng(5)
    for node, name in params(model):
        shape = node.get_param(name).shape
        values = rng.normal(size=shape, scale=1.2 / numpy.sqrt(shape[-1]))
        node.set_param(name, node.ops.asarray(values.astype("float32")))


def randomized(model: dict[str, Any] | None = None, **config: Any) -> Language:
    nlp = initialized(model, **config)
    randomize(pipe_of(nlp).model)
    output = pipe_of(nlp).model.get_ref("output_layer")
    # Fewer tokens outside of all entities, and more that are one
    C = output.get_dim("nO") // 4
    more = output.ops.asarray1f([-3.0, *[0.0] * (3 * C), *[9.0] * C])
    output.set_param("b", output.get_param("b") + more)
    return nlp


def entities_of(docs: Iterable[Doc]) -> list[list[tuple[str, str]]]:
    return [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs]


def gold() -> list[list[tuple[str, str]]]:
    return [[(text[i:j], label) for i, j, label in ents] for text, ents in SENTENCES]


def found(doc: Doc) -> Found:
    return [(e.start, e.end, e.label_, e.kb_id_, e.ent_id_) for e in doc.ents]


DECODERS: dict[str, tuple[dict[str, Any], str]] = {
    "greedy": (tagger(), "greedy"),
    "constrained": (tagger(), "constrained"),
    "crf": (CRF, "crf"),
    "greedy, of a crf": (CRF, "greedy"),
}


def loss_of(nlp: Language, examples: list[Example]) -> tuple[float, numpy.ndarray]:
    pipe = pipe_of(nlp)
    scores, _ = pipe.model.begin_update([eg.predicted for eg in examples])
    return loss_of_scores(pipe, examples, scores)


def loss_of_scores(
    pipe: EntityTagger, examples: list[Example], scores: numpy.ndarray
) -> tuple[float, numpy.ndarray]:
    lengths = lengths_of([eg.predicted for eg in examples])
    gold = gold_tags(examples, pipe.labels)
    pairs = pipe.model.get_param("transitions") if pipe.learns_transitions else None
    return tagging_loss(scores, lengths, pairs, gold)[:2]
