"""From docs to their vectors, by embedding their n-grams."""

from typing import Any, Optional, cast

from thinc.api import Model, noop, with_array

from ..common.checks import MAX_SIZE, are_whole, refusal
from ..common.nodes import find_nodes
from ..common.types import AttrLayer, NgramLayer, Reduction
from ..embed.known_ngrams import known_ngrams
from ..embed.lookup_rows import NAME as LOOKUP_ROWS
from .random_run import random_run
from .reduce_ngrams import reduce_ngrams


def embed_ngrams(
    extract: NgramLayer,
    embed: AttrLayer,
    reduction: Reduction,
    input_dropout: Optional[list[int]],
) -> list[Model]:
    """Build the layers that embed docs by their n-grams, docs -> vectors (B, nO) float32.

    extract (NgramLayer): From docs to the ids of their n-grams.
    embed (AttrLayer): From ids (M,) uint64 to vectors (M, nO) float32. Where it looks ids up, the
        n-grams that its dictionary does not have are left out.
    reduction (Reduction): thinc's reduce_sum or reduce_mean.
    input_dropout (Optional[list[int]]): Least and largest number of n-grams to train on, None for
        all.

    Raises ValueError for an input_dropout that is no such pair.
    """
    return [
        extract,
        *_dictionary(embed),
        _input_dropout(input_dropout),
        with_array(cast(Any, embed)),
        reduce_ngrams(reduction, embed.get_dim("nO")),
    ]


def _dictionary(embed: AttrLayer) -> list[Model]:
    """Build the layer that keeps the n-grams of an embedding's dictionary; none without one."""
    return [known_ngrams(node) for node in find_nodes(embed, LOOKUP_ROWS)]


def _input_dropout(input_dropout: Optional[list[int]]) -> Model:
    """Build the layer of the setting.

    Without the setting, a layer that does nothing takes its place, so that weights fit both.
    """
    if input_dropout is None:
        return noop()
    if not are_whole(input_dropout, 1, MAX_SIZE) or len(input_dropout) != 2:
        expected = (
            f"two whole numbers from 1 to {MAX_SIZE}, the fewest and the most n-grams to keep"
        )
        advice = "Change it in the config. Recommended: [4, 100], or null for none."
        raise refusal("TextCatHashEmbed", "input_dropout", expected, input_dropout, advice)
    return random_run(*input_dropout)
