"""The names that the paper's own configs use, so that its Appendix C runs as printed.

The paper is Miranda et al. 2022, arXiv 2212.09255. Listings 2 and 3 of its Appendix C name two
architectures, and its code has the callback `set_attr`. New configs should use the names that begin
with spacy-multihash.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Callable, Dict, List, Literal, Optional

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from .common.checks import is_whole
from .common.registered import REPORT_MULTI_EMBED
from .compute.hashing import spacy_seeds
from .embed.architectures import build_multi_hash_embed_v1, lookup_columns
from .embed.embed_docs import embed_docs
from .embed.features import Attrs
from .tables.set_tables import find_multi_embed, keeps_tables, set_tables
from .tables.tables import Table, Tables, parse_tables, read_message

LAYER = "multiembed"


def build_report_multi_embed_v1(
    attrs: List[str],
    width: int,
    unk: int,
    *,
    tables: Optional[Dict[str, Dict[int, int]]] = None,
    include_static_vectors: bool = False,
    dropout: float = 0.0,
    maxout_pieces: int = 3,
) -> Model[List[Doc], List[Floats2d]]:
    """Build the paper's MultiEmbed of listing 2: spacy-multihash.MultiEmbed.v1 by an older name.

    attrs (List[str]): Attributes to embed.
    width (int): Width of the vectors and of all tables.
    unk (int): Row of unknown values. It must be 0, as in the paper.
    tables (Optional[Dict[str, Dict[int, int]]]): Row of each value of each attribute. Null leaves
        them to a callback, set_attr or spacy-multihash.init_tables.v1.
    include_static_vectors (bool): Whether to embed the vocab's static vectors as well.
    dropout (float): Initial dropout rate; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the mix.

    Raises ValueError if unk isn't 0, and like spacy-multihash.MultiEmbed.v1.
    """
    if not is_whole(unk, 0, 0):
        raise ValueError(
            f"{REPORT_MULTI_EMBED}: unk must be 0, got {unk!r}. Unknown values have row 0 here; "
            "which row it is makes no difference to the model. Set unk = 0."
        )
    layers, pinned = lookup_columns(attrs, width)
    model = embed_docs(
        LAYER,
        layers,
        width,
        include_static_vectors,
        pinned=pinned,
        dropout=dropout,
        maxout_pieces=maxout_pieces,
    )
    if tables is not None:
        set_tables(model, _tables_from_rows(tables))
    return model


def build_report_multi_fewer_hash_embed_v1(
    width: int,
    num_hashes: Literal[1, 2, 3, 4],
    attrs: Attrs,
    rows: List[int],
    include_static_vectors: bool,
) -> Model[List[Doc], List[Floats2d]]:
    """Build the paper's MultiFewerHashEmbed of listing 3: MultiHashEmbed with spaCy's hash seeds.

    width (int): Width of the vectors and of all tables.
    num_hashes (Literal[1, 2, 3, 4]): Number of hash functions.
    attrs (List[Union[str, int]]): Attributes to embed, by name or id.
    rows (List[int]): Number of rows of each attribute's table.
    include_static_vectors (bool): Whether to embed the vocab's static vectors as well.

    Raises ValueError like spacy-multihash.MultiHashEmbed.v1.
    """
    seeds = spacy_seeds(len(attrs))
    return build_multi_hash_embed_v1(width, attrs, rows, include_static_vectors, num_hashes, seeds)


def make_set_attr(
    path: Path, component: str, attr: str, layer: Optional[str]
) -> Callable[[Language], Language]:
    """Make the paper's callback for [initialize.before_init], which reads a file of tables.

    A component that isn't initialized (frozen, or sourced) keeps its tables.

    path (Path): File of tables from `spacy multihash init-tables`, or from the paper's own script:
        a MessagePack map {attribute: {id of a symbol: row}}, with rows from 1.
    component (str): Name of the component that has the MultiEmbed.
    attr (str): What to set: "tables".
    layer (Optional[str]): Ignored. All lookups in the component get their tables.

    Raises ValueError if attr isn't "tables", or if there's no such component. The callback raises
    errors like `read_tables`.
    """
    if attr != "tables":
        raise ValueError(f"set_attr can set attr = 'tables' of a MultiEmbed, got {attr!r}.")

    def set_attr(nlp: Language) -> Language:
        model = find_multi_embed(nlp, component)
        if keeps_tables(nlp, component, model):
            return nlp
        set_tables(model, _read_tables(Path(path)))
        return nlp

    return set_attr


def _read_tables(path: Path) -> Tables:
    """Read a file of tables, of this package or of the paper's own script."""
    message = read_message(path)
    rows_of = message.values() if isinstance(message, dict) else ()
    if not rows_of or not all(isinstance(rows, dict) for rows in rows_of):
        return parse_tables(path, message)  # not {attribute: {id: row}}, as the script writes it
    try:
        return _tables_from_rows(message)
    except ValueError as error:
        raise ValueError(f"The file of tables {path} cannot be used: {error}") from error


def _tables_from_rows(tables: Mapping[str, Mapping[int, int]]) -> Tables:
    return Tables({attr: _table_from_rows(attr, rows) for attr, rows in tables.items()})


def _table_from_rows(attr: str, rows: Mapping[int, int]) -> Table:
    """Make a table of values whose rows are known, but not their counts.

    Raises ValueError unless the rows are 1 to the number of values, each once.
    """
    for symbol, row in rows.items():
        if not is_whole(symbol, 0, 2**64 - 1) or not is_whole(row, 0):
            raise ValueError(
                f"{attr} must map ids of values to rows, both integers, got {symbol!r}: {row!r}."
            )
    if sorted(rows.values()) != list(range(1, len(rows) + 1)):
        raise ValueError(
            f"{attr}: the rows of {len(rows)} values must be 1 to {len(rows)}, each once, with "
            f"row 0 left to unknown values; got, in order: {sorted(rows.values())[:8]} ..."
        )
    keys = numpy.array(sorted(rows, key=rows.__getitem__), dtype="uint64")
    return Table(keys, numpy.zeros(len(keys), dtype="uint64"))
