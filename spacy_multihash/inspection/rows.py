"""The rows of a corpus's symbols, collisions, and the load and size of tables.

chance.py defines collisions, and their numbers expected by chance.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Optional, Union

import numpy
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..common.nodes import find_nodes
from ..common.types import RowLayer
from ..embed.features import attr_id
from ..embed.find import EmbeddingTable, Part, WeightedEmbedding, embedding_name, rows_of
from ..embed.unique_tokens import feature_texts
from ..encode.iterated_dilated_encoder import NAME as DILATED
from ..encode.iterated_dilated_encoder import effective_input_width
from ..encode.maxout_window_encoder import NAME as MAXOUT
from ..tables.set_tables import ngram_ids
from .chance import (
    colliding_pairs,
    count_in_collision,
    count_indistinguishable,
    in_collision_by_chance,
    joint_range,
    pairs_by_chance,
    unreached_by_chance,
)
from .symbols import count_for_tables, counts_of_tables, find_ngram_texts, symbol_text

FLOAT_BYTES = 4
SYMBOL_BYTES = 8 + 4  # a key and its row in MultiEmbed
MAX_EXAMPLES = 5  # symbols that share rows with a word
# A count is suspicious if it differs from its mean by more than MAX_SDS standard deviations plus
# SLACK. If the mean is near 0, so is the standard deviation.
MAX_SDS = 5
SLACK = 3

# From the ids of symbols to their texts.
WriteSymbols = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True)
class Size:
    """Number of parameters, and bytes of all arrays."""

    parameters: int
    bytes: int


def model_size(*models: Model) -> Optional[Size]:
    """Add up the parameters of models, counting shared layers once.

    Static vectors belong to the vocab and aren't counted. Returns None if a model isn't
    initialized.
    """
    nodes = {id(node): node for model in models for node in model.walk()}.values()
    named = [(node, name) for node in nodes for name in node.param_names]
    if not all(node.has_param(name) for node, name in named):
        return None
    params = [node.get_param(name) for node, name in named]
    return Size(sum(p.size for p in params), sum(p.nbytes for p in params))


def input_width(model: Model) -> Optional[int]:
    """Return how many tokens a vector of a model's encoder depends on, with its own token.

    None for a model without an IteratedDilatedEncoder or a MaxoutWindowEncoder of this package.
    """
    settings = ("dilations", "repeats", "window_size")
    widths = [
        effective_input_width(*(node.attrs[name].value for name in settings))
        for node in find_nodes(model, DILATED)
    ]
    widths += [
        1 + 2 * node.attrs["window_size"].value * len(node.layers)
        for node in find_nodes(model, MAXOUT)
    ]
    return max(widths, default=None)


def table_size(num_rows: int, width: int, further_bytes: int = 0) -> Size:
    """Return the size of a table of rows, and of the data kept with it."""
    return Size(num_rows * width, num_rows * width * FLOAT_BYTES + further_bytes)


@dataclass(frozen=True)
class Count:
    """A count, with its mean and standard deviation by chance. None for lookups."""

    actual: int
    mean: Optional[float] = None
    sd: Optional[float] = None

    @property
    def is_suspicious(self) -> bool:
        """Return whether the count is too far from the mean to be chance."""
        if self.mean is None or self.sd is None:
            return False
        return abs(self.actual - self.mean) > MAX_SDS * self.sd + SLACK


@dataclass(frozen=True)
class TableUse:
    """How a corpus uses a table.

    num_symbols (int): The distinct symbols, V.
    load_factor (float): V * k / n, the average number of symbols per row.
    unreached (Count): The rows without a symbol. By chance n * (1 - 1/n) ** (V * k).
    unreached_by_hash (list[Count]): The same for each hash function.
    colliding_pairs (list[Count]): For j = 1, ..., k, the pairs of symbols that collide in exactly j
        hashes. By chance C(V, 2) * C(k, j) * (1/n) ** j * (1 - 1/n) ** (k - j).
    indistinguishable (int): The symbols with the same k rows as another symbol, in any order. The
        model can't tell them apart by this attribute.
    lookup_size (Size): The size of a lookup table, with a row for each symbol, and for unknown
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

    num_rows, width, num_hashes (int): The sizes n, W and k.
    seed (Optional[int]): The hash seed. None for a lookup.
    use (Optional[TableUse]): How a corpus uses the table. None without a corpus.
    part (Part): The content of its rows. A weighted hash embedding has a table of B "components" of
        width d, and a table of K rows of "importance" parameters of width k. Others are "vectors".
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


@dataclass(frozen=True)
class Sharing:
    """How many other symbols collide with a word's in exactly `hashes` hashes, and some of them."""

    hashes: int
    count: int
    examples: list[str]


@dataclass(frozen=True)
class WordRows:
    """The rows of one attribute of a word, and the symbols that share them."""

    word: str
    component: str
    attr: str  # or its n-grams
    symbol: str  # the value of the attribute
    rows: list[int]  # for each hash function
    sharing: Optional[list[Sharing]] = None  # None without a corpus
    part: Part = "vectors"  # as in TableReport


