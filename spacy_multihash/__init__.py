"""Multi hash, multi lookup and weighted hash embeddings for spaCy.

Configs find the architectures and callbacks through entry points, and need no import. The names
below are for code. They're imported at first use, so that importing the package is fast. Type
checkers read them from __init__.pyi. Frozen applications, such as PyInstaller's, may not have the
package's metadata, and so no entry points: there, importing the package registers everything.
"""

import sys
from importlib import import_module

__version__ = "1.1.0.dev0"

_NAMES = {
    "common.result": ["Result"],
    "compute.hashing": ["default_seeds", "spacy_seeds"],
    "compute.threads": ["set_threads"],
    "corpus.evaluation": [
        "Evaluation",
        "KnownEntities",
        "Matching",
        "Scores",
        "evaluate",
        "evaluate_entities",
        "keep_entities",
        "known_entities",
        "masked_parts",
    ],
    "corpus.convert": ["Converted", "convert"],
    "corpus.sources": ["Reading"],
    "corpus.statistics": ["CorpusStats", "corpus_stats"],
    "corpus.symbols": ["count_symbols"],
    "embed.architectures": [
        "build_meta_vectors_v1",
        "build_multi_embed_v1",
        "build_multi_hash_embed_v1",
        "build_multi_weighted_hash_embed_v1",
    ],
    "encode.architectures": ["build_iterated_dilated_encoder_v1", "build_maxout_window_encoder_v1"],
    "encode.iterated_dilated_encoder": ["effective_input_width"],
    "inspection.errors": ["Errors", "errors"],
    "inspection.effects": ["Effects", "explain_corpus"],
    "inspection.explain": ["Explanations", "explain"],
    "inspection.show": ["Shown", "show"],
    "inspection.tables": ["InspectedTables", "inspect_tables", "model_size"],
    "ner.calibration": ["Calibration", "calibrate"],
    "ner.estimate": ["Estimate", "estimate", "next_texts"],
    "ner.tagger.architectures": ["build_token_tagger_v1"],
    "ner.tagger.component": ["EntityTagger"],
    "ner.transition.component": ["BatchEntityRecognizer"],
    "parse.component": ["BatchDependencyParser"],
    "pipelines.accelerate": ["Acceleration", "accelerate"],
    "pipelines.compress": ["Compressed", "compress"],
    "pipelines.attribute_ruler": ["IndexedAttributeRuler"],
    "pipelines.restore": ["Restored", "restore"],
    "pipelines.weights": [
        "embed_from_spacy",
        "embed_to_spacy",
        "encoder_from_spacy",
        "encoder_to_spacy",
    ],
    "scale.apply": ["Applied", "apply"],
    "tables.find": ["find_tables", "find_weighted"],
    "tables.init": ["InitializedTables", "init_tables"],
    "tables.set_tables": ["set_tables"],
    "tables.tables": [
        "Table",
        "Tables",
        "cut_tables",
        "make_tables",
        "merge_tables",
        "read_tables",
        "write_tables",
    ],
    "textcat.architectures": ["build_textcat_hash_embed_v1"],
    "tables.vectors": [
        "WrittenVectors",
        "align_vectors",
        "merge_vectors",
        "prune_vectors",
        "reduce_vectors",
    ],
    "training.fit": ["Fitted", "fit"],
    "training.options": ["Options"],
    "training.settings": ["InitConfig", "init_config"],
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if getattr(sys, "frozen", False):
    from . import register  # noqa: F401
