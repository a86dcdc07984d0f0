"""Features of which a token may have several symbols: n-grams, and extension attributes."""

from dataclasses import dataclass
from typing import Callable, Literal, Optional, cast, get_args

import numpy
from thinc.api import Model, to_numpy
from thinc.types import Floats2d, Ints1d, Ints2d, Ragged
from thinc.util import ArrayInfo

from ..common.checks import check_choice, check_flag
from ..common.nodes import has_layers
from ..common.pinned import Pinned
from ..common.types import Array, AttrLayer
from ..compute.ops import for_kernel
from .hash_rows import NAME as HASH_ROWS
from .lookup_rows import NAME as LOOKUP_ROWS
from .table_embed import NAME as TABLE_EMBED
from .table_embed import check_rows, gradient_of, table_of

NAME = "embed_bags"
Reduce = Literal["sum", "mean"]
# Symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, W) float32.
BagLayer = Model[Ragged, Floats2d]

# Symbols whose vectors or gradients are in memory at a time, on a CPU.
_CHUNK = 4096


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
        NAME,
        forward,
        init=init,
        layers=[layer],
        dims={"nO": layer.get_dim("nO")},
        attrs={"reduce": Pinned(reduce)},
    )


def forward(model: BagLayer, X: Ragged, is_train: bool) -> tuple[Floats2d, Callable]:
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


def init(model: BagLayer, X: Optional[Ragged] = None, Y: Optional[Floats2d] = None) -> None:
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
    return has_layers(layer, HASH_ROWS, TABLE_EMBED) or has_layers(layer, LOOKUP_ROWS, TABLE_EMBED)
