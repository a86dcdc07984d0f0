"""From docs to the unique tokens of a batch, and back to all tokens."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, cast

import numpy
from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ragged
from thinc.util import ArrayInfo

from ..common.nodes import Pinned, bound
from ..common.types import Array, DocLike, DocsLayer
from ..compute.array_ops import for_kernel
from .features import ConstantFeatures, Feature
from .unique_tokens import UniqueTokens, find_unique

NAME = "with_token_types"

# The vocab of docs -> the attributes by which tables of vectors find words.
VectorAttrs = Callable[[Any], Sequence[int]]


class _Reads(NamedTuple):
    """The layer's inputs besides attributes."""

    features: Mapping[str, Feature]
    vector_attrs: Optional[VectorAttrs]
    constant: ConstantFeatures


def with_token_types(
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
    attrs (list[int]): The attributes that the layer reads.
    features (Sequence[Feature]): The features beyond spaCy's attributes that the layer reads.
    vector_attrs (VectorAttrs or None): Lists the attributes by which the layer finds static vectors
        in a vocab. None if the layer reads none.
    names (Sequence[str]): The names of attributes and features that are expected to vary. Training
        warns if they don't.
    """
    by_name = {feature.name: feature for feature in features}
    reads = _Reads(by_name, vector_attrs, ConstantFeatures(names))
    return Model(
        NAME,
        bound(forward, reads),
        init=partial(init, reads),
        layers=[layer],
        attrs={"attrs": Pinned(attrs)},
        dims={"nO": nO},
    )


def forward(
    reads: _Reads, model: DocsLayer, docs: list[DocLike], is_train: bool
) -> tuple[Ragged, Callable]:
    """Embed the unique tokens, and gather their vectors; backward, scatter-add gradients."""
    lengths = model.ops.asarray1i([len(doc) for doc in docs])
    if not any(len(doc) for doc in docs):
        return Ragged(model.ops.alloc2f(0, model.get_dim("nO")), lengths), lambda d_tokens: []
    if is_train:
        reads.constant.look_at(docs)
    tokens, indices = _find_unique(model, docs, reads)
    of_unique, backprop_unique = model.layers[0]([tokens], is_train)
    vectors = cast(Floats2d, of_unique.dataXd)  # (U, W)
    unique_of = None
    if len(tokens) < len(indices):
        unique_of = model.ops.asarray1i(cast(Ints1d, indices))  # (N,)
        vectors = vectors[unique_of]  # (N, W)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_tokens: Ragged) -> list[DocLike]:
        vectors_info.check_consistency(cast(Floats2d, d_tokens.dataXd))
        d_vectors = for_kernel(model.ops, cast(Array, d_tokens.dataXd), "float32")
        d_unique = d_vectors
        if unique_of is not None:
            d_unique = model.ops.alloc2f(len(tokens), d_vectors.shape[1])
            model.ops.scatter_add(d_unique, unique_of, d_vectors)
        backprop_unique(Ragged(d_unique, of_unique.lengths))
        return []

    return Ragged(vectors, lengths), backprop


def init(
    reads: _Reads,
    model: DocsLayer,
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Initialize the layer with the unique tokens of the sample."""
    tokens = [_find_unique(model, X, reads)[0].at_least_one()] if X else None
    model.layers[0].initialize(X=tokens)


def _find_unique(
    model: DocsLayer, docs: list[DocLike], reads: _Reads
) -> tuple[UniqueTokens, numpy.ndarray]:
    """Find the unique tokens of a batch, and each token's index, (N,) int32."""
    attrs = list(model.attrs["attrs"].value)
    if reads.vector_attrs is not None:
        attrs += reads.vector_attrs(docs[0].vocab)
    return find_unique(docs, attrs, reads.features)
