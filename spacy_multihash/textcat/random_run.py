"""The input dropout of text classifiers: a random run of each doc's n-grams."""

from typing import Callable

import numpy
from thinc.api import Model, to_numpy
from thinc.types import Ragged

from ..common.bound import bound
from ..common.checks import is_whole, refusal
from ..common.types import NgramFilter

NAME = "random_run"


def random_run(shortest: int = 4, longest: int = 100) -> NgramFilter:
    """Keep a random run of consecutive n-grams of each doc in training, and otherwise all of them.

    This is the input dropout of Svenstrup et al. 2017, section 5.1. The number of n-grams is drawn
    uniformly from `shortest` to `longest`, but is never larger than that of the doc. The place of
    the first n-gram is drawn uniformly as well. A seed of numpy.random repeats the draws.

    n-gram ids (M,) uint64 with lengths (B,) int32 -> some of them, with their lengths. Ids have no
    gradient.

    shortest (int): Smallest number of n-grams to keep, 1 or more.
    longest (int): Largest number of n-grams to keep.

    Raises ValueError unless 1 <= shortest <= longest.
    """
    if not (is_whole(shortest, 1) and is_whole(longest, shortest)):
        expected, was = "two whole numbers, 1 <= shortest <= longest", [shortest, longest]
        advice = "Change it in the config. Recommended: [4, 100], or null for none."
        raise refusal("Layer 'random_run'", "input_dropout", expected, was, advice)
    # The range is no attr: loading would replace it by the range of the saved model.
    return Model(NAME, bound(forward, shortest, longest))


def forward(
    shortest: int, longest: int, model: NgramFilter, X: Ragged, is_train: bool
) -> tuple[Ragged, Callable]:
    """Draw a run of each doc in training, and give all n-grams back otherwise."""
    kept = _draw(shortest, longest, model, X) if is_train else X

    def backprop(d_kept: Ragged) -> Ragged:
        return Ragged(model.ops.alloc1i(len(X.dataXd)), X.lengths)  # integers have no gradient

    return kept, backprop


def _draw(shortest: int, longest: int, model: NgramFilter, X: Ragged) -> Ragged:
    """Draw the length and the start of each doc's run, and gather the runs."""
    lengths = to_numpy(X.lengths)  # (B,)
    drawn = numpy.random.randint(shortest, longest + 1, size=len(lengths))
    kept = numpy.minimum(drawn, lengths).astype("int32")
    starts = numpy.random.randint(0, lengths - kept + 1) + lengths.cumsum() - lengths
    new_starts = kept.cumsum() - kept
    indices = numpy.arange(kept.sum()) + numpy.repeat(starts - new_starts, kept)
    return Ragged(X.dataXd[model.ops.asarray1i(indices)], model.ops.asarray1i(kept))
