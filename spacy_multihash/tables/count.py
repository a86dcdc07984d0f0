"""The symbols of a corpus, counted: values of attributes, and n-grams."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Optional

import numpy
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import Model, to_numpy

from ..common.types import NgramLayer
from ..corpus.symbols import count_symbols
from ..embed.attributes import attr_id
from ..embed.find import lookup_names, ngram_layers
from .tables import Table, Tables, count_ids, make_tables

# Number of docs whose n-grams are extracted at a time.
DOC_BATCH = 256

# Reads the docs of a corpus from the first one on, each time it is called.
DocReader = Callable[[], Iterable[Doc]]


def count_corpus(
    make_docs: DocReader, extractors: Mapping[str, Optional[NgramLayer]]
) -> dict[str, Table]:
    """Count the symbols of each attribute, and of each kind of n-grams.

    make_docs (DocReader): Reads the docs: once for all attributes, and once for each kind of
        n-grams.
    extractors (Mapping[str, Optional[NgramLayer]]): For each name, the layer that extracts its
        n-grams. None for an attribute of tokens.
    """
    attrs = {name: attr_id(name) for name, ngrams in extractors.items() if ngrams is None}
    tokens = make_tables(count_symbols(make_docs(), attrs) if attrs else {}, min_freq=0)
    counted = dict(tokens.tables)
    for name, ngrams in extractors.items():
        if ngrams is not None:
            batches = minibatch(make_docs(), DOC_BATCH)
            counted[name] = count_ids(ngram_ids(ngrams, docs) for docs in batches)
    return {name: counted[name] for name in extractors}


def ngram_ids(ngrams: NgramLayer, docs: Sequence[Doc]) -> numpy.ndarray:
    """Extract the ids (M,) uint64 of the n-grams of docs, with the layer that the model uses."""
    return to_numpy(ngrams.predict(list(docs)).dataXd)


def count_tables(models: Sequence[Model], make_docs: DocReader) -> Tables:
    """Count all symbols that models look up, without a cut.

    models (Sequence[Model]): Models that hold a MultiEmbed, or another embedding by lookup.
    make_docs (DocReader): Reads the docs: once for all attributes, and once for each kind of
        n-grams.
    """
    extractors = {name: layer for model in models for name, layer in ngram_layers(model).items()}
    names = lookup_names(*models)
    return Tables(count_corpus(make_docs, {name: extractors.get(name) for name in names}))
