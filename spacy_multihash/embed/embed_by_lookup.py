"""MultiEmbed under any name, for the registered builders."""

from typing import Optional

from spacy.tokens import Doc
from thinc.api import Model, chain
from thinc.types import Floats2d, Ragged

from .attributes import Attrs, attr_names
from .bags import Bags
from .embed_docs import embed_docs
from .lookup_rows import lookup_rows
from .pinned_settings import pinned_lookup
from .table_embed import TableEmbed


def embed_by_lookup(
    name: str,
    attrs: Attrs,
    width: int,
    include_static_vectors: bool,
    *,
    unk_dropout: float = 0.0,
    table_dropout: bool = False,
    bags: Bags = Bags(),  # noqa: B008 (it is frozen)
    dropout: float = 0.0,
    maxout_pieces: int = 3,
    vectors: Optional[Model[list[Doc], Ragged]] = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Build MultiEmbed under any name, and with settings that only the report's configs have.

    The arguments are those of `build_multi_embed_v1` and of `embed_docs`.
    """
    names = attr_names(attrs)
    layers = [
        chain(lookup_rows(attr=attr, unk_dropout=unk_dropout), TableEmbed(width)) for attr in names
    ]
    return embed_docs(
        name,
        layers,
        width,
        include_static_vectors,
        pinned=pinned_lookup(names),
        table_dropout=table_dropout,
        bags=bags,
        dropout=dropout,
        maxout_pieces=maxout_pieces,
        vectors=vectors,
    )
