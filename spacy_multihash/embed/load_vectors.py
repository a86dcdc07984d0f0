"""The callback that gives a vocab tables of vectors."""

from pathlib import Path
from typing import Callable, Dict

from spacy.language import Language
from spacy.util import logger

from .vector_tables import load_tables


def make_load_vectors_v1(tables: Dict[str, Path]) -> Callable[[Language], Language]:
    """Make a callback that reads tables of vectors into the vocab.

    MetaVectors reads the tables to which its config gives a path. The callback is for components
    that are not initialized: those from another pipeline, whose vocab has their tables.

    tables (Dict[str, Path]): The tables by their names in MetaVectors, each with a folder: that of
        a pipeline that keeps a table of this name, or of one with vectors.
    """

    def load_vectors(nlp: Language) -> Language:
        load_tables(nlp.vocab, tables)
        logger.info("Read the tables of vectors %s", sorted(tables))
        return nlp

    return load_vectors
