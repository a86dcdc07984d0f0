"""Hash embeddings against a plain loop, and against the embeddings that they generalize."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Model, Ops, chain, fix_random_seed, to_numpy

from spacy_multihash.layers import (
    Symbols,
    TableEmbed,
    WeightedTableEmbed,
    hash_rows,
    lookup_rows,
    output_width,
    unit_importance,
    weighted_embed,
)
from tests.helpers.gradients import check_param_gradients

AGGREGATES = ["sum", "mean", "concatenate"]
K, WIDTH, ROWS = 3, 4, 7


def ids_of(ops: Ops, n: int = 9, *, distinct: int = 5) -> numpy.ndarray:
    random = numpy.random.default_rng(0)
    symbols = random.integers(0, 2**64, distinct, dtype="uint64")
    return ops.asarray(symbols[random.integers(0, distinct, n)])


def uniform(ops: Ops, shape: tuple[int, ...]) -> numpy.ndarray:
    return ops.asarray(numpy.random.uniform(-1, 1, shape).astype("float32"))


def build(*, append_importance: bool = False, **settings: Any) -> Model:
    """Build a hash embedding with k = 3 and random importance parameters."""
    rows = hash_rows(ROWS, attr="NORM", num_hashes=K, seed=1)
    importance = chain(
        hash_rows(11, attr="NORM", num_hashes=1, seed=2), TableEmbed(K, 11, initializer=uniform)
    )
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=K, initializer=uniform, **settings)
    return weighted_embed(rows, importance, table, append_importance=append_importance)


def reference(model: Model, ids: numpy.ndarray, *, append_importance: bool) -> numpy.ndarray:
    """Follow the paper's section 3, symbol by symbol."""
    rows, importance, table = model.layers
    E = to_numpy(table.get_param("E"))
    P = to_numpy(importance.layers[1].get_param("E"))
    aggregate = table.attrs["aggregate"].value
    vectors = []
    component_rows = to_numpy(rows.predict(ids))
    importance_rows = to_numpy(importance.layers[0].predict(ids))
    for i in range(len(ids)):
        p = P[importance_rows[i, 0]]
        weighted = [p[k] * E[component_rows[i, k]] for k in range(K)]
        if aggregate == "concatenate":
            vector = [value for component in weighted for value in component]
        else:
            vector = [sum(c[w] for c in weighted) for w in range(WIDTH)]
            vector = [v / K for v in vector] if aggregate == "mean" else vector
        vectors.append(vector + (list(p) if append_importance else []))
    return numpy.array(vectors)


@pytest.mark.parametrize("append_importance", [False, True])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_vectors_are_those_of_the_paper(ops: Ops, aggregate: str, append_importance: bool) -> None:
    model = build(aggregate=aggregate, append_importance=append_importance).initialize()
    ids = ids_of(ops)
    vectors = to_numpy(model.predict(ids))
    assert vectors.shape == (len(ids), model.get_dim("nO"))
    expected = reference(model, ids, append_importance=append_importance)
    assert_allclose(vectors, expected, atol=1e-6)


@pytest.mark.parametrize("append_importance", [False, True])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_gradients_equal_central_differences(
    ops: Ops, aggregate: str, append_importance: bool
) -> None:
    model = build(aggregate=aggregate, append_importance=append_importance).initialize()
    check_param_gradients(model, ids_of(ops), lambda Y: Y, eps=1e-2, atol=1e-4)


@given(n=st.integers(1, 40), distinct=st.integers(1, 6), seed=st.integers(0, 5))
def test_gradients_of_a_symbol_are_the_sums_over_its_uses(n: int, distinct: int, seed: int) -> None:
    fix_random_seed(seed)
    model = build().initialize()
    ids = ids_of(model.ops, n, distinct=distinct)
    vectors, backprop = model.begin_update(ids)
    d_vectors = numpy.random.normal(size=vectors.shape).astype("float32")
    to_rows, importance, table = model.layers
    E, P = table.get_param("E"), importance.layers[1].get_param("E")
    dE, dP = numpy.zeros_like(E), numpy.zeros_like(P)
    rows, importance_rows = to_rows.predict(ids), importance.layers[0].predict(ids)
    for i in range(n):
        for k in range(K):
            dE[rows[i, k]] += P[importance_rows[i, 0], k] * d_vectors[i]
            dP[importance_rows[i, 0], k] += E[rows[i, k]] @ d_vectors[i]
    backprop(d_vectors)
    assert_allclose(table.get_grad("E"), dE, atol=1e-4)
    assert_allclose(importance.layers[1].get_grad("E"), dP, atol=1e-4)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_many_symbols_are_as_few_at_a_time(ops: Ops, aggregate: str) -> None:
    model = build(aggregate=aggregate).initialize()
    ids = ids_of(ops, 5000, distinct=3000)
    few = [to_numpy(model.predict(ids[start : start + 100])) for start in range(0, 5000, 100)]
    assert_allclose(to_numpy(model.predict(ids)), numpy.vstack(few), atol=1e-6)


def compare(model: Model, other: Model, ids: numpy.ndarray, dE: Callable[[Model], Any]) -> None:
    """Check that two models give the same vectors, and a table the same gradient."""
    (vectors, backprop), (expected, other_backprop) = model.begin_update(ids), other(ids, True)
    assert_allclose(to_numpy(vectors), to_numpy(expected), atol=1e-6)
    d_vectors = uniform(model.ops, vectors.shape)
    backprop(d_vectors)
    other_backprop(d_vectors)
    assert_allclose(to_numpy(dE(model)), to_numpy(other.layers[1].get_grad("E")), atol=1e-5)


