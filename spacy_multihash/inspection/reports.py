"""The reports of an inspection, as data: tables, words, collisions and importance."""

from dataclasses import dataclass, field
from typing import Literal, Optional, Union

from ..embed.find import Part, embedding_name

# A count is suspicious if it differs from its mean by more than MAX_SDS standard deviations plus
# SLACK. Where the mean is next to 0, so is the standard deviation.
MAX_SDS = 5
SLACK = 3


@dataclass(frozen=True)
class Size:
    """Number of parameters, and bytes of all arrays.

    parameters (int): Number of parameters.
    bytes (int): Bytes of all arrays.
    """

    parameters: int
    bytes: int


@dataclass(frozen=True)
class Count:
    """A count, with its mean and standard deviation by chance. None where rows are looked up.

    actual (int): The number that was counted.
    mean, sd (Optional[float]): Its mean and standard deviation by chance.
    """

    actual: int
    mean: Optional[float] = None
    sd: Optional[float] = None

    @property
    def is_suspicious(self) -> bool:
        """Tell whether chance would hardly ever lead so far from the mean."""
        if self.mean is None or self.sd is None:
            return False
        return abs(self.actual - self.mean) > MAX_SDS * self.sd + SLACK


@dataclass(frozen=True)
class TableUse:
    """How a corpus uses a table.

    num_symbols (int): The distinct symbols of the attribute, V.
    load_factor (float): V * k / n, the number of symbols that a row has to serve on average.
    unreached (Count): The rows that no symbol falls on. By chance n * (1 - 1/n) ** (V * k).
    unreached_by_hash (list[Count]): For each hash function, the rows that it takes no symbol to.
    colliding_pairs (list[Count]): For j = 1, ..., k, the pairs of symbols that collide in exactly j
        hashes. By chance C(V, 2) * C(k, j) * (1/n) ** j * (1 - 1/n) ** (k - j).
    indistinguishable (int): The symbols whose k rows are, in some order, those of another symbol.
        The model cannot tell them apart by this attribute.
    lookup_size (Size): The size of a lookup table, with a row for each symbol and one for unknown
        symbols.
    """

    num_symbols: int
    load_factor: float
    unreached: Count
    unreached_by_hash: list[Count]
    colliding_pairs: list[Count]
    indistinguishable: int
    lookup_size: Size


@dataclass(frozen=True)
class TableReport:
    """The table of an attribute.

    component (str): Name of the component that it is in.
    attr (str): Name of the attribute.
    rows_by (str): Whether rows are found by "hash", or by "lookup".
    num_rows, width, num_hashes (int): The sizes n, W and k.
    seed (Optional[int]): The hash seed. None for a lookup.
    size (Size): The size of the table, n * W float32.
    use (Optional[TableUse]): How a corpus uses the table. None without a corpus.
    part (Part): What its rows are. A weighted hash embedding has a table of B "components" of width
        d, and one of K rows of "importance" parameters of width k. Other rows are "vectors".
    member (str): Number of its model in an ensemble, from 0; "" outside of ensembles.
    """

    component: str
    attr: str
    rows_by: Literal["hash", "lookup"]
    num_rows: int
    width: int
    num_hashes: int
    seed: Optional[int]
    size: Size
    use: Optional[TableUse] = None
    part: Part = "vectors"
    member: str = ""


@dataclass(frozen=True)
class Sharing:
    """How many other symbols collide with a word's in exactly `hashes` hashes, and some of them.

    hashes (int): The number of hash functions in which they collide.
    count (int): How many symbols do.
    examples (list[str]): Some of them.
    """

    hashes: int
    count: int
    examples: list[str]


@dataclass(frozen=True)
class WordRows:
    """The rows of one attribute of a word, and the symbols that share them.

    word (str): The word.
    component (str): Name of the component that has the table.
    attr (str): Name of the attribute, or of its n-grams.
    symbol (str): The value of the attribute, as a string.
    rows (list[int]): The row that each hash function takes the symbol to.
    sharing (Optional[list[Sharing]]): The symbols that share rows. None without a corpus.
    part (Part), member (str): What the rows are, and of which model, as in TableReport.
    """

    word: str
    component: str
    attr: str
    symbol: str
    rows: list[int]
    sharing: Optional[list[Sharing]] = None
    part: Part = "vectors"
    member: str = ""


def full_name(part: Union[TableReport, WordRows]) -> str:
    """Name a table by its embedding, and by its part of a weighted one."""
    suffix = "" if part.part == "vectors" else f" {part.part}"
    return embedding_name(part.component, part.member, part.attr) + suffix


