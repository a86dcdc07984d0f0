"""Which rows the symbols of a corpus fall on, and how full the tables are. Nothing is printed.

chance.py says when two symbols collide, and what is expected by chance.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Optional

import numpy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..common.types import NgramLayer, RowLayer
from ..embed.attributes import attr_id
from ..embed.feature_symbols import feature_texts
from ..embed.find import EmbeddingTable, rows_of
from ..embed.weighted_table_embed import table_width
from ..tables.set_tables import ngram_ids
from .chance import colliding_pairs, count_indistinguishable, pairs_by_chance, unreached_by_chance
from .reports import Count, Sharing, TableReport, TableUse, WordRows, full_name
from .sizes import SYMBOL_BYTES, table_size
from .symbols import count_for_tables, find_ngram_texts, is_known, known_counts, symbol_text

EXAMPLES = 5

# From the ids of symbols to their texts.
WriteSymbols = Callable[[Sequence[int]], list[str]]


def symbols_of(
    docs: Iterable[Doc], tables: Iterable[EmbeddingTable]
) -> dict[EmbeddingTable, numpy.ndarray]:
    """List the distinct symbols (V,) uint64 that each table has rows for, most frequent first.

    docs (Iterable[Doc]): The corpus, made with the vocab of the pipeline. It is read once, and not
        kept.
    tables (Iterable[EmbeddingTable]): The tables. N-grams that a table's dictionary leaves out are
        not among its symbols.
    RETURNS (dict[EmbeddingTable, numpy.ndarray]): The symbols of each table.

    Raises ValueError for docs without tokens. A table whose dictionary has none of the n-grams has
    no symbols.
    """
    tables = list(tables)
    counted = known_counts(count_for_tables(docs, tables), tables)
    return {table: counts.keys for table, counts in counted.items()}


def inspect_table(table: EmbeddingTable, symbols: Optional[numpy.ndarray] = None) -> TableReport:
    """Describe a table, and how the distinct symbols (V,) uint64 of a corpus use it.

    Components may be found through the row of importance parameters, the single D1 of Svenstrup et
    al. 2017. Symbols that share such a row are then one to the hash functions, and chance is that
    of hashing the rows of importance in use.

    table (EmbeddingTable): The table, as `find_tables` finds it.
    symbols (Optional[numpy.ndarray]): (V,) uint64 distinct symbols of a corpus, as `symbols_of`
        lists them. None describes the table alone.
    RETURNS (TableReport): The table, and its use by the symbols.
    """
    attrs, weights = table.layer.attrs, table.weights
    num_rows, width = weights.get_dim("nV"), table_width(weights)
    is_hash = table.is_hashed
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
        member=table.member,
    )
    if symbols is None or not len(symbols):
        return report
    rows = rows_of(table.layer, symbols)  # (V, K)
    sizes = group_sizes(table.layer, symbols)
    return replace(report, use=_use(rows, num_rows, width, sizes if is_hash else None))


def inspect_word(
    table: EmbeddingTable,
    word: str,
    vocab: Vocab,
    symbols: Optional[numpy.ndarray] = None,
    *,
    texts: Optional[WriteSymbols] = None,
) -> WordRows:
    """Find the rows of a word in a table, and the symbols of a corpus that share them.

    table (EmbeddingTable): The table.
    word (str): The word, which is taken as a text of one token without annotation. For a table of
        n-grams of tokens, an n-gram with blanks between its tokens.
    vocab (Vocab): The vocab of the pipeline.
    symbols (Optional[numpy.ndarray]): (V,) uint64 distinct symbols of the corpus.
    texts (Optional[Callable]): Writes symbols as texts. None for their strings in the vocab.
        N-grams have none there, and are written as numbers. Pieces of words have none either.
    RETURNS (WordRows): The rows of the word, and who shares them.

    Raises ValueError for an empty word, for an n-gram of another order than the table's, for one
    that its dictionary leaves out, and for a word that has no symbol or several.
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
    """Find the rows of each symbol of a word: several for its character n-grams.

    table (EmbeddingTable), word (str), vocab (Vocab), symbols (Optional[numpy.ndarray]),
        texts (Optional[Callable]): As for `inspect_word`.
    RETURNS (list[WordRows]): The rows of each symbol.

    Raises ValueError, as `inspect_word` does, but not for several symbols.
    """
    if not word:
        raise ValueError("A word to inspect must have at least one character, was: ''.")
    inspected = []
    for id_, text in _find_symbols(table, word, vocab):
        rows = rows_of(table.layer, numpy.array([id_], dtype="uint64"))[0]  # (K,)
        sharing = None
        if symbols is not None:
            write = texts or partial(_strings, vocab, table.attr)
            sharing = _find_sharing(table.layer, rows, symbols[symbols != id_], write)
        inspected.append(
            WordRows(
                word,
                table.component,
                table.attr,
                text,
                rows.tolist(),
                sharing,
                table.part,
                table.member,
            )
        )
    return inspected


