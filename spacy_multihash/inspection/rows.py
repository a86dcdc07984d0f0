"""The rows of a corpus's symbols, and the load and size of tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Optional, Union

import numpy
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..common.nodes import find_nodes
from ..common.types import RowLayer
from ..compute.ops import distinct_rows
from ..embed.features import attr_id
from ..embed.unique_tokens import feature_texts
from ..encode.iterated_dilated_encoder import NAME as DILATED
from ..encode.iterated_dilated_encoder import effective_input_width
from ..encode.maxout_window_encoder import NAME as MAXOUT
from ..tables.find import EmbeddingTable, Part, embedding_name, rows_of
from ..tables.set_tables import ngram_ids
from .symbols import count_for_tables, find_ngram_texts, symbol_text

FLOAT_BYTES = 4
SYMBOL_BYTES = 8 + 4  # a key and its row in MultiEmbed
MAX_EXAMPLES = 5  # symbols that share rows with a word

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
class TableUse:
    """How a corpus uses a table.

    num_symbols (int): The distinct symbols, V.
    load_factor (float): V * k / n, the average number of symbols per row.
    indistinguishable (int): The symbols with the same k rows as another symbol, in any order. The
        model can't tell them apart by this attribute.
    lookup_size (Size): The size of a lookup table, with a row for each symbol, and for unknown
        symbols.
    """

    num_symbols: int
    load_factor: float
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
    return {table: counts.keys for table, counts in count_for_tables(docs, tables).items()}


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
    use = TableUse(
        num_symbols=len(symbols),
        load_factor=rows.size / num_rows,
        indistinguishable=count_indistinguishable(rows),
        lookup_size=table_size(len(symbols) + 1, width, SYMBOL_BYTES * len(symbols)),
    )
    return replace(report, use=use)


def count_indistinguishable(rows: numpy.ndarray) -> int:
    """Count the symbols whose rows (V, K), in any order, are the rows of another symbol, too."""
    _, group_of = distinct_rows(numpy.sort(rows, axis=1).astype("uint64"))
    return int((numpy.bincount(group_of)[group_of] > 1).sum())


def inspect_symbols(
    table: EmbeddingTable,
    word: str,
    vocab: Vocab,
    symbols: Optional[numpy.ndarray] = None,
    *,
    texts: Optional[WriteSymbols] = None,
) -> list[WordRows]:
    """Find the rows of each symbol of a word, and the symbols of a corpus that share them.

    A word has several symbols in a table of its character n-grams, for example.

    word (str): The word, as a text of one token without annotation. For a table of n-grams of
        tokens, an n-gram with blanks between its tokens.
    symbols (Optional[numpy.ndarray]): (V,) uint64 distinct symbols of the corpus.
    texts (Optional[Callable]): Writes symbols as texts. None uses their strings in the vocab.
        N-grams have no strings there, and are written as numbers, and so are pieces of words.
    RETURNS (list[WordRows]): The rows of each symbol, and the symbols that share them.

    Raises ValueError for an empty word, for an n-gram of another order than the table's, and for an
    n-gram that its dictionary leaves out.
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
