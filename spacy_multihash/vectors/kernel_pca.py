"""Vectors of words by their spelling alone: kernel PCA of their similarities.

Gupta, Giesselbach, Rüping and Bauckhage 2019, "Improving Word Embeddings Using Kernel PCA", with
two corrections. Components are scaled by the root of their eigenvalue, as is usual, and not by the
eigenvalue, which would give noise the same weight as what counts. And the similarities of a new
word are centred as those of the anchors were. Without that, a word among the anchors would get
another vector as a new word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy

from ..common.checks import are_whole, check_number, check_whole, refusal
from ..common.memory import check_memory
from .spelling import SpellingIndex

_WHERE = "Vectors from spelling"
_ADVICE = "Change it."  # in a config, or on the command line
# Up to this number of anchors all eigenpairs are computed, which takes seconds.
_FEW = 1500
# Eigenvalues below this share of the largest one are rounding errors.
_LEAST = 1e-6
# Further directions that are iterated, and how often, where there are many anchors.
_SPARE, _ROUNDS = 50, 8
_MOST_ANCHORS = 10_000
# With a narrower kernel, no word is like another one.
_LEAST_SIGMA = 0.001


@dataclass(frozen=True)
class SpellingSettings:
    """What vectors from spelling are made of.

    anchors (int): The most words that others are compared with. Memory grows with its square, 400
        MB at 10,000, which is the most.
    rank (int): Width of the vectors.
    sigma (float): Width of the Gaussian kernel, from 0.001 on: exp(-(1 - similarity)² / (2
        sigma²)).
    orders (Sequence[int]): Lengths of the n-grams, in characters.

    Raises ValueError for a setting that is out of range.
    """

    anchors: int = 3000
    rank: int = 500
    sigma: float = 0.5
    orders: Sequence[int] = field(default=(2, 3, 4))

    def __post_init__(self) -> None:
        """Check the settings."""
        check_whole(_WHERE, "anchors", self.anchors, 2, _MOST_ANCHORS, advice=_ADVICE)
        check_whole(_WHERE, "rank", self.rank, 1, advice=_ADVICE)
        check_number(_WHERE, "sigma", self.sigma, _LEAST_SIGMA, advice=_ADVICE)
        if not are_whole(self.orders, 1) or not self.orders:
            expected = "a list of whole numbers from 1 on, such as [2, 3, 4]"
            raise refusal(_WHERE, "orders", expected, self.orders, _ADVICE)


@dataclass(frozen=True)
class KernelPCA:
    """The vectors of words by their spelling.

    index (SpellingIndex): The anchors, A words.
    sigma (float): Width of the Gaussian kernel.
    means (numpy.ndarray): (A,) mean similarity of each anchor to all of them, in the kernel.
    projection (numpy.ndarray): (A, rank) from centred similarities to vectors.
    variances (numpy.ndarray): (rank,) of the components over the anchors, the largest first.
    """

    index: SpellingIndex
    sigma: float
    means: numpy.ndarray
    projection: numpy.ndarray
    variances: numpy.ndarray

    def vectors(self, words: Sequence[str]) -> numpy.ndarray:
        """Compute the vectors of words, anchors or not: (N, rank) float32."""
        vectors = numpy.zeros((len(words), self.projection.shape[1]), dtype="float32")
        start = 0
        for similarities in self.index.dice(words):
            kernel = gaussian(similarities, self.sigma).astype(self.projection.dtype)
            kernel -= kernel.mean(axis=1, keepdims=True)
            kernel -= self.means - self.means.mean()
            vectors[start : start + len(kernel)] = kernel @ self.projection
            start += len(kernel)
        return vectors


def gaussian(similarities: numpy.ndarray, sigma: float) -> numpy.ndarray:
    """Compute the kernel of similarities: 1 where they are 1."""
    return numpy.exp((1 - similarities) ** 2 * numpy.float32(-0.5 / sigma**2))


def fit_kernel_pca(words: Sequence[str], settings: SpellingSettings) -> KernelPCA:
    """Find the principal components of the spelling of words.

    words (Sequence[str]): Different words, the most frequent first. The first ones of them, as many
        as the settings say, are the anchors.

    Raises ValueError if the rank is larger than the words allow, or memory does not suffice.
    """
    words, rank = words[: settings.anchors], settings.rank
    if rank >= len(words):
        raise _too_large(rank, len(words) - 1, len(words))
    advice = "Take fewer anchors."
    check_memory(_WHERE, [(len(words), len(words))], advice)
    index = SpellingIndex(words, settings.orders)
    dtype = "float64" if len(words) <= _FEW else "float32"
    kernel = numpy.empty((len(words), len(words)), dtype)
    start = 0
    for similarities in index.dice(words):
        kernel[start : start + len(similarities)] = gaussian(similarities, settings.sigma)
        start += len(similarities)
    means = kernel.mean(axis=1, dtype="float64").astype(dtype)
    kernel -= means[:, None]
    kernel -= means - means.mean()
    values, directions = _top_eigenpairs(kernel, rank)
    found = int((values > _LEAST * values[0]).sum())
    if found < rank:
        raise _too_large(rank, found, len(words))
    # A known order and sign, whatever library computed them.
    signs = numpy.sign(directions[numpy.abs(directions).argmax(axis=0), range(rank)])
    projection = (directions * signs / numpy.sqrt(values)).astype(dtype)
    return KernelPCA(index, settings.sigma, means, projection, values / len(words))


def _top_eigenpairs(matrix: numpy.ndarray, rank: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find the largest eigenvalues (rank,) of a symmetric matrix (A, A), and their directions.

    All are computed where the matrix is small. In a large one, a subspace is iterated: the smallest
    of many directions are near the eigenvectors then, and all of them are orthogonal.
    """
    size = len(matrix)
    if size <= _FEW or 2 * rank > size:
        values, directions = numpy.linalg.eigh(matrix.astype("float64"))
        return values[::-1][:rank], directions[:, ::-1][:, :rank]
    generator = numpy.random.default_rng(0)
    basis = generator.normal(size=(size, rank + _SPARE)).astype("float32")
    for _ in range(_ROUNDS):
        basis = numpy.linalg.qr(matrix @ basis)[0]
    values, turns = numpy.linalg.eigh((basis.T @ (matrix @ basis)).astype("float64"))
    return values[::-1][:rank], basis @ turns[:, ::-1][:, :rank].astype("float32")


def _too_large(rank: int, most: int, words: int) -> ValueError:
    return ValueError(
        f"{_WHERE}: rank must be at most {most}, which is what {words} words allow, was: {rank}. "
        "Take a smaller rank, or more words."
    )
