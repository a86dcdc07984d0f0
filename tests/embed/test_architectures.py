from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import Model, fix_random_seed, to_numpy

from spacy_multihash import (
    build_multi_hash_embed_v1,
    default_seeds,
    spacy_seeds,
)
from spacy_multihash.common.nodes import find_nodes
from spacy_multihash.compute.hashing import group_seeds
from tests.helpers.rows import reference_rows

ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [500, 100, 100, 50]
TEXTS = ["Anna met Anna in Rome .", "", "One", "The shares of Xerox Corp. rose 12 % in 1998 ."]


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def build(**settings: Any) -> Model:
    given: dict[str, Any] = {
        "width": 16,
        "attrs": ATTRS,
        "rows": ROWS,
        "include_static_vectors": False,
    }
    return build_multi_hash_embed_v1(**(given | settings))


def params(
    model: Model, *names: str, of: Callable[[Model, str], Any] = Model.get_param
) -> list[numpy.ndarray]:
    """Take the parameters, or their gradients, of all nodes of these names."""
    return [
        of(node, param)
        for name in names
        for node in find_nodes(model, name)
        for param in node.param_names
    ]


def test_spacy_seeds_give_the_weights_vectors_and_gradients_of_spacy(docs: list[Doc]) -> None:
    docs = [doc for doc in docs if len(doc)]
    fix_random_seed(7)
    theirs = MultiHashEmbed(16, ATTRS, ROWS, False).initialize(X=docs)
    fix_random_seed(7)
    ours = build(seeds=spacy_seeds(4)).initialize(X=docs)
    their_params = params(theirs, "hashembed", "maxout", "layernorm")
    our_params = params(ours, "table_embed", "maxout_norm")
    for our_param, their_param in zip(our_params, their_params, strict=True):
        assert_array_equal(our_param, their_param)
    for our_vectors, their_vectors in zip(ours.predict(docs), theirs.predict(docs), strict=True):
        assert_allclose(our_vectors, their_vectors, atol=1e-5)
    d_vectors = [numpy.random.normal(size=(len(doc), 16)).astype("float32") for doc in docs]
    for model in (theirs, ours):
        model.begin_update(docs)[1]([d.copy() for d in d_vectors])
    their_grads = params(theirs, "hashembed", "maxout", "layernorm", of=Model.get_grad)
    our_grads = params(ours, "table_embed", "maxout_norm", of=Model.get_grad)
    for their_grad, our_grad in zip(their_grads, our_grads, strict=True):
        assert_allclose(our_grad, their_grad, rtol=1e-4, atol=1e-5)


def test_number_of_hashes_may_differ_between_attributes(docs: list[Doc]) -> None:
    model = build(num_hashes=[1, 2, 6, 16])
    model.initialize(X=docs)
    hashes = [node.attrs["num_hashes"].value for node in find_nodes(model, "hash_rows")]
    assert hashes == [1, 2, 6, 16]
    ids = docs[0].to_array(ATTRS)
    (embed,), tables = find_nodes(model, "multi_embed"), find_nodes(model, "table_embed")
    expected = [
        to_numpy(table.get_param("E"))[reference_rows(column, nV, k, group_seeds(seed, k))].sum(1)
        for table, column, nV, k, seed in zip(
            tables, ids.T.tolist(), ROWS, hashes, default_seeds(4), strict=True
        )
    ]
    assert_allclose(embed.predict(ids), numpy.hstack(expected), atol=1e-6)


def test_dropout_differs_between_tokens_of_a_type(docs: list[Doc]) -> None:
    model = build().initialize(X=docs)
    find_nodes(model, "dropout")[0].attrs["dropout_rate"] = 0.5
    vectors = model.begin_update(docs)[0][0]
    first, second = vectors[0] == 0, vectors[2] == 0  # Anna, Anna
    assert (first != second).any()
