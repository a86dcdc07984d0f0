"""Several tables made into one: side by side and shortened by PCA, or by generalized CCA."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Optional

import numpy

from .arrays import check_array, load_arrays
from .principal import moments
from .table import Index

Method = Literal["pca", "gcca"]
METHODS: tuple[Method, ...] = ("pca", "gcca")
KIND = "merge"
# What tables have of some words: whether each is there, (n,) bool, and its vector, (n, width).
Views = Sequence[tuple[numpy.ndarray, numpy.ndarray]]
ViewStream = Callable[[], Iterator[Views]]
_EPSILON = 1e-10


@dataclass(frozen=True)
class MergeMap:
    """The map of a word's vectors x_j to the sum, or the mean, of (x_j - mean_j) matrix_j.

    It is over the tables that have the word. A word that no table has becomes zeros.

    means (Sequence[numpy.ndarray]): (I_j,) float32 each.
    matrices (Sequence[numpy.ndarray]): (I_j, O) float32 each.
    average (bool): Take the mean.
    """

    means: Sequence[numpy.ndarray]
    matrices: Sequence[numpy.ndarray]
    average: bool

    @property
    def width(self) -> int:
        """The width of the results."""
        return self.matrices[0].shape[1]

    def __call__(self, views: Views) -> numpy.ndarray:
        """Map the views of words, to (n, O) float32."""
        parts = zip(views, self.means, self.matrices, strict=True)
        Y = sum(there[:, None] * ((X - mean) @ matrix) for (there, X), mean, matrix in parts)
        if self.average:
            found = numpy.sum([there for there, _ in views], axis=0)
            Y = Y / numpy.maximum(found, 1)[:, None]
        return numpy.asarray(Y, dtype="float32")

    def arrays(self) -> Mapping[str, numpy.ndarray]:
        """Return the parameters by name."""
        found = {f"mean{j}": mean for j, mean in enumerate(self.means)}
        found |= {f"matrix{j}": matrix for j, matrix in enumerate(self.matrices)}
        return {
            **found,
            "average": numpy.array(self.average),
            "tables": numpy.array(len(found) // 2),
        }


class MergedRows:
    """The rows of a merged table, computed when they are asked for."""

    def __init__(self, rows: int, look_up: Callable[[Index], Views], function: MergeMap) -> None:
        """Wrap a number of words, a function that looks up some of them, and the map."""
        self.look_up = look_up
        self.function = function
        self.shape: tuple[int, ...] = (rows, function.width)

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width) float32."""
        return self.function(self.look_up(index))


def concat_pca(stream: ViewStream, width: int) -> MergeMap:
    """Put tables side by side, and keep the principal axes.

    Each table is centred, and divided by the root of its total variance, so that none counts more
    for its scale. A word that a table lacks has that table's mean.

    Raises ValueError if the vectors have fewer axes than the width, or a table has no words.
    """
    found = [moments(partial(_of_table, stream, j)) for j in range(_count(stream))]
    scales = [numpy.sqrt(max(float(numpy.trace(one.covariance)), 1e-30)) for one in found]

    def side_by_side() -> Iterator[numpy.ndarray]:
        for views in stream():
            parts = zip(views, found, scales, strict=True)
            yield numpy.hstack(
                [there[:, None] * (X - one.mean) / scale for (there, X), one, scale in parts]
            )

    joint = moments(side_by_side)
    _check_width(width, joint.rank, joint.count, "words of all tables")
    blocks = _split(joint.axes[:, :width], [len(one.mean) for one in found])
    matrices = [(U / scale).astype("float32") for U, scale in zip(blocks, scales, strict=True)]
    return MergeMap([one.mean.astype("float32") for one in found], matrices, average=False)


