"""What is said of the rows of tables and of words."""

from dataclasses import dataclass
from typing import Literal, Optional, Union

from .embed.find import Part, embedding_name

# A count is suspicious if it is further from its mean than so many standard deviations, and three
# more: next to none may be expected.
MAX_SDS = 5
SLACK = 3


@dataclass(frozen=True)
class Size:
    """Number of parameters, and bytes of all arrays."""

    parameters: int
    bytes: int


@dataclass(frozen=True)
class Count:
    """A count, and its mean and standard deviation by chance, None where rows are looked up."""

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
    load_factor (float): V * k / n: the symbols that a row has to serve, on average.
    unreached (Count): The rows that no symbol falls on. By chance n * (1 - 1/n) ** (V * k).
    unreached_by_hash (list[Count]): The rows that each hash function by itself takes no symbol to.
    colliding_pairs (list[Count]): For j = 1, ..., k, the pairs of symbols that collide in exactly j
        hashes. By chance C(V, 2) * C(k, j) * (1/n) ** j * (1 - 1/n) ** (k - j).
    indistinguishable (int): The symbols whose k rows are, in some order, those of another symbol:
        the model cannot tell them apart by this attribute.
    lookup_size (Size): A table with a row for each symbol and one for unknown symbols, to look up.
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
    num_rows, width, num_hashes (int): Sizes, n, W and k.
    seed (Optional[int]): The hash seed, None for a lookup.
    size (Size): The table, n * W float32.
    use (Optional[TableUse]): How a corpus uses it, None without a corpus.
    part (Part): What its rows are: B "components" of width d, or K rows of "importance" parameters
        of width k, in a weighted hash embedding, or else "vectors".
    member (str): Number of the model in an ensemble that it is in, from 0; "" outside of ensembles.
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
    """How many other symbols of a corpus collide with one in `hashes` hashes, and a few of them."""

    hashes: int
    count: int
    examples: list[str]


@dataclass(frozen=True)
class WordRows:
    """The rows of one attribute of a word, and the symbols that share them, None without a corpus.

    symbol (str): The value of the attribute, as a string.
    rows (list[int]): The row that each hash function takes it to.
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
