"""The trained tables of an attribute that is looked up."""

from collections.abc import Mapping
from typing import Any, Optional

import numpy
from spacy.language import Language
from thinc.api import Model

from ..common.nodes import start_anew
from ..embed.find import EmbeddingTable, find_tables
from ..embed.symbols import Symbols
from ..embed.table_embed import table_of


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


def params_of(weights: Model) -> dict[str, Any]:
    """Map the names of a table's parameters to arrays (nV, nO): E, and log_sigma with ARD."""
    return {name: table_of(weights, name) for name in weights.param_names}


def replace_rows(
    lookup: Model,
    weights: Model,
    symbols: Symbols,
    params: Mapping[str, Any],
    counts: Optional[numpy.ndarray],
) -> None:
    """Give a lookup other symbols, and its table the rows of these symbols.

    symbols (Symbols): V symbols.
    params (Mapping[str, Any]): All parameters of the table by name, each (V + 1, nO) float32 on the
        table's device. Row 0 is of unknown symbols.
    counts (Optional[numpy.ndarray]): (V + 1,) float32, how often training met each symbol. None for
        a table without ARD.
    """
    lookup.attrs["symbols"] = symbols
    start_anew(weights)  # thinc keeps the size of what has weights
    weights.set_dim("nV", len(symbols) + 1, force=True)
    for name, param in params.items():
        weights.set_param(name, param)
    if counts is not None:
        weights.attrs["counts"] = counts
