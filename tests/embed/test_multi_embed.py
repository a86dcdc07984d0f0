import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Model, Ops, chain, to_numpy

from spacy_multihash.embed import multi_embed as embed_layer
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


def test_gradient_of_ids_is_zero_and_shaped_like_them(ops: Ops) -> None:
    model = multi_embed(attr_layer(1), attr_layer(2)).initialize()
    vectors, backprop = model.begin_update(ids(ops, 3, 2))
    assert to_numpy(backprop(vectors)).tolist() == [[0, 0]] * 3


def test_multi_embed_without_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="needs at least one attribute layer"):
        multi_embed()


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4,)])
def test_ids_with_another_number_of_columns_are_refused(shape: tuple[int, ...]) -> None:
    model = multi_embed(attr_layer(1), attr_layer(2)).initialize()
    with pytest.raises(ValueError, match=r"shape \(N, 2\), one column per attribute, was given"):
        model.predict(numpy.zeros(shape, dtype="uint64"))


def test_hashing_through_another_layer_is_not_taken_for_plain_hashing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    through = hash_rows(3, attr="NORM", num_hashes=1, seed=4)
    rows = hash_rows(5, attr="NORM", num_hashes=2, seed=1, through=through)
    model = multi_embed(attr_layer(1), chain(rows, TableEmbed(2, 5))).initialize()
    X = numpy.random.default_rng(0).integers(0, 2**64, (7, 2), dtype="uint64")
    expected = model.predict(X)

    def refuse(*_: object) -> None:
        raise AssertionError("the ids would be hashed without the layer that they go through")

    monkeypatch.setattr(embed_layer, "on_cpu", lambda ops: False)
    monkeypatch.setattr(embed_layer.gpu, "hash_embed", refuse)
    assert_allclose(model.predict(X), expected)
