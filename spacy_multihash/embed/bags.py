"""Embed unique tokens that may have several symbols, such as n-grams."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Callable, Literal, Optional, Union, cast

from spacy.ml.featureextractor import FeatureExtractor
from thinc.api import Model, chain, list2ragged, to_numpy, with_array
from thinc.types import Floats2d, Ints1d, Ints2d, Ragged

from ..common.nodes import Pinned, bound
from ..common.types import AttrLayer, AttrsLayer, DocLike, DocsLayer, SymbolColumn
from .table_embed import sum_rows
from .unique_tokens import Column, UniqueTokens
from .weighted_embed import NAME as WEIGHTED_EMBED
from .weighted_embed import sum_weighted

NAME = "embed_columns"
BAGS_NAME = "embed_bags"
Reduce = Literal["sum", "mean"]
# Symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, W) float32.
BagLayer = Model[Ragged, Floats2d]


def embed_columns(layer: AttrsLayer, columns: Sequence[Column], bags: Sequence[bool]) -> DocsLayer:
    """Pass a layer the symbols of unique tokens, column by column.

    Columns with a single symbol per token are (U,) uint64. The others are Ragged: (M,) uint64 with
    lengths (U,) int32.

    unique tokens, U of them -> vectors (U, nO) float32, with the length U.

    layer (AttrsLayer): Takes the list of columns, or ids (U, A) without bags, and gives (U, nO).
    columns (Sequence[Column]): Ids of attributes, and names of features.
    bags (Sequence[bool]): For each column, whether a token may have several symbols.
    """
    settings = (tuple(columns), tuple(bags))
    if any(bags):
        return Model(NAME, bound(forward, *settings), init=partial(init, *settings), layers=[layer])
    # The nodes are a file format: models without bags keep the nodes from before bags existed.
    extract = cast(Model[list[DocLike], list[Ints2d]], FeatureExtractor(list(columns)))
    to_ragged = cast(Model[list[Ints2d], Ragged], list2ragged())
    side_by_side: Model[Ragged, Ragged] = with_array(layer)  # type: ignore[misc]
    model = chain(extract, to_ragged, side_by_side)
    model._func, model.init = bound(forward, *settings), partial(init, *settings)
    return model


def forward(
    columns: Sequence[Column],
    bags: Sequence[bool],
    model: DocsLayer,
    unique: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Read all columns, and embed them."""
    (tokens,) = unique
    layer = find_multi_embed(model)
    vectors, backprop_vectors = layer(read_columns(columns, bags, layer, tokens), is_train)
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
    layer = find_multi_embed(model)
    layer.initialize(X=read_columns(columns, bags, layer, X[0]) if X else None)


def find_multi_embed(model: DocsLayer) -> Model:
    """Find the layer that takes the columns: a layer of its own, or within `with_array`."""
    layer = model.layers[-1]
    return layer.layers[0] if layer.name.startswith("with_array") else layer


def read_columns(
    columns: Sequence[Column], bags: Sequence[bool], model: Model, tokens: DocLike
) -> Union[Ints2d, list[SymbolColumn]]:
    """Read the ids (U, A) of all columns, or a list of columns if any has bags."""
    unique, to_device = cast(UniqueTokens, tokens), cast(Any, model.ops).asarray
    if not any(bags):
        return to_device(unique.to_array(columns))
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


def embed_bags(layer: AttrLayer, *, reduce: Reduce) -> BagLayer:
    """Embed all symbols of each token, and sum or average their vectors.

    A token without symbols gets the zero vector.

    symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, nO) float32.

    layer (AttrLayer): Rows of symbols and their table, or a weighted_embed: (M,) -> (M, nO).
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
    """Sum the vectors of symbols, and divide by the numbers of symbols for a mean."""
    (layer,) = model.layers
    ends = to_numpy(X.lengths).cumsum(dtype="int64")
    mean = model.attrs["reduce"].value == "mean"
    symbols = cast(Ints1d, X.dataXd)
    if layer.name == WEIGHTED_EMBED:
        vectors, backprop_sums = sum_weighted(layer, symbols, is_train, ends, mean)
    else:
        to_rows, table = layer.layers
        rows = to_rows(symbols, is_train)[0]  # (M, K)
        vectors, backprop_sums = sum_rows(table, rows, None, ends, mean)

    def backprop(d_vectors: Floats2d) -> Ragged:
        backprop_sums(d_vectors)
        return Ragged(model.ops.alloc1i(len(symbols)), X.lengths)  # integers have no gradient

    return vectors, backprop


def init_bags(model: BagLayer, X: Optional[Ragged] = None, Y: Optional[Floats2d] = None) -> None:
    """Initialize the layer with the symbols."""
    model.layers[0].initialize(X=None if X is None else X.dataXd)
