from collections.abc import Callable
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Model, Ops, chain, fix_random_seed, set_dropout_rate, to_numpy

from spacy_multihash.layers import TableEmbed, hash_rows, multi_embed
from tests.helpers.gradients import check_param_gradients


def attr_layer(seed: int, nO: int = 2, nV: int = 5, num_hashes: int = 2) -> Model:
    return chain(hash_rows(nV, attr="NORM", num_hashes=num_hashes, seed=seed), TableEmbed(nO, nV))


def ids(ops: Ops, n: int, columns: int) -> numpy.ndarray:
    values = numpy.random.default_rng(0).integers(0, 2**64, (n, columns), dtype="uint64")
    return ops.asarray(values)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_attributes_stand_side_by_side(ops: Ops, n: int) -> None:
    layers = [attr_layer(1), attr_layer(2, nO=3), attr_layer(3)]
    model = multi_embed(*layers).initialize()
    X = ids(ops, n, 3)
    expected = numpy.hstack([to_numpy(layer.predict(X[:, a])) for a, layer in enumerate(layers)])
    assert_allclose(to_numpy(model.predict(X)), expected)
    assert expected.shape == (n, 7)


def test_each_attribute_gets_its_share_of_the_gradient(ops: Ops) -> None:
    model = multi_embed(attr_layer(1), attr_layer(2, nO=3)).initialize()
    check_param_gradients(model, ids(ops, 6, 2), lambda Y: Y, eps=1e-2, atol=1e-4)


def dropping(rate: float, *widths: int) -> Model:
    layers = [attr_layer(seed, nO) for seed, nO in enumerate(widths)]
    return set_dropout_rate(multi_embed(*layers, dropout=0.0).initialize(), rate)


def refuse(*_: object) -> None:
    raise AssertionError("nothing is dropped, and so nothing is to be drawn")


def train(model: Model, X: numpy.ndarray, seed: int = 3) -> tuple[Any, Callable]:
    fix_random_seed(seed)
    return model.begin_update(X)


def masks(ops: Ops, rate: float, *widths: int, seed: int = 3) -> numpy.ndarray:
    """The mask of each layer, from uniform numbers that are drawn one layer after the other."""
    fix_random_seed(seed)
    drawn = [to_numpy(ops.xp.random.uniform(0.0, 1.0, (width,))) for width in widths]
    kept = numpy.concatenate([uniform >= rate for uniform in drawn])
    return (kept / (1 - rate)).astype("float32")


def test_dropout_masks_the_columns_of_each_layer_in_training(ops: Ops) -> None:
    model, X = dropping(0.4, 8, 5, 8), ids(ops, 6, 3)
    mask = masks(ops, 0.4, 8, 5, 8)
    assert 0 < (mask == 0).sum() < len(mask)
    assert (mask[:8] != mask[13:]).any()  # the masks of two layers of one width
    assert_array_equal(to_numpy(train(model, X)[0]), to_numpy(model.predict(X)) * mask)


def test_all_rows_share_a_mask_and_each_call_has_a_new_one(ops: Ops) -> None:
    model, X = dropping(0.5, 40), ids(ops, 30, 1)
    first, second = (to_numpy(model.begin_update(X)[0]) == 0 for _ in range(2))
    for dropped in (first, second):
        assert (dropped == dropped[0]).all()
        assert 0 < dropped[0].sum() < 40
    assert (first != second).any()


def test_gradients_are_masked_as_vectors_are(ops: Ops) -> None:
    model, X = dropping(0.4, 8, 5), ids(ops, 6, 2)
    mask = ops.asarray(masks(ops, 0.4, 8, 5))
    fix_random_seed(3)  # of the mask that check_param_gradients draws
    check_param_gradients(model, X, lambda Y: Y * mask, eps=1e-2, atol=1e-4)


@pytest.mark.parametrize(("rate", "dropout"), [(0.0, 0.0), (0.9, None)])
def test_without_dropout_training_is_prediction_and_draws_nothing(
    rate: float, dropout: float | None, ops: Ops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ops, "get_dropout_mask", refuse)
    model = multi_embed(attr_layer(1), attr_layer(2), dropout=dropout).initialize()
    set_dropout_rate(model, rate)
    X = ids(ops, 6, 2)
    assert_array_equal(to_numpy(model.begin_update(X)[0]), to_numpy(model.predict(X)))


def test_no_rows_draw_no_mask(ops: Ops, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ops, "get_dropout_mask", refuse)
    model = dropping(0.5, 8)
    vectors, backprop = model.begin_update(ids(ops, 0, 1))
    assert vectors.shape == (0, 8)
    assert backprop(vectors).shape == (0, 1)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, "0.1", True])
def test_dropout_that_is_no_share_is_refused(dropout: Any) -> None:
    with pytest.raises(ValueError, match="'multi_embed': dropout must be a share, .*, was: "):
        multi_embed(attr_layer(1), dropout=dropout)


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4,)])
def test_ids_with_another_number_of_columns_are_refused(shape: tuple[int, ...]) -> None:
    model = multi_embed(attr_layer(1), attr_layer(2)).initialize()
    with pytest.raises(ValueError, match=r"shape \(N, 2\), one column per attribute, was given"):
        model.predict(numpy.zeros(shape, dtype="uint64"))
