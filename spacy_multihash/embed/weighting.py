"""The settings of a weighted hash embedding."""

from dataclasses import KW_ONLY, dataclass
from typing import Callable, Literal, Optional

from ..common.checks import check_whole, is_whole
from .hash_rows import MAX_ROWS
from .weighted_table_embed import Aggregate

# "We typically ... choose K and B s.t. K > 10 B" (Svenstrup et al. 2017, section 3).
IMPORTANCE_ROWS = 10

# How the row of a symbol's importance parameters is found.
RowsBy = Literal["hash", "lookup"]


@dataclass(frozen=True)
class Weighting:
    """The settings of the weighted hash embedding of one kind of symbols.

    Svenstrup et al. 2017, section 3. The settings are those of MultiWeightedHashEmbed, for one
    attribute, or for the n-grams of one.

    attr (str): Name of the symbols, for messages and to find their table.
    width (int): Width of the component vectors, d in the paper.
    rows (int): Number of component vectors, B in the paper.
    seed (int): Hash seed, 0 <= seed < 2**32. The seed of the importance is derived from it.
    num_hashes (int): Number of component vectors of a symbol, 1 to 16, k in the paper.
    importance_rows (Optional[int]): Number of rows of importance parameters, K in the paper. None
        takes ten times `rows`. The number has no effect where importance is fixed, nor where it is
        looked up: the table of symbols then decides.
    importance_by (str): Whether symbols find their importance by "hash" or by "lookup".
    independent (bool): Whether component vectors are found by hashing the symbol itself. Otherwise
        its row of importance parameters is hashed.
    aggregate (str): "sum" of the weighted component vectors, "mean", or "concatenate".
    append_importance (bool): Whether to put the importance parameters beside the vector.
    train_importance (bool): Whether to train the importance. Otherwise it is fixed at 1.
    embed_init (Optional[Callable]): Initializer of component vectors. None takes uniform in
        [-0.1, 0.1).
    importance_init (Optional[Callable]): Initializer of importance parameters. None takes near
        zero.

    Raises ValueError for importance_rows that are out of range, and for a setting without effect.
    """

    attr: str
    width: int
    rows: int
    _: KW_ONLY
    seed: int
    num_hashes: int = 2
    importance_rows: Optional[int] = None
    importance_by: RowsBy = "hash"
    independent: bool = True
    aggregate: Aggregate = "sum"
    append_importance: bool = False
    train_importance: bool = True
    embed_init: Optional[Callable] = None
    importance_init: Optional[Callable] = None

    def __post_init__(self) -> None:
        """Check the settings that no layer checks."""
        self._check_importance_rows()
        if not self.train_importance:
            self._refuse_if(
                importance_by=self.importance_by != "hash", independent=not self.independent
            )

    @property
    def num_importance_rows(self) -> int:
        """Number of rows of importance parameters that symbols are hashed to."""
        if self.importance_rows is not None:
            return self.importance_rows
        # Wrong rows, such as a quoted number, are refused where they are used.
        return IMPORTANCE_ROWS * (self.rows if is_whole(self.rows, 1) else 1)

    @property
    def hashes_importance(self) -> bool:
        """Whether symbols are hashed to importance parameters."""
        return self.train_importance and self.importance_by == "hash"

    @property
    def is_plain_sum(self) -> bool:
        """Whether a vector is nothing but the sum of its component vectors."""
        return not self.train_importance and self.aggregate == "sum" and not self.append_importance

    def _check_importance_rows(self) -> None:
        is_used = self.hashes_importance or self.importance_rows is not None
        if is_used:
            default = f"null takes {IMPORTANCE_ROWS} times the rows of component vectors"
            where, advice = (
                f"Weighted embedding of {self.attr}",
                f"Set it in the config; {default}.",
            )
            number = self.num_importance_rows
            check_whole(where, "importance_rows", number, 1, MAX_ROWS, advice=advice)

    def _refuse_if(self, **is_set: bool) -> None:
        for name, value in is_set.items():
            if value:
                raise ValueError(
                    f"Weighted embedding of {self.attr}: {name} has no effect with "
                    "train_importance = false, by which importance is fixed at 1. Leave "
                    f"{name} out of the config, or set train_importance = true."
                )
