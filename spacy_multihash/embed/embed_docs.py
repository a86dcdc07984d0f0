"""The embedding of docs, built from the layers of their attributes."""

from collections.abc import Mapping
from typing import NamedTuple, Optional, cast

from spacy.attrs import ORTH
from spacy.ml.featureextractor import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from thinc.api import (
    Model,
    chain,
    concatenate,
    list2ragged,
    ragged2list,
    with_array,
)
from thinc.types import Floats2d, Ints2d, Ragged

from ..common.checks import MAX_SIZE, check_flag, check_whole, setting_error
from ..common.features import Feature, parse_feature
from ..common.pinned import Pinned
from ..common.registered import META_VECTORS
from ..common.types import AttrLayer, DocLike, DocsLayer
from ..compute.maxout_norm import MAX_PIECES, MaxoutNorm
from .attributes import attr_id
from .bags import Bags, embed_bags
from .embed_columns import embed_columns
from .feature_symbols import derived
from .multi_embed import multi_embed
from .ragged_dropout import ragged_dropout
from .read_vectors import NAME as READ_VECTORS
from .read_vectors import TableKeys, keys_of
from .static_vectors import require_vectors
from .token_types import Column
from .vector_tables import VOCAB
from .with_token_types import with_token_types


def embed_docs(
    name: str,
    layers: list[AttrLayer],
    width: int,
    include_static_vectors: bool,
    *,
    pinned: Mapping[str, list],
    table_dropout: bool = False,
    bags: Bags = Bags(),  # noqa: B008 (it is frozen)
    dropout: float = 0.0,
    maxout_pieces: int = 3,
    vectors: Optional[Model[list[Doc], Ragged]] = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Build an embedding of docs from the layers that embed their attributes.

    Each distinct token of a batch is embedded once. The vectors of its attributes, and its static
    vector if there is one, stand side by side and are mixed to the final width. All tokens that
    are equal to it get the result.

    name (str): Name of the model, by which callbacks and users find it.
    layers (list[AttrLayer]): A layer per attribute, (U,) uint64 -> (U, nO) float32.
    width (int): Width of the resulting vectors, and of the static ones.
    include_static_vectors (bool): Whether to embed the static vectors of the vocab as well.
    pinned (Mapping[str, list]): The settings that decide the rows of symbols, by their names in the
        config, each with one value per attribute. "attrs" holds the names of the attributes and
        features. The root keeps the settings, so that it refuses weights that were trained with
        others.
    table_dropout (bool): Whether training also drops entries of each attribute's vectors, by one
        mask for all tokens of a batch.
    bags (Bags): What is done with several symbols of a token.
    dropout (float): Initial dropout rate of the resulting vectors; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the layer that mixes.
    vectors (Optional[Model[list[Doc], Ragged]]): A `read_vectors`: several tables of vectors in the
        place of the vocab's.

    Raises ValueError for a width or a number of pieces that is out of range, and for an
    include_static_vectors or a table_dropout that is no bool, and for vectors that are no
    MetaVectors, or are asked for beside static ones.
    """
    where, advice = f"Embedding layer '{name}'", "Change it in the config. Recommended: 64 to 300."
    check_whole(where, "width", width, 1, MAX_SIZE, advice=advice)
    check_whole(where, "maxout_pieces", maxout_pieces, 1, MAX_PIECES)
    check_flag(where, "include_static_vectors", include_static_vectors)
    check_flag(where, "table_dropout", table_dropout)
    keys = None if vectors is None else _check_vectors(where, vectors, include_static_vectors)
    read = _read_attrs(pinned["attrs"], bags)
    pinned = {**pinned, **_pinned_bags(bags, read.with_bags), **_pinned_vectors(vectors)}
    if include_static_vectors:
        static = require_vectors(cast(DocsLayer, StaticVectors(width, dropout=0.0)))
        vectors = cast(Model[list[Doc], Ragged], static)
    parts = _sum_bags(layers, read, bags)
    rate = 0.0 if table_dropout else None
    embed = _embed_attrs(parts, read, rate)
    if vectors is not None:
        embed = concatenate(embed, cast(DocsLayer, vectors))
        parts = [*parts, vectors]
    # The width of rows side by side is that of their tables, which are read at initialization.
    is_known = all(part.has_dim("nO") for part in parts)
    nI = sum(part.get_dim("nO") for part in parts) if is_known else None
    mix = MaxoutNorm(width, nI, nP=maxout_pieces)
    model = chain(
        with_token_types(
            cast(DocsLayer, chain(embed, with_array(mix))),
            width,
            attrs=[column for column in read.columns if isinstance(column, int)],
            derived=[derived(feature) for feature in read.features if feature is not None],
            vector_attr=ORTH if include_static_vectors else None,
            vector_attrs=None if keys is None else keys.attrs_in,
            names=read.names,
        ),
        ragged_dropout(dropout),
        ragged2list(),
    )
    model.name = name
    # The root is loaded first: it refuses weights of other settings before any node has taken them.
    for setting, values in pinned.items():
        model.attrs[setting] = Pinned(list(values))
    model.set_dim("nO", width)
    return cast(Model[list[Doc], list[Floats2d]], model)


class _Read(NamedTuple):
    """What is read of each token, one entry per attribute.

    names (list[str]): The names of attributes and features.
    features (list[Optional[Feature]]): The features, None for attributes.
    columns (list[Column]): The ids of attributes, and the names of features.
    with_bags (list[bool]): Whether a token may have several symbols.
    """

    names: list[str]
    features: list[Optional[Feature]]
    columns: list[Column]
    with_bags: list[bool]


def _read_attrs(names: list[str], bags: Bags) -> _Read:
    features = [parse_feature(name, repeats=bags.repeats) for name in names]
    columns: list[Column] = [
        attr_id(name) if feature is None else feature.name
        for name, feature in zip(names, features, strict=True)
    ]
    return _Read(names, features, columns, [bool(each and each.has_bags) for each in features])


def _sum_bags(layers: list[AttrLayer], read: _Read, bags: Bags) -> list[Model]:
    """Let the layers of features with several symbols take bags of them."""
    return [
        embed_bags(layer, reduce=bags.reduce) if is_bag else layer
        for layer, is_bag in zip(layers, read.with_bags, strict=True)
    ]


def _embed_attrs(layers: list[Model], read: _Read, rate: Optional[float]) -> DocsLayer:
    """Embed the symbols of docs: attributes, features, and bags where there are any.

    The nodes are a file format: models without bags keep those that they had before there were any.
    """
    if any(read.with_bags):
        return embed_columns(multi_embed(*layers, dropout=rate), read.columns, read.with_bags)
    extract = cast(Model[list[DocLike], list[Ints2d]], FeatureExtractor(read.columns))
    to_ragged = cast(Model[list[Ints2d], Ragged], list2ragged())
    tables = multi_embed(*layers, dropout=rate)
    side_by_side: Model[Ragged, Ragged] = with_array(tables)  # type: ignore[misc]
    return chain(extract, to_ragged, side_by_side)


def _check_vectors(where: str, vectors: Model, include_static_vectors: bool) -> TableKeys:
    """Check the layer of several tables, and give the keys of its tables."""
    if getattr(vectors, "name", None) != READ_VECTORS:
        raise setting_error(where, "vectors", f"a block of {META_VECTORS}, or null", vectors)
    if include_static_vectors:
        raise ValueError(
            f"{where}: vectors and include_static_vectors = true both embed static vectors. Set "
            "include_static_vectors = false. To have those of the vocab as well, name a table "
            f"{VOCAB} = null among the tables of vectors."
        )
    return keys_of(vectors)


def _pinned_vectors(vectors: Optional[Model]) -> dict[str, list]:
    """Name the settings of several tables: nothing for other embeddings."""
    if vectors is None or vectors.name != READ_VECTORS:
        return {}
    return {
        "vectors": vectors.attrs["tables"].value,
        "vectors_mode": [vectors.layers[0].attrs["mode"].value],
        "vectors_key_attrs": vectors.attrs["key_attrs"].value,
    }


def _pinned_bags(bags: Bags, with_bags: list[bool]) -> dict[str, list]:
    """Name the settings of features with several symbols: nothing for models without any."""
    if not any(with_bags):
        return {}
    settings = {"reduce": bags.reduce, "count_repeats": bags.repeats}
    return {
        name: [value if is_bag else None for is_bag in with_bags]
        for name, value in settings.items()
    }
