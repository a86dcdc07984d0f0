"""The symbols of a corpus that tables have rows for, counted and written as texts.

A symbol is a value of an attribute of tokens, or an n-gram.
"""

from collections.abc import Iterable, Sequence

import numpy
from spacy.tokens import Token
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..common.features import Feature
from ..common.types import NgramLayer
from ..embed.feature_symbols import feature_texts
from ..embed.find import EmbeddingTable, rows_of
from ..embed.symbols import UNKNOWN_ROW
from ..tables.count import DOC_BATCH, DocReader, Extractor, count_corpus, ngram_ids
from ..tables.tables import Table


def count_for_tables(
    make_docs: DocReader, tables: Iterable[EmbeddingTable]
) -> dict[EmbeddingTable, Table]:
    """Count the symbols that each table has rows for.

    make_docs (DocReader): Reads docs that are made with the vocab of the pipeline.
    tables (Iterable[EmbeddingTable]): The tables. N-grams that a table's dictionary leaves out are
        not counted.

    Raises ValueError if there is nothing to count. A dictionary that has none of the n-grams leaves
    a table without symbols.
    """
    tables = list(tables)
    extractors: dict[str, Extractor] = {t.attr: t.ngrams or t.feature for t in tables}
    counted = count_corpus(make_docs, extractors)
    for name, counts in counted.items():
        if not len(counts):
            raise ValueError(
                f"The corpus has no tokens to inspect, or none that make a symbol of {name}. Give "
                "a corpus with text."
            )
    return {table: _keep_known(table, counted[table.attr]) for table in tables}


def is_known(table: EmbeddingTable, ids: numpy.ndarray) -> numpy.ndarray:
    """Tell which symbols (V,) uint64 a table's dictionary has, (V,) bool: all if it has none."""
    if table.dictionary is None:
        return numpy.ones(len(ids), dtype="bool")
    return rows_of(table.dictionary, ids)[:, 0] != UNKNOWN_ROW


def symbol_texts(
    make_docs: DocReader, table: EmbeddingTable, ids: Sequence[int], vocab: Vocab
) -> list[str]:
    """Write the symbols of a table as texts.

    make_docs (DocReader): Reads docs in which the symbols occur. It is not called for attributes.
    table (EmbeddingTable): The table.
    ids (Sequence[int]): The ids of the symbols.
    vocab (Vocab): The vocab of the docs.
    """
    if table.ngrams is not None:
        return ngram_texts(make_docs, table.ngrams, ids, vocab)
    if table.feature is not None:
        return _texts_of_feature(make_docs, table.feature, ids)
    return [symbol_text(vocab, table.attr, id_) for id_ in ids]


def _texts_of_feature(make_docs: DocReader, feature: Feature, ids: Sequence[int]) -> list[str]:
    """Write symbols of a feature as texts, reading docs until all are found."""
    wanted, texts = set(ids), dict[int, str]()
    for docs in minibatch(make_docs(), DOC_BATCH) if wanted else ():
        found = feature_texts(docs, feature)
        texts |= {id_: found[id_] for id_ in wanted & found.keys()}
        if len(texts) == len(wanted):
            break
    return [texts[id_] for id_ in ids]


def ngram_texts(
    make_docs: DocReader, ngrams: NgramLayer, ids: Sequence[int], vocab: Vocab
) -> list[str]:
    """Write n-grams as texts: the symbols of their tokens, with blanks between them.

    make_docs (DocReader): Reads docs in which the n-grams occur, until all are found.
    ngrams (NgramLayer): Extracts the n-grams.
    ids (Sequence[int]): The ids of the n-grams.
    vocab (Vocab): The vocab of the docs.
    """
    attr, orders = ngrams.attrs["attr"].value, ngrams.attrs["orders"].value
    texts: dict[int, str] = {}
    wanted = numpy.unique(numpy.array(ids, dtype="uint64"))
    if not len(wanted):
        return []
    for docs in minibatch(make_docs(), DOC_BATCH):
        found, where = numpy.unique(ngram_ids(ngrams, docs), return_index=True)
        is_wanted = numpy.isin(found, wanted)
        if not is_wanted.any():
            continue
        wanted = numpy.setdiff1d(wanted, found)
        tokens = numpy.concatenate([doc.to_array(ngrams.attrs["attr_id"].value) for doc in docs])
        firsts, columns = _places([len(doc) for doc in docs], orders)
        for id_, i in zip(found[is_wanted].tolist(), where[is_wanted], strict=True):
            symbols = tokens[firsts[i] :][: orders[columns[i]]]
            texts[id_] = " ".join(symbol_text(vocab, attr, symbol) for symbol in symbols)
        if not len(wanted):
            break
    return [texts[int(id_)] for id_ in ids]


def symbol_text(vocab: Vocab, attr: str, symbol: int) -> str:
    """Write a symbol as its string, or, for an attribute without strings, as its number."""
    has_string = attr == "MORPH" or (attr != "ENT_IOB" and hasattr(Token, f"{attr.lower()}_"))
    return vocab.strings[int(symbol)] if has_string else str(symbol)


def missing_symbols(table: EmbeddingTable) -> str:
    """Say that a table has no symbol of a corpus."""
    return (
        f"The corpus has no symbol of {table.name} that its dictionary has: the model leaves all "
        "of them out. Give a corpus of its kind."
    )


def _keep_known(table: EmbeddingTable, counts: Table) -> Table:
    known = is_known(table, counts.keys)
    return counts if known.all() else Table(counts.keys[known], counts.counts[known])


def _places(lengths: Sequence[int], orders: Sequence[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find the first token (M,) of each n-gram of docs, and the index (M,) of its order."""
    to_end = numpy.concatenate([numpy.arange(length, 0, -1) for length in lengths])  # (N,)
    first, column = numpy.nonzero(to_end[:, None] >= numpy.array(orders))
    return first, column
