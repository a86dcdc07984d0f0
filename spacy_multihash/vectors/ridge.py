"""Ridge regression: from known vectors to others, with a strength that held-out words choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy

from .affine import AffineMap, to_unit
from .held_out import EVERY, is_held_out

# The strengths that are tried, as shares of the mean variance of the inputs.
_STRENGTHS = 10.0 ** numpy.arange(-6, 3)
# A smaller R2 is hardly better than that of the mean, which is 0.
_LEAST_R2 = 0.01


@dataclass(frozen=True)
class HeldOut:
    """How good predictions are for words that were held out, one in ten.

    words (int): Number of the words.
    cosine (float): Mean cosine of prediction and truth.
    cosine_of_mean (float): The same if the mean of the other words is predicted for all.
    r2 (float): Share of the squared distance from that mean that the predictions explain: 1 if they
        are right, 0 if they are as good as the mean.
    strength (float): The strength of the regression that predicts them best.
    """

    words: int
    cosine: float
    cosine_of_mean: float
    r2: float
    strength: float

    @property
    def is_hardly_better(self) -> bool:
        """Tell whether predictions are hardly better than the mean."""
        return self.r2 < _LEAST_R2


def fit_ridge(inputs: numpy.ndarray, outputs: numpy.ndarray, strength: float) -> AffineMap:
    """Fit outputs (N, W) to inputs (N, D).

    strength (float): The penalty of squared weights, as a share of the mean variance of the inputs.
        It is multiplied by N, so that it means the same for any number of words.
    """
    return _Decomposed(inputs, outputs).fit(strength)


def choose_ridge(
    inputs: numpy.ndarray, outputs: numpy.ndarray, rows: Optional[numpy.ndarray] = None
) -> tuple[AffineMap, HeldOut]:
    """Fit outputs (N, W) to inputs (N, D) with the strength that predicts held-out words best.

    The words that are held out are those of `is_held_out`. The regression that is returned is
    fitted to them as well.

    rows (Optional[numpy.ndarray]): The row of each word in the table of the outputs, (N,). None is
        for words that share no rows.

    Raises ValueError for arrays of other shapes, numbers that are not finite, and too few words.
    """
    rows = numpy.arange(len(outputs)) if rows is None else rows
    _check(inputs, outputs, rows)
    apart = is_held_out(rows)
    decomposed = _Decomposed(inputs[~apart], outputs[~apart])
    tried = [decomposed.fit(strength) for strength in _STRENGTHS]
    truth = outputs[apart].astype("float64")
    errors = [((ridge(inputs[apart]) - truth) ** 2).sum() for ridge in tried]
    best = int(numpy.argmin(errors))
    mean = numpy.broadcast_to(outputs[~apart].mean(axis=0, dtype="float64"), truth.shape)
    spread = ((truth - mean) ** 2).sum()
    held_out = HeldOut(
        int(apart.sum()),
        _mean_cosine(tried[best](inputs[apart]), truth),
        _mean_cosine(mean, truth),
        float(1 - errors[best] / spread) if spread else 0.0,
        float(_STRENGTHS[best]),
    )
    return fit_ridge(inputs, outputs, held_out.strength), held_out


class _Decomposed:
    """Inputs and outputs, ready for any strength: eigenpairs of the inputs' covariance."""

    def __init__(self, inputs: numpy.ndarray, outputs: numpy.ndarray) -> None:
        self._input_means = inputs.mean(axis=0, dtype="float64")
        self._output_means = outputs.mean(axis=0, dtype="float64")
        centred = inputs - self._input_means
        self._values, self._directions = numpy.linalg.eigh(centred.T @ centred / len(inputs))
        products = centred.T @ (outputs - self._output_means) / len(inputs)  # (D, W)
        self._products = self._directions.T @ products

    def fit(self, strength: float) -> AffineMap:
        penalty = strength * self._values.mean() or numpy.finfo("float64").tiny  # constant inputs
        weights = self._directions @ (self._products / (self._values + penalty)[:, None])
        return AffineMap(self._input_means, weights, self._output_means)


def _check(inputs: numpy.ndarray, outputs: numpy.ndarray, rows: numpy.ndarray) -> None:
    if inputs.ndim != 2 or outputs.ndim != 2 or len(inputs) != len(outputs):
        raise ValueError(
            "Regression: inputs and outputs must be two tables with a row for each word, were of "
            f"the shapes {inputs.shape} and {outputs.shape}. Give both for the same words."
        )
    check_enough(rows)
    check_finite("inputs", inputs)
    check_finite("outputs", outputs)


def check_enough(rows: numpy.ndarray) -> None:
    """Raise ValueError if words have too few rows, (N,), to hold one of them out."""
    if (number := len(numpy.unique(rows))) < EVERY:
        raise ValueError(
            f"Regression needs {EVERY} words or more that have both vectors, and share no row, was "
            f"given {number}. Give a table that has more of the words."
        )


def check_finite(name: str, values: numpy.ndarray, words: Optional[Sequence[str]] = None) -> None:
    """Raise ValueError if a table (N, D) has NaN or infinity.

    words (Optional[Sequence[str]]): The word of each row, for the message. None gives the row.
    """
    is_bad = ~numpy.isfinite(values).all(axis=1)
    if is_bad.any():
        first = int(is_bad.argmax())
        which = f"row {first}" if words is None else f"that of the word {words[first]!r}"
        raise ValueError(
            f"Regression: {name} must be finite, but {int(is_bad.sum())} of {len(values)} rows "
            f"have NaN or infinity, the first is {which}. Mend the table."
        )


def _mean_cosine(some: numpy.ndarray, others: numpy.ndarray) -> float:
    """Average the cosines of rows. One of a zero vector is 0."""
    return float((to_unit(some) * to_unit(others)).sum(axis=1).mean())
