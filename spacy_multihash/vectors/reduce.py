"""Make tables smaller: fewer columns by PCA, several tables merged, fewer words.

Raunak, Gupta and Metze (RepL4NLP 2019) remove the D top components of a table, reduce it to N
dimensions by PCA, and remove the D top components again. All steps have the same axes, so the
result consists of columns of the first step: axes 2D + 1 to D + N.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy

from ..compute.ops import distinct_rows
from .table import ATTR_NAMES, VectorTable, word_keys

# An axis with less than this share of the largest variance only holds rounding errors.
_EPSILON = 1e-10
_BATCH = 2**14  # rows to convert to float64 at a time


@dataclass(frozen=True)
class AffineMap:
    """The map x -> (x - mean) matrix + offset.

    mean (numpy.ndarray): (I,) float32.
    matrix (numpy.ndarray): (I, O) float32.
    offset (Optional[numpy.ndarray]): (O,) float32. None means zeros.
    """

    mean: numpy.ndarray
    matrix: numpy.ndarray
    offset: Optional[numpy.ndarray] = None

    def __call__(self, X: numpy.ndarray) -> numpy.ndarray:
        """Map vectors, (n, I) float32 -> (n, O) float32."""
        with numpy.errstate(over="ignore", invalid="ignore"):  # `write_table` raises
            Y = (X - self.mean) @ self.matrix
            return Y if self.offset is None else Y + self.offset


def map_table(table: VectorTable, function: AffineMap) -> VectorTable:
    """Map the vectors of a table.

    Zeros, for words without a vector, stay zeros. Rows of floret are mapped one by one, since the
    mean of the mapped rows is the mapped mean.
    """
    Y = function(table.data)
    if table.floret is None:
        Y[~table.data.any(axis=1)] = 0
    return replace(table, data=Y)


@dataclass(frozen=True)
class Moments:
    """Mean, variances and principal axes of vectors.

    count (int): The number of vectors.
    mean (numpy.ndarray): (width,) float64.
    variances (numpy.ndarray): The variance along each axis, (width,) float64, the largest first.
    axes (numpy.ndarray): The axes as columns, (width, width) float64. The largest entry of an axis
        by absolute value is positive.
    """

    count: int
    mean: numpy.ndarray
    variances: numpy.ndarray
    axes: numpy.ndarray

    def check_rank(self, number: int) -> None:
        """Raise ValueError if the vectors differ along fewer than `number` axes."""
        rank = int((self.variances > _EPSILON * max(self.variances[0], 1e-300)).sum())
        if number > rank:
            raise ValueError(
                f"width must be at most {rank}, got {number} with the axes that are left out: the "
                f"{self.count:,} vectors differ in {rank} dimensions. Give a smaller width, or "
                "more vectors."
            )


def moments(X: numpy.ndarray) -> Moments:
    """Compute the moments of vectors (n, width), in float64.

    Raises ValueError if there are no vectors.
    """
    if not len(X):
        raise ValueError("There are no vectors to estimate a mean on. Give a table with words.")
    mean = X.mean(axis=0, dtype="float64")
    return _moments((X[batch] - mean for batch in _batches(len(X))), len(X), mean)


def _moments(centred: Iterable[numpy.ndarray], count: int, mean: numpy.ndarray) -> Moments:
    covariance = sum(batch.T @ batch for batch in centred) / count
    variances, axes = numpy.linalg.eigh(covariance)
    axes = axes[:, ::-1]
    largest = numpy.take_along_axis(axes, numpy.abs(axes).argmax(axis=0)[None], axis=0)
    return Moments(
        count, mean, numpy.maximum(variances[::-1], 0), axes * numpy.where(largest < 0, -1, 1)
    )


def _batches(number: int) -> Iterator[slice]:
    return (slice(start, start + _BATCH) for start in range(0, number, _BATCH))


def pca(stats: Moments, width: int, *, skip: int = 0, keep_origin: bool = False) -> AffineMap:
    """Make the map to coordinates on principal axes.

    width (int): The number of axes.
    skip (int): How many top axes to leave out. 2D, with a width of N - D, is the paper's algorithm.
    keep_origin (bool): Don't subtract the mean, so that a vector of zeros stays where it is.

    Raises ValueError if there are fewer axes.
    """
    stats.check_rank(width + skip)
    mean = numpy.zeros_like(stats.mean) if keep_origin else stats.mean
    matrix = stats.axes[:, skip : skip + width]
    return AffineMap(mean.astype("float32"), matrix.astype("float32"))


def join_words(tables: Sequence[VectorTable]) -> VectorTable:
    """Return a table with the words of all tables, in order, without columns.

    Raises ValueError if all tables are floret tables, if one is and a word's text is unknown,
    or if the others find words by different attributes.
    """
    keyed = [table for table in tables if table.floret is None]
    if not keyed:
        raise ValueError("All tables are of floret, which have no words. Give one with words.")
    for table in keyed[1:]:
        if table.attr != keyed[0].attr:
            names = (ATTR_NAMES.get(t.attr, str(t.attr)) for t in (keyed[0], table))
            raise ValueError(
                f"The tables must look words up by the same attribute, but {keyed[0].name} and "
                f"{table.name} look them up by {' and '.join(names)}. Make one again by the "
                "attribute of the other."
            )
    texts: dict[int, Optional[str]] = {}
    for table in keyed:
        for key, word in zip(table.keys.tolist(), table.words, strict=True):
            texts[key] = texts.get(key) or word
    if len(keyed) < len(tables) and None in texts.values():
        raise ValueError(
            "A floret table needs the text of all words, but strings of the others lack some. "
            "Leave the floret table out."
        )
    keys = numpy.array(list(texts), dtype="uint64")
    empty = numpy.zeros((len(keys), 0), dtype="float32")
    joined = replace(keyed[0], data=empty, keys=keys, rows=numpy.arange(len(keys)))
    return replace(joined, words=[*texts.values()], lang=tables[0].lang)


def merge(joined: VectorTable, tables: Sequence[VectorTable], width: int) -> VectorTable:
    """Put tables side by side, and keep the principal axes.

    Each table is centred, and divided by the root of its total variance, so that its scale doesn't
    matter. A word that a table lacks gets that table's mean, and a word that no table has becomes
    zeros. Words that share their row in each table share a row in the result.

    joined (VectorTable): The result of `join_words` for the tables.

    Raises ValueError if the vectors have fewer axes than the width, or a table has no words.
    """
    words = [word or "" for word in joined.words]
    views = [
        table.look_up_keys(joined.keys) if table.floret is None else table.look_up(words)
        for table in tables
    ]
    stats = [moments(X[present]) for present, X in views]
    scales = [numpy.sqrt(max(float(s.variances.sum()), 1e-30)) for s in stats]

    def centred(batch: slice) -> numpy.ndarray:
        terms = zip(views, stats, scales, strict=True)
        return numpy.hstack(
            [present[batch, None] * (X[batch] - s.mean) / scale for (present, X), s, scale in terms]
        )

    batches = map(centred, _batches(len(words)))
    both = _moments(batches, len(words), numpy.concatenate([s.mean for s in stats]))
    both.check_rank(width)
    ends = numpy.cumsum([len(s.mean) for s in stats])[:-1]
    functions = [
        AffineMap(s.mean.astype("float32"), (axes / scale).astype("float32"))
        for s, scale, axes in zip(
            stats, scales, numpy.split(both.axes[:, :width], ends), strict=True
        )
    ]
    Y = numpy.zeros((len(words), width), dtype="float32")
    for batch in _batches(len(words)):
        for (present, X), function in zip(views, functions, strict=True):
            Y[batch] += present[batch, None] * function(X[batch])
    return _share_rows(replace(joined, data=Y), tables)


def _share_rows(merged: VectorTable, tables: Sequence[VectorTable]) -> VectorTable:
    """Give one row to words that share their row in each table."""
    if any(table.floret is not None for table in tables):
        return merged
    found = [(table, table.find(merged.keys)) for table in tables]
    rows = numpy.stack([numpy.where(at < 0, -1, table.rows[at]) for table, at in found], axis=1)
    first, row_of = distinct_rows(rows.astype("uint64"))
    return replace(merged, data=merged.data[first], rows=row_of.astype("int64"))


def prune(table: VectorTable, words: Sequence[str], *, first: int = 0) -> VectorTable:
    """Keep the given words, with their rows, in the order of the table.

    words (Sequence[str]): Values of the attribute by which the table finds words. Words that the
        table lacks are ignored. If the table lacks a word's text, the text given here is used.
    first (int): How many of the table's first rows to keep as well, with all their words.

    Raises ValueError if the table is a floret table, or has none of the words.
    """
    if table.floret is not None:
        raise ValueError(
            f"prune can't take {table.name}, a floret table: its rows are shared by the n-grams "
            "of all words. Give a table of words."
        )
    indices = table.find(word_keys(words))
    if not (indices >= 0).any():
        raise ValueError(
            f"{table.name} has none of the {len(words):,} words to keep. Give words of the same "
            "language and spelling."
        )
    keep = table.rows < first
    keep[indices[indices >= 0]] = True
    chosen, rows = numpy.unique(table.rows[keep], return_inverse=True)
    given = dict(zip(indices.tolist(), words, strict=True))
    texts = [table.words[i] or given.get(i) for i in numpy.flatnonzero(keep).tolist()]
    return replace(table, data=table.data[chosen], keys=table.keys[keep], rows=rows, words=texts)
