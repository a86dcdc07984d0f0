"""From docs to the distinct tokens of a batch, its types, and back to all tokens."""

from collections.abc import Sequence
from typing import Any, Callable, Optional, Union, cast

import numpy
from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ragged
from thinc.util import ArrayInfo

from ..common.pinned import Pinned
from ..common.types import DocLike, DocsLayer

NAME = "with_token_types"

# Up to this number of tokens, finding the distinct ones takes more time than it saves.
_FEW = 32
# 2**64 divided by the golden ratio. A product with an odd number loses none of the 64 bits.
_ODD = numpy.uint64(0x9E3779B97F4A7C15)


class TokenTypes:
    """The distinct tokens of a batch, which stand in for one Doc that has just these tokens.

    It has what a layer asks of a Doc: `vocab`, `len` and `to_array`.

    ids (numpy.ndarray): (U, C) uint64, a row per distinct token.
    columns (Sequence[int]): The C attributes in `ids`.
    vocab (Vocab): The vocab of the docs.
    """

    def __init__(self, ids: numpy.ndarray, columns: Sequence[int], vocab: Any) -> None:  # noqa: ANN401
        """Keep the ids, the number of each attribute's column, and the vocab."""
        self.ids = ids
        self.columns = {attr: i for i, attr in enumerate(columns)}
        self.vocab = vocab

    def __len__(self) -> int:
        """Count the distinct tokens, U."""
        return len(self.ids)

    def to_array(self, attrs: Union[int, list[int]], /) -> numpy.ndarray:
        """Give ids (U, len(attrs)) uint64, or (U,) for one attribute that is not in a list."""
        if isinstance(attrs, int):
            return numpy.ascontiguousarray(self.ids[:, self.columns[attrs]])
        return self.ids[:, [self.columns[attr] for attr in attrs]]


def with_token_types(
    layer: DocsLayer, nO: int, *, attrs: list[int], vector_attr: Optional[int] = None
) -> DocsLayer:
    """Run a layer on the distinct tokens of a batch, and hand its vectors to all their tokens.

    Two tokens are of one type if they agree in every attribute that the layer reads. Their ids are
    compared, not hashes of them. Going back, the gradients of the tokens of a type are summed
    before the layer sees them.

    docs with N tokens, U of them distinct -> vectors (N, W) float32, with the docs' lengths.

    layer (DocsLayer): Takes a list with one DocLike of U tokens, and gives (U, W).
    nO (int): Width of the vectors, W.
    attrs (list[int]): The attributes that the layer reads.
    vector_attr (int or None): The attribute by which the layer finds static vectors where those of
        the vocab name none: ORTH in spaCy. None for a layer that reads no static vectors.
    """
    return Model(
        NAME,
        forward,
        init=init,
        layers=[layer],
        attrs={"attrs": Pinned(attrs), "vector_attr": vector_attr},
        dims={"nO": nO},
    )


def forward(model: DocsLayer, docs: list[DocLike], is_train: bool) -> tuple[Ragged, Callable]:
    """Run the layer on the types, and gather their vectors; going back, scatter-add gradients."""
    lengths = model.ops.asarray1i([len(doc) for doc in docs])
    if not any(len(doc) for doc in docs):
        return Ragged(model.ops.alloc2f(0, model.get_dim("nO")), lengths), lambda d_tokens: []
    types, indices = token_types(model, docs)
    type_of = model.ops.asarray1i(cast(Ints1d, indices))  # (N,)
    by_type, backprop_types = model.layers[0]([types], is_train)  # (U, W)
    vectors = cast(Floats2d, by_type.dataXd)[type_of]  # (N, W)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_tokens: Ragged) -> list[DocLike]:
        vectors_info.check_consistency(cast(Floats2d, d_tokens.dataXd))
        d_vectors = model.ops.as_contig(cast(Floats2d, d_tokens.dataXd))
        d_types = model.ops.alloc2f(len(types), d_vectors.shape[1])
        model.ops.scatter_add(d_types, type_of, d_vectors)
        backprop_types(Ragged(d_types, by_type.lengths))
        return []

    return Ragged(vectors, lengths), backprop


def init(model: DocsLayer, X: Optional[list[DocLike]] = None, Y: Optional[Ragged] = None) -> None:
    """Initialize the layer with the types of the sample."""
    types = [token_types(model, X)[0]] if X else None
    model.layers[0].initialize(X=types)


def token_types(model: DocsLayer, docs: list[DocLike]) -> tuple[TokenTypes, numpy.ndarray]:
    """Find the distinct tokens, and the index of each token's type, (N,) int32."""
    columns = list(model.attrs["attrs"].value)
    vector_attr = model.attrs["vector_attr"]
    if vector_attr is not None:
        vector_attr = getattr(docs[0].vocab.vectors, "attr", vector_attr)
        columns += [vector_attr] if vector_attr not in columns else []
    # A Doc gives (N,) instead of (N, 1) for a single attribute.
    ids = numpy.concatenate([doc.to_array(columns).reshape((-1, len(columns))) for doc in docs])
    if len(ids) <= _FEW:
        return TokenTypes(ids, columns, docs[0].vocab), numpy.arange(len(ids), dtype="int32")
    first, type_of = distinct_rows(ids)
    return TokenTypes(ids[first], columns, docs[0].vocab), type_of


def distinct_rows(ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Group equal rows: ids (N, C) uint64 -> a row of each group (U,), group of each row (N,).

    Rows are sorted by one number, which is ten times as fast as sorting by C, and neighbours are
    then compared by their ids. Different rows share a number with a chance of 1 in 2**64. One of
    them may then stand between two equal rows, which end up in two groups. This costs time, but
    changes no result.
    """
    multipliers = numpy.full(ids.shape[1], _ODD).cumprod(dtype="uint64")  # all odd
    order = numpy.argsort(ids @ multipliers)
    ordered = ids[order]
    starts = numpy.ones(len(ids), dtype=bool)  # is a row the first of its group?
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group_of = numpy.empty(len(ids), dtype="int32")
    group_of[order] = numpy.cumsum(starts, dtype="int32") - 1
    return order[starts], group_of
