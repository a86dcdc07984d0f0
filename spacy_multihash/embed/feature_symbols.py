"""The symbols of features in docs: their ids, counted or named by tools."""

from collections.abc import Sequence

import numpy
from spacy.tokens import Doc
from thinc.api import Model

from ..common.features import Feature, parse_feature
from ..common.pinned import Pinned
from .attributes import attr_id
from .extensions import NO_STRING, extension_texts
from .token_types import Derived, find_types


def derived(feature: Feature) -> Derived:
    """Find the column that the symbols of a feature come from."""
    return Derived(feature, feature.base if feature.cut is None else attr_id(feature.base))


def model_features(model: Model) -> dict[str, Feature]:
    """Map the names of the features beyond spaCy's attributes that a model embeds to them."""
    found = {}
    for node in model.walk():
        names, repeats = pinned_attrs(node), _pinned(node, "count_repeats")
        for i, name in enumerate(names):
            # False only where a token may have several symbols.
            feature = parse_feature(name, repeats=not repeats or repeats[i] is not False)
            if feature is not None:
                found[feature.name] = feature
    return found


def feature_ids(docs: Sequence[Doc], features: Sequence[Feature]) -> list[numpy.ndarray]:
    """List the symbols of all tokens, for each feature: ids (M,) uint64, as often as they count.

    Raises ValueError for a value of an extension attribute that cannot be embedded.
    """
    if not any(map(len, docs)):
        return [numpy.zeros(0, dtype="uint64") for _ in features]
    types, type_of = find_types(docs, [], {f.name: derived(f) for f in features})
    counts = numpy.bincount(type_of, minlength=len(types))
    read = [types.bags(feature.name) for feature in features]
    return [numpy.repeat(ids, numpy.repeat(counts, lengths)) for ids, lengths in read]


def feature_texts(docs: Sequence[Doc], feature: Feature) -> dict[int, str]:
    """Write the symbols of all tokens as texts, by their ids.

    A value of an extension attribute that is no string is written as Python prints it.
    """
    texts: dict[int, str] = {}
    for doc in docs:
        strings = doc.vocab.strings
        if feature.cut is None:
            found = [text for of_token in extension_texts(doc, feature) for text in of_token]
        else:
            bases = [strings[base] for base in {*doc.to_array([feature.base]).tolist()}]
            found = [piece for base in bases for piece in feature.pieces(base)]
        texts |= {strings[text]: text.removeprefix(NO_STRING) for text in found}
    return texts


def pinned_attrs(node: Model) -> list:
    """List the names of the attributes and features of an embedding; none for other nodes."""
    return _pinned(node, "attrs")


def _pinned(node: Model, name: str) -> list:
    """Read a setting of an embedding, with one value per attribute; empty for other nodes."""
    pinned = node.attrs.get(name)
    values = pinned.value if isinstance(pinned, Pinned) else []
    # Another layer has the ids of attributes under the same name.
    is_setting = isinstance(values, list) and not any(type(value) is int for value in values)
    return values if is_setting else []
