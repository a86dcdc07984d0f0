"""`python -m spacy multihash inspect-rows`: the rows of words, and how full the tables are."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Optional

import typer
from spacy.language import Language
from spacy.training.initialize import init_vocab
from spacy.util import registry

from ..common.load import load_pipeline, pipeline_of_config
from ..common.registered import INIT_TABLES, SET_ATTR
from ..inspection.rows import (
    Size,
    TableReport,
    WordRows,
    full_name,
    input_width,
    inspect_symbols,
    inspect_table,
    model_size,
)
from ..inspection.symbols import DocSymbols
from ..tables.find import EmbeddingTable, component_models, find_tables
from ._shards import Shards
from ._util import AS_JSON, CODE, failing, import_code, print_json, show_table

# Callbacks that may set the tables of MultiEmbed from a file.
_SET_TABLES = (INIT_TABLES, SET_ATTR)


@dataclass(frozen=True)
class Inspection:
    """Sizes of a pipeline's tables, and rows of words.

    components (dict[str, Optional[Size]]): The size of each component's model. None if it is not
        initialized.
    input_widths (dict[str, Optional[int]]): The number of tokens that a vector of each component's
        encoder depends on. None without an encoder of this package.
    pipeline (Optional[Size]): The size of the models of all components. None if some are not
        initialized.
    """

    tables: list[TableReport]
    words: list[WordRows]
    components: dict[str, Optional[Size]]
    input_widths: dict[str, Optional[int]]
    pipeline: Optional[Size]


def inspect_rows_cli(
    model: str = typer.Argument(
        ..., help="Trained pipeline (a package's name, or a path), or a config file"
    ),
    words: Optional[list[str]] = typer.Argument(None, help="Words to find the rows of"),
    data: Optional[Path] = typer.Option(
        None, help="Corpus to count symbols in: a file, or a folder of shards"
    ),
    as_json: bool = AS_JSON,
    code: Optional[Path] = CODE,
) -> None:
    """Show the rows of words, and how full the tables are.

    Rows are computed with the model's own hash seeds.

    With --data, you see how the distinct symbols of a corpus use each table: its load factor
    (symbols times hashes, divided by rows), the symbols that share all their rows with another
    symbol, and the size of a lookup table that would replace it.

    A config's model isn't initialized, so only the sizes of its tables are known. If it has a
    MultiEmbed, set the path of a file of tables in [initialize.before_init].

    DOCS: python -m pydoc spacy_multihash.inspection.rows
    """
    import_code(code)
    with failing("Cannot inspect the rows"):
        nlp = _load(model)
        corpus = None
        if data is not None:
            corpus = DocSymbols(partial(Shards.of(data).model_docs, nlp), nlp.vocab)
        inspection = _inspect(nlp, words or (), corpus)
    if as_json:
        print_json(asdict(inspection))
    else:
        _show(inspection)


def _inspect(nlp: Language, words: Sequence[str], corpus: Optional[DocSymbols]) -> Inspection:
    tables, models = find_tables(nlp), component_models(nlp)
    counted = {} if corpus is None else corpus.count(tables)
    symbols = {table: counts.keys for table, counts in counted.items()}
    reports = [inspect_table(table, symbols.get(table)) for table in tables]
    inspected = []
    for word in words:
        for table in _tables_for(word, tables):
            texts = None if corpus is None else partial(corpus.texts, table)
            in_corpus = symbols.get(table)
            inspected += inspect_symbols(table, word, nlp.vocab, in_corpus, texts=texts)
    return Inspection(
        tables=reports,
        words=inspected,
        components={name: model_size(model) for name, model in models.items()},
        input_widths={name: input_width(model) for name, model in models.items()},
        pipeline=model_size(*models.values()),
    )


def _tables_for(word: str, tables: Sequence[EmbeddingTable]) -> Sequence[EmbeddingTable]:
    """List the tables that have rows for a word. If none has, list all: their errors say why."""
    order = len(word.split())
    fitting = [t for t in tables if t.ngrams is None or order in t.ngrams.attrs["orders"].value]
    if order > 1:
        # A text with blanks is only a token if no table has n-grams of its order.
        fitting = [table for table in fitting if table.ngrams is not None] or fitting
    return fitting or tables


def _load(model: str) -> Language:
    path = Path(model)
    if path.is_file():
        try:
            return _build(path)
        except ValueError as error:
            raise ValueError(f"No pipeline can be built from the config {path}: {error}") from error
    return load_pipeline(model, expected="a package's name, a pipeline's folder, or a config file")


def _build(path: Path) -> Language:
    """Build the pipeline of a config without weights, but with all that rows depend on."""
    nlp = pipeline_of_config(path)
    initialize = nlp.config.interpolate()["initialize"]
    before_init = initialize["before_init"] or {}
    if before_init.get("@callbacks") in _SET_TABLES and before_init.get("path") is not None:
        registry.resolve({"before_init": before_init})["before_init"](nlp)
    init_vocab(nlp, lookups=registry.resolve({"lookups": initialize["lookups"]})["lookups"])
    return nlp


def _show(inspection: Inspection) -> None:
    tables = inspection.tables
    show_table(
        "Tables",
        ("table", "rows", "width", "hashes", "seed", "parameters", "bytes"),
        [
            (
                full_name(table),
                *map(_text, (table.num_rows, table.width, table.num_hashes)),
                "-" if table.seed is None else str(table.seed),
                *_size(table.size),
            )
            for table in tables
        ],
    )
    used = [(full_name(t), t.use) for t in tables if t.use is not None]
    show_table(
        "Symbols",
        ("table", "symbols", "load factor", "indistinguishable", "lookup parameters", "bytes"),
        [
            (
                name,
                _text(use.num_symbols),
                f"{use.load_factor:.2f}",
                _text(use.indistinguishable),
                *_size(use.lookup_size),
            )
            for name, use in used
        ],
    )
    show_table(
        "Words",
        ("word", "table", "symbol", "rows"),
        [
            (w.word, full_name(w), repr(w.symbol), " ".join(map(str, w.rows)))
            for w in inspection.words
        ],
        aligns="llll",
    )
    show_table(
        "Symbols that share rows with words",
        ("word", "table", "in hashes", "symbols", "such as"),
        [
            (w.word, full_name(w), f"{s.hashes}", f"{s.count:,}", " ".join(map(repr, s.examples)))
            for w in inspection.words
            for s in w.sharing or []
            if s.count
        ],
        aligns="llrrl",
    )
    sizes = {**inspection.components, "whole pipeline": inspection.pipeline}
    widths = {name: _text(width) for name, width in inspection.input_widths.items() if width}
    show_table(
        "Models",
        ("component", "parameters", "bytes", "input width, tokens"),
        [(name, *_size(size), widths.get(name, "-")) for name, size in sizes.items()],
    )


def _size(size: Optional[Size]) -> tuple[str, ...]:
    return ("-", "-") if size is None else (_text(size.parameters), _text(size.bytes))


def _text(number: int) -> str:
    return f"{number:,}"
