"""The symbols of a corpus, counted: values of attributes, and n-grams."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Union

import numpy
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import Model, to_numpy

from ..common.features import Feature
from ..common.types import NgramLayer
from ..corpus.symbols import count_symbols
from ..embed.attributes import attr_id
from ..embed.feature_symbols import feature_ids, model_features
from ..embed.find import lookup_names, ngram_layers
from .tables import IdCounter, Table, Tables, count_ids, make_tables

# Number of docs whose n-grams are extracted at a time.
DOC_BATCH = 256

# Reads the docs of a corpus from the first one on, each time it is called.
DocReader = Callable[[], Iterable[Doc]]
# What finds symbols: a feature, a layer of n-grams of tokens, or None for an attribute.
Extractor = Union[Feature, NgramLayer, None]


def count_corpus(make_docs: DocReader, extractors: Mapping[str, Extractor]) -> dict[str, Table]:
    """Count the symbols of each attribute and feature, and of each kind of n-grams of tokens.

    make_docs (DocReader): Reads the docs: once for all attributes, once for all features, and once
        for each kind of n-grams of tokens.
    extractors (Mapping[str, Extractor]): For each name, what finds its symbols.
    """
    attrs = {name: attr_id(name) for name, found in extractors.items() if found is None}
    tokens = make_tables(count_symbols(make_docs(), attrs) if attrs else {}, min_freq=0)
    counted = dict(tokens.tables)
    features = {n: found for n, found in extractors.items() if isinstance(found, Feature)}
    counted |= _count_features(make_docs, features)
    for name, ngrams in extractors.items():
        if isinstance(ngrams, Model):
            batches = minibatch(make_docs(), DOC_BATCH)
            counted[name] = count_ids(ngram_ids(ngrams, docs) for docs in batches)
    return {name: counted[name] for name in extractors}


def _count_features(make_docs: DocReader, features: Mapping[str, Feature]) -> dict[str, Table]:
    counters = {name: IdCounter() for name in features}
    for docs in minibatch(make_docs(), DOC_BATCH) if features else ():
        found = feature_ids(docs, list(features.values()))
        for counter, ids in zip(counters.values(), found, strict=True):
            counter.add(ids)
    return {name: counter.table() for name, counter in counters.items()}


def ngram_ids(ngrams: NgramLayer, docs: Sequence[Doc]) -> numpy.ndarray:
    """Extract the ids (M,) uint64 of the n-grams of docs, with the layer that the model uses."""
    return to_numpy(ngrams.predict(list(docs)).dataXd)


def count_tables(models: Sequence[Model], make_docs: DocReader) -> Tables:
    """Count all symbols that models look up, without a cut.

    models (Sequence[Model]): Models that hold a MultiEmbed, or another embedding by lookup.
    make_docs (DocReader): Reads the docs, as often as `count_corpus` does.
    """
    extractors: dict[str, Extractor] = {}
    for model in models:
        extractors |= {**model_features(model), **ngram_layers(model)}
    names = lookup_names(*models)
    return Tables(count_corpus(make_docs, {name: extractors.get(name) for name in names}))
