"""The embedding of docs, built from the layers of their attributes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Optional, cast, get_args

from spacy.ml.featureextractor import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from thinc.api import Model, Ops, chain, concatenate, list2ragged, to_numpy, with_array
from thinc.layers.chain import forward as forward_chain
from thinc.layers.dropout import forward as thinc_dropout
from thinc.types import Floats2d, Ragged

from ..common.checks import MAX_SIZE, check_choice, check_flag, check_whole, setting_error
from ..common.nodes import Pinned, bound, no_backprop
from ..common.registered import META_VECTORS
from ..common.types import AttrLayer, AttrsLayer, DocLike, DocsEncoder, DocsLayer, SymbolColumn
from ..compute.array_ops import ArrayOps, ColumnTable, Layer, split_docs
from ..compute.maxout_norm import MAX_PIECES, MaxoutNorm, parameters
from ..compute.maxout_norm import NAME as MAXOUT_NORM
from ..compute.ops import operations
from ..compute.plans import Plan, Reading
from .embeddings import Reduce, embed_bags, is_hashed, multi_embed, read_column
from .features import attr_id, parse_feature
from .static_vectors import READ_VECTORS, key_attrs_in, keys_of, require_vectors, static_attrs
from .unique_tokens import (
    WITH_TOKEN_TYPES,
    Column,
    Reads,
    UniqueTokens,
    VectorAttrs,
    as_rows,
    find_unique,
    with_unique_tokens,
)
from .vector_tables import VOCAB

EMBED_COLUMNS = "embed_columns"
DROPOUT, SPLIT = "dropout", "ragged2list"  # as thinc's


def embed_docs(
    name: str,
    layers: list[AttrLayer],
    width: int,
    include_static_vectors: bool,
    *,
    pinned: Mapping[str, list],
    table_dropout: bool = False,
    reduce: Reduce = "sum",
    count_repeats: bool = True,
    dropout: float = 0.0,
    maxout_pieces: int = 3,
    vectors: Optional[Model[list[Doc], Ragged]] = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Build an embedding of docs from the layers that embed their attributes.

    Each unique token of a batch is embedded once, and all equal tokens get the result. The vectors
    of its attributes, and any static vector, are concatenated and mixed to the final width.

    name (str): Name of the model, by which callbacks and users find it.
    layers (list[AttrLayer]): A layer per attribute, (U,) uint64 -> (U, nO) float32.
    pinned (Mapping[str, list]): The settings that decide the rows of values, by their names in the
        config, each with one value per attribute. "attrs" holds the names of the attributes and
        features. The root keeps the settings, and raises an error for weights trained with other
        settings.
    dropout (float): Initial dropout rate of the resulting vectors; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the layer that mixes.

    The other settings are the same as for `build_multi_hash_embed_v1`.

    Raises ValueError if a setting is out of range or has the wrong type, or if vectors isn't a
    MetaVectors block or is combined with include_static_vectors.
    """
    where, advice = f"Embedding layer '{name}'", "Change it in the config. Recommended: 64 to 300."
    check_whole(where, "width", width, 1, MAX_SIZE, advice=advice)
    check_whole(where, "maxout_pieces", maxout_pieces, 1, MAX_PIECES)
    check_flag(where, "include_static_vectors", include_static_vectors)
    check_flag(where, "table_dropout", table_dropout)
    check_choice(where, "reduce", reduce, get_args(Reduce))
    check_flag(where, "count_repeats", count_repeats)
    if vectors is not None:
        _check_vectors(where, vectors, include_static_vectors)
    names = pinned["attrs"]
    features = [parse_feature(attr, repeats=count_repeats) for attr in names]
    with_bags = [feature is not None and feature.has_bags for feature in features]
    columns: list[Column] = [
        attr_id(attr) if feature is None else attr
        for attr, feature in zip(names, features, strict=True)
    ]
    of_columns: list[Model] = [
        embed_bags(layer, reduce=reduce) if is_bag else layer
        for layer, is_bag in zip(layers, with_bags, strict=True)
    ]
    if any(with_bags):
        of_bags = {"reduce": reduce, "count_repeats": count_repeats}.items()
        settings = {name: [value if bag else None for bag in with_bags] for name, value in of_bags}
        pinned = {**pinned, **settings}
    vector_attrs: Optional[VectorAttrs] = None
    if vectors is not None:
        vector_attrs = partial(key_attrs_in, keys=keys_of(vectors))
        pinned = {
            **pinned,
            "vectors": vectors.attrs["tables"].value,
            "vectors_mode": [vectors.layers[0].attrs["mode"].value],
            "vectors_key_attrs": vectors.attrs["key_attrs"].value,
        }
    if include_static_vectors:
        static = require_vectors(cast(DocsLayer, StaticVectors(width, dropout=0.0)))
        vectors, vector_attrs = cast(Model[list[Doc], Ragged], static), static_attrs
    tables = multi_embed(*of_columns, dropout=0.0 if table_dropout else None)
    embed = extract_columns(tables, columns, any(with_bags))
    if vectors is not None:
        embed = concatenate(embed, cast(DocsLayer, vectors))
        of_columns.append(vectors)
    # Concatenated rows are as wide as their tables, which are read at initialization.
    widths = [layer.maybe_get_dim("nO") for layer in of_columns]
    nI = None if None in widths else sum(cast(list[int], widths))
    mix = MaxoutNorm(width, nI, nP=maxout_pieces)
    reads = Reads(
        [column for column in columns if isinstance(column, int)],
        {feature.name: feature for feature in features if feature is not None},
        vector_attrs,
    )
    unique = with_unique_tokens(
        cast(DocsLayer, chain(embed, with_array(mix))),
        width,
        attrs=reads.attrs,
        features=[*reads.features.values()],
        vector_attrs=vector_attrs,
        names=names,
    )
    # Hashing is faster than looking for equal tokens in Python: the call does both.
    is_direct = vectors is None and not reads.features and all(map(is_hashed, layers))
    in_context: Model = chain(unique, dropout_tokens(dropout), split_by_doc())
    model = predict_fused(in_context, columns, None if is_direct else reads)
    model.name = name
    # The root is loaded first: it rejects weights of other settings before any node loads them.
    for setting, values in pinned.items():
        model.attrs[setting] = Pinned(list(values))
    model.set_dim("nO", width)
    return cast(Model[list[Doc], list[Floats2d]], model)


