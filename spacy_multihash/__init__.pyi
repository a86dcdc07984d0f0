"""The public names, for type checkers. See __init__.py."""

from .common.result import Result as Result
from .compute.hashing import default_seeds as default_seeds
from .compute.hashing import spacy_seeds as spacy_seeds
from .compute.threads import set_threads as set_threads
from .corpus.convert import Converted as Converted
from .corpus.convert import convert as convert
from .corpus.evaluation import Evaluation as Evaluation
from .corpus.evaluation import KnownEntities as KnownEntities
from .corpus.evaluation import Matching as Matching
from .corpus.evaluation import Scores as Scores
from .corpus.evaluation import evaluate as evaluate
from .corpus.evaluation import evaluate_entities as evaluate_entities
from .corpus.evaluation import keep_entities as keep_entities
from .corpus.evaluation import known_entities as known_entities
from .corpus.evaluation import masked_parts as masked_parts
from .corpus.sources import Reading as Reading
from .corpus.statistics import CorpusStats as CorpusStats
from .corpus.statistics import corpus_stats as corpus_stats
from .corpus.symbols import count_symbols as count_symbols
from .embed.architectures import build_meta_vectors_v1 as build_meta_vectors_v1
from .embed.architectures import build_multi_embed_v1 as build_multi_embed_v1
from .embed.architectures import build_multi_hash_embed_v1 as build_multi_hash_embed_v1
from .embed.architectures import (
    build_multi_weighted_hash_embed_v1 as build_multi_weighted_hash_embed_v1,
)
from .encode.architectures import (
    build_iterated_dilated_encoder_v1 as build_iterated_dilated_encoder_v1,
)
from .encode.architectures import (
    build_maxout_window_encoder_v1 as build_maxout_window_encoder_v1,
)
from .encode.iterated_dilated_encoder import effective_input_width as effective_input_width
from .inspection.effects import Effects as Effects
from .inspection.effects import explain_corpus as explain_corpus
from .inspection.errors import Errors as Errors
from .inspection.errors import errors as errors
from .inspection.explain import Explanations as Explanations
from .inspection.explain import explain as explain
from .inspection.show import Shown as Shown
from .inspection.show import show as show
from .inspection.tables import InspectedTables as InspectedTables
from .inspection.tables import inspect_tables as inspect_tables
from .inspection.tables import model_size as model_size
from .ner.calibration import Calibration as Calibration
from .ner.calibration import calibrate as calibrate
from .ner.estimate import Estimate as Estimate
from .ner.estimate import estimate as estimate
from .ner.estimate import next_texts as next_texts
from .ner.tagger.architectures import build_token_tagger_v1 as build_token_tagger_v1
from .ner.tagger.component import EntityTagger as EntityTagger
from .ner.transition.component import BatchEntityRecognizer as BatchEntityRecognizer
from .parse.component import BatchDependencyParser as BatchDependencyParser
from .pipelines.accelerate import Acceleration as Acceleration
from .pipelines.accelerate import accelerate as accelerate
from .pipelines.attribute_ruler import IndexedAttributeRuler as IndexedAttributeRuler
from .pipelines.compress import Compressed as Compressed
from .pipelines.compress import compress as compress
from .pipelines.restore import Restored as Restored
from .pipelines.restore import restore as restore
from .pipelines.weights import embed_from_spacy as embed_from_spacy
from .pipelines.weights import embed_to_spacy as embed_to_spacy
from .pipelines.weights import encoder_from_spacy as encoder_from_spacy
from .pipelines.weights import encoder_to_spacy as encoder_to_spacy
from .scale.apply import Applied as Applied
from .scale.apply import apply as apply
from .tables.find import find_tables as find_tables
from .tables.find import find_weighted as find_weighted
from .tables.init import InitializedTables as InitializedTables
from .tables.init import init_tables as init_tables
from .tables.set_tables import set_tables as set_tables
from .tables.tables import Table as Table
from .tables.tables import Tables as Tables
from .tables.tables import cut_tables as cut_tables
from .tables.tables import make_tables as make_tables
from .tables.tables import merge_tables as merge_tables
from .tables.tables import read_tables as read_tables
from .tables.tables import write_tables as write_tables
from .tables.vectors import WrittenVectors as WrittenVectors
from .tables.vectors import align_vectors as align_vectors
from .tables.vectors import merge_vectors as merge_vectors
from .tables.vectors import prune_vectors as prune_vectors
from .tables.vectors import reduce_vectors as reduce_vectors
from .textcat.architectures import build_textcat_hash_embed_v1 as build_textcat_hash_embed_v1
from .training.fit import Fitted as Fitted
from .training.fit import fit as fit
from .training.options import Options as Options
from .training.settings import InitConfig as InitConfig
from .training.settings import init_config as init_config

__version__: str
