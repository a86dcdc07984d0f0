import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Model, Ops, chain, to_numpy

from spacy_multihash.layers import TableEmbed, hash_rows, mix, multi_embed

from .gradients import check_param_gradients


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


def mix_reference(model: Model, X: numpy.ndarray) -> numpy.ndarray:
    """Maxout and layer normalization, token by token and output by output."""
    maxout, norm = model.layers[0].layers
    W, b = to_numpy(maxout.get_param("W")), to_numpy(maxout.get_param("b"))
    Y = numpy.zeros((len(X), W.shape[0]))
    for i, x in enumerate(X):
        for o in range(W.shape[0]):
            Y[i, o] = max(float(W[o, p] @ x + b[o, p]) for p in range(W.shape[1]))
        Y[i] = (Y[i] - Y[i].mean()) / numpy.sqrt(Y[i].var() + 1e-8)
    return Y * to_numpy(norm.get_param("G")) + to_numpy(norm.get_param("b"))


def vectors(ops: Ops, n: int, width: int) -> numpy.ndarray:
    values = numpy.random.default_rng(0).normal(size=(n, width)).astype("float32")
    return ops.asarray(values)


@pytest.mark.parametrize("nP", [1, 2, 3])
def test_mix_equals_its_reference(ops: Ops, nP: int) -> None:
    model = mix(4, 6, nP=nP).initialize(X=vectors(ops, 5, 6))
    X = vectors(ops, 5, 6)
    assert_allclose(to_numpy(model.predict(X)), mix_reference(model, to_numpy(X)), atol=1e-5)


def test_mix_gradients_equal_central_differences(ops: Ops) -> None:
    X = vectors(ops, 5, 6)
    model = mix(4, 6).initialize(X=X)
    check_param_gradients(model, X, lambda Y: Y, eps=1e-3, atol=1e-2)


def test_mix_passes_the_gradient_on(ops: Ops) -> None:
    X = vectors(ops, 3, 6)
    model = mix(4, 6).initialize(X=X)
    Y, backprop = model.begin_update(X)
    C = numpy.random.default_rng(2).normal(size=Y.shape).astype("float32")
    dX = to_numpy(backprop(ops.asarray(C)))
    expected = numpy.zeros_like(dX)
    for index in numpy.ndindex(*X.shape):
        step = numpy.zeros(X.shape, dtype="float32")
        step[index] = 1e-3
        step_ = ops.asarray(step)
        difference = to_numpy(model.predict(X + step_) - model.predict(X - step_))
        expected[index] = (difference * C).sum() / 2e-3
    assert_allclose(dX, expected, atol=1e-2 * abs(expected).max())


def test_mix_of_no_tokens(ops: Ops) -> None:
    model = mix(4, 6).initialize()
    Y, backprop = model.begin_update(vectors(ops, 0, 6))
    assert Y.shape == (0, 4)
    assert backprop(Y).shape == (0, 6)
