"""`python -m spacy multihash init-tables`: count a corpus, and write the tables of MultiEmbed."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Optional

import typer
from spacy.language import Language
from spacy.vocab import Vocab
from tqdm import tqdm

from ..common.files import standard_stream
from ..common.load import naming_config, pipeline_of_config, read_config
from ..common.outputs import check_file_output
from ..common.registered import INIT_TABLES
from ..corpus.shards import model_shard
from ..corpus.training import shard_pipeline, training_docs
from ..scale.source import Source, source_of
from ..tables.set_tables import check_tables, component_names, count_tables, find_multi_embed
from ..tables.tables import (
    Tables,
    add_tables,
    check_cut,
    cut_tables,
    write_tables,
)
from ._shards import Shards
from ._util import (
    CODE,
    DASK,
    WORKERS,
    failing,
    import_code,
    msg,
    open_workers,
    parse_overrides,
    show_table,
)


def init_tables_cli(
    ctx: typer.Context,
    config: Path = typer.Argument(
        ..., help="Config with a MultiEmbed", exists=True, dir_okay=False
    ),
    output: Path = typer.Argument(..., help="File of tables to write", dir_okay=False),
    min_freq: Optional[int] = typer.Option(
        None,
        help="Keep the symbols that occur at least this often. "
        "Default: from [initialize.before_init], or 10",
    ),
    max_rows: Optional[int] = typer.Option(
        None,
        help="Maximum number of rows of a table, with row 0 for unknown symbols. "
        "Default: from [initialize.before_init], or no limit",
    ),
    component: list[str] = typer.Option(
        [],
        help="Component with a MultiEmbed. Repeat the option for several. "
        "Default: from [initialize.before_init], or tok2vec",
    ),
    shards: Optional[Path] = typer.Option(
        None,
        help="Count this folder of .spacy, .jsonl, .txt and .gz files instead of the config's "
        "training corpus",
        exists=True,
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Write the tables of a config's MultiEmbed to a file.

    The tables are counted from the training corpus of the config. Give the file as `path` of
    spacy-multihash.init_tables.v1 in [initialize.before_init]. Settings of the config can be
    overridden, as in --paths.train corpus/part1.spacy.

    To count a large corpus in pieces, the shards of a folder, use --shards, and --workers or --dask
    to count several shards at a time. The tables are the same: rare symbols are left out after all
    shards are counted.

    DOCS: python -m pydoc spacy_multihash.tables.set_tables
    """
    overrides = parse_overrides(ctx)
    import_code(code)
    with failing("Cannot make the tables"), naming_config(config):
        check_file_output(output, "OUTPUT", config, code, shards, force=force)
        settings = read_config(config, overrides, interpolate=True)
        check_file_output(output, "OUTPUT", *_corpora(settings), force=True)
        callback = settings.get("initialize", {}).get("before_init") or {}
        if callback.get("@callbacks") != INIT_TABLES:
            callback = {}
        min_freq = callback.get("min_freq", 10) if min_freq is None else min_freq
        max_rows = callback.get("max_rows") if max_rows is None else max_rows
        check_cut(min_freq, max_rows)
        if shards is None and (workers is not None or dask is not None):
            raise ValueError(
                "--workers and --dask count shards: give the folder that has them with --shards."
            )
        names = component or component_names(callback.get("component", "tok2vec"))
        load = partial(_Counted, overrides=overrides, components=tuple(names))
        source = source_of(load, config, code)
        models = source.loaded().models
        if shards is not None:
            with open_workers(workers, dask) as pool:
                tables = Shards.of(shards).merged(pool, partial(_count_shard, source), add_tables)
            if not any(map(len, tables.tables.values())):
                raise ValueError(f"The shards at {shards} have no tokens. Give a corpus with text.")
        else:
            docs = training_docs(source.loaded().nlp)
            tables = count_tables(models, tqdm(docs, "Counting", unit=" docs", disable=None))
        tables = cut_tables(tables, min_freq=min_freq, max_rows=max_rows)
        for model in models:
            check_tables(model, tables)
        write_tables(output, tables)
    if standard_stream(output) is not None:
        return  # stdout has the tables
    msg.good(f"Wrote the tables to {output}")
    msg.text(f"min_freq = {tables.min_freq}, max_rows = {tables.max_rows}")
    rows = [(name, f"{len(table) + 1:,}") for name, table in tables.tables.items()]
    show_table("Tables", ("attribute", "rows"), rows)


def _corpora(config: Mapping[str, Any]) -> list[Path]:
    """List the paths of a config's corpora, which the tables must not replace."""
    corpora = config.get("corpora", {}).values()
    paths = [corpus.get("path") for corpus in corpora if isinstance(corpus, dict)]
    return [Path(path) for path in paths if isinstance(path, str)]


class _Counted:
    """The models of a config whose symbols are counted, and the pipeline that reads shards."""

    def __init__(
        self, config_path: str, overrides: dict[str, Any], components: Sequence[str]
    ) -> None:
        self.nlp = pipeline_of_config(Path(config_path), overrides)
        self.models = [find_multi_embed(self.nlp, name) for name in components]

    @cached_property
    def reader(self) -> Language:
        """The pipeline that reads shards."""
        return shard_pipeline(self.nlp)

    @property
    def vocab(self) -> Vocab:
        """The vocab of the pipeline that reads shards."""
        return self.reader.vocab


def _count_shard(source: Source[_Counted], path: Path) -> Tables:
    counted = source.loaded_for_shard()
    return count_tables(counted.models, model_shard(path, counted.reader))
