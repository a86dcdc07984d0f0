"""The unique tokens of a batch, which layers read instead of docs; and back to all tokens."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Callable, NamedTuple, Optional, Union, cast

import numpy
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ragged
from thinc.util import ArrayInfo

from ..common.nodes import Pinned, bound
from ..common.types import Array, DocLike, DocsLayer
from ..compute.array_ops import for_kernel
from ..compute.ops import distinct_rows
from .features import (
    ConstantFeatures,
    Feature,
    pack,
    parse_feature,
    read_extension,
    substrings_of,
    unpack_bags,
)

# Up to this number of tokens, finding unique tokens takes more time than it saves.
MAX_TOKENS_AS_THEY_ARE = 32
# Prefixes of columns, if docs have unknown symbols. Before a feature's name: the symbols that
# replace it. Before an attribute's id: the column to cut features from, because the attribute
# itself may be unknown.
_UNKNOWN, _BASE = "unknown ", "base "

# An attribute's id, or the name of a feature beyond spaCy's attributes.
Column = Union[int, str]
# Symbols (M,) uint64, and how many of them each token has, (U,) int32.
Bags = tuple[numpy.ndarray, numpy.ndarray]


class UniqueTokens:
    """The unique tokens of a batch, which act like a Doc with just these tokens.

    Like a Doc, it has `vocab`, `len` and `to_array`. It also has `symbols`.

    ids (numpy.ndarray): (U, C) uint64, a row per unique token.
    columns (Sequence[Column]): The C attributes in `ids`. The column of an extension attribute
        numbers the tokens' values.
    vocab (Vocab): The vocab of the docs.
    features (Mapping[str, Feature]): Features beyond spaCy's attributes, by their names.
    values (Mapping[str, list[bytes]]): The symbols of each value of extension attributes.
    """

    def __init__(
        self,
        ids: numpy.ndarray,
        columns: Sequence[Column],
        vocab: Any,  # noqa: ANN401 (spaCy's Vocab)
        features: Mapping[str, Feature] = MappingProxyType({}),
        values: Mapping[str, list[bytes]] = MappingProxyType({}),
    ) -> None:
        """Keep the ids, the number of each attribute's column, the vocab and the features."""
        self.ids = ids
        self.columns = {attr: i for i, attr in enumerate(columns)}
        self.vocab = vocab
        self.features = features
        self.values = values

    def at_least_one(self) -> "UniqueTokens":
        """Return self, or a token without symbols if empty, from which layers learn widths."""
        if len(self):
            return self
        ids = numpy.zeros((1, len(self.columns)), dtype="uint64")
        values = dict.fromkeys(self.values, [b""])
        return UniqueTokens(ids, list(self.columns), self.vocab, self.features, values)

    def __len__(self) -> int:
        """Count the unique tokens, U."""
        return len(self.ids)

    def is_bag(self, column: Column) -> bool:
        """Check if a token may have several symbols in a column."""
        return isinstance(column, str) and self.features[column].has_bags

    def symbols(self, columns: Sequence[Column]) -> tuple[numpy.ndarray, list[Bags]]:
        """Read the columns with one symbol a token, (U, S) uint64; and the bags of each other."""
        singles = self.to_array([column for column in columns if not self.is_bag(column)])
        return singles, [self.bags(cast(str, column)) for column in columns if self.is_bag(column)]

    def to_array(self, attrs: Union[Column, Sequence[Column]], /) -> numpy.ndarray:
        """Return ids (U, len(attrs)) uint64, or (U,) for an attribute that isn't in a list.

        attrs: Attributes, and features with one symbol per token.
        """
        if isinstance(attrs, (int, str)):
            return self.to_array([attrs])[:, 0].copy()
        if attrs == list(self.columns):
            return self.ids
        ids = numpy.empty((len(self), len(attrs)), dtype="uint64")
        of_bases = defaultdict(list)  # the features of each base, whose strings are cut at once
        for i, attr in enumerate(attrs):
            if isinstance(attr, str):
                of_bases[self.features[attr].column].append(i)
            else:
                ids[:, i] = self.ids[:, self.columns[attr]]
        for column, of_base in of_bases.items():
            names = [cast(str, attrs[i]) for i in of_base]
            symbols, _ = unpack_bags(self._cut(column, [self.features[name] for name in names]))
            ids[:, of_base] = symbols.reshape(-1, len(of_base))
            for i, name in zip(of_base, names, strict=True):
                unknown = self._unknown(name)
                ids[unknown != 0, i] = unknown[unknown != 0]
        return ids

    def bags(self, name: str) -> Bags:
        """Return all symbols of a feature, and their number per token."""
        feature = self.features[name]
        if feature.cut is not None:
            bags = self._cut(feature.column, [feature])
        else:
            values = self.values[name]
            bags = [values[i] for i in self.ids[:, self.columns[name]].tolist()]
        unknown = self._unknown(name)
        for i in unknown.nonzero()[0]:
            bags[i] = pack([int(unknown[i])])
        return unpack_bags(bags)

    def _unknown(self, name: str) -> numpy.ndarray:
        """Return the symbols that replace a feature's, (U,) uint64, 0 where it's known."""
        column = self.columns.get(_UNKNOWN + name)
        return numpy.zeros(len(self), "uint64") if column is None else self.ids[:, column]

    def _cut(self, base: Column, features: Sequence[Feature]) -> list[bytes]:
        column = self.columns.get(f"{_BASE}{base}", self.columns[base])
        return substrings_of(self.vocab, (*features,)).of(self.vocab.strings, self.ids[:, column])