def list_suspicions(report: TableReport) -> list[str]:
    """Describe the counts of a table that are hardly due to chance, but to a weak hash seed."""
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


def group_sizes(layer: RowLayer, symbols: numpy.ndarray) -> numpy.ndarray:
    """Count the symbols (V,) uint64 in each group that a layer hashes as one: (G,) int64."""
    if not layer.layers:
        return numpy.ones(len(symbols), dtype="int64")
    (through,) = layer.layers
    return numpy.unique(rows_of(through, symbols), return_counts=True)[1]


def embeds_word(table: EmbeddingTable, word: str, vocab: Vocab) -> bool:
    """Tell whether a table has rows for a word, or for an n-gram with blanks between its tokens."""
    if table.ngrams is None:
        return True
    if not _has_order(table.ngrams, word):
        return False
    id_, _ = _find_ngram(table.ngrams, word, vocab)
    return _is_embedded(table, id_)


def _find_symbols(table: EmbeddingTable, word: str, vocab: Vocab) -> list[tuple[int, str]]:
    """Find the ids of a word's symbols in a table, and their texts."""
    if table.feature is not None:
        return list(feature_texts([Doc(vocab, words=[word])], table.feature).items())
    return [_find_symbol(table, word, vocab)]


def _find_symbol(table: EmbeddingTable, word: str, vocab: Vocab) -> tuple[int, str]:
    if table.ngrams is None:
        id_ = int(Doc(vocab, words=[word]).to_array([attr_id(table.attr)]).item())
        return id_, symbol_text(vocab, table.attr, id_)
    id_, text = _find_ngram(table.ngrams, word, vocab)
    if not _is_embedded(table, id_):
        raise ValueError(
            f"The model leaves out {text!r}, which its dictionary of {table.name} does not have: "
            "it has no rows. Give an n-gram that occurs in the training corpus as often as the "
            "dictionary asks for."
        )
    return id_, text


def _find_sharing(
    layer: RowLayer, rows: numpy.ndarray, others: numpy.ndarray, texts: WriteSymbols
) -> list[Sharing]:
    """Find the symbols (V,) uint64 that share rows (K,) with another: in 1, 2, ... K hashes."""
    shared = (rows_of(layer, others) == rows).sum(axis=1)  # (V,) hashes, of each symbol
    alike = {hashes: others[shared == hashes] for hashes in range(1, len(rows) + 1)}
    examples = {hashes: ids[:EXAMPLES].tolist() for hashes, ids in alike.items()}
    # All at once: the texts of n-grams are read from the corpus.
    ids = [id_ for few in examples.values() for id_ in few]
    text_of = dict(zip(ids, texts(ids), strict=True))
    return [
        Sharing(hashes, len(alike[hashes]), [text_of[id_] for id_ in few])
        for hashes, few in examples.items()
    ]


def _strings(vocab: Vocab, attr: str, ids: Sequence[int]) -> list[str]:
    return [symbol_text(vocab, attr, id_) for id_ in ids]


def _is_embedded(table: EmbeddingTable, id_: int) -> bool:
    return bool(is_known(table, numpy.array([id_], dtype="uint64")).all())


def _has_order(ngrams: NgramLayer, word: str) -> bool:
    return len(word.split()) in ngrams.attrs["orders"].value


def _find_ngram(ngrams: NgramLayer, word: str, vocab: Vocab) -> tuple[int, str]:
    """Find the id of an n-gram, and its text."""
    doc, orders = Doc(vocab, words=word.split()), ngrams.attrs["orders"].value
    if not _has_order(ngrams, word):
        raise ValueError(
            f"The n-grams of {ngrams.attrs['attr'].value} to inspect have orders {orders}, but "
            f"{word!r} has {len(doc)} words. Give n-grams of these orders, each in quotes and with "
            "blanks between its words."
        )
    # The n-grams that begin with the first token come first, in the order of their lengths.
    id_ = int(ngram_ids(ngrams, [doc])[orders.index(len(doc))])
    return id_, find_ngram_texts(lambda: [doc], ngrams, [id_], vocab)[id_]


def _use(
    rows: numpy.ndarray, num_rows: int, width: int, hashed: Optional[numpy.ndarray]
) -> TableUse:
    """Count the rows (V, K) of symbols: hashed in groups of these sizes (G,), or looked up."""
    num_symbols, num_hashes = rows.shape

    def count_unreached(reached: numpy.ndarray, hashes: int) -> Count:
        chance = (
            (None, None) if hashed is None else unreached_by_chance(num_rows, len(hashed) * hashes)
        )
        return Count(num_rows - len(numpy.unique(reached)), *chance)

    def count_pairs(actual: int, j: int) -> Count:
        if hashed is None:
            return Count(actual)
        chance = pairs_by_chance(num_symbols, num_rows, num_hashes, j, group_sizes=hashed)
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
