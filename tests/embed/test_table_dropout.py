"""Dropout of the vectors of tables, beside that of the result."""

from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.attrs import NORM, SHAPE
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import SGD, Model, Ops, fix_random_seed, set_dropout_rate, to_numpy

from spacy_multihash import (
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    count_symbols,
    make_tables,
    set_tables,
    spacy_seeds,
)
from tests.helpers.maxout import randomize

Settings = dict[str, Any]

TEXTS = ["Anna met Anna in Rome .", "One", "The shares of Xerox Corp. rose 12 % in 1998 ."]
DOCS: Settings = {"width": 8, "attrs": ["NORM", "SHAPE"], "include_static_vectors": False}
HASHED: Settings = {**DOCS, "rows": [10, 7]}
FEW = {"importance_rows": [6, 5]}
BESIDE = {**FEW, "append_importance": True}
SYMBOLS = {"NORM": NORM, "SHAPE": SHAPE}
KINDS: dict[str, tuple[Any, Settings]] = {
    "hash": (build_multi_hash_embed_v1, HASHED),
    "lookup": (build_multi_embed_v1, DOCS),
    "weighted": (build_multi_weighted_hash_embed_v1, HASHED | FEW),
    "side by side": (build_multi_weighted_hash_embed_v1, HASHED | BESIDE),
}
all_kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    for i, word in enumerate(["Anna", "Rome", "shares"]):
        nlp.vocab.set_vector(word, numpy.random.default_rng(i).normal(size=6).astype("float32"))
    return [nlp.make_doc(text) for text in TEXTS]


def build(kind: str, docs: list[Doc], **settings: Any) -> Model:
    """Build a model of random weights, which are the same for the same sizes."""
    function, sizes = KINDS[kind]
    model = function(**(sizes | settings))
    if kind == "lookup":
        set_tables(model, make_tables(count_symbols(docs, SYMBOLS), min_freq=1))
    fix_random_seed(7)
    model.initialize(X=docs)
    return randomize(model)


def node_of(model: Model, name: str) -> Model:
    below = list(model.walk())[1:]  # the root of MultiEmbed has the name of a node in it
    (node,) = [node for node in below if node.name == name]
    return node


def drop_in_tables(model: Model, rate: float) -> Model:
    """Set the rate as an update does, but without dropout of the result."""
    set_dropout_rate(model, rate)
    node_of(model, "dropout").attrs["dropout_rate"] = 0.0
    return model


def both(docs: list[Doc], **settings: Any) -> tuple[Model, Model]:
    """Build spaCy's embedding and ours, with the same weights."""
    fix_random_seed(7)
    theirs = MultiHashEmbed(**(HASHED | settings)).initialize(X=docs)
    fix_random_seed(7)
    own: Settings = {"seeds": spacy_seeds(2), "table_dropout": True}
    ours = build_multi_hash_embed_v1(**(HASHED | settings | own)).initialize(X=docs)
    return set_dropout_rate(theirs, 0.3), set_dropout_rate(ours, 0.3)


@pytest.mark.parametrize("include_static_vectors", [False, True])
def test_training_is_that_of_spacy(include_static_vectors: bool, ops: Ops, docs: list[Doc]) -> None:
    models = both(docs, include_static_vectors=include_static_vectors)
    d_vectors = [
        numpy.random.default_rng(len(doc)).normal(size=(len(doc), 8)).astype("float32")
        for doc in docs
    ]
    for seed in range(5):
        outputs = []
        for model in models:
            fix_random_seed(seed)
            vectors, backprop = model.begin_update(docs)
            backprop([ops.asarray(d) for d in d_vectors])
            model.finish_update(SGD(0.1))
            outputs.append(numpy.vstack([to_numpy(each) for each in vectors]))
        theirs, ours = outputs
        assert_array_equal(ours == 0, theirs == 0)
        assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    for ours, theirs in zip(models[1].predict(docs), models[0].predict(docs), strict=True):
        assert_allclose(to_numpy(ours), to_numpy(theirs), rtol=1e-4, atol=1e-4)


@all_kinds
@pytest.mark.parametrize("drops", [True, False])
def test_config_decides_and_not_the_weights(kind: str, drops: bool, docs: list[Doc]) -> None:
    saved = set_dropout_rate(build(kind, docs, table_dropout=not drops), 0.5)
    model = build(kind, docs, table_dropout=drops).from_bytes(saved.to_bytes())
    drop_in_tables(model, 0.5)
    predicted = numpy.vstack(model.predict(docs))
    assert_array_equal(predicted, numpy.vstack(saved.predict(docs)))
    assert (numpy.vstack(model.begin_update(docs)[0]) != predicted).any() == drops