@dataclass(frozen=True)
class Collisions:
    """How many symbols are in collision: another one has the same rows, in all hashes.

    Chance is that of Svenstrup et al. 2017, section 4; see chance.py.

    component (str): Name of the component that the embedding is in.
    member (str): Number of the model in an ensemble, from 0; "" outside of ensembles.
    attr (str): Name of the attribute, or of its n-grams.
    seed (int): Hash seed of the component vectors.
    num_symbols (int): The distinct symbols, |T|.
    components (Count): The symbols whose k component vectors are, in order, those of another. By
        chance |T| * (1 - (1 - 1/B ** k) ** (|T| - 1)).
    importance (Optional[Count]): The symbols that share their row of importance parameters. By
        chance the same, with K in the place of B ** k. None if the importance is fixed at 1.
    both (Optional[Count]): The symbols that share both. To the model they are the same. By chance
        as above, with K * B ** k if both are hashed independently.
    probability (Optional[float]): The probability by chance that a given symbol is one of `both`,
        or of `components` if importance is fixed: p_col of equation (1). None where rows are looked
        up and nothing is left to chance.
    """

    component: str
    member: str
    attr: str
    seed: int
    num_symbols: int
    components: Count
    importance: Optional[Count] = None
    both: Optional[Count] = None
    probability: Optional[float] = None


@dataclass(frozen=True)
class SymbolImportance:
    """How important a symbol is.

    text (str): The symbol, or the symbols of an n-gram's tokens with blanks between them.
    freq (int): How often it occurs.
    parameters (list[float]): Its k importance parameters.
    importance (float): The mean of the absolute values of its parameters. It depends on the scale
        of the components: with half of it, and components twice as long, vectors are the same.
    norm (float): The Euclidean norm of its vector, the weighted components put together.
    sharing (int): The other symbols of the corpus that have its row of importance parameters.
    labels (dict[str, float]): How much an n-gram speaks for each label, where a text classifier is
        linear: what the n-gram adds to the score of a label, before the softmax or the logistic
        function. If the model averages the vectors of n-grams, that is divided by their number.
        Where labels exclude each other, only differences between them matter: the mean over all
        labels is subtracted. Empty for other models.
    """

    text: str
    freq: int
    parameters: list[float]
    importance: float
    norm: float
    sharing: int
    labels: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RowAdvice:
    """The rows of a weighted hash embedding, and a rule of thumb for them.

    rows, importance_rows (int): The rows that it has, of component vectors and of importance.
    advised (int): Rows for two frequent symbols each: symbols times hashes, divided by 2.
    advised_importance (Optional[int]): Ten rows of importance for each frequent symbol. By chance,
        about one symbol in ten then shares its row with another frequent one. None where importance
        is looked up.
    """

    rows: int
    advised: int
    importance_rows: int
    advised_importance: Optional[int]


@dataclass(frozen=True)
class EmbeddingImportance:
    """What is important to an embedding.

    component (str): Name of the component that it is in.
    member (str): Number of its model in an ensemble, from 0; "" outside of ensembles.
    attr (str): Name of the attribute, or of its n-grams.
    seed (int): Hash seed of the component vectors.
    num_symbols (int): The distinct symbols of the corpus, without n-grams that a dictionary leaves
        out.
    num_sharing (int): The symbols that share their row of importance parameters with another.
    num_frequent (int): The symbols that occur at least min_freq times. All that follows is limited
        to them. Where importance is looked up, symbols that the table does not have are left out,
        since they have the one row of unknown symbols.
    rows (RowAdvice): The rows of the embedding, and how many the frequent symbols call for.
    mean_importance (float): The mean importance of the frequent symbols.
    num_near_zero (int): The frequent symbols whose importance is below 0.005. If it started near
        zero, training has hardly changed it.
    num_important (int): The important symbols, |T_imp| of the paper. Their importance is at least
        the given share of the mean.
    collisions (Collisions): The important symbols that are in collision.
    largest, smallest (list[SymbolImportance]): The symbols with the largest and the smallest
        importance, or norm. Of equal ones, the most frequent comes first.
    """

    component: str
    member: str
    attr: str
    seed: int
    num_symbols: int
    num_sharing: int
    num_frequent: int
    rows: RowAdvice
    mean_importance: float
    num_near_zero: int
    num_important: int
    collisions: Collisions
    largest: list[SymbolImportance]
    smallest: list[SymbolImportance]
