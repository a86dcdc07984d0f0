"""Embed tokens in prediction, in a single compiled call.

If all columns are hashed, the call replaces all layers of `embed_docs`: unique tokens, attributes,
rows, tables, mix and dropout. If symbols are looked up, or a token has several, it replaces the
tables and the mix. The layers don't change, and each call reads them. Training, GPUs and static
vectors use the layers themselves.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Optional

import numpy
from thinc.api import Model
from thinc.types import Floats2d, Ragged

from ..common.nodes import has_layers, no_backprop
from ..common.types import Array, DocLike
from ..compute.bags import Bags
from ..compute.hashing import Hashing, hashing_of
from ..compute.maxout import Layer
from ..compute.maxout_norm import NAME as MAXOUT_NORM
from ..compute.maxout_norm import parameters
from ..compute.ops import operations
from .bags import find_multi_embed, read_columns
from .rows import HASH_NAME, LOOKUP_NAME, hashed_by
from .table_embed import NAME as TABLE_EMBED
from .table_embed import table_of
from .unique_tokens import Column


class _Embedding(NamedTuple):
    """Inputs of the call: the ids of A attributes, their tables, and the mix."""

    attrs: list[Any]
    tables: list[Array]
    hashing: Hashing
    mix: Layer


def forward(
    layer_by_layer: Callable,
    model: Model[list[DocLike], list[Floats2d]],
    docs: list[DocLike],
    is_train: bool,
) -> tuple[list[Floats2d], Callable]:
    """Embed docs at once if that's possible, or else layer by layer."""
    embedding = None if is_train or not docs else _read(model)
    if embedding is None:
        return layer_by_layer(model, docs, is_train)
    attrs, tables, hashing, mix = embedding
    # A Doc gives (N,) instead of (N, 1) for a single attribute
    arrays = [doc.to_array(attrs).reshape((-1, len(attrs))) for doc in docs]
    ids = arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)
    Y = operations(model.ops).mix_hashed(ids, tables, hashing, mix)
    ends = accumulate(len(array) for array in arrays)
    Ys = [Y[end - len(array) : end] for array, end in zip(arrays, ends, strict=True)]
    return Ys, no_backprop(model.name)


def _read(model: Model) -> Optional[_Embedding]:
    """Read the layers, or return None unless they are hashed columns and a mix."""
    with_unique = model.layers[0]
    embed, mixed = with_unique.layers[0].layers
    if len(embed.layers) != 3 or model.ops.xp is not numpy:
        return None
    extract, _, side_by_side = embed.layers
    mix, attrs = mixed.layers[0], extract.attrs["columns"]
    if mix.name != MAXOUT_NORM or any(isinstance(attr, str) for attr in attrs):
        return None
    hashed: list[tuple[int, int, int]] = []
    tables: list[Array] = []
    for column in side_by_side.layers[0].layers:
        if not has_layers(column, HASH_NAME, TABLE_EMBED):
            return None
        rows, table = column.layers
        hashed.append(hashed_by(rows))
        tables.append(table_of(table))
    W, b, G, beta = parameters(mix)
    return _Embedding(attrs, tables, hashing_of(tuple(hashed)), Layer(W, b, G, beta, name=mix.name))


def forward_columns(
    columns: Sequence[Column],
    with_bags: Sequence[bool],
    layer_by_layer: Callable,
    model: Model[list[DocLike], Ragged],
    unique: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Embed unique tokens, and mix their columns, at once if that's possible."""
    embed, mixed = model.layers
    mix, multi_embed = mixed.layers[0], find_multi_embed(embed)
    chains = [
        column.layers[0] if is_bag else column
        for column, is_bag in zip(multi_embed.layers, with_bags, strict=True)
    ]
    is_possible = model.ops.xp is numpy and mix.name == MAXOUT_NORM
    if is_train or not is_possible or not all(map(_finds_rows, chains)):
        return layer_by_layer(model, unique, is_train)
    symbols: Any = read_columns(columns, with_bags, multi_embed, unique[0])
    tables: list[Array] = []
    bags: list[Bags] = []
    for column, chain, is_bag, of_column in zip(
        multi_embed.layers,
        chains,
        with_bags,
        symbols if any(with_bags) else symbols.T,
        strict=True,
    ):
        ends, mean, ids = None, False, of_column
        if is_bag:
            ends, ids = of_column.lengths.cumsum(dtype="int64"), of_column.dataXd
            mean = column.attrs["reduce"].value == "mean"
        rows, table = chain.layers
        tables.append(table_of(table))
        bags.append(Bags(rows.predict(ids), None, ends, mean))
    layer = Layer(*parameters(mix), name=mix.name)
    Y = operations(model.ops).mix_bags(tables, bags, layer)
    return Ragged(Y, model.ops.asarray1i([len(Y)])), no_backprop(model.name)


def _finds_rows(column: Model) -> bool:
    """Check if a column hashes or looks up its symbols, without importance."""
    return any(has_layers(column, rows, TABLE_EMBED) for rows in (HASH_NAME, LOOKUP_NAME))