def gcca(stream: ViewStream, width: int) -> MergeMap:
    """Find what tables have in common: G and U_j that minimize the sum of |G - X_j U_j|^2.

    G has orthogonal columns of variance 1. It is estimated on the words that all tables have. With
    whitened tables Z_j = X_j C_jj^-1/2 side by side, and eigenvectors V and eigenvalues L of their
    covariance, U_j = C_jj^-1/2 V_j L^1/2.

    Raises ValueError if there are fewer axes than the width, or no words that all tables have.
    """
    number = _count(stream)

    def shared() -> Iterator[numpy.ndarray]:
        for views in stream():
            everywhere = numpy.logical_and.reduce([there for there, _ in views])
            if everywhere.any():
                yield numpy.hstack([X[everywhere] for _, X in views])

    widths = [X.shape[1] for _, X in next(iter(stream()))]
    try:
        joint = moments(shared)
    except ValueError as error:
        raise ValueError(
            f"The {number} tables have no word in common. Give tables of one language."
        ) from error
    starts = numpy.cumsum([0, *widths])
    whiten = numpy.zeros_like(joint.covariance)
    for start, end in zip(starts[:-1], starts[1:], strict=True):
        block = slice(start, end)
        whiten[block, block] = _inverse_root(joint.covariance[block, block])
    values, axes = numpy.linalg.eigh(whiten @ joint.covariance @ whiten)
    values, axes = values[::-1], axes[:, ::-1]
    _check_width(width, int((values > 1e-6).sum()), joint.count, "words that all tables have")
    largest = numpy.take_along_axis(axes, numpy.abs(axes).argmax(axis=0)[None], axis=0)
    axes = axes * numpy.where(largest < 0, -1, 1)
    U = whiten @ axes[:, :width] * numpy.sqrt(values[:width])
    return MergeMap(
        [part.astype("float32") for part in _split(joint.mean, widths)],
        [part.astype("float32") for part in _split(U, widths)],
        average=True,
    )


def load_merge(path: Path, tables: int) -> MergeMap:
    """Read a map of several tables.

    tables (int): How many tables it should be of.

    Raises what `load_arrays` and `check_array` raise, and ValueError if it is of another number of
    tables.
    """
    arrays = load_arrays(path, {KIND: ("tables", "average")})
    check_array(path, "tables", arrays["tables"], (), "int")
    check_array(path, "average", arrays["average"], (), "bool")
    if int(arrays["tables"]) != tables:
        raise ValueError(
            f"{path} maps {int(arrays['tables'])} tables, but {tables} are given. Give the same "
            "number, in the same order."
        )
    try:
        means = [arrays[f"mean{j}"] for j in range(tables)]
        matrices = [arrays[f"matrix{j}"] for j in range(tables)]
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it lacks {error}. Make it again.") from error
    width: Optional[int] = None  # that of the first matrix is that of all others
    for j, (mean, matrix) in enumerate(zip(means, matrices, strict=True)):
        check_array(path, f"mean{j}", mean, (None,))
        check_array(path, f"matrix{j}", matrix, (len(mean), width))
        width = matrix.shape[1]
    return MergeMap(means, matrices, bool(arrays["average"]))


def _of_table(stream: ViewStream, number: int) -> Iterator[numpy.ndarray]:
    """Yield the vectors of the words that one of the tables has."""
    for views in stream():
        there, X = views[number]
        if there.any():
            yield X[there]


def _count(stream: ViewStream) -> int:
    return len(next(iter(stream())))


def _split(values: numpy.ndarray, widths: Sequence[int]) -> list[numpy.ndarray]:
    return numpy.split(values, numpy.cumsum(widths)[:-1])


def _inverse_root(C: numpy.ndarray) -> numpy.ndarray:
    """Return C^-1/2, which leaves out axes without variance."""
    values, axes = numpy.linalg.eigh(C)
    there = values > _EPSILON * max(values[-1], 1e-300)
    return (axes[:, there] / numpy.sqrt(values[there])) @ axes[:, there].T


def _check_width(width: int, rank: int, count: int, what: str) -> None:
    if width > rank:
        raise ValueError(
            f"width must be at most {rank}, was: {width}. The vectors of the {count:,} {what} "
            f"differ in {rank} dimensions only. Ask for fewer."
        )
