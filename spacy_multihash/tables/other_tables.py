"""Words that tables of vectors beside the vocab's own have: those that MetaVectors reads."""

from collections.abc import Sequence

import numpy
from spacy.language import Language

from ..common.nodes import find_nodes
from ..embed.find import component_models
from ..embed.read_vectors import NAME as READ_VECTORS
from ..embed.read_vectors import keys_of
from ..embed.vector_tables import find_rows, find_table, table_names
from ..vectors.table import chunks
from ..vectors.vocab import value_getter


def in_no_other_table(nlp: Language, words: Sequence[str]) -> list[str]:
    """List the words that no table of vectors in `nlp.vocab.lookups` has.

    A word is looked up by the attribute that MetaVectors of the pipeline takes for the table, or
    that of the table itself where no MetaVectors reads it. Its NORM and LOWER are those of a word
    without context. LEMMA is taken for the word itself, since it depends on the context.

    Raises ValueError if a table is damaged.
    """
    vocab = nlp.vocab
    is_present = numpy.zeros(len(words), dtype=bool)
    for name, attr in _attrs_of_tables(nlp):
        table, value_of = find_table(vocab, name), value_getter(vocab, attr)
        ids = numpy.array([vocab.strings.add(value_of(word)) for word in words], dtype="uint64")
        for chunk in chunks(len(ids)):
            is_present[chunk] |= find_rows(vocab, name, table, table.data, ids[chunk])[1]
    return [word for word, present in zip(words, is_present, strict=True) if not present]


def _attrs_of_tables(nlp: Language) -> list[tuple[str, int]]:
    """List the tables in the lookups, each with the attributes that find words in it."""
    named: dict[str, set[int]] = {name: set() for name in table_names(nlp.vocab)}
    for model in component_models(nlp).values():
        for node in find_nodes(model, READ_VECTORS):
            keys = keys_of(node)
            for name, attr in zip(keys.names, keys.attrs, strict=True):
                if name in named:
                    named[name].add(find_table(nlp.vocab, name).attr if attr is None else attr)
    return [
        (name, attr)
        for name, attrs in named.items()
        for attr in sorted(attrs or {find_table(nlp.vocab, name).attr})
    ]
