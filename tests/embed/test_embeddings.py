"""Sums of rows of tables: columns of each kind, alone and together, against plain loops."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.attrs import NORM, SHAPE
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import SGD, Model, Ops, chain, fix_random_seed, set_dropout_rate, to_numpy
from thinc.types import Ragged

from spacy_multihash import (
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    count_symbols,
    make_tables,
    set_tables,
    spacy_seeds,
)
from spacy_multihash.common.nodes import find_nodes
from spacy_multihash.compute.hashing import group_seeds
from spacy_multihash.embed.embeddings import embed_bags, weighted_layer
from spacy_multihash.layers import Symbols, TableEmbed, hash_rows, lookup_rows, multi_embed
from tests.helpers.arrays import assert_all_close
from tests.helpers.features import reference_rows
from tests.helpers.weights import check_param_gradients, randomize

WIDTH, ROWS = 3, 11
KEYS = [0, 5, 7, 9, 2**64 - 1]
SYMBOLS = numpy.array([5, 2**64 - 1, 5, 7, 0, 9, 5, 5, 12, 13, 14, 15], dtype="uint64")


def hashed(num_hashes: int = 2, nO: int = WIDTH) -> Model:
    rows = hash_rows(ROWS, attr="_.x", num_hashes=num_hashes, seed=1)
    return chain(rows, TableEmbed(nO, ROWS))


def looked_up(unk_dropout: float = 0.0) -> Model:
    layer = chain(lookup_rows(attr="_.x", unk_dropout=unk_dropout), TableEmbed(WIDTH, 6))
    layer.layers[0].attrs["symbols"] = Symbols.from_ordered(numpy.array(KEYS, dtype="uint64"))
    return layer


def weighted(**settings: Any) -> Model:
    return weighted_layer("_.x", WIDTH, ROWS, seed=1, **settings)


def of_another_kind() -> Model:
    """A column of a layer that isn't one of ours."""
    inner = hashed()

    def forward(model: Model, ids: Any, is_train: bool) -> tuple[Any, Callable]:
        return inner(ids, is_train)

    def init(model: Model, X: Any = None, Y: Any = None) -> None:
        inner.initialize()

    return Model("another", forward, init=init, layers=[inner], dims={"nO": WIDTH})


LAYERS: dict[str, Callable[[], Model]] = {
    "hashed": hashed,
    "looked up": looked_up,
    "weighted": weighted,
    "appended": lambda: weighted(append_importance=True),
    "plain": lambda: weighted(train_importance=False),
    "fixed": lambda: weighted(train_importance=False, append_importance=True),
}
LENGTHS: list[list[int]] = [[3, 0, 1, 3, 5, 0], [12], [0, 12, 0], [], [0, 0]]
all_kinds = pytest.mark.parametrize("kind", LAYERS)
all_lengths = pytest.mark.parametrize("lengths", LENGTHS, ids=str)
both_sums = pytest.mark.parametrize("reduce", ["sum", "mean"])


def rows_of(layer: Model, symbol: int) -> list[int]:
    if layer.name == "lookup_rows":
        return [KEYS.index(symbol) + 1 if symbol in KEYS else 0]
    nV, K, seed = (layer.attrs[name].value for name in ("nV", "num_hashes", "seed"))
    return reference_rows([symbol], nV, K, group_seeds(seed, K))[0]


def vector_of(layer: Model, symbol: int) -> numpy.ndarray:
    """Embed one symbol, after section 3 of the paper by Svenstrup et al."""
    if layer.name == "another":
        layer = layer.layers[0]
    to_rows, *importance, table = layer.layers
    E, rows = to_numpy(table.get_param("E")).astype("float64"), rows_of(to_rows, symbol)
    weights = numpy.ones(len(rows))
    for of_symbols in importance:
        if of_symbols.layers:
            (row,) = rows_of(of_symbols.layers[0], symbol)
            weights = to_numpy(of_symbols.layers[1].get_param("E"))[row]
    vector = sum(weight * E[row] for weight, row in zip(weights, rows, strict=True))
    is_appended = layer.get_dim("nO") > E.shape[1]
    return numpy.concatenate([vector, weights]) if is_appended else vector


