"""The layers, one a file. They know thinc and numpy, and nothing of spaCy."""

from ..common.pinned import Pinned
from ..compute.hashing import default_seed, default_seeds, importance_seed, spacy_seeds
from ..compute.maxout_norm import MaxoutNorm
from .dilated_layout import effective_input_width
from .extract_ngrams import extract_ngrams, ngram_name
from .hash_rows import MAX_ROWS, hash_rows
from .iterated_dilated_encoder import IteratedDilatedEncoder, begin_passes
from .known_ngrams import known_ngrams
from .lookup_rows import lookup_rows
from .maxout_window_encoder import MaxoutWindowEncoder
from .multi_embed import multi_embed
from .random_run import random_run
from .reduce_ngrams import reduce_ngrams
from .soft_vote import soft_vote
from .static_vectors import require_vectors
from .symbols import UNKNOWN_ROW, Symbols
from .table_embed import TableEmbed
from .token_tagger import token_tagger
from .unit_importance import unit_importance
from .weighted_embed import weighted_embed
from .weighted_table_embed import Aggregate, WeightedTableEmbed, output_width
from .with_token_types import distinct_rows, with_token_types
from .word_dropout import drop_words

__all__ = [
    "MAX_ROWS",
    "UNKNOWN_ROW",
    "Aggregate",
    "IteratedDilatedEncoder",
    "MaxoutNorm",
    "MaxoutWindowEncoder",
    "Pinned",
    "Symbols",
    "TableEmbed",
    "WeightedTableEmbed",
    "begin_passes",
    "default_seed",
    "default_seeds",
    "distinct_rows",
    "drop_words",
    "effective_input_width",
    "extract_ngrams",
    "hash_rows",
    "importance_seed",
    "known_ngrams",
    "lookup_rows",
    "multi_embed",
    "ngram_name",
    "output_width",
    "random_run",
    "reduce_ngrams",
    "require_vectors",
    "soft_vote",
    "spacy_seeds",
    "token_tagger",
    "unit_importance",
    "weighted_embed",
    "with_token_types",
]
