"""The settings of a weighted hash embedding."""

from dataclasses import KW_ONLY, dataclass
from typing import Callable, Literal, Optional, get_args

from ..common.checks import MAX_SIZE, check_choice, check_flag, check_function, check_whole
from ..compute.hashing import MAX_HASHES
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
        takes ten times `rows`. Where importance is looked up, the table of symbols decides.
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

    Raises ValueError for a setting that is out of range or of another type, and for one without
    effect.
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
        """Check each setting by itself, and then that it has an effect."""
        self._check_numbers()
        for name in ("independent", "append_importance", "train_importance"):
            check_flag(self._where, name, getattr(self, name))
        check_choice(self._where, "aggregate", self.aggregate, get_args(Aggregate))
        check_choice(self._where, "importance_by", self.importance_by, get_args(RowsBy))
        for name in ("embed_init", "importance_init"):
            check_function(self._where, name, getattr(self, name))
        self._check_effects()
        if self.hashes_importance:
            self._check_importance_rows(self.num_importance_rows)

    @property
    def num_importance_rows(self) -> int:
        """Number of rows of importance parameters that symbols are hashed to."""
        return IMPORTANCE_ROWS * self.rows if self.importance_rows is None else self.importance_rows

    @property
    def hashes_importance(self) -> bool:
        """Whether symbols are hashed to importance parameters."""
        return self.train_importance and self.importance_by == "hash"

    @property
    def is_plain_sum(self) -> bool:
        """Whether a vector is nothing but the sum of its component vectors."""
        return not self.train_importance and self.aggregate == "sum" and not self.append_importance

    @property
    def _where(self) -> str:
        return f"Weighted embedding of {self.attr}"

    def _check_numbers(self) -> None:
        check_whole(self._where, "width", self.width, 1, MAX_SIZE)
        check_whole(self._where, "rows", self.rows, 1, MAX_SIZE)
        check_whole(self._where, "num_hashes", self.num_hashes, 1, MAX_HASHES)
        check_whole(self._where, "seeds", self.seed, 0, 2**32 - 1)
        if self.importance_rows is not None:
            self._check_importance_rows(self.importance_rows)

    def _check_importance_rows(self, number: int) -> None:
        default = f"null takes {IMPORTANCE_ROWS} times the rows of component vectors"
        advice = f"Set it in the config; {default}."
        check_whole(self._where, "importance_rows", number, 1, MAX_SIZE, advice=advice)

    def _check_effects(self) -> None:
        """Refuse settings of importance that is fixed, and a number of rows that is looked up."""
        has_rows = self.importance_rows is not None
        if not self.train_importance:
            self._refuse_if(
                "train_importance = false, by which importance is fixed at 1",
                "train_importance = true",
                importance_by=self.importance_by != "hash",
                independent=not self.independent,
                importance_rows=has_rows,
                importance_init=self.importance_init is not None,
            )
        elif self.importance_by == "lookup":
            self._refuse_if(
                'importance_by = "lookup", by which a table of symbols decides',
                'importance_by = "hash"',
                importance_rows=has_rows,
            )

    def _refuse_if(self, why: str, instead: str, /, **is_set: bool) -> None:
        for name, value in is_set.items():
            if value:
                raise ValueError(
                    f"{self._where}: {name} has no effect with {why}, was: "
                    f"{getattr(self, name)!r}. Leave {name} out of the config, or set {instead}."
                )
