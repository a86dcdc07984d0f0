"""Words that tables of vectors beside the vocab's own have: those that MetaVectors reads."""

from collections.abc import Sequence

import numpy
from spacy.language import Language
from spacy.vocab import Vocab

from ..common.nodes import STATIC_VECTORS, find_nodes
from ..embed.find import component_models
from ..embed.read_vectors import NAME as READ_VECTORS
from ..embed.read_vectors import keys_of
from ..embed.vector_tables import VOCAB, KeptVectors, find_rows, find_table, table_names
from ..vectors.table import chunks
from ..vectors.vocab import value_getter


def in_no_other_table(nlp: Language, words: Sequence[str]) -> list[str]:
    """List the words that no table of vectors in `nlp.vocab.lookups` has.

    A word is looked up by the attributes of `attrs_of_table`. Its NORM and LOWER are those of a
    word without context. LEMMA is taken for the word itself, since it depends on the context.

    Raises ValueError if a table is damaged.
    """
    is_present = numpy.zeros(len(words), dtype=bool)
    for name in table_names(nlp.vocab):
        table = find_table(nlp.vocab, name)
        for attr in attrs_of_table(nlp, name, table.attr):
            is_present |= _has_words(nlp.vocab, name, table, attr, words)
    return [word for word, present in zip(words, is_present, strict=True) if not present]


def attrs_of_table(nlp: Language, name: str, own: int) -> list[int]:
    """List the attributes by which the layers of a pipeline find words in a table of vectors.

    name (str): The name of the table, "vocab" for the vocab's own.
    own (int): The attribute of the table itself. It is the only one where no layer reads the table.
    """
    attrs = set()
    for model in component_models(nlp).values():
        for node in find_nodes(model, READ_VECTORS):
            keys = keys_of(node)
            attrs |= {
                own if attr is None else attr
                for table, attr in zip(keys.names, keys.attrs, strict=True)
                if table == name
            }
        if name == VOCAB and find_nodes(model, STATIC_VECTORS):
            attrs.add(own)
    return sorted(attrs or {own})


def _has_words(
    vocab: Vocab, name: str, table: KeptVectors, attr: int, words: Sequence[str]
) -> numpy.ndarray:
    """Tell which words a table has, (N,) bool."""
    value_of = value_getter(vocab, attr)
    ids = numpy.array([vocab.strings.add(value_of(word)) for word in words], dtype="uint64")
    found = [find_rows(vocab, name, table, table.data, ids[chunk])[1] for chunk in chunks(len(ids))]
    return numpy.concatenate(found) if found else numpy.zeros(0, dtype=bool)
