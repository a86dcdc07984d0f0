"""MoRTy: a linear autoencoder of a table, whose hidden layer is the new table.

Rethmeier and Plank (RepL4NLP 2019) make several tables this way, each from another start, and keep
the one that does best on the task.
"""

from collections.abc import Iterator, Mapping

import numpy
from thinc.api import Adam

from ..common.checks import refusal
from ..common.memory import check_memory
from .affine import AffineMap
from .table import Stream

# Arrays by name: encoder (O, I) with bias (O,), decoder (I, O) with bias (I,).
Parameters = Mapping[str, numpy.ndarray]


def morty(
    stream: Stream,
    width: int,
    *,
    hidden: int,
    seed: int = 0,
    epochs: int = 1,
    learn_rate: float = 0.02,
    batch: int = 128,
) -> tuple[AffineMap, list[float]]:
    """Train an autoencoder, and return the map to its hidden layer, with the loss of each epoch.

    stream (Stream): The vectors, in the order of training.
    width (int): Their width.
    hidden (int): Width of the hidden layer. The paper's best is that of the vectors.
    seed (int): Draws the weights.
    epochs (int): How often all vectors are gone through.
    learn_rate (float): That of Adam.
    batch (int): Vectors of an update.

    Raises ValueError if the learning rate is not above 0, if there are no vectors, if the weights
    are beyond the memory, or if the loss becomes infinite or NaN, be it after the last update.
    """
    if not learn_rate > 0:
        raise refusal("MoRTy", "learn_rate", "a number above 0", learn_rate, "Give such a number.")
    check_memory("MoRTy", [(hidden, width), (width, hidden)], "Give a smaller --width.")
    parameters = dict(initial(width, hidden, seed))
    optimizer = Adam(learn_rate, L2=0, grad_clip=0)
    losses = []
    for _ in range(epochs):
        total, number = 0.0, 0
        with numpy.errstate(over="ignore", invalid="ignore"):  # the loss is checked below
            for X in _batches(stream, batch):
                loss, gradients = loss_and_gradients(parameters, X)
                for name, gradient in gradients.items():
                    parameters[name], _ = optimizer((0, name), parameters[name], gradient)
                total, number = total + loss, number + 1
            if not number:
                raise ValueError("There are no vectors to train on. Give a table with words.")
            # Each loss above is that before an update. This one is that after the last.
            last, _ = loss_and_gradients(parameters, X)
        if not numpy.isfinite(total + last):
            raise ValueError(
                f"Training diverged with the learning rate {learn_rate}. Give a lower one, or "
                "scale the vectors first."
            )
        losses.append(total / number)
    zeros = numpy.zeros(width, dtype="float32")
    return AffineMap(zeros, parameters["encoder"].T, parameters["encoder_bias"]), losses


def initial(width: int, hidden: int, seed: int) -> Parameters:
    """Draw weights uniformly up to 1 / sqrt(inputs) in size."""
    rng = numpy.random.default_rng(seed)

    def draw(inputs: int, *shape: int) -> numpy.ndarray:
        limit = 1 / numpy.sqrt(inputs)
        return rng.uniform(-limit, limit, size=shape).astype("float32")

    return {
        "encoder": draw(width, hidden, width),
        "encoder_bias": draw(width, hidden),
        "decoder": draw(hidden, width, hidden),
        "decoder_bias": draw(hidden, width),
    }


def loss_and_gradients(
    parameters: Parameters, X: numpy.ndarray
) -> tuple[float, Mapping[str, numpy.ndarray]]:
    """Return the root of the mean squared error of a batch (n, I), and its gradients by name."""
    encoder, decoder = parameters["encoder"], parameters["decoder"]
    R = X @ encoder.T + parameters["encoder_bias"]  # (n, O)
    error = R @ decoder.T + parameters["decoder_bias"] - X  # (n, I)
    loss = float(numpy.sqrt(numpy.mean(error**2)))
    # At a loss of 0 there is nothing to learn.
    d_error = error / (error.size * loss) if loss else error
    dR = d_error @ decoder
    return loss, {
        "encoder": dR.T @ X,
        "encoder_bias": dR.sum(axis=0),
        "decoder": d_error.T @ R,
        "decoder_bias": d_error.sum(axis=0),
    }


def _batches(stream: Stream, size: int) -> Iterator[numpy.ndarray]:
    """Cut the vectors of a stream into batches, whatever its chunks are."""
    left: list[numpy.ndarray] = []
    for chunk in stream():
        rows = numpy.concatenate([*left, chunk])
        whole = len(rows) // size * size
        for start in range(0, whole, size):
            yield rows[start : start + size]
        left = [rows[whole:]]
    if left and len(left[0]):
        yield left[0]
