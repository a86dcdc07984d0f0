"""From unique tokens to vectors, where a token may have several symbols, as n-grams."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Literal, Optional, Union, cast, get_args

import numpy
from thinc.api import Model, to_numpy
from thinc.types import Floats2d, Ints1d, Ints2d, Ragged
from thinc.util import ArrayInfo

from ..common.checks import check_choice, check_flag
from ..common.nodes import bound, has_layers
from ..common.pinned import Pinned
from ..common.types import Array, AttrLayer, AttrsLayer, DocLike, DocsLayer, SymbolColumn
from ..compute.ops import for_kernel
from .rows import HASH_NAME, LOOKUP_NAME
from .table_embed import NAME as TABLE_EMBED
from .table_embed import check_rows, gradient_of, table_of
from .unique_tokens import Column, UniqueTokens

NAME = "embed_columns"
BAGS_NAME = "embed_bags"
Reduce = Literal["sum", "mean"]
# Symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, W) float32.
BagLayer = Model[Ragged, Floats2d]

# Symbols whose vectors or gradients are in memory at a time, on a CPU.
_CHUNK = 4096


def embed_columns(layer: AttrsLayer, columns: Sequence[Column], bags: Sequence[bool]) -> DocsLayer:
    """Hand a layer the symbols of unique tokens, column by column.

    Columns of which a token has one symbol are (U,) uint64. The others are Ragged: (M,) uint64 with
    lengths (U,) int32.

    unique tokens, U of them -> vectors (U, nO) float32, with the length U.

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
    unique: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Read all columns, and embed them."""
    (tokens,) = unique
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
    unique, to_device = cast(UniqueTokens, tokens), cast(Any, model.ops).asarray
    # At once: the features of one base are cut together.
    single = unique.to_array([c for c, is_bag in zip(columns, bags, strict=True) if not is_bag])
    ids = iter(single.T)
    read: list[Union[Ints1d, Ragged]] = []
    for column, is_bag in zip(columns, bags, strict=True):
        if is_bag:
            symbols, lengths = unique.bags(cast(str, column))
            read.append(Ragged(to_device(symbols), to_device(lengths)))
        else:
            read.append(to_device(next(ids)))
    return read


@dataclass(frozen=True)
class Bags:
    """What is done with the symbols of a token, where it has several.

    reduce (str): Whether their vectors are summed ("sum") or averaged ("mean").
    repeats (bool): Whether a symbol counts as often as it occurs in a token, or once.

    Raises ValueError for another value.
    """

    reduce: Reduce = "sum"
    repeats: bool = True

    def __post_init__(self) -> None:
        """Check both."""
        check_choice("Embedding layer", "reduce", self.reduce, get_args(Reduce))
        check_flag("Embedding layer", "count_repeats", self.repeats)


def embed_bags(layer: AttrLayer, *, reduce: Reduce) -> BagLayer:
    """Embed all symbols of each token, and sum or average their vectors.

    A token without symbols gets the zero vector.

    symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, nO) float32.

    layer (AttrLayer): Embeds one symbol, (M,) uint64 -> (M, nO) float32.
    reduce (str): "sum" or "mean".
    """
    return Model(
        BAGS_NAME,
        forward_bags,
        init=init_bags,
        layers=[layer],
        dims={"nO": layer.get_dim("nO")},
        attrs={"reduce": Pinned(reduce)},
    )


def forward_bags(model: BagLayer, X: Ragged, is_train: bool) -> tuple[Floats2d, Callable]:
    """Sum the vectors of symbols, then divide by the numbers of symbols."""
    lengths = to_numpy(X.lengths).astype("int64")
    symbols = cast(Ints1d, X.dataXd)
    (layer,) = model.layers
    add_up = _add_rows if _is_table(layer) else _add_vectors
    vectors, backprop_sums = add_up(layer, symbols, lengths, is_train)
    shares: Optional[Array] = None
    if model.attrs["reduce"].value == "mean":
        numbers: Array = lengths.clip(1)[:, None]  # (U, 1)
        shares = model.ops.asarray(1 / numbers, dtype="float32")
        vectors = vectors * shares
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Ragged:
        vectors_info.check_consistency(d_vectors)
        backprop_sums(d_vectors if shares is None else d_vectors * shares)
        return Ragged(model.ops.alloc1i(len(symbols)), X.lengths)  # integers have no gradient

    return vectors, backprop


def init_bags(model: BagLayer, X: Optional[Ragged] = None, Y: Optional[Floats2d] = None) -> None:
    """Initialize the layer with the symbols."""
    model.layers[0].initialize(X=None if X is None else X.dataXd)


def _add_rows(
    layer: AttrLayer, symbols: Ints1d, lengths: numpy.ndarray, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Sum the rows of a table that a token's symbols are mapped to, all at once.

    There is no vector of a symbol in prediction. Tokens with as many symbols are summed together,
    by the kernel that sums the rows of one symbol.
    """
    to_rows, table = layer.layers
    ops, E = layer.ops, table_of(table)
    rows = for_kernel(ops, to_rows(symbols, is_train)[0], "int32")  # (M, K)
    check_rows(table, rows)
    vectors = ops.alloc2f(len(lengths), E.shape[1])
    for tokens, places in _by_length(lengths):
        of_tokens = rows[ops.asarray1i(places.reshape(-1))].reshape(len(tokens), -1)
        vectors[ops.asarray1i(tokens)] = ops.gather_add(E, cast(Ints2d, of_tokens))

    def backprop(d_vectors: Floats2d) -> None:
        dE = gradient_of(table)
        d_vectors = for_kernel(ops, d_vectors, "float32")
        columns = ops.as_contig(rows.T)  # (K, M)
        owners = _owners(layer, lengths)
        for start in range(0, len(rows), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            d_symbols = d_vectors[owners[chunk]]
            for column in columns:
                ops.scatter_add(dE, column[chunk], d_symbols)

    return vectors, backprop


def _add_vectors(
    layer: AttrLayer, symbols: Ints1d, lengths: numpy.ndarray, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Sum the vectors of symbols, of all tokens at once in training, and else of some at a time."""
    ops = layer.ops
    owners = _owners(layer, lengths)
    size = len(symbols) if is_train else _CHUNK
    vectors = ops.alloc2f(len(lengths), layer.get_dim("nO"))
    callbacks = []
    for start in range(0, len(symbols), size or 1):
        chunk = slice(start, start + size)
        of_symbols, callback = layer(symbols[chunk], is_train)
        ops.scatter_add(vectors, owners[chunk], of_symbols)
        callbacks.append((callback, owners[chunk]))

    def backprop(d_vectors: Floats2d) -> None:
        for callback, tokens in callbacks:
            callback(d_vectors[tokens])

    return vectors, backprop


def _by_length(lengths: numpy.ndarray) -> list[tuple[Array, Array]]:
    """Group tokens by their number of symbols: tokens (G,), and places of their symbols (G, n)."""
    starts = lengths.cumsum() - lengths
    order = numpy.argsort(lengths, kind="stable")
    cuts = numpy.flatnonzero(numpy.diff(lengths[order])) + 1
    groups = [group for group in numpy.split(order, cuts) if len(group) and lengths[group[0]]]
    return [
        (tokens, starts[tokens][:, None] + numpy.arange(lengths[tokens[0]])) for tokens in groups
    ]


def _owners(layer: AttrLayer, lengths: numpy.ndarray) -> Ints1d:
    """List the token of each symbol, (M,) int32."""
    return layer.ops.asarray1i(cast(Ints1d, numpy.repeat(numpy.arange(len(lengths)), lengths)))


def _is_table(layer: AttrLayer) -> bool:
    return has_layers(layer, HASH_NAME, TABLE_EMBED) or has_layers(layer, LOOKUP_NAME, TABLE_EMBED)
