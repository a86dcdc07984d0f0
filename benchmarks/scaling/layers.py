"""Layers of a size, and the doc that they run on."""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice

from spacy.tokens import Doc
from thinc.api import Model

from benchmarks.common.layers import (
    ATTRS,
    OURS,
    SPACY,
    our_layers,
    predict_step,
    random_gradients,
    spacy_layers,
    training_step,
    with_tok2vec,
)
from benchmarks.common.text import Text
from benchmarks.common.timing import Step
from benchmarks.scaling.cases import TRAIN, Point
from spacy_multihash import build_multi_hash_embed_v1, spacy_seeds


def make_doc(text: Text, point: Point) -> Doc:
    """Make one doc. It repeats the words of the text, or made-up ones, until it is long enough."""
    if point.vocabulary is None:
        words = [token.text for doc in text.docs for token in doc]
    else:
        words = [f"{chr(97 + n % 26)}{n}x{n % 997:03}" for n in range(point.vocabulary)]
    return Doc(text.docs[0].vocab, words=list(islice(cycle(words), point.tokens)))


def build_arms(point: Point, depth: int, sample: Sequence[Doc]) -> dict[str, dict[str, Model]]:
    """Build the layers of both arms with the same weights.

    spaCy's embedding always has 4 hash functions. With another number there is only our arm.
    """
    rows = [point.rows] * len(ATTRS)
    theirs = spacy_layers(point.width, depth=depth, sample=sample, rows=rows)
    ours = our_layers(theirs)
    if point.num_hashes == 4:
        return {SPACY: theirs, OURS: ours}
    seeds = spacy_seeds(len(ATTRS))
    embed = build_multi_hash_embed_v1(point.width, ATTRS, rows, False, point.num_hashes, seeds)
    embed.initialize(X=list(sample))
    return {OURS: with_tok2vec(embed, ours["encoder"])}


def make_steps(
    whats: Sequence[str], arms: Mapping[str, Mapping[str, Model]], doc: Doc
) -> dict[str, Step]:
    """Make the steps that are measured, under names such as "tok2vec-predict/ours".

    Both encoders get the same vectors.
    """
    X = arms[OURS]["embed"].predict([doc])
    return {
        f"{what}/{arm}": _make_step(what, layers, doc, X)
        for what in whats
        for arm, layers in arms.items()
    }


def _make_step(what: str, layers: Mapping[str, Model], doc: Doc, X: object) -> Step:
    model = layers[what.split("-")[0]]
    if what != TRAIN:
        return predict_step(model, [X if what.startswith("encoder") else [doc]])
    for node in model.walk():
        for name in node.param_names:
            # The gradients of weights stay after a call, so they are no temporary memory.
            node.inc_grad(name, node.get_param(name) * 0)
    return training_step(model, [[doc]], [random_gradients([doc], model.get_dim("nO"))])