def _check_vectors(where: str, vectors: Model, include_static_vectors: bool) -> None:
    if getattr(vectors, "name", None) != READ_VECTORS:
        raise setting_error(where, "vectors", f"a block of {META_VECTORS}, or null", vectors)
    if include_static_vectors:
        raise ValueError(
            f"{where}: vectors and include_static_vectors = true both embed static vectors. Set "
            "include_static_vectors = false. To use the vocab's own as well, name a table "
            f"{VOCAB} = null among the tables of vectors."
        )


# Columns of unique tokens


def extract_columns(layer: AttrsLayer, columns: Sequence[Column], has_bags: bool) -> DocsLayer:
    """Read the columns of unique tokens, and embed them.

    Columns with a single value per token are (U,) uint64. The others are Ragged: (M,) uint64 with
    lengths (U,) int32.

    unique tokens, U of them -> vectors (U, nO) float32, with the length U.

    layer (AttrsLayer): Takes the list of columns, or ids (U, A) without bags, and gives (U, nO).
    columns (Sequence[Column]): Ids of attributes, and names of features.
    has_bags (bool): Whether a token may have several values in a column.
    """
    if not has_bags:
        extract: Model = FeatureExtractor(list(columns))
        embed: Model = with_array(cast(Model, layer))
        return chain(extract, list2ragged(), embed)
    settings = tuple(columns)
    return Model(
        EMBED_COLUMNS, bound(forward, settings), init=partial(init, settings), layers=[layer]
    )


def forward(
    columns: Sequence[Column], model: DocsLayer, unique: list[DocLike], is_train: bool
) -> tuple[Ragged, Callable]:
    """Read all columns, and embed them."""
    (tokens,) = unique
    vectors, backprop_vectors = model.layers[0](read_symbols(columns, model.ops, tokens), is_train)

    def backprop(d_vectors: Ragged) -> list[DocLike]:
        backprop_vectors(d_vectors.dataXd)
        return []

    return Ragged(vectors, model.ops.asarray1i([len(tokens)])), backprop


