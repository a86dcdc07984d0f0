"""Docs with unknown symbols: what a model makes of them tells what it needs to know."""

from collections.abc import Mapping
from typing import Any, Union

import numpy
from spacy.attrs import ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..common.nodes import EXTRACT_FEATURES, STATIC_VECTORS, find_nodes
from .attributes import attr_id, attr_name

# The name of static vectors as a feature, beside those of attributes.
VECTOR = "vector"


class UnknownSymbols:
    """A doc some of whose tokens have symbols that no corpus has. All else is the doc's.

    Components that embed attributes, and those that listen to them, take it for a Doc. The doc
    itself stays as it is, and so does its tensor.

    doc (Doc): The doc.
    unknown (Mapping[int, numpy.ndarray]): The tokens whose symbol is unknown, by the attribute's
        id, (T,) int each.
    draw (int): The number of the unknown symbol. Tables have the same row for all of them if they
        look symbols up, and others for each if they hash.
    """

    def __init__(self, doc: Doc, unknown: Mapping[int, numpy.ndarray], draw: int = 0) -> None:
        """Keep what is unknown."""
        self._doc = doc
        self._unknown = unknown
        self._symbol = numpy.uint64(StringStore().add(f"\ue000 unknown symbol {draw}"))
        self.tensor = doc.tensor

    def __len__(self) -> int:
        """Count the tokens, N."""
        return len(self._doc)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever a Doc has)
        """Give what the doc has."""
        return getattr(self._doc, name)

    def to_array(self, attrs: Union[int, str, list[Union[int, str]]], /) -> numpy.ndarray:
        """Give ids (N, len(attrs)) uint64, or (N,) for one attribute. Attributes have names too."""
        ids: numpy.ndarray = self._doc.to_array(attrs)
        columns = attrs if isinstance(attrs, list) else [attrs]
        by_column = ids.reshape(len(ids), len(columns))  # a view
        for column, attr in enumerate(map(attr_id, columns)):
            if attr in self._unknown:
                by_column[self._unknown[attr], column] = self._symbol
        return ids


def features_of(model: Model, vocab: Vocab) -> dict[str, int]:
    """Map the features that a model embeds to the attributes that they are read from.

    model (Model): The model of a component. Layers of spaCy's are found as well as ours.
    vocab (Vocab): The vocab, whose static vectors are found by an attribute.

    Returns "vector" for static vectors, unless their attribute is embedded as well. Empty for a
    model that embeds no attributes, such as a transformer.
    """
    attrs = [attr for node in find_nodes(model, EXTRACT_FEATURES) for attr in node.attrs["columns"]]
    features = {attr_name(attr): attr_id(attr) for attr in attrs}
    if find_nodes(model, STATIC_VECTORS):
        key = getattr(vocab.vectors, "attr", ORTH)
        if key not in features.values():
            features[VECTOR] = key
    return features
