"""From the distinct tokens of a batch to vectors, where a token may have several symbols."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Callable, Optional, Union, cast

from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ragged

from ..common.bound import bound
from ..common.types import AttrsLayer, DocLike, DocsLayer, SymbolColumn
from .token_types import Column, TokenTypes

NAME = "embed_columns"


def embed_columns(layer: AttrsLayer, columns: Sequence[Column], bags: Sequence[bool]) -> DocsLayer:
    """Hand a layer the symbols of distinct tokens, column by column.

    Columns of which a token has one symbol are (U,) uint64. The others are Ragged: (M,) uint64 with
    lengths (U,) int32.

    types, U of them -> vectors (U, nO) float32, with the length U.

    layer (AttrsLayer): Takes the list of columns, and gives (U, nO).
    columns (Sequence[Column]): Ids of attributes, and names of features.
    bags (Sequence[bool]): Whether a token may have several symbols in each of them.
    """
    settings = (tuple(columns), tuple(bags))
    return Model(NAME, bound(forward, *settings), init=partial(init, *settings), layers=[layer])


def forward(
    columns: Sequence[Column],
    bags: Sequence[bool],
    model: DocsLayer,
    types: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Read all columns, and embed them."""
    (tokens,) = types
    layer = cast(Model[list[SymbolColumn], Floats2d], model.layers[0])
    vectors, backprop_vectors = layer(_read(columns, bags, model, tokens), is_train)
    lengths = model.ops.asarray1i([len(tokens)])

    def backprop(d_vectors: Ragged) -> list[DocLike]:
        backprop_vectors(cast(Floats2d, d_vectors.dataXd))
        return []

    return Ragged(vectors, lengths), backprop


def init(
    columns: Sequence[Column],
    bags: Sequence[bool],
    model: DocsLayer,
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Initialize the layer with the columns of the sample."""
    model.layers[0].initialize(X=_read(columns, bags, model, X[0]) if X else None)


def _read(
    columns: Sequence[Column], bags: Sequence[bool], model: DocsLayer, tokens: DocLike
) -> list[SymbolColumn]:
    types, ops = cast(TokenTypes, tokens), model.ops
    # At once: the features of one base are cut together.
    single = types.to_array([c for c, is_bag in zip(columns, bags, strict=True) if not is_bag])
    ids = iter(single.T)
    read: list[Union[Ints1d, Ragged]] = []
    for column, is_bag in zip(columns, bags, strict=True):
        if is_bag:
            symbols, lengths = types.bags(cast(str, column))
            read.append(Ragged(_to_device(ops, symbols), _to_device(ops, lengths)))
        else:
            read.append(_to_device(ops, next(ids)))
    return read


def _to_device(ops: Any, ids: Any) -> Any:  # noqa: ANN401 (arrays of numpy or CuPy)
    return ops.asarray(ids)
