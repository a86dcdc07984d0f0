import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Maxout, Ops, fix_random_seed, to_numpy

from spacy_multihash.layers import MaxoutNorm
from tests.helpers.arrays import random_vectors
from tests.helpers.encoders import reference_maxout_norm
from tests.helpers.weights import check_param_gradients, randomize


@pytest.mark.parametrize("n", [0, 1, 5, 11])
@pytest.mark.parametrize("nP", [1, 2, 3, 5])
def test_maxout_norm_equals_its_reference(ops: Ops, n: int, nP: int) -> None:
    model = randomize(MaxoutNorm(4, 6, nP=nP).initialize())
    X = random_vectors(n, 6)
    expected = reference_maxout_norm(model, X)
    assert_allclose(to_numpy(model.predict(ops.asarray(X))), expected, atol=1e-5)
    assert_allclose(to_numpy(model.begin_update(ops.asarray(X))[0]), expected, atol=1e-5)


@pytest.mark.parametrize("n", [1, 5, 11])
@pytest.mark.parametrize("nP", [1, 3])
def test_gradients_equal_central_differences(ops: Ops, n: int, nP: int) -> None:
    model = randomize(MaxoutNorm(4, 6, nP=nP).initialize())
    X = ops.asarray(random_vectors(n, 6))
    check_param_gradients(model, X, lambda Y: Y, eps=1e-3, atol=1e-2)


def test_the_first_of_equal_pieces_gets_the_gradient(ops: Ops) -> None:
    model = MaxoutNorm(2, 3).initialize()
    W = random_vectors(2, 3)
    model.set_param("W", ops.asarray(numpy.repeat(W[:, None], 3, axis=1)))
    Y, backprop = model.begin_update(ops.asarray(random_vectors(4, 3)))
    backprop(ops.asarray(random_vectors(4, 2)))
    dW = to_numpy(model.get_grad("W"))
    assert abs(dW[:, 0]).max() > 0
    assert_array_equal(dW[:, 1:], 0)


def test_initial_weights_are_those_of_thinc() -> None:
    fix_random_seed(3)
    theirs = Maxout(8, 12, nP=3, normalize=True).initialize(X=random_vectors(2, 12))
    fix_random_seed(3)
    ours = MaxoutNorm(8, 12).initialize()
    assert_array_equal(ours.get_param("W"), theirs.layers[0].get_param("W"))


@pytest.mark.parametrize(
    ("nO", "nI", "nP", "message"),
    [
        (0, 6, 3, r"nO must be an integer from 1 to"),
        (4, 6, 0, r"nP must be an integer from 1 to 256, got 0"),
        (4, 6, 257, r"nP must be an integer from 1 to 256, got 257"),
        (4, 0, 3, r"nI must be an integer of 1 or more"),
    ],
)
def test_dimensions_out_of_range_are_refused(nO: int, nI: int, nP: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MaxoutNorm(nO, nI, nP=nP)


@pytest.mark.parametrize("shape", [(5, 7), (5,), (1, 5, 6)])
def test_an_input_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    model = MaxoutNorm(4, 6).initialize()
    with pytest.raises(ValueError, match=r"'maxout_norm' expects an input of shape \(N, 6\), got"):
        model.predict(numpy.zeros(shape, dtype="float32"))
