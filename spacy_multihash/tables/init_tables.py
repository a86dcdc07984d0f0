"""The callback that gives MultiEmbed its tables."""

from pathlib import Path
from typing import Callable, List, Optional, Union

from spacy.language import Language
from spacy.util import logger

from ..corpus.training import training_docs
from ..embed.find import lookup_names
from .count import count_tables
from .file import read_tables
from .set_tables import find_multi_embed, keeps_tables, set_tables
from .tables import check_cut, cut_tables


def make_init_tables_v1(
    path: Optional[Path] = None,
    min_freq: int = 10,
    component: Union[str, List[str]] = "tok2vec",
    max_rows: Optional[int] = None,
) -> Callable[[Language], Language]:
    """Make the callback for [initialize.before_init] that sets the tables of MultiEmbed.

    The tables are counted from the training corpus, or read from a file. A component that will not
    be initialized (frozen, or sourced and trained further) keeps the tables that it has.

    path (Optional[Path]): File that `spacy multihash init-tables` wrote. Null counts the corpus.
    min_freq (int): A symbol gets a row if it occurs at least this often. Recommended values are
        between 1 and 10.
    component (Union[str, List[str]]): Name of the component that holds MultiEmbed, or of several.
    max_rows (Optional[int]): The most rows that a table may have, row 0 included. Null sets no
        limit.
    """
    check_cut(min_freq, max_rows)

    def init_tables(nlp: Language) -> Language:
        models = {name: find_multi_embed(nlp, name) for name in component_names(component)}
        models = {name: m for name, m in models.items() if not keeps_tables(nlp, name, m)}
        if not models:
            return nlp
        if path is None:
            logger.info("Counting the symbols of the training corpus for %s", list(models))
            tables = count_tables(list(models.values()), training_docs(nlp))
        else:
            tables = read_tables(path)
        tables = cut_tables(tables, min_freq=min_freq, max_rows=max_rows)
        for name, model in models.items():
            set_tables(model, tables)
            rows = {symbols: len(tables.tables[symbols]) + 1 for symbols in lookup_names(model)}
            logger.info("Set the tables of '%s', with rows: %s", name, rows)
        return nlp

    return init_tables


def component_names(component: Union[str, list[str]]) -> list[str]:
    """List the names that a setting gives: one, or several."""
    return [component] if isinstance(component, str) else component
