"""The trained tables of an attribute that is looked up."""

from typing import Optional

import numpy
from spacy.language import Language

from ..embed.find import EmbeddingTable, find_tables


def find_lookup_tables(
    nlp: Language, attr: str, component: Optional[str], where: str
) -> list[EmbeddingTable]:
    """Find the tables of an attribute that is looked up.

    component (Optional[str]): Name of the component. None is for all.
    where (str): The callback or command, for messages.

    Raises ValueError if there is none.
    """
    if component is not None and component not in nlp.component_names:
        raise ValueError(
            f"{where}: there is no component '{component}' in the pipeline. It has: "
            f"{', '.join(nlp.component_names) or '(none)'}."
        )
    tables = [table for table in find_tables(nlp) if component in (None, table.component)]
    fitting = [
        table
        for table in tables
        if table.attr == attr and not table.is_hashed and table.part == "vectors"
        if table.ngrams is None and table.feature is None
    ]
    if not fitting:
        kinds = [f"{t.name} ({'hashed' if t.is_hashed else 'looked up'})" for t in tables]
        raise ValueError(
            f"{where} needs a MultiEmbed with {attr}, whose rows are looked up and not hashed; "
            f"found: {', '.join(kinds) or 'no embedding'}. Name another attribute or component, or "
            "take spacy-multihash's MultiEmbed."
        )
    return fitting


def ordered_keys(table: EmbeddingTable) -> numpy.ndarray:
    """List the symbols (V,) uint64 of a table by their rows, which are 1 to V."""
    symbols = table.layer.attrs["symbols"]
    return symbols.keys[numpy.argsort(symbols.rows)]