def as_bags(ops: Ops, lengths: list[int]) -> Ragged:
    symbols = ops.asarray(SYMBOLS[: sum(lengths)])
    return Ragged(symbols, ops.asarray(numpy.array(lengths, dtype="int32")))


@both_sums
@all_lengths
@all_kinds
def test_bags_are_summed_as_by_a_loop(ops: Ops, kind: str, lengths: list[int], reduce: Any) -> None:
    layer = LAYERS[kind]()
    model = randomize(embed_bags(layer, reduce=reduce).initialize())
    expected, symbols = numpy.zeros((len(lengths), model.get_dim("nO"))), iter(SYMBOLS.tolist())
    for total, length in zip(expected, lengths, strict=True):
        for _ in range(length):
            total += vector_of(layer, next(symbols))
        total /= max(length, 1) if reduce == "mean" else 1
    X = as_bags(ops, lengths)
    vectors, backprop = model.begin_update(X)
    assert_allclose(to_numpy(vectors), expected, atol=1e-5)
    assert_allclose(to_numpy(model.predict(X)), expected, atol=1e-5)
    assert len(backprop(vectors).dataXd) == sum(lengths)


@both_sums
@pytest.mark.parametrize("lengths", [[3, 0, 1, 3, 5, 0], [12]])
@all_kinds
def test_gradients_of_bags_equal_central_differences(
    ops: Ops, kind: str, lengths: list[int], reduce: Any
) -> None:
    model = randomize(embed_bags(LAYERS[kind](), reduce=reduce).initialize())
    check_param_gradients(model, as_bags(ops, lengths), lambda Y: Y, eps=1e-2, atol=1e-3)


