"""MoRTy: its gradients by central differences, and what it learns."""

from collections.abc import Iterator

import numpy
import pytest

from spacy_multihash.vectors.morty import initial, loss_and_gradients, morty
from spacy_multihash.vectors.table import Stream
from tests.helpers.vectors import random_vectors


def streaming(X: numpy.ndarray, size: int = 1000) -> Stream:
    def stream() -> Iterator[numpy.ndarray]:
        for start in range(0, len(X), size):
            yield X[start : start + size]

    return stream


@pytest.mark.parametrize("hidden", [3, 8, 11])
def test_gradients_are_central_differences(hidden: int) -> None:
    X = random_vectors(5).astype("float64")
    parameters = {n: p.astype("float64") for n, p in initial(8, hidden, 0).items()}
    _, gradients = loss_and_gradients(parameters, X)
    for name, array in parameters.items():
        expected = numpy.zeros_like(array)
        for index in numpy.ndindex(array.shape):
            moved = []
            for step in (1e-5, -1e-5):
                other = array.copy()
                other[index] += step
                moved.append(loss_and_gradients({**parameters, name: other}, X)[0])
            expected[index] = (moved[0] - moved[1]) / 2e-5
        numpy.testing.assert_allclose(gradients[name], expected, rtol=1e-5, atol=1e-6)


def test_perfect_reconstruction_has_no_gradient() -> None:
    eye, none = numpy.eye(4), numpy.zeros(4)
    parameters = {"encoder": eye, "encoder_bias": none, "decoder": eye, "decoder_bias": none}
    loss, gradients = loss_and_gradients(parameters, random_vectors(5, 4))
    assert loss == 0
    assert not any(gradient.any() for gradient in gradients.values())


def test_loss_falls_and_the_map_is_the_encoder() -> None:
    X = random_vectors(500) / 20
    one, losses = morty(streaming(X), 8, hidden=8, epochs=10, batch=16)
    assert losses[-1] < losses[0] / 3
    code = numpy.hstack([one(X), numpy.ones((500, 1))])
    rebuilt = code @ numpy.linalg.lstsq(code, X, rcond=None)[0]
    numpy.testing.assert_allclose(rebuilt, X, atol=1e-3)


def test_seed_decides_and_chunks_do_not() -> None:
    X = random_vectors(300) / 20
    maps = [
        morty(streaming(X, size), 8, hidden=8, seed=seed, batch=16)[0]
        for size, seed in ((1000, 0), (7, 0), (1000, 1))
    ]
    numpy.testing.assert_array_equal(maps[0](X), maps[1](X))
    assert numpy.abs(maps[0](X) - maps[2](X)).max() > 0.1


def test_training_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="There are no vectors to train on"):
        morty(lambda: iter(()), 8, hidden=8)
    for rate in (1e10, 1e30):
        with pytest.raises(ValueError, match=r"Training diverged with the learning rate 1"):
            morty(streaming(random_vectors()), 8, hidden=8, learn_rate=rate, batch=8)


@pytest.mark.parametrize("rate", [1e20, 1e38])
def test_last_update_that_diverges_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"Training diverged with the learning rate 1e\+\d"):
        morty(streaming(random_vectors()), 8, hidden=8, learn_rate=rate)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_learn_rate_without_effect_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="MoRTy: learn_rate must be a number above 0, was: "):
        morty(streaming(random_vectors()), 8, hidden=8, learn_rate=rate)
