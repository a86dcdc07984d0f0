"""Smaller tables: fewer columns by PCA, several tables merged to one, fewer words, fewer bits.

Raunak, Gupta and Metze (RepL4NLP 2019) remove the D top components of a table, cut it to N
dimensions by PCA, and remove the D top components again. The axes of the second step are those of
the first, so that all of it is a choice of columns: axes 2D + 1 to D + N of the centred table.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Optional

import numpy

from ..compute.quantization import scales_of, to_bytes, to_half, widen
from .table import MappedRows, Stream, VectorTable, View, has_vector
from .vocab import word_keys

Method = Literal["float16", "int8"]
ViewStream = Callable[[], Iterator[Sequence[View]]]
# An axis whose variance is this share of the largest holds rounding errors alone.
_EPSILON = 1e-10
_LEAST_HALF = 2.0**-25  # half of the least number of float16


@dataclass(frozen=True)
class AffineMap:
    """The map x -> (x - mean) matrix + offset.

    mean (numpy.ndarray): (I,) float32.
    matrix (numpy.ndarray): (I, O) float32.
    offset (Optional[numpy.ndarray]): (O,) float32. None is for zeros.
    """

    mean: numpy.ndarray
    matrix: numpy.ndarray
    offset: Optional[numpy.ndarray] = None

    def __call__(self, X: numpy.ndarray) -> numpy.ndarray:
        """Map vectors, (n, I) float32 -> (n, O) float32."""
        Y = (X - self.mean) @ self.matrix
        return Y if self.offset is None else Y + self.offset


def map_table(table: VectorTable, function: AffineMap) -> VectorTable:
    """Map the vectors of a table.

    A vector of zeros stands for a word without a vector, and stays as it is. The rows of floret are
    mapped one by one: an affine map of a mean is the mean of the maps.
    """

    def apply(X: numpy.ndarray) -> numpy.ndarray:
        Y = function(X)
        if table.floret is None:
            Y[~X.any(axis=1)] = 0
        return Y

    return replace(table, data=MappedRows(table.data, apply, function.matrix.shape[1]))


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


def pca(stats: Moments, width: int, *, skip: int = 0, keep_origin: bool = False) -> AffineMap:
    """Make the map to coordinates on principal axes.

    width (int): How many axes.
    skip (int): How many top axes to leave out. 2D, with a width of N - D, is the paper's algorithm.
    keep_origin (bool): Subtract no mean, so that a vector of zeros stays where it is.

    Raises ValueError if there are not as many axes.
    """
    _check_rank(stats, width + skip, "vectors")
    mean = numpy.zeros_like(stats.mean) if keep_origin else stats.mean
    matrix = stats.axes[:, skip : skip + width]
    return AffineMap(mean.astype("float32"), matrix.astype("float32"))


@dataclass(frozen=True)
class MergeMap:
    """The map of a word's vectors x_j to the sum of (x_j - mean_j) matrix_j.

    It is over the tables that have the word. A word that no table has becomes zeros.

    means (Sequence[numpy.ndarray]): (I_j,) float32 each.
    matrices (Sequence[numpy.ndarray]): (I_j, O) float32 each.
    """

    means: Sequence[numpy.ndarray]
    matrices: Sequence[numpy.ndarray]

    def __call__(self, views: Sequence[View]) -> numpy.ndarray:
        """Map what the tables have of words, to (n, O) float32."""
        terms = zip(views, self.means, self.matrices, strict=True)
        Y = sum(there[:, None] * ((X - mean) @ matrix) for (there, X), mean, matrix in terms)
        return numpy.asarray(Y, dtype="float32")


def merge(stream: ViewStream, width: int) -> MergeMap:
    """Put tables side by side, and keep the principal axes.

    Each table is centred, and divided by the root of its total variance, so that none counts more
    for its scale. A word that a table lacks has that table's mean.

    stream (ViewStream): Yields what the tables have of the words, batch by batch.

    Raises ValueError if the vectors have fewer axes than the width, or a table has no words.
    """
    number = len(next(iter(stream())))

    def of_table(table: int) -> Iterator[numpy.ndarray]:
        for views in stream():
            there, X = views[table]
            if there.any():
                yield X[there]

    stats = [moments(lambda table=table: of_table(table)) for table in range(number)]  # type: ignore[misc]
    scales = [numpy.sqrt(max(float(numpy.trace(s.covariance)), 1e-30)) for s in stats]

    def side_by_side() -> Iterator[numpy.ndarray]:
        for views in stream():
            terms = zip(views, stats, scales, strict=True)
            yield numpy.hstack(
                [there[:, None] * (X - s.mean) / scale for (there, X), s, scale in terms]
            )

    joint = moments(side_by_side)
    _check_rank(joint, width, "words of all tables")
    blocks = numpy.split(joint.axes[:, :width], numpy.cumsum([len(s.mean) for s in stats])[:-1])
    matrices = [(axes / s).astype("float32") for axes, s in zip(blocks, scales, strict=True)]
    return MergeMap([s.mean.astype("float32") for s in stats], matrices)


def prune(table: VectorTable, words: Sequence[str], *, first: int = 0) -> VectorTable:
    """Keep the words that are given, with their rows, in the order of the table.

    words (Sequence[str]): The words to keep, as values of the attribute by which the table finds
        them. Those that the table lacks are left out. A word whose text the table lacks gets the
        text given here.
    first (int): How many of the table's first rows to keep besides, with all their words.

    Raises ValueError if the table is of floret, or has none of the words.
    """
    if table.floret is not None:
        raise ValueError(
            f"prune cannot take {table.name}, a floret table: its rows are shared by the n-grams "
            "of all words. Give a table of words."
        )
    keys = word_keys(words)
    places = table.find(keys)
    keep = table.rows < first
    keep[places[places >= 0]] = True
    if not (places >= 0).any():
        raise ValueError(
            f"{table.name} has none of the {len(keys):,} words to keep. Give words of the same "
            "language and spelling."
        )
    chosen, rows = numpy.unique(table.rows[keep], return_inverse=True)
    given = dict(zip(places.tolist(), words, strict=True))
    texts = [table.words[place] or given.get(place) for place in numpy.flatnonzero(keep).tolist()]
    data = MappedRows(chosen, table.data.__getitem__, table.width)
    return replace(table, data=data, keys=table.keys[keep], rows=rows, words=texts)


def quantize(table: VectorTable, method: Method) -> tuple[MappedRows, Optional[MappedRows]]:
    """Return the codes of a table (rows, width), computed when they are asked for.

    Those of int8 are multiplied by a scale for each row, (rows,) float32, which comes second.
    """
    if method == "float16":
        return MappedRows(table.data, _to_half, table.width, dtype="<f2"), None
    scales = MappedRows(table.data, scales_of)
    codes = MappedRows(table.data, lambda X: to_bytes(X, scales_of(X)), table.width, dtype="|i1")
    return codes, scales


def rounded(table: VectorTable, method: Method) -> VectorTable:
    """Return a table of the numbers that its codes stand for."""
    codes, scales = quantize(table, method)

    def widened(rows: numpy.ndarray) -> numpy.ndarray:
        return widen(codes[rows], None if scales is None else scales[rows])

    rows = numpy.arange(table.data.shape[0])
    return replace(table, data=MappedRows(rows, widened, table.width))


def _to_half(X: numpy.ndarray) -> numpy.ndarray:
    half = to_half(X)
    if lost := int((has_vector(X) & ~has_vector(half)).sum()):
        raise ValueError(
            f"float16 makes zeros of numbers up to {_LEAST_HALF:.0e}: {lost:,} or more vectors "
            "would become zeros, which stand for no vector. Scale them first, or take int8."
        )
    return half


def _check_rank(stats: Moments, number: int, what: str) -> None:
    if number > stats.rank:
        raise ValueError(
            f"width must be at most {stats.rank}, was: {number} (with the axes that are left out). "
            f"The {stats.count:,} {what} differ in {stats.rank} dimensions only. Ask for fewer, or "
            "give more vectors."
        )
