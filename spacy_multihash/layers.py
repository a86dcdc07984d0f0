"""The public layers, under the import name that the docs promise."""

from .common.nodes import Pinned
from .compute.hashing import (
    default_seed,
    default_seeds,
    importance_seed,
    spacy_seeds,
)
from .compute.maxout_norm import MaxoutNorm
from .compute.ops import distinct_rows
from .embed.embeddings import TableEmbed, multi_embed, unit_importance, weighted_embed
from .embed.rows import MAX_ROWS, UNKNOWN_ROW, Symbols, hash_rows, lookup_rows
from .embed.static_vectors import require_vectors
from .embed.unique_tokens import with_unique_tokens
from .encode.iterated_dilated_encoder import (
    IteratedDilatedEncoder,
    begin_passes,
    effective_input_width,
)
from .encode.maxout_window_encoder import MaxoutWindowEncoder
from .ner.tagger.token_tagger import token_tagger
from .textcat.ngrams import extract_ngrams, ngram_name

__all__ = [
    "MAX_ROWS",
    "UNKNOWN_ROW",
    "IteratedDilatedEncoder",
    "MaxoutNorm",
    "MaxoutWindowEncoder",
    "Pinned",
    "Symbols",
    "TableEmbed",
    "begin_passes",
    "default_seed",
    "default_seeds",
    "distinct_rows",
    "effective_input_width",
    "extract_ngrams",
    "hash_rows",
    "importance_seed",
    "lookup_rows",
    "multi_embed",
    "ngram_name",
    "require_vectors",
    "spacy_seeds",
    "token_tagger",
    "unit_importance",
    "weighted_embed",
    "with_unique_tokens",
]
