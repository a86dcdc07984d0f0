"""The callback that gives a vocab tables of vectors."""

from pathlib import Path
from typing import Callable, Dict

from spacy.language import Language
from spacy.util import logger

from ..common.registered import LOAD_VECTORS
from .vector_tables import load_tables


def make_load_vectors_v1(tables: Dict[str, Path]) -> Callable[[Language], Language]:
    """Make a callback that reads tables of vectors into the vocab.

    MetaVectors reads the tables to which its config gives a path. The callback is for components
    that are not initialized: those from another pipeline, whose vocab has their tables.

    It is for [initialize.before_init], or for [initialize.after_init] in a config with
    [initialize.lookups]: after before_init, spaCy puts these in the place of the vocab's lookups.
    The callback raises ValueError as before_init of such a config.

    tables (Dict[str, Path]): The tables by their names in MetaVectors, each with a folder: that of
        a pipeline that keeps a table of this name, or of one with vectors.
    """

    def load_vectors(nlp: Language) -> Language:
        if _would_lose_tables(nlp):
            raise ValueError(
                f"{LOAD_VECTORS} must not be [initialize.before_init] of a config with "
                "[initialize.lookups]: these would replace the vocab's lookups, with the tables of "
                f"vectors {', '.join(sorted(tables))}. Make it [initialize.after_init], or give "
                "MetaVectors the path of each table."
            )
        load_tables(nlp.vocab, tables)
        logger.info("Read the tables of vectors %s", sorted(tables))
        return nlp

    return load_vectors


def _would_lose_tables(nlp: Language) -> bool:
    """Tell whether the callback is before_init of a config that replaces the vocab's lookups."""
    settings = nlp.config.interpolate()["initialize"]
    before, lookups = settings["before_init"], settings["lookups"]
    if not isinstance(before, dict) or before.get("@callbacks") != LOAD_VECTORS:
        return False
    # spaCy keeps the vocab's lookups if the others have no table.
    has_none = isinstance(lookups, dict) and lookups.get("tables") == []
    return bool(lookups) and not has_none