def init(
    columns: Sequence[Column],
    model: DocsLayer,
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Initialize the layer with the columns of the sample."""
    model.layers[0].initialize(X=read_symbols(columns, model.ops, X[0]) if X else None)


def read_symbols(columns: Sequence[Column], ops: Ops, tokens: DocLike) -> list[SymbolColumn]:
    """Read the values of unique tokens, column by column."""
    singles, bags = cast(UniqueTokens, tokens).symbols(columns)
    to_device: Any = ops.asarray
    each_single, each_bag = iter(singles.T), iter(bags)
    return [
        Ragged(*map(to_device, next(each_bag)))
        if cast(UniqueTokens, tokens).is_bag(column)
        else to_device(next(each_single))
        for column in columns
    ]


# Prediction in one call


def predict_fused(layers: Model, columns: Sequence[Column], reads: Optional[Reads]) -> Model:
    """Compute the layers of an embedding in one call, in prediction by compiled kernels.

    docs -> vectors [(len(doc), nO) float32].

    layers (Model): The chain of `with_unique_tokens` and the layers after it.
    columns: As in `extract_columns`.
    reads (Reads or None): What `with_unique_tokens` reads, to find unique tokens. None if all
        columns are attributes that the call hashes.
    """
    dims = {name: layers.maybe_get_dim(name) for name in layers.dim_names}
    forward = bound(forward_fused, Plan(), tuple(columns), reads)
    return Model(layers.name, forward, init=layers.init, layers=layers.layers, dims=dims)


def forward_fused(
    plan: Plan,
    columns: Sequence[Column],
    reads: Optional[Reads],
    model: DocsEncoder,
    docs: list[DocLike],
    is_train: bool,
) -> tuple[list[Floats2d], Callable]:
    """Read the symbols of all tokens, and embed and mix them."""
    ops, lengths = operations(model.ops), [*map(len, docs)]
    layers = None if is_train or not any(lengths) else plan.of(model, ops, _read_layers)
    if layers is None:
        return forward_chain(model, docs, is_train)
    mixer, static = layers
    if reads is None:
        Y = ops.mix(as_rows(docs, columns), mixer)
    else:
        tokens, unique_of = find_unique(docs, reads.attrs_in(docs[0].vocab), reads.features)
        ids, bags = tokens.symbols(columns)
        ends = [(symbols, counts.cumsum(dtype="int64")) for symbols, counts in bags]
        Y = ops.mix(ids, mixer, ends, None if static is None else static.predict([tokens]).dataXd)
        if len(Y) < len(unique_of):
            Y = Y[unique_of]
    return split_docs(Y, lengths), no_backprop(model.name)


def _read_layers(
    ops: ArrayOps, reading: Reading, model: Model
) -> Optional[tuple[Any, Optional[Model]]]:
    """Read the tables and the layer that mixes them, and that of static vectors, if any.

    None without kernels, or if the layers are others than built.
    """
    unique, *others = reading.layers(model)
    names = [unique.name, *(layer.name for layer in others)]
    if not ops.is_compiled or names != [WITH_TOKEN_TYPES, DROPOUT, SPLIT]:
        return None
    (mixed_columns,) = reading.layers(unique)
    embed, mixed = reading.layers(mixed_columns)
    (mix,) = reading.layers(mixed)
    static = None
    if len(reading.layers(embed)) == 2:  # concatenated
        embed, static = reading.layers(embed)
    (columns,) = reading.layers(embed if embed.name == EMBED_COLUMNS else reading.layers(embed)[-1])
    tables = [read_column(layer, ops, reading).table for layer in reading.layers(columns)]
    if None in tables or mix.name != MAXOUT_NORM:
        return None
    layer = Layer(*parameters(mix, reading.param), name=mix.name)
    return ops.mixer(cast(list[ColumnTable], tables), layer), static


# Dropout, and docs


def dropout_tokens(rate: float) -> Model[Ragged, Ragged]:
    """Apply thinc's dropout, but keep the width of a Ragged without rows."""
    return Model(DROPOUT, forward_dropout, attrs={"dropout_rate": rate, "is_enabled": True})


def forward_dropout(
    model: Model[Ragged, Ragged], X: Ragged, is_train: bool
) -> tuple[Ragged, Callable]:
    """Drop entries in training."""
    if not is_train or not len(X.dataXd):
        return X, lambda dY: dY
    return thinc_dropout(model, X, is_train)


def split_by_doc() -> Model[Ragged, list[Floats2d]]:
    """Split the vectors of all tokens by doc, as thinc's ragged2list does, without its copies."""
    return Model(SPLIT, forward_split)


def forward_split(
    model: Model[Ragged, list[Floats2d]], X: Ragged, is_train: bool
) -> tuple[list[Floats2d], Callable]:
    """Split the vectors; backward, join their gradients."""
    lengths = to_numpy(X.lengths).tolist()
    return split_docs(X.dataXd, lengths), lambda dYs: Ragged(model.ops.flatten(dYs), X.lengths)
