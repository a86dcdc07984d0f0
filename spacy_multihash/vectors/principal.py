"""Centring, removing top components, and PCA, by one eigendecomposition of the covariance.

Raunak, Gupta and Metze (RepL4NLP 2019) remove the D top components of a table, cut it to N
dimensions by PCA, and remove the D top components again. The axes of the second step are those of
the first, so that all of it is a choice of columns: axes 2D + 1 to D + N of the centred table.
"""

from dataclasses import dataclass

import numpy

from .affine import AffineMap
from .table import Stream

# An axis whose variance is this share of the largest holds rounding errors alone.
_EPSILON = 1e-10
# A column whose deviation is this share of its mean is constant, but for rounding.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class Moments:
    """Mean, variance and axes of vectors.

    count (int): The number of vectors.
    mean (numpy.ndarray): (width,) float64.
    covariance (numpy.ndarray): (width, width) float64, divided by the count.
    """

    count: int
    mean: numpy.ndarray
    covariance: numpy.ndarray

    @property
    def deviations(self) -> numpy.ndarray:
        """The standard deviation of each column, (width,) float64: 0 if it is constant."""
        deviation = numpy.sqrt(numpy.maximum(numpy.diag(self.covariance), 0))
        return numpy.where(deviation <= _CONSTANT * numpy.abs(self.mean), 0, deviation)

    @property
    def axes(self) -> numpy.ndarray:
        """The principal axes as columns, (width, width) float64, of the largest variance first.

        The entry of an axis that is largest in size is positive.
        """
        axes = numpy.linalg.eigh(self.covariance)[1][:, ::-1]
        largest = numpy.take_along_axis(axes, numpy.abs(axes).argmax(axis=0)[None], axis=0)
        return axes * numpy.where(largest < 0, -1, 1)

    @property
    def variances(self) -> numpy.ndarray:
        """The variance along each axis, (width,) float64, the largest first."""
        return numpy.maximum(numpy.linalg.eigvalsh(self.covariance)[::-1], 0)

    @property
    def rank(self) -> int:
        """The number of axes along which the vectors differ."""
        variances = self.variances
        return int((variances > _EPSILON * max(variances[0], 1e-300)).sum())


def moments(stream: Stream) -> Moments:
    """Compute mean and covariance of vectors in one pass, in float64.

    Raises ValueError if there are no vectors.
    """
    count, total, product = 0, numpy.zeros(0), numpy.zeros(0)
    start = numpy.zeros(0)
    for chunk in stream():
        X = chunk.astype("float64")
        if not count:
            # Sums of differences from any near vector are more exact than sums of vectors.
            start = X.mean(axis=0) if len(X) else numpy.zeros(X.shape[1])
            total, product = numpy.zeros(X.shape[1]), numpy.zeros((X.shape[1], X.shape[1]))
        X -= start
        count += len(X)
        total += X.sum(axis=0)
        product += X.T @ X
    if not count:
        raise ValueError("There are no vectors to estimate a mean on. Give a table with words.")
    shift = total / count
    return Moments(count, start + shift, product / count - numpy.outer(shift, shift))


def centre(found: Moments) -> AffineMap:
    """Make the map that subtracts the mean. Raises ValueError if the vectors do not differ."""
    check_differ(found)
    return AffineMap(found.mean.astype("float32"))


def drop_top(found: Moments, number: int, *, keep_origin: bool = False) -> AffineMap:
    """Make the map that removes the top components, and keeps the width.

    It is PPA of Mu and Viswanath, as the paper has it: x -> (x - mean)(I - U U'), with the top axes
    U.

    number (int): How many components.
    keep_origin (bool): Subtract no mean, so that a vector of zeros stays where it is.

    Raises ValueError if there are not as many.
    """
    _check_rank(found, number, "components to remove", strictly=True)
    top = found.axes[:, :number]
    matrix = numpy.eye(len(top)) - top @ top.T
    return AffineMap(_origin(found, keep_origin), matrix.astype("float32"))


def pca(found: Moments, width: int, *, skip: int = 0, keep_origin: bool = False) -> AffineMap:
    """Make the map to coordinates on principal axes.

    width (int): How many axes.
    skip (int): How many top axes to leave out. 2D, with a width of N - D, is the paper's algorithm.
    keep_origin (bool): Subtract no mean, so that a vector of zeros stays where it is.

    Raises ValueError if there are not as many axes.
    """
    _check_rank(found, width + skip, "axes")
    matrix = found.axes[:, skip : skip + width]
    return AffineMap(_origin(found, keep_origin), matrix.astype("float32"))


def check_differ(found: Moments) -> None:
    """Refuse vectors of which a map would leave zeros alone. Raises ValueError."""
    if not found.deviations.any():
        raise ValueError(
            f"The {found.count:,} vectors do not differ, so that all would become zeros. Give a "
            "table, or --words, with other vectors too."
        )


def _origin(found: Moments, keep_origin: bool) -> numpy.ndarray:
    mean = numpy.zeros_like(found.mean) if keep_origin else found.mean
    return mean.astype("float32")


def _check_rank(found: Moments, number: int, what: str, *, strictly: bool = False) -> None:
    rank = found.rank
    most = max(rank - strictly, 0)
    if number > most:
        none = f"Nothing can be {'removed' if strictly else 'kept'}: give vectors that differ more."
        raise ValueError(
            f"{what} must be at most {most}, was: {number}. The {found.count:,} vectors differ in "
            f"{rank} dimensions only. {'Ask for fewer, or give more vectors.' if most else none}"
        )
