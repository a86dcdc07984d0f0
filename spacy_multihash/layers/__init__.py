"""The layers, one a file. They know thinc and numpy, and nothing of spaCy."""

from .hash_rows import default_seeds, hash_rows, spacy_seeds
from .lookup_rows import lookup_rows
from .maxout_norm import MaxoutNorm
from .maxout_window_encoder import MaxoutWindowEncoder
from .multi_embed import multi_embed
from .pinned import Pinned
from .static_vectors import require_vectors
from .symbols import Symbols
from .table_embed import TableEmbed
from .with_token_types import with_token_types

__all__ = [
    "MaxoutNorm",
    "MaxoutWindowEncoder",
    "Pinned",
    "Symbols",
    "TableEmbed",
    "default_seeds",
    "hash_rows",
    "lookup_rows",
    "multi_embed",
    "require_vectors",
    "spacy_seeds",
    "with_token_types",
]
