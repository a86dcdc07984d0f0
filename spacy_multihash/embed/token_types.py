"""The distinct tokens of a batch, which layers take in the place of docs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Union, cast

import numpy

from ..common.features import Feature
from ..common.types import Array, DocLike
from ..compute.dispatch import kernels_for
from .cuts import cuts_of, pack, unpack_bags
from .extensions import read_extension

# Up to this number of tokens, finding the distinct ones takes more time than it saves.
_FEW = 32


# Before the name of a feature: the column of unknown symbols in its place. Before the id of an
# attribute: the column that features are cut from, where the attribute itself may be unknown.
_UNKNOWN, _KNOWN = "unknown ", "known "

# An attribute's id, or the name of a feature beyond spaCy's attributes.
Column = Union[int, str]


class Derived(NamedTuple):
    """A feature, and the column that its symbols come from.

    feature (Feature): The feature.
    column (Column): The id of the attribute that symbols are cut from. For an extension attribute,
        its name.
    """

    feature: Feature
    column: Column


class TokenTypes:
    """The distinct tokens of a batch, which stand in for one Doc that has just these tokens.

    It has what a layer asks of a Doc: `vocab`, `len` and `to_array`; and `bags`.

    ids (numpy.ndarray): (U, C) uint64, a row per distinct token.
    columns (Sequence[Column]): The C attributes in `ids`. The column of an extension attribute has
        the number of each token's value.
    vocab (Vocab): The vocab of the docs.
    derived (Mapping[str, Derived]): Features beyond spaCy's attributes, by their names.
    values (Mapping[str, list[bytes]]): The symbols of each value of extension attributes.
    """

    def __init__(
        self,
        ids: numpy.ndarray,
        columns: Sequence[Column],
        vocab: Any,  # noqa: ANN401 (spaCy's Vocab, which the layers do not import)
        derived: Mapping[str, Derived] = MappingProxyType({}),
        values: Mapping[str, list[bytes]] = MappingProxyType({}),
    ) -> None:
        """Keep the ids, the number of each attribute's column, the vocab and the features."""
        self.ids = ids
        self.columns = {attr: i for i, attr in enumerate(columns)}
        self.vocab = vocab
        self.derived = derived
        self.values = values

    def at_least_one(self) -> "TokenTypes":
        """Give these, or a token without symbols if there is none: layers learn widths from it."""
        if len(self):
            return self
        ids = numpy.zeros((1, len(self.columns)), dtype="uint64")
        values = dict.fromkeys(self.values, [pack([])])
        return TokenTypes(ids, list(self.columns), self.vocab, self.derived, values)

    def __len__(self) -> int:
        """Count the distinct tokens, U."""
        return len(self.ids)

    def to_array(self, attrs: Union[Column, Sequence[Column]], /) -> numpy.ndarray:
        """Give ids (U, len(attrs)) uint64, or (U,) for one attribute that is not in a list.

        attrs: Attributes, and features of which each token has one symbol.
        """
        if isinstance(attrs, (int, str)):
            return numpy.ascontiguousarray(self.to_array([attrs])[:, 0])
        if not any(isinstance(attr, str) for attr in attrs):
            return self.ids[:, [self.columns[attr] for attr in attrs]]
        ids = numpy.empty((len(self), len(attrs)), dtype="uint64")
        places = defaultdict(list)  # of the features of each base, whose strings are cut at once
        for i, attr in enumerate(attrs):
            if isinstance(attr, str):
                places[self.derived[attr].column].append(i)
            else:
                ids[:, i] = self.ids[:, self.columns[attr]]
        for column, found in places.items():
            features = [self.derived[cast(str, attrs[i])].feature for i in found]
            ids[:, found] = unpack_bags(self._cut(column, features))[0].reshape(-1, len(found))
            for i in found:
                unknown = self._unknown(cast(str, attrs[i]))
                (tokens,) = unknown.nonzero()
                ids[tokens, i] = unknown[tokens]
        return ids

    def bags(self, name: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Give all symbols of each token: ids (M,) uint64, and how many each has, (U,) int32.

        name (str): Name of a feature beyond spaCy's attributes.
        """
        feature, column = self.derived[name]
        if feature.cut is not None:
            bags = self._cut(column, [feature])
        else:
            values = self.values[name]
            bags = [values[i] for i in self.ids[:, self.columns[column]].tolist()]
        unknown = self._unknown(name)
        for i in unknown.nonzero()[0]:
            bags[i] = pack([int(unknown[i])])
        return unpack_bags(bags)

    def _unknown(self, name: str) -> numpy.ndarray:
        """Give the symbols in the place of a feature's, (U,) uint64, or (0,) if there are none."""
        column = self.columns.get(_UNKNOWN + name)
        return numpy.zeros(0, dtype="uint64") if column is None else self.ids[:, column]

    def _cut(self, column: Column, features: Sequence[Feature]) -> list[bytes]:
        ids = self.ids[:, self.columns[column]]
        return cuts_of(self.vocab, features).of(self.vocab.strings, ids)


def find_types(
    docs: Sequence[DocLike], attrs: Sequence[int], derived: Mapping[str, Derived]
) -> tuple[TokenTypes, numpy.ndarray]:
    """Find the tokens that differ in attributes and features, and each token's type, (N,) int32.

    Errors are those of `read_extension`.
    """
    vocab = docs[0].vocab
    bases = [each.column for each in derived.values() if isinstance(each.column, int)]
    has_unknown = any(hasattr(doc, "unknown_symbols") for doc in docs)
    columns: list[Column] = list(dict.fromkeys(attrs if has_unknown else [*attrs, *bases]))
    # A Doc gives (N,) instead of (N, 1) for a single attribute, and no array for none.
    parts: list[Array] = []
    if columns:
        arrays = [doc.to_array(columns).reshape((-1, len(columns))) for doc in docs]
        parts = [numpy.concatenate(arrays)]
    if has_unknown and bases:
        bases = list(dict.fromkeys(bases))
        parts.append(numpy.concatenate([_known_array(doc, bases) for doc in docs]))
        columns += [f"{_KNOWN}{base}" for base in bases]
        derived = {name: _from_known(each) for name, each in derived.items()}
    values = {}
    for name, (feature, column) in derived.items():
        if feature.cut is None:
            values[name], value_of = read_extension(docs, feature, vocab.strings)
            parts.append(value_of.reshape(-1, 1))
            columns.append(column)
    if has_unknown:
        for name in derived:
            parts.append(numpy.concatenate([_unknown_symbols(doc, name) for doc in docs])[:, None])
            columns.append(_UNKNOWN + name)
    ids = parts[0] if len(parts) == 1 else numpy.hstack(parts)
    if len(ids) <= _FEW:
        types = TokenTypes(ids, columns, vocab, derived, values)
        return types, numpy.arange(len(ids), dtype="int32")
    first, type_of = distinct_rows(ids)
    return TokenTypes(ids[first], columns, vocab, derived, values), type_of


def _known_array(doc: Any, attrs: list[int]) -> numpy.ndarray:  # noqa: ANN401 (a DocLike)
    """Give the ids (N, len(attrs)) uint64 that features are cut from, none of them unknown."""
    if hasattr(doc, "known_array"):
        return doc.known_array(attrs)
    return doc.to_array(attrs).reshape((-1, len(attrs)))


def _from_known(derived: Derived) -> Derived:
    is_cut = isinstance(derived.column, int)
    return derived._replace(column=f"{_KNOWN}{derived.column}") if is_cut else derived


def _unknown_symbols(doc: Any, name: str) -> numpy.ndarray:  # noqa: ANN401 (a DocLike)
    """Give the symbols in the place of a feature's, (N,) uint64, 0 for a feature that is known."""
    if hasattr(doc, "unknown_symbols"):
        return doc.unknown_symbols(name)
    return numpy.zeros(len(doc), dtype="uint64")


def distinct_rows(ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Group equal rows: ids (N, C) uint64 -> the first of each group (U,), groups of rows (N,)."""
    kernels = kernels_for(ids)
    if kernels is not None:
        return kernels.distinct_rows(numpy.ascontiguousarray(ids))
    _, first, group_of = numpy.unique(ids, axis=0, return_index=True, return_inverse=True)
    return first, group_of.reshape(-1).astype("int32")