@pytest.mark.parametrize("num_hashes", [1, 2, 4])
def test_fixed_importance_and_sum_are_a_multi_hash_embedding(ops: Ops, num_hashes: int) -> None:
    # One hash function: the hashing trick.
    rows = hash_rows(ROWS, attr="NORM", num_hashes=num_hashes, seed=1)
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=num_hashes)
    model = weighted_embed(rows, unit_importance(num_hashes), table).initialize()
    plain = chain(rows, TableEmbed(WIDTH, ROWS)).initialize()
    plain.layers[1].set_param("E", table.get_param("E"))
    compare(model, plain, ids_of(ops), lambda model: model.layers[2].get_grad("E"))


def test_a_row_for_each_symbol_is_a_lookup(ops: Ops) -> None:
    ids = ids_of(ops)
    symbols = Symbols.from_ordered(numpy.unique(to_numpy(ids)))
    rows = lookup_rows(attr="NORM")
    rows.attrs["symbols"] = symbols
    nV = len(symbols) + 1
    table = WeightedTableEmbed(WIDTH, nV, num_hashes=1)
    model = weighted_embed(rows, unit_importance(1), table).initialize(X=ids)
    plain = chain(rows, TableEmbed(WIDTH, nV)).initialize(X=ids)
    plain.layers[1].set_param("E", table.get_param("E"))
    compare(model, plain, ids, lambda model: model.layers[2].get_grad("E"))


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_no_symbols_leave_gradients_of_zeros(ops: Ops, aggregate: str) -> None:
    model = build(aggregate=aggregate, append_importance=True).initialize()
    vectors, backprop = model.begin_update(ids_of(ops, 0))
    assert vectors.shape == (0, model.get_dim("nO"))
    assert backprop(vectors).shape == (0,)
    assert not any(node.get_grad(name).any() for node in model.walk() for name in node.param_names)


@pytest.mark.parametrize("append_importance", [False, True])
def test_gradient_that_is_passed_in_is_not_written_to(ops: Ops, append_importance: bool) -> None:
    model = build(append_importance=append_importance).initialize()
    vectors, backprop = model.begin_update(ids_of(ops))
    d_vectors = ops.xp.ones_like(vectors)
    backprop(d_vectors)
    assert (d_vectors == 1).all()


def test_gradient_of_another_shape_is_refused(ops: Ops) -> None:
    _, backprop = build().initialize().begin_update(ids_of(ops))
    with pytest.raises(ValueError, match="Shape mismatch in backprop"):
        backprop(ops.alloc2f(9, WIDTH + 1))


def test_rows_through_another_layer_are_those_of_its_rows(ops: Ops) -> None:
    through = hash_rows(11, attr="NORM", num_hashes=1, seed=2)
    rows = hash_rows(ROWS, attr="NORM", num_hashes=K, seed=1, through=through)
    direct = hash_rows(ROWS, attr="NORM", num_hashes=K, seed=1)
    ids = ids_of(ops)
    buckets = through.predict(ids)[:, 0].astype("uint64")
    assert_array_equal(to_numpy(rows.predict(ids)), to_numpy(direct.predict(buckets)))


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (1, 3)])
def test_weights_of_another_shape_than_rows_are_refused(shape: tuple[int, int]) -> None:
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=K).initialize()
    rows = numpy.zeros((2, K), dtype="int32")
    with pytest.raises(ValueError, match="has 3 hash functions, and expects as many rows and w"):
        table.predict((rows, numpy.ones(shape, dtype="float32")))


@pytest.mark.parametrize("row", [7, -1])
def test_row_outside_the_table_is_refused(ops: Ops, row: int) -> None:
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=1).initialize()
    with pytest.raises(IndexError, match="'weighted_table_embed' has 7 rows .0 to 6., but was"):
        table.predict((ops.asarray([[row]], dtype="int32"), ops.alloc2f(1, 1)))


def test_table_without_weights_is_refused() -> None:
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=1)
    with pytest.raises(ValueError, match="'weighted_table_embed' has no weights: initialize"):
        table.predict((numpy.zeros((1, 1), dtype="int32"), numpy.ones((1, 1), dtype="float32")))


def test_weights_of_another_aggregate_are_refused() -> None:
    trained = build().initialize()
    with pytest.raises(ValueError, match="Cannot load weights .* built with aggregate = 'mean'"):
        build(aggregate="mean").from_bytes(trained.to_bytes())


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_width_of_the_table_layer_is_that_of_its_vectors(aggregate: Any) -> None:
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=K, aggregate=aggregate).initialize()
    X = numpy.zeros((2, K), dtype="int32"), numpy.ones((2, K), dtype="float32")
    assert table.predict(X).shape == (2, table.get_dim("nO"))
    assert table.get_param("E").shape == (ROWS, WIDTH)
    assert output_width(table) == table.get_dim("nO")


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_weights_of_0_1_0_are_loaded(aggregate: Any) -> None:
    # They name the width of the table, which was nO for each way to put rows together
    trained = build(aggregate=aggregate).initialize()
    saved = trained.to_dict()
    (place,) = [i for i, node in enumerate(trained.walk()) if node is trained.layers[2]]
    saved["nodes"][place]["dims"]["nO"] = WIDTH
    loaded = build(aggregate=aggregate).from_dict(saved)
    ids = numpy.arange(9, dtype="uint64")
    assert_array_equal(loaded.predict(ids), trained.predict(ids))
    assert loaded.layers[2].get_dim("nO") == trained.layers[2].get_dim("nO")


def test_another_width_cannot_be_loaded() -> None:
    saved = WeightedTableEmbed(5, ROWS, num_hashes=2, aggregate="concatenate").to_dict()
    with pytest.raises(ValueError, match="Attempt to change dimension 'nO'"):
        WeightedTableEmbed(4, ROWS, num_hashes=2, aggregate="concatenate").from_dict(saved)
