"""Hash embeddings with importance, against a loop, and against the embeddings they generalize."""

from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Model, Ops, chain, to_numpy

from spacy_multihash.embed.embeddings import weighted_layer
from spacy_multihash.layers import (
    TableEmbed,
    hash_rows,
    weighted_embed,
)

K, WIDTH, ROWS = 3, 4, 7


def ids_of(ops: Ops) -> numpy.ndarray:
    random = numpy.random.default_rng(0)
    symbols = random.integers(0, 2**64, 5, dtype="uint64")
    return ops.asarray(symbols[random.integers(0, 5, 9)])


def uniform(ops: Ops, shape: tuple[int, ...]) -> numpy.ndarray:
    return ops.asarray(numpy.random.uniform(-1, 1, shape).astype("float32"))


def build(*, append_importance: bool = False) -> Model:
    """Build a hash embedding with k = 3 and random importance parameters."""
    rows = hash_rows(ROWS, attr="NORM", num_hashes=K, seed=1)
    importance = chain(
        hash_rows(11, attr="NORM", num_hashes=1, seed=2), TableEmbed(K, 11, initializer=uniform)
    )
    table = TableEmbed(WIDTH, ROWS)
    model = weighted_embed(rows, importance, table, append_importance=append_importance)
    model.initialize()
    table.set_param("E", uniform(table.ops, (ROWS, WIDTH)))
    return model


def reference(model: Model, ids: numpy.ndarray, *, append_importance: bool) -> numpy.ndarray:
    """Follow the paper's section 3, symbol by symbol."""
    rows, importance, table = model.layers
    E = to_numpy(table.get_param("E"))
    P = to_numpy(importance.layers[1].get_param("E"))
    vectors = []
    component_rows = to_numpy(rows.predict(ids))
    importance_rows = to_numpy(importance.layers[0].predict(ids))
    for i in range(len(ids)):
        p = P[importance_rows[i, 0]]
        vector = [sum(p[k] * E[component_rows[i, k], w] for k in range(K)) for w in range(WIDTH)]
        vectors.append(vector + (list(p) if append_importance else []))
    return numpy.array(vectors)


@pytest.mark.parametrize("append_importance", [False, True])
def test_vectors_are_those_of_the_paper(ops: Ops, append_importance: bool) -> None:
    model = build(append_importance=append_importance)
    ids = ids_of(ops)
    vectors = to_numpy(model.predict(ids))
    assert vectors.shape == (len(ids), model.get_dim("nO"))
    expected = reference(model, ids, append_importance=append_importance)
    assert_allclose(vectors, expected, atol=1e-6)


def test_importance_begins_near_zero() -> None:
    layer = weighted_layer("NORM", 8, 400, seed=1).initialize()
    importance: Any = layer.layers[1].layers[1].get_param("E")
    assert importance.shape == (4000, 2)
    assert importance.std() == pytest.approx(0.0005, rel=0.1)
    assert abs(importance.mean()) < 0.0001