COLUMNS = {
    **LAYERS,
    "of another kind": of_another_kind,
    "of 16 hashes": lambda: hashed(16),
    "wider": lambda: hashed(nO=5),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_embedded_side_by_side(ops: Ops, kind: str) -> None:
    layers = [hashed(), COLUMNS[kind](), hashed(1)]
    model = randomize(multi_embed(*layers).initialize())
    ids = numpy.stack([SYMBOLS, SYMBOLS[::-1], SYMBOLS], axis=1)
    expected = [
        numpy.concatenate([vector_of(*of) for of in zip(layers, row, strict=True)])
        for row in ids.tolist()
    ]
    X = ops.asarray(ids)
    assert_allclose(to_numpy(model.predict(X)), expected, atol=1e-5)
    check_param_gradients(model, X, lambda Y: Y, eps=1e-2, atol=1e-3)


def test_unk_dropout_takes_symbols_and_not_tokens(ops: Ops) -> None:
    layer = looked_up(unk_dropout=0.5)
    model = embed_bags(layer, reduce="sum").initialize()
    table = numpy.ones((6, WIDTH), dtype="float32")
    table[0] = 0  # a token's vector counts its known symbols
    layer.layers[1].set_param("E", ops.asarray(table))
    symbols = ops.asarray(numpy.full(4000, 5, dtype="uint64"))
    X = Ragged(symbols, ops.asarray(numpy.full(40, 100, dtype="int32")))
    counts = to_numpy(model.begin_update(X)[0])[:, 0]
    assert 40 < counts.mean() < 60
    assert 0 < counts.std() < 10
    assert (to_numpy(model.predict(X)) == 100).all()


def test_importance_begins_near_zero() -> None:
    layer = weighted_layer("NORM", 8, 400, seed=1).initialize()
    importance: Any = layer.layers[1].layers[1].get_param("E")
    assert importance.shape == (4000, 2)
    assert importance.std() == pytest.approx(0.0005, rel=0.1)
    assert abs(importance.mean()) < 0.0001


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("row", [5, -1, 2**31 - 1])
def test_row_outside_the_table_is_refused(ops: Ops, row: int, dtype: str) -> None:
    model = TableEmbed(3, 5).initialize()
    with pytest.raises(IndexError, match=f"has 5 rows \\(0 to 4\\), but was asked for row {row}"):
        model.predict(ops.asarray(numpy.array([[0, row]], dtype=dtype)))


def test_table_of_fewer_rows_than_are_hashed_to_is_refused(ops: Ops) -> None:
    model = multi_embed(hashed(), hashed()).initialize()
    table = model.layers[0].layers[1]
    table.set_param("E", table.get_param("E")[:5])
    for is_train in (True, False):
        with pytest.raises(IndexError, match="5 rows"):
            model(ops.asarray(numpy.stack([SYMBOLS, SYMBOLS], axis=1)), is_train)


@pytest.mark.parametrize("at", [0, 1])
def test_weighted_table_of_other_rows_says_how_many_it_has(ops: Ops, at: int) -> None:
    model = multi_embed(weighted(), weighted()).initialize()
    _, importance, table = model.layers[0].layers
    node = (importance.layers[1], table)[at]
    nV = node.get_dim("nV")
    node.set_param("E", node.get_param("E")[:5])
    for is_train in (True, False):
        with pytest.raises(IndexError, match=f"has 5 rows, but .* maps to {nV}"):
            model(ops.asarray(numpy.stack([SYMBOLS, SYMBOLS], axis=1)), is_train)


def test_table_needs_a_number_of_rows_or_saved_weights() -> None:
    with pytest.raises(ValueError, match=r"number of rows \(nV\) is not set"):
        TableEmbed(3).initialize()
    saved, rows = TableEmbed(3, 5).initialize(), numpy.array([[0, 4]], dtype="int32")
    assert_array_equal(
        TableEmbed(3).from_bytes(saved.to_bytes()).predict(rows), saved.predict(rows)
    )


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4,)])
def test_ids_with_another_number_of_columns_are_refused(shape: tuple[int, ...]) -> None:
    model = multi_embed(hashed(), hashed()).initialize()
    with pytest.raises(ValueError, match=r"shape \(N, 2\), one column per attribute, got"):
        model.predict(numpy.zeros(shape, dtype="uint64"))


@pytest.mark.parametrize("dropout", [-0.1, 1.0, "0.1", True])
def test_dropout_that_is_no_share_is_refused(dropout: Any) -> None:
    with pytest.raises(ValueError, match="dropout must be a share, .*, got .*'multi_embed'"):
        multi_embed(hashed(), dropout=dropout)


# Dropout of tables


@pytest.mark.parametrize(("rate", "dropout", "n"), [(0.0, 0.0, 6), (0.9, None, 6), (0.9, 0.0, 0)])
def test_nothing_is_drawn_where_nothing_is_dropped(
    rate: float, dropout: float | None, n: int, ops: Ops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ops, "get_dropout_mask", lambda *_: pytest.fail("a mask was drawn"))
    model = multi_embed(hashed(), hashed(1), dropout=dropout).initialize()
    set_dropout_rate(model, rate)
    X = ops.asarray(numpy.stack([SYMBOLS[:n]] * 2, axis=1))
    vectors, backprop = model.begin_update(X)
    assert_array_equal(to_numpy(vectors), to_numpy(model.predict(X)))
    assert backprop(vectors).shape == (n, 2)


ATTRS = ["NORM", "SHAPE"]
TEXTS = ["Anna met Anna in Rome .", "", "One", "The shares of Xerox Corp. rose 12 % in 1998 ."]
SIZES: dict[str, Any] = {"width": 8, "attrs": ATTRS, "include_static_vectors": False}
IMPORTANCE: dict[str, Any] = {"rows": [10, 7], "importance_rows": [6, 5]}
BUILDERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "hash": (build_multi_hash_embed_v1, {"rows": [10, 7]}),
    "lookup": (build_multi_embed_v1, {}),
    "weighted": (build_multi_weighted_hash_embed_v1, IMPORTANCE),
    "appended": (build_multi_weighted_hash_embed_v1, {**IMPORTANCE, "append_importance": True}),
}


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    for i, word in enumerate(["Anna", "Rome", "shares"]):
        nlp.vocab.set_vector(word, numpy.random.default_rng(i).normal(size=6).astype("float32"))
    return [nlp.make_doc(text) for text in TEXTS]


