"""Count the symbols of a corpus in tables, and write them as texts.

A symbol is a value of an attribute of tokens, or an n-gram.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from spacy.tokens import Doc, Token
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..common.types import NgramLayer
from ..embed.features import Feature
from ..embed.unique_tokens import feature_texts
from ..tables.find import EmbeddingTable
from ..tables.set_tables import DOC_BATCH, Extractor, count_corpus, ngram_ids
from ..tables.tables import Table

# Reads the docs of a corpus from the start, each time it's called.
DocReader = Callable[[], Iterable[Doc]]


@dataclass(frozen=True)
class DocSymbols:
    """The symbols of docs that this process reads, with the pipeline's vocab."""

    make_docs: DocReader
    vocab: Vocab

    def count(self, tables: Iterable[EmbeddingTable]) -> dict[EmbeddingTable, Table]:
        """Count the symbols of each table, reading the docs once."""
        return count_for_tables(self.make_docs(), tables)

    def texts(self, table: EmbeddingTable, ids: Sequence[int]) -> list[str]:
        """Write symbols as texts. For attributes, no docs are read."""
        found = find_texts(self.make_docs, table, ids, self.vocab)
        return [found[id_] for id_ in ids]


def count_for_tables(
    docs: Iterable[Doc], tables: Iterable[EmbeddingTable]
) -> dict[EmbeddingTable, Table]:
    """Count the symbols of each table, without a limit. Docs are read once.

    Raises ValueError if nothing was counted.
    """
    tables = list(tables)
    extractors: dict[str, Extractor] = {t.attr: t.ngrams or t.feature for t in tables}
    counted = count_corpus(docs, extractors)
    for name, counts in counted.items():
        if not len(counts):
            raise ValueError(
                f"The corpus has no tokens to inspect, or none that make a symbol of {name}. Give "
                "a corpus with text."
            )
    return {table: counted[table.attr] for table in tables}


def find_texts(
    make_docs: DocReader, table: EmbeddingTable, ids: Iterable[int], vocab: Vocab
) -> dict[int, str]:
    """Write symbols of a table as texts, by their ids, if docs have them.

    make_docs (DocReader): Reads docs until all symbols are found. It isn't called if the vocab
        already has an attribute's strings.
    """
    if table.ngrams is not None:
        return find_ngram_texts(make_docs, table.ngrams, ids, vocab)
    if table.feature is not None:
        return _texts_of_feature(make_docs, table.feature, ids)
    wanted = set(ids)
    if has_strings(table.attr):
        strings: Any = vocab.strings
        missing = {id_ for id_ in wanted if id_ not in strings}
        for _ in make_docs() if missing else ():  # reading a doc adds its strings to the vocab
            missing = {id_ for id_ in missing if id_ not in strings}
            if not missing:
                break
        wanted -= missing
    return {id_: symbol_text(vocab, table.attr, id_) for id_ in wanted}


def _texts_of_feature(make_docs: DocReader, feature: Feature, ids: Iterable[int]) -> dict[int, str]:
    """Write symbols of a feature as texts, reading docs until all are found."""
    wanted, texts = set(ids), dict[int, str]()
    for docs in minibatch(make_docs(), DOC_BATCH) if wanted else ():
        found = feature_texts(docs, feature)
        texts |= {id_: found[id_] for id_ in wanted & found.keys()}
        if len(texts) == len(wanted):
            break
    return texts


def find_ngram_texts(
    make_docs: DocReader, ngrams: NgramLayer, ids: Iterable[int], vocab: Vocab
) -> dict[int, str]:
    """Write n-grams as texts, by their ids: the symbols of their tokens, with blanks between them.

    Docs are read until all n-grams are found.
    """
    attr, orders = ngrams.attrs["attr"].value, ngrams.attrs["orders"].value
    texts: dict[int, str] = {}
    wanted = numpy.unique(numpy.array(list(ids), dtype="uint64"))
    for docs in minibatch(make_docs(), DOC_BATCH) if len(wanted) else ():
        found, where = numpy.unique(ngram_ids(ngrams, docs), return_index=True)
        is_wanted = numpy.isin(found, wanted, kind="sort")
        if not is_wanted.any():
            continue
        wanted = wanted[~numpy.isin(wanted, found, kind="sort")]
        tokens = numpy.concatenate([doc.to_array(ngrams.attrs["attr_id"].value) for doc in docs])
        # The first token (M,) of each n-gram, and the index (M,) of its order.
        to_end = numpy.concatenate([numpy.arange(len(doc), 0, -1) for doc in docs])  # (N,)
        firsts, columns = numpy.nonzero(to_end[:, None] >= numpy.array(orders))
        for id_, i in zip(found[is_wanted].tolist(), where[is_wanted], strict=True):
            symbols = tokens[firsts[i] :][: orders[columns[i]]]
            texts[id_] = " ".join(symbol_text(vocab, attr, symbol) for symbol in symbols)
        if not len(wanted):
            break
    return texts


def has_strings(attr: str) -> bool:
    """Return whether the values of an attribute are ids of strings, not numbers."""
    return attr == "MORPH" or (attr != "ENT_IOB" and hasattr(Token, f"{attr.lower()}_"))


def symbol_text(vocab: Vocab, attr: str, symbol: int) -> str:
    """Return a symbol's string, or its number if the attribute has no strings."""
    return vocab.strings[int(symbol)] if has_strings(attr) else str(symbol)