@dataclass(frozen=True)
class Collisions:
    """How many symbols collide with another symbol, that is, have the same rows in all hashes.

    Chance is computed as in Svenstrup et al. 2017, section 4; see chance.py.

    attr (str): The attribute, or its n-grams.
    seed (int): Hash seed of the component vectors.
    num_symbols (int): The distinct symbols, |T|.
    components (Count): The symbols with the same k component vectors as another symbol, in order.
        By chance |T| * (1 - (1 - 1/B ** k) ** (|T| - 1)).
    importance (Optional[Count]): The symbols that share their row of importance parameters. By
        chance the same, with K instead of B ** k. None if the importance is fixed at 1.
    both (Optional[Count]): The symbols that share both, so the model can't tell them apart. By
        chance as above, with K * B ** k.
    probability (float): The probability by chance that a given symbol is in `both`, or in
        `components` if importance is fixed: p_col of equation (1).
    """

    component: str
    attr: str
    seed: int
    num_symbols: int
    components: Count
    importance: Optional[Count]
    both: Optional[Count]
    probability: float


def full_name(part: Union[TableReport, WordRows]) -> str:
    """Name a table by its embedding, and its part of a weighted embedding."""
    suffix = "" if part.part == "vectors" else f" {part.part}"
    return embedding_name(part.component, part.attr) + suffix


def symbols_of(
    docs: Iterable[Doc], tables: Iterable[EmbeddingTable]
) -> dict[EmbeddingTable, numpy.ndarray]:
    """List the distinct symbols (V,) uint64 of each table, most frequent first.

    docs (Iterable[Doc]): The corpus, with the pipeline's vocab. It's read once.
    RETURNS (dict[EmbeddingTable, numpy.ndarray]): The symbols of each table.

    Raises ValueError for docs without tokens.
    """
    tables = list(tables)
    counted = counts_of_tables(count_for_tables(docs, tables), tables)
    return {table: counts.keys for table, counts in counted.items()}


def inspect_table(table: EmbeddingTable, symbols: Optional[numpy.ndarray] = None) -> TableReport:
    """Describe a table, and how the distinct symbols (V,) uint64 of a corpus use it.

    table (EmbeddingTable): The table, from `find_tables`.
    symbols (Optional[numpy.ndarray]): The symbols, from `symbols_of`, or None.
    RETURNS (TableReport): The table, and its use by the symbols.
    """
    attrs, is_hash = table.layer.attrs, table.is_hashed
    num_rows, width = (table.weights.get_dim(name) for name in ("nV", "nO"))
    report = TableReport(
        component=table.component,
        attr=table.attr,
        rows_by="hash" if is_hash else "lookup",
        num_rows=num_rows,
        width=width,
        num_hashes=attrs["num_hashes"].value if is_hash else 1,
        seed=attrs["seed"].value if is_hash else None,
        size=table_size(num_rows, width),
        part=table.part,
    )
    if symbols is None or not len(symbols):
        return report
    rows = rows_of(table.layer, symbols)  # (V, K)
    return replace(report, use=_use(rows, num_rows, width, is_hash=is_hash))


def inspect_word(
    table: EmbeddingTable,
    word: str,
    vocab: Vocab,
    symbols: Optional[numpy.ndarray] = None,
    *,
    texts: Optional[WriteSymbols] = None,
) -> WordRows:
    """Find the rows of a word in a table, and the symbols of a corpus that share them.

    word (str): The word, as a text of one token without annotation. For a table of n-grams of
        tokens, an n-gram with blanks between its tokens.
    symbols (Optional[numpy.ndarray]): (V,) uint64 distinct symbols of the corpus.
    texts (Optional[Callable]): Writes symbols as texts. None uses their strings in the vocab.
        N-grams have no strings there, and are written as numbers, and so are pieces of words.
    RETURNS (WordRows): The rows of the word, and the symbols that share them.

    Raises ValueError for an empty word, for an n-gram of another order than the table's, for an
    n-gram that its dictionary leaves out, and for a word with no symbol or several.
    """
    found = inspect_symbols(table, word, vocab, symbols, texts=texts)
    if len(found) != 1:
        raise ValueError(
            f"{word!r} has {len(found)} symbols of {table.attr}, expected one. Take "
            "inspect_symbols, which gives the rows of each."
        )
    return found[0]


def inspect_symbols(
    table: EmbeddingTable,
    word: str,
    vocab: Vocab,
    symbols: Optional[numpy.ndarray] = None,
    *,
    texts: Optional[WriteSymbols] = None,
) -> list[WordRows]:
    """Find the rows of each symbol of a word, such as its character n-grams.

    Arguments and errors are as in `inspect_word`, which needs a word with a single symbol.
    """
    if not word:
        raise ValueError("A word to inspect must have at least one character, was: ''.")
    inspected = []
    for id_, text in _find_symbols(table, word, vocab):
        rows = rows_of(table.layer, numpy.array([id_], dtype="uint64"))[0]  # (K,)
        sharing = None
        if symbols is not None:
            write = texts or (lambda ids: [symbol_text(vocab, table.attr, id_) for id_ in ids])
            sharing = _find_sharing(table.layer, rows, symbols[symbols != id_], write)
        place = (table.component, table.attr, text, rows.tolist())
        inspected.append(WordRows(word, *place, sharing, table.part))
    return inspected


