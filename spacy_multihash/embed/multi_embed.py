"""Concatenate the vectors of several attributes."""

from typing import Callable, Optional, Sequence, Union

from thinc.api import Model
from thinc.types import Floats1d, Floats2d, Ints2d
from thinc.util import ArrayInfo

from ..common.checks import check_share
from ..common.nodes import bound, has_layers
from ..common.types import AttrLayer, AttrsLayer, SymbolColumn
from ..compute.array_ops import for_kernel
from ..compute.hashing import hashing_of
from ..compute.ops import operations
from .rows import HASH_NAME, hashed_by
from .table_embed import NAME as TABLE_EMBED
from .table_embed import gradient_of, table_of

NAME = "multi_embed"


def multi_embed(*layers: AttrLayer, dropout: Optional[float] = None) -> AttrsLayer:
    """Embed column a of the ids with layer a, and concatenate the results.

    ids (U, A) uint64 -> vectors (U, A * W) float32, with A = len(layers). The ids may also be a
    list of A columns, each as its layer takes it.

    layers (AttrLayer): One layer per column, each (U,) uint64 -> (U, W) float32.
    dropout (float or None): Initial dropout rate, 0 <= dropout < 1, as in thinc's HashEmbed. In
        training, each layer's vectors are multiplied by a mask (W,) of zeros and 1 / (1 - rate),
        which all rows share. thinc's set_dropout_rate changes the rate. None, the default, never
        drops, whatever the rate.

    Raises ValueError if there are no layers, dropout is out of range, or ids have a wrong number of
    columns.
    """
    if not layers:
        raise ValueError("Layer 'multi_embed' needs at least one attribute layer, was given none.")
    drops = dropout is not None
    if drops:
        check_share("Layer 'multi_embed'", "dropout", dropout)
    return Model(
        NAME,
        bound(forward, drops),
        init=init,
        layers=list(layers),
        attrs={"dropout_rate": dropout} if drops else {},
    )


def forward(
    drops: bool,
    model: AttrsLayer,
    ids: Union[Ints2d, list[SymbolColumn]],
    is_train: bool,
) -> tuple[Floats2d, Callable]:
    """Run each layer on its column, or all hashed columns at once; mask the vectors."""
    columns = _columns(model, ids)
    if not isinstance(ids, list) and _are_hashed(model.layers):
        vectors, widths, backprop_vectors = _hash_at_once(model, ids)
    else:
        vectors, widths, backprop_vectors = _embed_columns(model, columns, is_train)
    mask = _draw_mask(model, widths) if drops and is_train and len(vectors) else None
    if mask is not None:
        vectors *= mask
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Union[Ints2d, list[SymbolColumn]]:
        vectors_info.check_consistency(d_vectors)
        backprop_vectors(d_vectors if mask is None else d_vectors * mask)
        return [] if isinstance(ids, list) else model.ops.alloc2i(*ids.shape)  # no gradient

    return vectors, backprop


def _draw_mask(model: AttrsLayer, widths: list[int]) -> Optional[Floats1d]:
    """Draw the masks of all layers, (A * W,), or None if nothing is dropped.

    Each is drawn separately, as in spaCy: on a GPU, a joint draw might give other numbers.
    """
    rate = model.attrs["dropout_rate"]
    if not rate:
        return None
    return model.ops.xp.concatenate([model.ops.get_dropout_mask((nO,), rate) for nO in widths])


def _embed_columns(
    model: AttrsLayer, columns: Sequence[Optional[SymbolColumn]], is_train: bool
) -> tuple[Floats2d, list[int], Callable[[Floats2d], None]]:
    """Run each layer on its column; give the width of each result too."""
    outputs, callbacks = zip(
        *(layer(column, is_train) for layer, column in zip(model.layers, columns, strict=True)),
        strict=True,
    )
    widths = [Y.shape[1] for Y in outputs]

    def backprop(d_vectors: Floats2d) -> None:
        start = 0
        for width, callback in zip(widths, callbacks, strict=True):
            callback(d_vectors[:, start : start + width])
            start += width

    return model.ops.xp.hstack(outputs), widths, backprop  # (U, A * W)


def _hash_at_once(
    model: AttrsLayer, ids: Ints2d
) -> tuple[Floats2d, list[int], Callable[[Floats2d], None]]:
    """Hash all columns and add up their rows in a kernel; backward in another."""
    tables = [layer.layers[1] for layer in model.layers]
    hashing = hashing_of(tuple(hashed_by(layer.layers[0]) for layer in model.layers))
    Es = [table_of(table) for table in tables]
    ops = operations(model.ops)
    vectors, rows = ops.hash_embed(for_kernel(ops, ids, "uint64"), Es, hashing)

    def backprop(d_vectors: Floats2d) -> None:
        gradients = [gradient_of(table) for table in tables]
        ops.backprop_hash_embed(gradients, hashing, rows, d_vectors)

    return vectors, [E.shape[1] for E in Es], backprop


def _are_hashed(layers: Sequence[AttrLayer]) -> bool:
    """Check if all columns are hashed directly, into tables of the same width."""
    return (
        all(has_layers(layer, HASH_NAME, TABLE_EMBED) for layer in layers)
        and all(
            layer.layers[0].attrs["nV"].value == layer.layers[1].get_dim("nV") for layer in layers
        )
        and len({layer.layers[1].get_dim("nO") for layer in layers}) == 1
    )


def init(
    model: AttrsLayer,
    X: Optional[Union[Ints2d, list[SymbolColumn]]] = None,
    Y: Optional[Floats2d] = None,
) -> None:
    """Initialize each layer with its column, in the order of the layers."""
    columns = [None] * len(model.layers) if X is None else _columns(model, X)
    for layer, column in zip(model.layers, columns, strict=True):
        layer.initialize(X=column)


def _columns(
    model: AttrsLayer, ids: Union[Ints2d, list[SymbolColumn]]
) -> Sequence[Optional[SymbolColumn]]:
    """Check the number of columns, and list them."""
    number = len(model.layers)
    if isinstance(ids, list):
        return ids
    if ids.ndim != 2 or ids.shape[1] != number:
        raise ValueError(
            f"Layer 'multi_embed' expects ids of shape (N, {number}), one column per "
            f"attribute, was given shape {ids.shape}."
        )
    return [ids[:, a] for a in range(number)]
