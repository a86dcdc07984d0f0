from typing import Any

import numpy
import pytest
from numpy.testing import assert_array_equal
from thinc.api import Model, Ops, chain, set_dropout_rate, to_numpy

from spacy_multihash.layers import TableEmbed, hash_rows, multi_embed


def attr_layer(seed: int, nO: int = 2) -> Model:
    return chain(hash_rows(5, attr="NORM", num_hashes=2, seed=seed), TableEmbed(nO, 5))


def ids(ops: Ops, n: int, columns: int) -> numpy.ndarray:
    values = numpy.random.default_rng(0).integers(0, 2**64, (n, columns), dtype="uint64")
    return ops.asarray(values)


def refuse(*_: object) -> None:
    raise AssertionError("nothing is dropped, and so nothing is to be drawn")


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
    model = multi_embed(attr_layer(1, 8), dropout=0.5).initialize()
    vectors, backprop = model.begin_update(ids(ops, 0, 1))
    assert vectors.shape == (0, 8)
    assert backprop(vectors).shape == (0, 1)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, "0.1", True])
def test_dropout_that_is_no_share_is_refused(dropout: Any) -> None:
    with pytest.raises(ValueError, match="dropout must be a share, .*, got .*'multi_embed'"):
        multi_embed(attr_layer(1), dropout=dropout)


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4,)])
def test_ids_with_another_number_of_columns_are_refused(shape: tuple[int, ...]) -> None:
    model = multi_embed(attr_layer(1), attr_layer(2)).initialize()
    with pytest.raises(ValueError, match=r"shape \(N, 2\), one column per attribute, got"):
        model.predict(numpy.zeros(shape, dtype="uint64"))
