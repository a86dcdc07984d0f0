"""The symbols of a corpus, counted: values of attributes, and n-grams."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Union

import numpy
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import Model, to_numpy

from ..common.features import Feature
from ..common.types import NgramLayer
from ..embed.attributes import attr_id
from ..embed.feature_symbols import feature_ids, model_features
from ..embed.find import lookup_names, ngram_layers
from .tables import IdCounter, Table, Tables

# Number of docs whose n-grams are extracted at a time.
DOC_BATCH = 256

# Reads the docs of a corpus from the first one on, each time it is called.
DocReader = Callable[[], Iterable[Doc]]
# What finds symbols: a feature, a layer of n-grams of tokens, or None for an attribute.
Extractor = Union[Feature, NgramLayer, None]


def count_corpus(docs: Iterable[Doc], extractors: Mapping[str, Extractor]) -> dict[str, Table]:
    """Count the symbols of each attribute and feature, and of each kind of n-grams of tokens.

    docs (Iterable[Doc]): The docs, which are read once and not kept.
    extractors (Mapping[str, Extractor]): For each name, what finds its symbols.
    """
    attrs = {name: attr_id(name) for name, found in extractors.items() if found is None}
    features = {n: found for n, found in extractors.items() if isinstance(found, Feature)}
    layers = {name: found for name, found in extractors.items() if isinstance(found, Model)}
    counters = {name: IdCounter() for name in extractors}
    for batch in minibatch(docs, DOC_BATCH) if extractors else ():
        found = [(name, ngram_ids(layer, batch)) for name, layer in layers.items()]
        if attrs:
            found += zip(attrs, _attr_ids(batch, list(attrs.values())), strict=True)
        if features:
            found += zip(features, feature_ids(batch, list(features.values())), strict=True)
        for name, ids in found:
            counters[name].add(ids)
    return {name: counter.table() for name, counter in counters.items()}


def _attr_ids(docs: Sequence[Doc], attrs: list[Union[int, str]]) -> numpy.ndarray:
    """List the symbols of all tokens, for each attribute: (A, N) uint64."""
    return numpy.concatenate([doc.to_array(attrs).reshape((-1, len(attrs))) for doc in docs]).T


def ngram_ids(ngrams: NgramLayer, docs: Sequence[Doc]) -> numpy.ndarray:
    """Extract the ids (M,) uint64 of the n-grams of docs, with the layer that the model uses."""
    return to_numpy(ngrams.predict(list(docs)).dataXd)


def count_tables(models: Sequence[Model], docs: Iterable[Doc]) -> Tables:
    """Count all symbols that models look up, without a cut.

    models (Sequence[Model]): Models that hold a MultiEmbed, or another embedding by lookup.
    docs (Iterable[Doc]): The docs, which are read once and not kept.
    """
    extractors: dict[str, Extractor] = {}
    for model in models:
        extractors |= {**model_features(model), **ngram_layers(model)}
    names = lookup_names(*models)
    return Tables(count_corpus(docs, {name: extractors.get(name) for name in names}))
