"""The embedding of docs, built from the layers of their attributes."""

from collections.abc import Mapping
from typing import cast

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

from ..common.checks import MAX_SIZE, check_flag, check_whole
from ..common.pinned import Pinned
from ..common.types import AttrLayer, DocLike, DocsLayer
from ..compute.maxout_norm import MAX_PIECES, MaxoutNorm
from .attributes import attr_id
from .multi_embed import multi_embed
from .ragged_dropout import ragged_dropout
from .static_vectors import require_vectors
from .with_token_types import with_token_types


def embed_docs(
    name: str,
    layers: list[AttrLayer],
    width: int,
    include_static_vectors: bool,
    *,
    pinned: Mapping[str, list],
    table_dropout: bool = False,
    dropout: float = 0.0,
    maxout_pieces: int = 3,
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
        config, each with one value per attribute. "attrs" holds the names of the attributes. The
        root keeps the settings, so that it refuses weights that were trained with others.
    table_dropout (bool): Whether training also drops entries of each attribute's vectors, by one
        mask for all tokens of a batch.
    dropout (float): Initial dropout rate of the resulting vectors; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the layer that mixes.

    Raises ValueError for a width or a number of pieces that is out of range, and for an
    include_static_vectors or a table_dropout that is no bool.
    """
    where, advice = f"Embedding layer '{name}'", "Change it in the config. Recommended: 64 to 300."
    check_whole(where, "width", width, 1, MAX_SIZE, advice=advice)
    check_whole(where, "maxout_pieces", maxout_pieces, 1, MAX_PIECES)
    check_flag(where, "include_static_vectors", include_static_vectors)
    check_flag(where, "table_dropout", table_dropout)
    attrs = [attr_id(name) for name in pinned["attrs"]]
    extract = cast(Model[list[DocLike], list[Ints2d]], FeatureExtractor(attrs))
    to_ragged = cast(Model[list[Ints2d], Ragged], list2ragged())
    tables = multi_embed(*layers, dropout=0.0 if table_dropout else None)
    side_by_side: Model[Ragged, Ragged] = with_array(tables)  # type: ignore[misc]
    embed = chain(extract, to_ragged, side_by_side)
    if include_static_vectors:
        vectors = require_vectors(cast(DocsLayer, StaticVectors(width, dropout=0.0)))
        embed = concatenate(embed, vectors)
    nI = sum(layer.get_dim("nO") for layer in layers) + width * include_static_vectors
    mix = MaxoutNorm(width, nI, nP=maxout_pieces)
    model = chain(
        with_token_types(
            cast(DocsLayer, chain(embed, with_array(mix))),
            width,
            attrs=attrs,
            vector_attr=ORTH if include_static_vectors else None,
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