def as_rows(docs: Sequence[DocLike], attrs: Sequence[Column]) -> numpy.ndarray:
    """Read the attributes of all tokens, (N, A) uint64."""
    # A Doc gives (N,) instead of (N, 1) for a single attribute
    arrays = [doc.to_array([*attrs]).reshape((-1, len(attrs))) for doc in docs]
    return arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)


def find_unique(
    docs: Sequence[DocLike], attrs: Sequence[int], features: Mapping[str, Feature]
) -> tuple[UniqueTokens, numpy.ndarray]:
    """Find the unique tokens by attributes and features, and each token's index, (N,) int32.

    Raises the errors of `read_extension`.
    """
    vocab = docs[0].vocab
    bases = [feature.column for feature in features.values() if feature.cut is not None]
    columns: list[Column] = list(dict.fromkeys([*attrs, *bases]))
    arrays = [as_rows(docs, columns)] if columns else []
    values = {}
    for name, feature in features.items():
        if feature.cut is None:
            values[name], value_of = read_extension(docs, feature, vocab.strings)
            arrays.append(value_of[:, None])
            columns.append(name)
    if features and any(hasattr(doc, "unknown_symbols") for doc in docs):
        whole = [getattr(doc, "with_known_symbols", doc) for doc in docs]
        for base in dict.fromkeys(bases):
            arrays.append(as_rows(whole, [base]))
            columns.append(f"{_BASE}{base}")
        for name in features:
            arrays.append(numpy.concatenate([_unknown_symbols(doc, name) for doc in docs])[:, None])
            columns.append(_UNKNOWN + name)
    ids = arrays[0] if len(arrays) == 1 else numpy.hstack(arrays)
    unique_of = numpy.arange(len(ids), dtype="int32")
    if len(ids) > MAX_TOKENS_AS_THEY_ARE:
        first, unique_of = distinct_rows(ids)
        ids = ids[first]
    return UniqueTokens(ids, columns, vocab, features, values), unique_of


def _unknown_symbols(doc: Any, name: str) -> numpy.ndarray:  # noqa: ANN401 (a DocLike)
    """Return the symbols that replace a feature's, (N,) uint64, 0 if the feature is known."""
    if hasattr(doc, "unknown_symbols"):
        return doc.unknown_symbols(name)
    return numpy.zeros(len(doc), dtype="uint64")


# The layer that finds unique tokens


WITH_TOKEN_TYPES = "with_token_types"

# The vocab of docs -> the attributes by which tables of vectors find words.
VectorAttrs = Callable[[Any], Sequence[int]]


class Reads(NamedTuple):
    """What layers read of tokens.

    attrs (list[int]): The attributes.
    features: The features beyond spaCy's attributes, by their names.
    vector_attrs (VectorAttrs or None): Lists the attributes by which a layer finds static vectors
        in a vocab. None if it reads none.
    """

    attrs: list[int]
    features: Mapping[str, Feature]
    vector_attrs: Optional[VectorAttrs]

    def attrs_in(self, vocab: Any) -> list[int]:  # noqa: ANN401 (spaCy's Vocab)
        """List all attributes."""
        return [*self.attrs, *(self.vector_attrs(vocab) if self.vector_attrs else ())]


