"""Maps of one table into the space of another, from pairs of words: Procrustes, CCA and CSLS."""

from typing import Literal

import numpy

from ..common.checks import refusal
from .affine import AffineMap, to_unit

Method = Literal["procrustes", "cca"]
METHODS: tuple[Method, ...] = ("procrustes", "cca")
# Rows whose cosines with all others are there at a time.
_BATCH = 512
_MOST_RIDGE = 1_000_000


def procrustes(Y: numpy.ndarray, X: numpy.ndarray, *, centre: bool = True) -> AffineMap:
    """Find the rotation, perhaps with a reflection, of Y that comes nearest to X.

    W = U V' minimizes |Y W - X| among orthogonal matrices, where U S V' = Y' X (Schönemann, 1966).

    Y, X (numpy.ndarray): Vectors of paired words, (pairs, width).
    centre (bool): Subtract the mean of Y first, and add that of X last.

    Raises ValueError if the widths differ, if there are no more pairs than columns, or if there is
    nothing left of a table without its mean.
    """
    Y, X, means = _paired(Y, X, centre)
    U, _, Vt = numpy.linalg.svd(Y.T @ X)
    return _map(means, U @ Vt)


def cca(Y: numpy.ndarray, X: numpy.ndarray, *, ridge: float = 1e-3) -> AffineMap:
    """Find the map of Y into the space of X through their canonical axes.

    With the covariances C, C_xx^-1/2 C_xy C_yy^-1/2 = U S V'. The canonical axes are
    A = C_xx^-1/2 U and B = C_yy^-1/2 V, and y maps to (y - mean) B A^-1 + the mean of X.

    Y, X (numpy.ndarray): Vectors of paired words, (pairs, width).
    ridge (float): Added to the variances, as a share of their mean.

    Raises ValueError if the ridge is out of range, if the widths differ, if there are no more pairs
    than columns, or if there is nothing left of a table without its mean.
    """
    if not 0 <= ridge <= _MOST_RIDGE:
        expected = f"a number from 0 to {_MOST_RIDGE:,}"
        raise refusal("cca", "ridge", expected, ridge, "Give such a --ridge.")
    Y, X, means = _paired(Y, X, True)
    root_x, whiten_x = _roots(X.T @ X / len(X), ridge)
    _, whiten_y = _roots(Y.T @ Y / len(Y), ridge)
    U, _, Vt = numpy.linalg.svd(whiten_x @ (X.T @ Y / len(X)) @ whiten_y)
    # The inverse of A = C_xx^-1/2 U is U' C_xx^1/2.
    return _map(means, whiten_y @ Vt.T @ U.T @ root_x)


def has_enough(X: numpy.ndarray) -> bool:
    """Tell whether there are enough pairs (pairs, width) to find a map: more than columns."""
    return len(X) > X.shape[1]


def csls_nearest(
    Y: numpy.ndarray, X: numpy.ndarray, *, neighbours: int = 10
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find the row of X that is nearest to each row of Y, and the reverse, by CSLS.

    CSLS(y, x) = 2 cos(y, x) - r(y) - r(x), with the mean cosine r of the K nearest neighbours in
    the other set (Conneau et al., 2018). It keeps hubs from being everybody's neighbour.

    Y, X (numpy.ndarray): Vectors, (n, width) and (m, width).
    neighbours (int): K, at most as many as there are rows.

    Returns (n,) and (m,) int64.
    """
    Y, X = to_unit(Y.astype("float32")), to_unit(X.astype("float32"))
    near_y, near_x = _nearness(Y, X, neighbours), _nearness(X, Y, neighbours)
    return _best(Y, X, near_x), _best(X, Y, near_y)


def cosine_nearest(Y: numpy.ndarray, X: numpy.ndarray) -> numpy.ndarray:
    """Find the row of X that has the largest cosine with each row of Y, (n,) int64."""
    Y, X = to_unit(Y.astype("float32")), to_unit(X.astype("float32"))
    return _best(Y, X, numpy.zeros(len(X), dtype="float32"))


def mutual_pairs(
    Y: numpy.ndarray, X: numpy.ndarray, *, neighbours: int = 10
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the rows of Y and of X that are each other's nearest by CSLS, (pairs,) each."""
    of_y, of_x = csls_nearest(Y, X, neighbours=neighbours)
    rows = numpy.arange(len(Y))
    mutual = of_x[of_y] == rows
    return rows[mutual], of_y[mutual]


def _batches(Y: numpy.ndarray) -> list[slice]:
    return [slice(start, start + _BATCH) for start in range(0, len(Y), _BATCH)]


def _nearness(Y: numpy.ndarray, X: numpy.ndarray, neighbours: int) -> numpy.ndarray:
    """Return the mean cosine of each row of Y with its nearest rows of X, (n,)."""
    number = min(neighbours, len(X))
    found = [
        numpy.partition(Y[batch] @ X.T, -number, axis=1)[:, -number:].mean(axis=1)
        for batch in _batches(Y)
    ]
    return numpy.concatenate(found)


def _best(Y: numpy.ndarray, X: numpy.ndarray, near_x: numpy.ndarray) -> numpy.ndarray:
    return numpy.concatenate(
        [(2 * Y[batch] @ X.T - near_x).argmax(axis=1) for batch in _batches(Y)]
    )


def _paired(
    Y: numpy.ndarray, X: numpy.ndarray, centre: bool
) -> tuple[numpy.ndarray, numpy.ndarray, tuple[numpy.ndarray, numpy.ndarray]]:
    """Check paired vectors, and return them in float64, less their means, with the means."""
    if Y.shape != X.shape:
        raise ValueError(
            f"Both tables must have the same width to be aligned, were: {Y.shape[1]} and "
            f"{X.shape[1]}. Reduce the wider one first, with pca."
        )
    if not has_enough(X):
        raise ValueError(
            f"Aligning {X.shape[1]} columns needs more pairs than columns, was given {len(X)}: "
            "directions that no pair has would be turned at random. Give more pairs, or reduce "
            "both tables, with pca."
        )
    for name, Z in (("table to map", Y), ("target", X)):
        if centre and (Z == Z[0]).all():
            raise ValueError(
                f"The vectors of the {name} must differ, to be aligned, but those of all "
                f"{len(Z):,} pairs are equal. Give other pairs, or mend the table."
            )
    Y, X = Y.astype("float64"), X.astype("float64")
    means = (Y.mean(axis=0), X.mean(axis=0)) if centre else (numpy.zeros(Y.shape[1]),) * 2
    return Y - means[0], X - means[1], (means[0], means[1])


def _roots(C: numpy.ndarray, ridge: float) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the square root of a covariance with a ridge, and the inverse of the root."""
    C = C + ridge * numpy.trace(C) / len(C) * numpy.eye(len(C))
    values, axes = numpy.linalg.eigh(C)
    roots = numpy.sqrt(numpy.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    return (axes * roots) @ axes.T, (axes / roots) @ axes.T


def _map(means: tuple[numpy.ndarray, numpy.ndarray], W: numpy.ndarray) -> AffineMap:
    mean, offset = (part.astype("float32") for part in means)
    return AffineMap(mean, W.astype("float32"), offset)
