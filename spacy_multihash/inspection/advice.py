"""How many rows a weighted hash embedding needs for a corpus, and whether it was trained enough."""

from math import ceil, log10
from typing import cast

from ..embed.find import EmbeddingTable, WeightedEmbedding
from .reports import RowAdvice

# Frequent symbols times hashes, divided by rows.
LOAD = 2
# Rows of importance parameters for each frequent symbol. By chance, about one symbol in ten then
# shares its row with another frequent one.
IMPORTANCE_ROWS = 10
# An importance that training has hardly changed. Where it starts near zero, the standard deviation
# is a tenth of this.
NEAR_ZERO = 0.005


def advise_rows(embedding: WeightedEmbedding, num_frequent: int) -> RowAdvice:
    """Give the sizes of an embedding's tables, and a rule of thumb for them.

    Only frequent symbols count: the importance of others stays small, and so does what they change
    in the rows that they share.

    embedding (WeightedEmbedding): The embedding, with trained importance.
    num_frequent (int): The number of frequent symbols of a corpus.
    """
    components, importance, _ = embedding
    importance = cast(EmbeddingTable, importance)
    num_hashes = components.layer.attrs["num_hashes"].value
    return RowAdvice(
        rows=components.layer.attrs["nV"].value,
        advised=_round_up(num_frequent * num_hashes / LOAD),
        importance_rows=importance.weights.get_dim("nV"),
        advised_importance=(
            _round_up(num_frequent * IMPORTANCE_ROWS) if importance.is_hashed else None
        ),
    )


def _round_up(number: float) -> int:
    """Round up to 1, 2 or 5 times a power of ten: 10, 20, 50, 100, ..."""
    power = 10 ** max(ceil(log10(number)) - 1, 1) if number > 10 else 1
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)
