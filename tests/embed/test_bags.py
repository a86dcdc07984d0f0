"""The layer that embeds several symbols of a token."""

from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Model, Ops, chain, to_numpy
from thinc.types import Ragged

from spacy_multihash.embed.embeddings import embed_bags, weighted_layer
from spacy_multihash.layers import Symbols, TableEmbed, hash_rows, lookup_rows
from tests.helpers.gradients import check_param_gradients
from tests.helpers.maxout import randomize

WIDTH, ROWS = 3, 11
SYMBOLS = numpy.array([5, 2**64 - 1, 5, 7, 0, 9, 5, 5, 12, 13, 14, 15], dtype="uint64")
BAGS = {
    "of many lengths": [3, 0, 1, 3, 5, 0],
    "one token": [12],
    "one symbol each": [1] * 12,
    "none at the ends": [0, 12, 0],
}
EMPTY: dict[str, list[int]] = {"no tokens": [], "no symbols": [0, 0]}


def hashed() -> Model:
    return chain(hash_rows(ROWS, attr="_.x", num_hashes=2, seed=1), TableEmbed(WIDTH, ROWS))


def looked_up(unk_dropout: float = 0.0) -> Model:
    layer = chain(lookup_rows(attr="_.x", unk_dropout=unk_dropout), TableEmbed(WIDTH, 6))
    keys = numpy.array([0, 5, 7, 9, 2**64 - 1], dtype="uint64")
    layer.layers[0].attrs["symbols"] = Symbols.from_ordered(keys)
    return layer


def weighted(**settings: Any) -> Model:
    return weighted_layer("_.x", WIDTH, ROWS, seed=1, **settings)


LAYERS: dict[str, Any] = {
    "hashed": hashed,
    "looked up": looked_up,
    "weighted": weighted,
    "appended": lambda: weighted(append_importance=True),
    "plain": lambda: weighted(train_importance=False),
    "fixed": lambda: weighted(train_importance=False, append_importance=True),
}


def ragged(ops: Ops, lengths: list[int]) -> Ragged:
    return Ragged(
        ops.asarray(SYMBOLS[: sum(lengths)]), ops.asarray(numpy.array(lengths, dtype="int32"))
    )


def by_loop(layer: Model, lengths: list[int], reduce: str) -> numpy.ndarray:
    """Embed one symbol after the other, and add them up."""
    vectors, start = [], 0
    for length in lengths:
        total = numpy.zeros(layer.get_dim("nO"))
        for symbol in SYMBOLS[start : start + length]:
            total += to_numpy(layer.predict(layer.ops.asarray(numpy.array([symbol]))))[0]
        vectors.append(total / (max(length, 1) if reduce == "mean" else 1))
        start += length
    return numpy.array(vectors)


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("lengths", BAGS.values(), ids=BAGS.keys())
@pytest.mark.parametrize("kind", LAYERS)
def test_vectors_equal_a_loop(ops: Ops, kind: str, lengths: list[int], reduce: Any) -> None:
    layer = LAYERS[kind]()
    model = randomize(embed_bags(layer, reduce=reduce).initialize())
    expected = by_loop(layer, lengths, reduce)
    X = ragged(ops, lengths)
    assert_allclose(to_numpy(model.predict(X)), expected, atol=1e-5)
    assert_allclose(to_numpy(model.begin_update(X)[0]), expected, atol=1e-5)
    assert model.get_dim("nO") == expected.shape[1]


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("lengths", BAGS.values(), ids=BAGS.keys())
@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_equal_central_differences(
    ops: Ops, kind: str, lengths: list[int], reduce: Any
) -> None:
    model = randomize(embed_bags(LAYERS[kind](), reduce=reduce).initialize())
    check_param_gradients(model, ragged(ops, lengths), lambda Y: Y, eps=1e-2, atol=1e-3)


@pytest.mark.parametrize("lengths", EMPTY.values(), ids=EMPTY.keys())
@pytest.mark.parametrize("kind", LAYERS)
def test_tokens_without_symbols(ops: Ops, kind: str, lengths: list[int]) -> None:
    model = randomize(embed_bags(LAYERS[kind](), reduce="mean").initialize())
    vectors, backprop = model.begin_update(ragged(ops, lengths))
    assert_array_equal(to_numpy(vectors), numpy.zeros((len(lengths), model.get_dim("nO"))))
    d_symbols = backprop(vectors)
    assert len(d_symbols.dataXd) == 0


def test_unk_dropout_takes_symbols_and_not_tokens(ops: Ops) -> None:
    layer = looked_up(unk_dropout=0.5)
    model = randomize(embed_bags(layer, reduce="sum").initialize())
    table = to_numpy(layer.layers[1].get_param("E")).copy()
    table[0], table[1:] = 0, 1  # a token's vector counts its known symbols
    layer.layers[1].set_param("E", ops.asarray(table))
    symbols = ops.asarray(numpy.full(4000, 5, dtype="uint64"))
    X = Ragged(symbols, ops.asarray(numpy.full(40, 100, dtype="int32")))
    counts = to_numpy(model.begin_update(X)[0])[:, 0]
    assert 40 < counts.mean() < 60
    assert 0 < counts.std() < 10
    assert (to_numpy(model.predict(X)) == 100).all()
