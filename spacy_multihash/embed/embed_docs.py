"""The embedding of docs, built from the layers of their attributes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Optional, Union, cast, get_args

import numpy
from spacy.attrs import ORTH
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Dropout, Model, chain, concatenate, ragged2list, with_array
from thinc.layers.dropout import forward as thinc_dropout
from thinc.types import Floats2d, Ragged

from ..common.checks import MAX_SIZE, check_choice, check_flag, check_whole, setting_error
from ..common.nodes import Pinned, bound
from ..common.registered import META_VECTORS
from ..common.types import AttrLayer, DocLike, DocsLayer
from ..compute.maxout_norm import MAX_PIECES, MaxoutNorm
from .bags import Reduce, embed_bags, embed_columns
from .embed_at_once import forward as embed_at_once
from .embed_at_once import forward_columns
from .features import attr_id, parse_feature
from .multi_embed import multi_embed
from .read_vectors import NAME as READ_VECTORS
from .read_vectors import key_attrs_in, keys_of
from .unique_tokens import Column, UniqueTokens
from .vector_tables import VOCAB
from .with_token_types import VectorAttrs, with_token_types

FLORET = "floret"  # the mode of spaCy's tables of n-grams


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
    pinned (Mapping[str, list]): The settings that decide the rows of symbols, by their names in the
        config, each with one value per attribute. "attrs" holds the names of the attributes and
        features. The root keeps the settings, and raises an error for weights trained with other
        settings.
    dropout (float): Initial dropout rate of the resulting vectors; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the layer that mixes.

    The other settings are those of `build_multi_hash_embed_v1`.

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
    symbol_layers: list[Model] = [
        embed_bags(layer, reduce=reduce) if is_bag else layer
        for layer, is_bag in zip(layers, with_bags, strict=True)
    ]
    tables = multi_embed(*symbol_layers, dropout=0.0 if table_dropout else None)
    embed = embed_columns(tables, columns, with_bags)
    pinned = {
        **pinned,
        **_pinned_bags(with_bags, reduce=reduce, count_repeats=count_repeats),
        **_pinned_vectors(vectors),
    }
    vector_attrs: Optional[VectorAttrs] = None
    if vectors is not None:
        vector_attrs = partial(key_attrs_in, keys=keys_of(vectors))
    if include_static_vectors:
        static = require_vectors(cast(DocsLayer, StaticVectors(width, dropout=0.0)))
        vectors = cast(Model[list[Doc], Ragged], static)
        vector_attrs = static_attrs
    if vectors is not None:
        embed = concatenate(embed, cast(DocsLayer, vectors))
    # Concatenated rows are as wide as their tables, which are read at initialization.
    mixed: list[Model] = [*symbol_layers, *([] if vectors is None else [vectors])]
    has_width = all(layer.has_dim("nO") for layer in mixed)
    nI = sum(layer.get_dim("nO") for layer in mixed) if has_width else None
    mixed_columns = chain(embed, with_array(MaxoutNorm(width, nI, nP=maxout_pieces)))
    if vectors is None:
        settings = (tuple(columns), tuple(with_bags))
        mixed_columns._func = bound(forward_columns, *settings, mixed_columns._func)
    drop: Model[Ragged, Ragged] = Dropout(dropout)
    drop._func = forward_dropout
    model = chain(
        with_token_types(
            cast(DocsLayer, mixed_columns),
            width,
            attrs=[column for column in columns if isinstance(column, int)],
            features=[feature for feature in features if feature is not None],
            vector_attrs=vector_attrs,
            names=names,
        ),
        drop,
        ragged2list(),
    )
    model.name = name
    model._func = bound(embed_at_once, model._func)
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
            "include_static_vectors = false. To have those of the vocab as well, name a table "
            f"{VOCAB} = null among the tables of vectors."
        )


def _pinned_vectors(vectors: Optional[Model]) -> dict[str, list]:
    """Name the settings of MetaVectors, if there are any."""
    if vectors is None:
        return {}
    return {
        "vectors": vectors.attrs["tables"].value,
        "vectors_mode": [vectors.layers[0].attrs["mode"].value],
        "vectors_key_attrs": vectors.attrs["key_attrs"].value,
    }


def _pinned_bags(with_bags: list[bool], **settings: Union[str, bool]) -> dict[str, list]:
    """Name the settings of features with several symbols, if there are any."""
    if not any(with_bags):
        return {}
    return {
        name: [value if is_bag else None for is_bag in with_bags]
        for name, value in settings.items()
    }


# Static vectors, and dropout


def static_attrs(vocab: Vocab) -> list[int]:
    """List the attribute by which the vocab's own table finds vectors."""
    return [getattr(vocab.vectors, "attr", ORTH)]


def require_vectors(static_vectors: DocsLayer) -> DocsLayer:
    """Make spaCy's StaticVectors layer raise an error if there are no vectors to read.

    Without this check, initializing without vectors would set the vector width to 0, and
    initializing with vectors would fail later. Unknown symbols get zeros from floret tables too.
    Returns the layer itself, with its `init` and its forward function replaced.

    Raises ValueError at initialization and in each call if the vocab of the docs has no vectors.
    """
    static_vectors.init = partial(init_vectors, static_vectors.init)
    static_vectors._func = bound(forward_vectors, static_vectors._func)
    return static_vectors


def forward_vectors(
    embed_vectors: Callable,
    model: Model[list[DocLike], Ragged],
    docs: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Embed the vectors, with zeros for symbols whose string isn't in the vocab.

    A floret table would look up the string and raise KeyError. Only predictions see them.
    """
    if not docs:
        return embed_vectors(model, docs, is_train)
    vocab = docs[0].vocab
    if not vocab.vectors.shape[1]:
        raise ValueError(
            "The model reads static vectors, but the vocab of the docs has none. Load the pipeline "
            "with its vectors, source the component into a pipeline that has them, and make docs "
            "by the pipeline's own nlp.make_doc."
        )
    if getattr(vocab.vectors, "mode", None) != FLORET:
        return embed_vectors(model, docs, is_train)
    if vocab.vectors.strings is not vocab.strings:  # in a copy, or in another process
        vocab.vectors.strings = vocab.strings
    if is_train:
        return embed_vectors(model, docs, is_train)
    attr = vocab.vectors.attr
    ids = numpy.concatenate([doc.to_array(attr) for doc in docs])
    unknown = numpy.array([id not in vocab.strings for id in ids.tolist()], dtype=bool)
    if not unknown.any():
        return embed_vectors(model, docs, is_train)
    ids[unknown] = 0
    vectors, backprop = embed_vectors(model, [UniqueTokens(ids[:, None], [attr], vocab)], is_train)
    vectors.data[model.ops.xp.asarray(unknown)] = 0
    return Ragged(vectors.data, model.ops.asarray1i([len(doc) for doc in docs])), backprop


def init_vectors(
    init: Callable,
    model: Model[list[DocLike], Ragged],
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Check the vectors, then initialize."""
    if X and not X[0].vocab.vectors.shape[1]:
        raise ValueError(
            "Static vectors were asked for (include_static_vectors = true), but the vocab has "
            "none. Name a pipeline or folder with vectors in [initialize] vectors, "
            "or set include_static_vectors = false."
        )
    init(model, X, Y)


def forward_dropout(
    model: Model[Ragged, Ragged], X: Ragged, is_train: bool
) -> tuple[Ragged, Callable]:
    """Apply thinc's dropout, but keep the width of a Ragged without rows."""
    if not len(X.dataXd):
        return X, lambda dY: dY
    return thinc_dropout(model, X, is_train)
