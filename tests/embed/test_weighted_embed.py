"""Hash embeddings with importance, against a loop, and against the embeddings they generalize."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc
from thinc.api import Model, Ops, chain, fix_random_seed, to_numpy

from spacy_multihash import build_multi_weighted_hash_embed_v1
from spacy_multihash.layers import (
    TableEmbed,
    WeightedTableEmbed,
    hash_rows,
    unit_importance,
    weighted_embed,
)
from tests.helpers.gradients import check_param_gradients

K, WIDTH, ROWS = 3, 4, 7


# The layer


def ids_of(ops: Ops, n: int = 9, *, distinct: int = 5) -> numpy.ndarray:
    random = numpy.random.default_rng(0)
    symbols = random.integers(0, 2**64, distinct, dtype="uint64")
    return ops.asarray(symbols[random.integers(0, distinct, n)])


def uniform(ops: Ops, shape: tuple[int, ...]) -> numpy.ndarray:
    return ops.asarray(numpy.random.uniform(-1, 1, shape).astype("float32"))


def build(*, append_importance: bool = False) -> Model:
    """Build a hash embedding with k = 3 and random importance parameters."""
    rows = hash_rows(ROWS, attr="NORM", num_hashes=K, seed=1)
    importance = chain(
        hash_rows(11, attr="NORM", num_hashes=1, seed=2), TableEmbed(K, 11, initializer=uniform)
    )
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=K)
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


@pytest.mark.parametrize("append_importance", [False, True])
def test_gradients_equal_central_differences(ops: Ops, append_importance: bool) -> None:
    model = build(append_importance=append_importance)
    check_param_gradients(model, ids_of(ops), lambda Y: Y, eps=1e-2, atol=1e-4)


def compare(model: Model, other: Model, ids: numpy.ndarray, dE: Callable[[Model], Any]) -> None:
    """Check that two models give the same vectors, and a table the same gradient."""
    (vectors, backprop), (expected, other_backprop) = model.begin_update(ids), other(ids, True)
    assert_allclose(to_numpy(vectors), to_numpy(expected), atol=1e-6)
    d_vectors = uniform(model.ops, vectors.shape)
    backprop(d_vectors)
    other_backprop(d_vectors)
    assert_allclose(to_numpy(dE(model)), to_numpy(other.layers[1].get_grad("E")), atol=1e-5)


@pytest.mark.parametrize("num_hashes", [1, 2, 4])
def test_fixed_importance_is_a_multi_hash_embedding(ops: Ops, num_hashes: int) -> None:
    # One hash function: the hashing trick.
    rows = hash_rows(ROWS, attr="NORM", num_hashes=num_hashes, seed=1)
    table = WeightedTableEmbed(WIDTH, ROWS, num_hashes=num_hashes)
    model = weighted_embed(rows, unit_importance(num_hashes), table).initialize()
    plain = chain(rows, TableEmbed(WIDTH, ROWS)).initialize()
    plain.layers[1].set_param("E", table.get_param("E"))
    compare(model, plain, ids_of(ops), lambda model: model.layers[2].get_grad("E"))


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


# Settings


# MultiWeightedHashEmbed

ATTRS = ["NORM", "PREFIX", "SHAPE"]
TABLES = ("table_embed", "weighted_table_embed")
TEXTS = ["Anna met Anna in Rome .", "", "One", "The shares of Xerox Corp. rose 12 % in 1998 ."]
SIZES: dict[str, Any] = {
    "width": 8,
    "attrs": ATTRS,
    "rows": [40, 20, 10],
    "include_static_vectors": False,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "numbers of hashes": {"num_hashes": [1, 2, 6]},
    "appended": {"append_importance": True},
    "few importance rows": {"importance_rows": [5, 4, 3]},
    "fixed": {"train_importance": False},
    "fixed, appended": {"train_importance": False, "append_importance": True},
}
each_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def embed(docs: list[Doc], **settings: Any) -> Model:
    return build_multi_weighted_hash_embed_v1(**(SIZES | settings)).initialize(X=docs)


def tables_of_importance(model: Model) -> list[Model]:
    """List the nodes that hold the importance parameters, P of the paper."""
    embeds = [node for node in model.walk() if node.name == "weighted_embed"]
    return [node for each in embeds for node in each.layers[1].layers[1:]]


def set_importance_to_1(model: Model) -> None:
    for table in tables_of_importance(model):
        table.set_param("E", model.ops.alloc_f(table.get_param("E").shape) + 1)


def randomize(model: Model) -> Model:
    """Give all parameters other values than the initial ones."""
    for node in model.walk():
        for name in node.param_names:
            values = numpy.random.normal(size=node.get_param(name).shape).astype("float32")
            node.set_param(name, model.ops.asarray(values))
    return model


def test_importance_begins_near_zero(docs: list[Doc]) -> None:
    for table in tables_of_importance(embed(docs, rows=[400] * 3)):
        importance: Any = table.get_param("E")
        assert importance.shape == (4000, 2)
        assert importance.std() == pytest.approx(0.0005, rel=0.1)
        assert abs(importance.mean()) < 0.0001


@each_setting
def test_gradients_of_the_whole_equal_central_differences(
    settings: dict[str, Any], docs: list[Doc]
) -> None:
    fix_random_seed(1)
    few = {} if "train_importance" in settings else {"importance_rows": [4, 3, 2]}
    model = embed(docs, rows=[5, 4, 3], width=6, **settings | few)
    set_importance_to_1(model)
    for node in model.walk():
        if node.name in TABLES and node not in tables_of_importance(model):
            # Vectors are large, so that no difference passes from one maxout piece to another.
            node.set_param("E", uniform(model.ops, node.get_param("E").shape))
    check_param_gradients(
        model,
        docs,
        lambda Y: numpy.vstack(Y),
        eps=1e-3,
        atol=1e-2,
        wrap=lambda d: numpy.split(d, numpy.cumsum([len(doc) for doc in docs])[:-1]),
    )


@each_setting
def test_predictions_survive_saving_and_pickling(settings: dict[str, Any], docs: list[Doc]) -> None:
    trained = randomize(embed(docs, **settings))
    loaded = randomize(embed(docs, **settings)).from_bytes(trained.to_bytes())
    pickled = pickle.loads(pickle.dumps(trained))
    predictions = [model.predict(docs) for model in (trained, loaded, pickled)]
    for vectors, one, other in zip(*predictions, strict=True):
        assert_array_equal(one, vectors)
        assert_array_equal(other, vectors)


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"importance_rows": [400, 200, 99]}, "importance_rows"),
        ({"seeds": [1, 2, 3]}, "seeds"),
        ({"rows": [40, 20, 11], "importance_rows": [400, 200, 100]}, "rows"),
    ],
)
def test_weights_of_other_settings_are_refused_before_any_is_taken(
    settings: dict[str, Any], setting: str, docs: list[Doc]
) -> None:
    trained = embed(docs)
    other = build_multi_weighted_hash_embed_v1(**(SIZES | settings))
    with pytest.raises(ValueError, match=f"'multi_weighted_hash_embed': .* with {setting} = "):
        other.from_bytes(trained.to_bytes())
    assert not any(node.has_param(name) for node in other.walk() for name in node.param_names)