def list_suspicions(report: TableReport) -> list[str]:
    """Describe the counts of a table that suggest a weak hash seed, not chance."""
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
        f"{full_name(report)}, seed {report.seed}: {count.actual:,} {what}, by chance "
        f"{count.mean:,.1f} (standard deviation {count.sd:,.1f}). The seed is weak for "
        f"{report.num_rows:,} rows: train with another one."
        for what, count in counts.items()
        if count.is_suspicious
    ]


def inspect_collisions(embedding: WeightedEmbedding, symbols: numpy.ndarray) -> Collisions:
    """Count the symbols (V,) uint64, all distinct, that are in collision."""
    table, importance, _ = embedding
    B, k, seed = (table.layer.attrs[key].value for key in ("nV", "num_hashes", "seed"))

    def count(rows: numpy.ndarray, outcomes: float) -> Count:
        return Count(count_in_collision(rows), *in_collision_by_chance(len(symbols), outcomes))

    rows = rows_of(table.layer, symbols)  # (V, k)
    components = count(rows, joint_range(B, k))
    by_importance = both = None
    if importance is not None:
        own_rows = rows_of(importance.layer, symbols)  # (V, 1)
        K = importance.layer.attrs["nV"].value
        by_importance = count(own_rows, joint_range(K))
        both = count(numpy.hstack([rows, own_rows]), joint_range(B, k, importance_rows=K))
    mean = (both or components).mean or 0.0
    return Collisions(
        component=table.component,
        attr=table.attr,
        seed=seed,
        num_symbols=len(symbols),
        components=components,
        importance=by_importance,
        both=both,
        probability=mean / max(len(symbols), 1),
    )


def _find_symbols(table: EmbeddingTable, word: str, vocab: Vocab) -> list[tuple[int, str]]:
    """Find the ids of a word's symbols in a table, and their texts."""
    if table.feature is not None:
        return list(feature_texts([Doc(vocab, words=[word])], table.feature).items())
    if table.ngrams is None:
        id_ = int(Doc(vocab, words=[word]).to_array([attr_id(table.attr)]).item())
        return [(id_, symbol_text(vocab, table.attr, id_))]
    ngrams, doc = table.ngrams, Doc(vocab, words=word.split())
    orders = ngrams.attrs["orders"].value
    if len(doc) not in orders:
        raise ValueError(
            f"The n-grams of {ngrams.attrs['attr'].value} to inspect have orders {orders}, but "
            f"{word!r} has {len(doc)} words. Give n-grams of these orders, each in quotes and with "
            "blanks between its words."
        )
    # The n-grams that begin with the first token come first, sorted by length.
    id_ = int(ngram_ids(ngrams, [doc])[orders.index(len(doc))])
    return [(id_, find_ngram_texts(lambda: [doc], ngrams, [id_], vocab)[id_])]


def _find_sharing(
    layer: RowLayer, rows: numpy.ndarray, others: numpy.ndarray, texts: WriteSymbols
) -> list[Sharing]:
    """Find the symbols (V,) uint64 that share rows (K,) with a word: in 1, 2, ... K hashes."""
    shared = (rows_of(layer, others) == rows).sum(axis=1)  # (V,) shared hashes
    alike = [others[shared == hashes] for hashes in range(1, len(rows) + 1)]
    # All at once, since the texts of n-grams are read from the corpus.
    ids = [id_ for symbols in alike for id_ in symbols[:MAX_EXAMPLES].tolist()]
    text_of = dict(zip(ids, texts(ids), strict=True))
    return [
        Sharing(hashes, len(symbols), [text_of[id_] for id_ in symbols[:MAX_EXAMPLES].tolist()])
        for hashes, symbols in enumerate(alike, 1)
    ]


def _use(rows: numpy.ndarray, num_rows: int, width: int, *, is_hash: bool) -> TableUse:
    """Count the rows (V, K) of symbols, hashed or looked up."""
    num_symbols, num_hashes = rows.shape

    def count_unreached(reached: numpy.ndarray, hashes: int) -> Count:
        actual = num_rows - len(numpy.unique(reached))
        chance = unreached_by_chance(num_rows, num_symbols * hashes) if is_hash else ()
        return Count(actual, *chance)

    def count_pairs(actual: int, j: int) -> Count:
        chance = pairs_by_chance(num_symbols, num_rows, num_hashes, j) if is_hash else ()
        return Count(actual, *chance)

    return TableUse(
        num_symbols=num_symbols,
        load_factor=rows.size / num_rows,
        unreached=count_unreached(rows, num_hashes),
        unreached_by_hash=[count_unreached(column, 1) for column in rows.T],
        colliding_pairs=[count_pairs(n, j) for j, n in enumerate(colliding_pairs(rows), 1)],
        indistinguishable=count_indistinguishable(rows),
        lookup_size=table_size(num_symbols + 1, width, SYMBOL_BYTES * num_symbols),
    )