@pytest.mark.parametrize("drops", [True, False])
@pytest.mark.parametrize("kind", BUILDERS)
def test_config_decides_on_dropout_and_not_the_weights(
    kind: str, drops: bool, docs: list[Doc]
) -> None:
    function, settings = BUILDERS[kind]

    def build(table_dropout: bool) -> Model:
        model = function(**SIZES, **settings, table_dropout=table_dropout)
        if kind == "lookup":
            symbols = count_symbols(docs, {"NORM": NORM, "SHAPE": SHAPE})
            set_tables(model, make_tables(symbols, min_freq=1))
        return set_dropout_rate(randomize(model.initialize(X=docs)), 0.5)

    saved = build(not drops)
    model = build(drops).from_bytes(saved.to_bytes())
    set_dropout_rate(model, 0.5)
    (dropout,) = find_nodes(model, "dropout")
    dropout.attrs["dropout_rate"] = 0.0  # of the result
    predicted = numpy.vstack(model.predict(docs))
    assert_array_equal(predicted, numpy.vstack(saved.predict(docs)))
    assert (numpy.vstack(model.begin_update(docs)[0]) != predicted).any() == drops


def params_of(model: Model, *names: str) -> list[numpy.ndarray]:
    nodes = (node for name in names for node in find_nodes(model, name))
    return [to_numpy(node.get_param(param)) for node in nodes for param in node.param_names]


@pytest.mark.parametrize("include_static_vectors", [False, True])
def test_training_is_that_of_spacy(include_static_vectors: bool, ops: Ops, docs: list[Doc]) -> None:
    sizes = {**SIZES, "rows": [10, 7], "include_static_vectors": include_static_vectors}
    fix_random_seed(7)
    theirs = MultiHashEmbed(**sizes).initialize(X=docs)
    fix_random_seed(7)
    ours = build_multi_hash_embed_v1(**sizes, seeds=spacy_seeds(2), table_dropout=True)
    ours.initialize(X=docs)
    models = set_dropout_rate(theirs, 0.3), set_dropout_rate(ours, 0.3)
    d_vectors = [numpy.random.normal(size=(len(doc), 8)).astype("float32") for doc in docs]

    def assert_same(rtol: float) -> None:
        their_params = params_of(theirs, "hashembed", "static_vectors", "maxout", "layernorm")
        our_params = params_of(ours, "table_embed", "static_vectors", "maxout_norm")
        assert_all_close(our_params, their_params, rtol=rtol, atol=rtol)

    assert_same(0)
    for seed in range(5):
        outputs = []
        for model in models:
            fix_random_seed(seed)
            vectors, backprop = model.begin_update(docs)
            backprop([ops.asarray(d) for d in d_vectors])
            model.finish_update(SGD(0.1))
            outputs.append(numpy.vstack([to_numpy(each) for each in vectors]))
        assert_array_equal(outputs[0] == 0, outputs[1] == 0)
        assert_allclose(outputs[1], outputs[0], rtol=1e-4, atol=1e-4)
    assert_same(1e-4)


def test_dropout_differs_between_equal_tokens(docs: list[Doc]) -> None:
    model = build_multi_hash_embed_v1(**SIZES, rows=[10, 7]).initialize(X=docs)
    find_nodes(model, "dropout")[0].attrs["dropout_rate"] = 0.5
    vectors = model.begin_update(docs)[0][0]
    first, second = vectors[0] == 0, vectors[2] == 0  # Anna, Anna
    assert (first != second).any()
