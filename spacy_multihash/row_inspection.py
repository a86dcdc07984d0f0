"""Which rows the symbols of a corpus fall on, and how full the tables are. Nothing is printed.

What is expected by chance, and when two symbols collide, is said in row_statistics.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Optional, cast

import numpy
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab
from thinc.api import Model, to_numpy
from thinc.types import Ints1d

from .architectures import attr_id
from .embedding_tables import EmbeddingTable
from .row_statistics import (
    colliding_pairs,
    count_indistinguishable,
    pairs_by_chance,
    unreached_by_chance,
)
from .tables import count_symbols, make_tables
from .types import RowLayer

# A count is suspicious if it is further from its mean than so many standard deviations, and three
# more: next to none may be expected.
MAX_SDS = 5
SLACK = 3
EXAMPLES = 5
_FLOAT = 4  # bytes
_SYMBOL = 8 + 4  # bytes of a key and of its row, as MultiEmbed keeps them


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
    """

    word: str
    component: str
    attr: str
    symbol: str
    rows: list[int]
    sharing: Optional[list[Sharing]] = None


def model_size(*models: Model) -> Optional[Size]:
    """Add the parameters of models up, of shared layers once; None if some are not initialized.

    Static vectors belong to the vocab, and are not counted.
    """
    nodes = {id(node): node for model in models for node in model.walk()}.values()
    named = [(node, name) for node in nodes for name in node.param_names]
    if not all(node.has_param(name) for node, name in named):
        return None
    params = [node.get_param(name) for node, name in named]
    return Size(sum(p.size for p in params), sum(p.nbytes for p in params))


def symbols_of(docs: Iterable[Doc], tables: Iterable[EmbeddingTable]) -> dict[str, numpy.ndarray]:
    """List the distinct symbols (V,) uint64 of each attribute of tables, most frequent first.

    docs (Iterable[Doc]): The corpus, made with the vocab of the pipeline. Read once, and not kept.
    tables (Iterable[EmbeddingTable]): The tables.

    Raises ValueError for docs without tokens.
    """
    counts = count_symbols(docs, {table.attr: attr_id(table.attr) for table in tables})
    if not all(counts.values()):
        raise ValueError("The corpus has no tokens to inspect. Give one with text.")
    made = make_tables(counts, min_freq=0)
    return {name: table.keys for name, table in made.tables.items()}


def inspect_table(table: EmbeddingTable, symbols: Optional[numpy.ndarray] = None) -> TableReport:
    """Describe a table, and how the distinct symbols (V,) uint64 of a corpus use it."""
    attrs, weights = table.layer.attrs, table.weights
    num_rows, width = weights.get_dim("nV"), weights.get_dim("nO")
    is_hash = table.layer.name == "hash_rows"
    report = TableReport(
        component=table.component,
        attr=table.attr,
        rows_by="hash" if is_hash else "lookup",
        num_rows=num_rows,
        width=width,
        num_hashes=attrs["num_hashes"].value if is_hash else 1,
        seed=attrs["seed"].value if is_hash else None,
        size=_table_size(num_rows, width),
    )
    if symbols is None:
        return report
    rows = rows_of(table.layer, symbols)  # (V, K)
    return replace(report, use=_use(rows, num_rows, width, is_hash))


def inspect_word(
    table: EmbeddingTable, word: str, vocab: Vocab, symbols: Optional[numpy.ndarray] = None
) -> WordRows:
    """Find the rows of a word in a table, and the symbols of a corpus that share them.

    table (EmbeddingTable): The table.
    word (str): The word, which is taken as a text of one token without annotation.
    vocab (Vocab): The vocab of the pipeline.
    symbols (Optional[numpy.ndarray]): (V,) uint64 distinct symbols of the corpus.

    Raises ValueError for an empty word.
    """
    if not word:
        raise ValueError("A word to inspect must have at least one character, was: ''.")
    ids = Doc(vocab, words=[word]).to_array([attr_id(table.attr)]).reshape(-1)  # (1,)
    rows = rows_of(table.layer, ids)[0]  # (K,)
    sharing = None
    if symbols is not None:
        others = symbols[symbols != ids[0]]
        equal = (rows_of(table.layer, others) == rows).sum(axis=1)
        alike = {j: others[equal == j] for j in range(1, len(rows) + 1)}
        sharing = [
            Sharing(j, len(keys), [symbol_text(vocab, table.attr, key) for key in keys[:EXAMPLES]])
            for j, keys in alike.items()
        ]
    text = symbol_text(vocab, table.attr, ids[0])
    return WordRows(word, table.component, table.attr, text, rows.tolist(), sharing)


def list_suspicions(report: TableReport) -> list[str]:
    """Say which counts of a table are hardly by chance, which a weak hash seed leads to."""
    if report.use is None:
        return []
    hashes = [f"hash {i}" for i in range(1, report.num_hashes + 1)]
    unreached = dict(zip(hashes, report.use.unreached_by_hash, strict=True))
    if len(hashes) > 1:
        unreached["all hashes"] = report.use.unreached
    counts = {f"rows never reached by {by}": count for by, count in unreached.items()}
    for j, count in enumerate(report.use.colliding_pairs, 1):
        counts[f"pairs of symbols that collide in exactly {j} of {len(hashes)} hashes"] = count
    return [
        f"{report.component}.{report.attr}, seed {report.seed}: {count.actual:,} {what}, by chance "
        f"{count.mean:,.1f} (standard deviation {count.sd:,.1f}). The seed is weak for "
        f"{report.num_rows:,} rows: train with another one."
        for what, count in counts.items()
        if count.is_suspicious
    ]


def rows_of(layer: RowLayer, symbols: numpy.ndarray) -> numpy.ndarray:
    """Find the rows (V, K) of symbols (V,) uint64, by the layer that the model itself uses."""
    return to_numpy(layer.predict(cast(Ints1d, layer.ops.asarray(cast(Ints1d, symbols)))))


def symbol_text(vocab: Vocab, attr: str, symbol: int) -> str:
    """Write a symbol as its string, or, for an attribute without strings, as its number."""
    has_string = attr == "MORPH" or (attr != "ENT_IOB" and hasattr(Token, f"{attr.lower()}_"))
    return vocab.strings[int(symbol)] if has_string else str(symbol)


def _use(rows: numpy.ndarray, num_rows: int, width: int, is_hash: bool) -> TableUse:
    num_symbols, num_hashes = rows.shape

    def count_unreached(reached: numpy.ndarray) -> Count:
        chance = unreached_by_chance(num_rows, reached.size) if is_hash else (None, None)
        return Count(num_rows - len(numpy.unique(reached)), *chance)

    pairs = [
        Count(n, *pairs_by_chance(num_symbols, num_rows, num_hashes, j) if is_hash else ())
        for j, n in enumerate(colliding_pairs(rows), 1)
    ]
    return TableUse(
        num_symbols=num_symbols,
        load_factor=rows.size / num_rows,
        unreached=count_unreached(rows),
        unreached_by_hash=[count_unreached(column) for column in rows.T],
        colliding_pairs=pairs,
        indistinguishable=count_indistinguishable(rows),
        lookup_size=_table_size(num_symbols + 1, width, _SYMBOL * num_symbols),
    )


def _table_size(num_rows: int, width: int, further_bytes: int = 0) -> Size:
    return Size(num_rows * width, num_rows * width * _FLOAT + further_bytes)