def with_unique_tokens(
    layer: DocsLayer,
    nO: int,
    *,
    attrs: list[int],
    features: Sequence[Feature] = (),
    vector_attrs: Optional[VectorAttrs] = None,
    names: Sequence[str] = (),
) -> DocsLayer:
    """Run a layer on the unique tokens of a batch, and give its vectors to all equal tokens.

    Tokens are equal if they agree in every attribute that the layer reads. Attributes are compared
    by id, not by hashes of ids. Features are compared by the attribute that they're cut from, or
    the value of the extension attribute. In the backward pass, the gradients of equal tokens are
    summed first.

    docs with N tokens, U of them unique -> vectors (N, W) float32, with the docs' lengths.

    layer (DocsLayer): Takes a list with one DocLike of U tokens, and gives (U, W).
    nO (int): Width of the vectors, W.
    attrs, features, vector_attrs: What the layer reads: see `Reads`.
    names (Sequence[str]): The names of attributes and features that are expected to vary. Training
        warns if they don't.
    """
    reads = Reads(attrs, {feature.name: feature for feature in features}, vector_attrs)
    return Model(
        WITH_TOKEN_TYPES,
        bound(forward, reads, ConstantFeatures(names)),
        init=partial(init, reads),
        layers=[layer],
        attrs={"attrs": Pinned(attrs)},
        dims={"nO": nO},
    )


def forward(
    reads: Reads,
    constant: ConstantFeatures,
    model: DocsLayer,
    docs: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Embed the unique tokens, and gather their vectors; backward, scatter-add gradients."""
    lengths = model.ops.asarray1i([len(doc) for doc in docs])
    if not any(map(len, docs)):
        return Ragged(model.ops.alloc2f(0, model.get_dim("nO")), lengths), lambda d_tokens: []
    if is_train and constant.values:
        constant.look_at(docs)
    tokens, indices = find_unique(docs, reads.attrs_in(docs[0].vocab), reads.features)
    of_unique, backprop_unique = model.layers[0]([tokens], is_train)
    vectors = cast(Floats2d, of_unique.dataXd)  # (U, W)
    unique_of = None
    if len(tokens) < len(indices):
        unique_of = model.ops.asarray1i(cast(Ints1d, indices))  # (N,)
        vectors = vectors[unique_of]  # (N, W)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_tokens: Ragged) -> list[DocLike]:
        d_vectors: Array = d_tokens.dataXd
        vectors_info.check_consistency(d_vectors)
        if unique_of is not None:
            d_unique = model.ops.alloc2f(len(tokens), d_vectors.shape[1])
            model.ops.scatter_add(d_unique, unique_of, for_kernel(model.ops, d_vectors, "float32"))
            d_vectors = d_unique
        backprop_unique(Ragged(d_vectors, of_unique.lengths))
        return []

    return Ragged(vectors, lengths), backprop


def init(
    reads: Reads,
    model: DocsLayer,
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Initialize the layer with the unique tokens of the sample."""
    sample = None
    if X:
        tokens, _ = find_unique(X, reads.attrs_in(X[0].vocab), reads.features)
        sample = [tokens.at_least_one()]
    model.layers[0].initialize(X=sample)


# The features of models, for tools


def model_features(model: Model) -> dict[str, Feature]:
    """Map names to the features beyond spaCy's attributes that a model embeds."""
    features = {}
    for node in model.walk():
        names, repeats = pinned_attrs(node), _setting(node, "count_repeats")
        for i, name in enumerate(names):
            # False only where a token may have several symbols.
            feature = parse_feature(name, repeats=not repeats or repeats[i] is not False)
            if feature is not None:
                features[feature.name] = feature
    return features


def feature_ids(docs: Sequence[Doc], feature: Feature) -> numpy.ndarray:
    """List a feature's symbols in all tokens: ids (M,) uint64, as often as they count.

    Raises ValueError if a value of an extension attribute can't be embedded.
    """
    if not any(map(len, docs)):
        return numpy.zeros(0, dtype="uint64")
    tokens, unique_of = find_unique(docs, [], {feature.name: feature})
    ids, lengths = tokens.bags(feature.name)
    counts = numpy.bincount(unique_of, minlength=len(tokens))
    return numpy.repeat(ids, numpy.repeat(counts, lengths))


def pinned_attrs(node: Model) -> list:
    """List the names of an embedding's attributes and features; empty for other nodes."""
    return _setting(node, "attrs")


def _setting(node: Model, name: str) -> list:
    """Read a setting of an embedding, with one value per attribute; empty for other nodes."""
    pinned = node.attrs.get(name)
    values = pinned.value if isinstance(pinned, Pinned) else []
    # Another layer has the ids of attributes under the same name.
    is_setting = isinstance(values, list) and not any(type(value) is int for value in values)
    return values if is_setting else []
