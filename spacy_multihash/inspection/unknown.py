"""Docs with unknown symbols, which show what a model needs to know."""

from collections.abc import Iterator, Mapping
from typing import Any, Union

import numpy
from spacy.attrs import ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab
from thinc.api import Model

from ..common.nodes import EXTRACT_FEATURES, EXTRACT_NGRAMS, STATIC_VECTORS, Pinned, find_nodes
from ..embed.features import attr_id, attr_name, parse_feature
from ..embed.static_vectors import READ_VECTORS, key_attrs_in, keys_of
from ..embed.unique_tokens import Column, pinned_attrs

# The name of static vectors as a feature, like the names of attributes.
VECTOR = "vector"


class UnknownSymbols:
    """A doc in which some tokens have symbols that no corpus has. All else is unchanged.

    It stands in for a Doc in components that embed attributes, and their listeners. The doc itself
    and its tensor don't change.

    unknown (Mapping[Column, numpy.ndarray]): The tokens whose symbol is unknown, by the attribute's
        id or the feature's name, (T,) int each.
    draw (int): The number of the unknown symbol. Lookup tables have the same row for all numbers,
        and hashed tables other rows for each.
    """

    def __init__(self, doc: Doc, unknown: Mapping[Column, numpy.ndarray], draw: int = 0) -> None:
        """Keep the unknown symbols."""
        self._doc = doc
        self._unknown = unknown
        self._symbol = numpy.uint64(StringStore().add(f"\ue000 unknown symbol {draw}"))
        self.tensor = doc.tensor

    def __len__(self) -> int:
        """Count the tokens, N."""
        return len(self._doc)

    def __iter__(self) -> Iterator[Token]:
        """Yield the tokens."""
        return iter(self._doc)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever a Doc has)
        """Return an attribute of the doc."""
        return getattr(self._doc, name)

    def to_array(self, attrs: Union[int, str, list[Union[int, str]]], /) -> numpy.ndarray:
        """Return ids (N, len(attrs)) uint64, or (N,) for one attribute, given by id or name."""
        ids: numpy.ndarray = self._doc.to_array(attrs)
        columns = attrs if isinstance(attrs, list) else [attrs]
        by_column = ids.reshape(len(ids), len(columns))  # a view
        for column, attr in enumerate(map(attr_id, columns)):
            if attr in self._unknown:
                by_column[self._unknown[attr], column] = self._symbol
        return ids

    @property
    def with_known_symbols(self) -> Doc:
        """The doc itself, to cut features from."""
        return self._doc

    def unknown_symbols(self, name: str) -> numpy.ndarray:
        """Return the unknown symbols of a feature, (N,) uint64, 0 for known symbols."""
        symbols = numpy.zeros(len(self), dtype="uint64")
        symbols[self._unknown.get(name, [])] = self._symbol
        return symbols


def features_of(model: Model, vocab: Vocab) -> dict[str, Column]:
    """Map the features that a model embeds to their keys in `UnknownSymbols`.

    The key is an attribute's id, or the name of a feature beyond spaCy's attributes.

    It finds spaCy's layers and ours.

    Static vectors are "vector", unless their attribute is embedded as well. If several tables find
    words by different attributes, they're "vector[ORTH]" and so on. Empty if a model, such as a
    transformer, doesn't embed attributes.
    """
    features: dict[str, Column] = {}
    for node in model.walk():
        extracted = node.attrs["columns"] if node.name == EXTRACT_FEATURES else []
        for attr in pinned_attrs(node) or extracted:
            feature = parse_feature(attr)
            if feature is None:
                features[attr_name(attr)] = attr_id(attr)
            else:
                features[feature.name] = feature.name
    for node in find_nodes(model, EXTRACT_NGRAMS):
        attr = node.attrs["attr"]
        attr = attr.value if isinstance(attr, Pinned) else attr
        features[attr_name(attr)] = attr_id(attr)
    keys = [getattr(vocab.vectors, "attr", ORTH) for _ in find_nodes(model, STATIC_VECTORS)]
    for node in find_nodes(model, READ_VECTORS):
        keys += key_attrs_in(vocab, keys_of(node))
    keys = [key for key in keys if key not in features.values()]
    for key in dict.fromkeys(keys):
        name = VECTOR if len(set(keys)) == 1 else f"{VECTOR}[{attr_name(key)}]"
        features[name] = key
    return features
