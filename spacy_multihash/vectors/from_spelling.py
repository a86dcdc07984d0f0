"""Vectors that are predicted from how words are spelled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy

from .affine import AffineMap
from .held_out import is_held_out
from .kernel_pca import KernelPCA, SpellingSettings, fit_kernel_pca
from .ridge import HeldOut, check_enough, check_finite, choose_ridge


@dataclass(frozen=True)
class FromSpelling:
    """A regression from the spelling of words to their vectors.

    spelling (KernelPCA): From words to vectors of their spelling.
    ridge (AffineMap): From those to the vectors that it was fitted to.
    held_out (HeldOut): How good its predictions are.
    """

    spelling: KernelPCA
    ridge: AffineMap
    held_out: HeldOut

    def predict(self, words: Sequence[str]) -> numpy.ndarray:
        """Predict the vectors of words (N, W) float32."""
        return self.ridge(self.spelling.vectors(words))


def fit_from_spelling(
    words: Sequence[str],
    vectors: numpy.ndarray,
    settings: SpellingSettings,
    rows: Optional[numpy.ndarray] = None,
) -> FromSpelling:
    """Fit the vectors of words to their spelling.

    Words that are held out are no anchors: an anchor has itself among what it is compared with.

    words (Sequence[str]): Different words, the most frequent first.
    vectors (numpy.ndarray): (N, W) a vector for each.
    rows (Optional[numpy.ndarray]): (N,) the row of each in their table, whose spellings are held
        out together. None is for words that share no rows.

    Raises ValueError if there are too few words, or numbers that are not finite.
    """
    rows = numpy.arange(len(words)) if rows is None else rows
    check_enough(rows)
    check_finite("outputs", vectors, words)
    apart = is_held_out(rows)
    anchors = [word for word, is_apart in zip(words, apart, strict=True) if not is_apart]
    spelling = fit_kernel_pca(anchors, settings)
    return FromSpelling(spelling, *choose_ridge(spelling.vectors(words), vectors, rows))
