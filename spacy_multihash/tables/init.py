"""Count the tables of a config's MultiEmbed, in this process or in several."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional, Union

from spacy.language import Language
from spacy.vocab import Vocab

from ..common.arguments import Positive, checked
from ..common.load import naming_config, pipeline_of_config, read_config
from ..common.outputs import check_file_output
from ..common.progress import Progress, no_progress
from ..common.registered import INIT_TABLES
from ..common.result import Result, Table
from ..corpus.shards import choose_shards, model_shard, not_counted
from ..corpus.training import shard_pipeline, training_docs
from ..scale.pool import open_workers
from ..scale.source import Source, source_of
from ..scale.workers import fold
from .set_tables import check_tables, component_names, count_tables, find_multi_embed
from .tables import Tables, check_cut, cut_tables, merge_tables, write_tables


@dataclass(frozen=True, eq=False)
class InitializedTables(Result):
    """The tables of a MultiEmbed.

    made (Tables): The tables themselves.
    rows (Mapping[str, int]): The rows of each table, with row 0 for unknown values.
    not_counted (Sequence[str]): Files beside .spacy files, which weren't counted.
    """

    made: Tables = field(repr=False)
    rows: Mapping[str, int]
    min_freq: int
    max_rows: Optional[int]
    not_counted: Sequence[str] = ()

    def tables(self) -> Iterable[Table]:
        """The number of rows of each table."""
        rows = [(name, f"{number:,}") for name, number in self.rows.items()]
        yield Table("Tables", ("attribute", "rows"), rows)

    def notes(self) -> Iterable[str]:
        """The limits of the tables, and which files weren't counted."""
        yield f"min_freq = {self.min_freq}, max_rows = {self.max_rows}"
        if self.not_counted:
            yield not_counted(self.not_counted)


@checked
def init_tables(
    config: Union[str, Path],
    output: Union[str, Path, None] = None,
    *,
    min_freq: Optional[int] = None,
    max_rows: Optional[int] = None,
    component: Union[str, Sequence[str], None] = None,
    overrides: Mapping[str, Any] = MappingProxyType({}),
    shards: Union[str, Path, None] = None,
    workers: Optional[Positive] = None,
    dask: Optional[str] = None,
    code: Union[str, Path, None] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> InitializedTables:
    """Write the tables of a config's MultiEmbed to a file.

        print(init_tables("my.cfg", "my.tables", overrides={"paths.train": "train.spacy"}))

    The tables are counted from the training corpus of the config. Settings of the config can be
    overridden, for example by --paths.train corpus/part1.spacy. To count a large corpus in pieces,
    give --shards, a folder, and --workers or --dask to count several shards at a time. The tables
    are the same: rare values are left out after all shards are counted.

    config (Union[str, Path]): Config with a MultiEmbed.
    output (Union[str, Path, None]): File of tables to write. Give it as path of
        spacy-multihash.init_tables.v1 in [initialize.before_init].
    min_freq (Optional[int]): Keep the values that occur at least this often. None: from
        [initialize.before_init], or 10.
    max_rows (Optional[int]): Maximum number of rows of a table, with row 0 for unknown values.
        None: from [initialize.before_init], or no limit.
    component (Union[str, Sequence[str]]): Component with a MultiEmbed, or several. None: from
        [initialize.before_init], or tok2vec.
    overrides (Mapping[str, Any]): Settings of the config to override, by their path.
    shards (Union[str, Path, None]): Count this folder of .spacy, .jsonl, .txt and .gz files instead
        of the config's training corpus.
    workers (Optional[int]): Number of processes that count the shards, with a thread each. Needs
        the extra dask. None: 1.
    dask (Optional[str]): Address of a Dask scheduler, to use its workers.
    code (Union[str, Path, None]): Python file with registered functions, which workers import
        first.
    force (bool): Replace `output` if it exists.

    Raises ValueError if the config has no MultiEmbed, or if the corpus has no tokens.
    """
    config, output = Path(config), None if output is None else Path(output)
    with naming_config(config):
        check_file_output(output, "OUTPUT", config, code, shards, force=force)
        settings = read_config(config, overrides, interpolate=True)
        check_file_output(output, "OUTPUT", *_corpora(settings), force=True)
        callback = settings.get("initialize", {}).get("before_init") or {}
        if callback.get("@callbacks") != INIT_TABLES:
            callback = {}
        min_freq = callback.get("min_freq", 10) if min_freq is None else min_freq
        max_rows = callback.get("max_rows") if max_rows is None else max_rows
        check_cut(min_freq, max_rows)
        names = component_names(component or callback.get("component", "tok2vec"))
        load = partial(_Counted, overrides=dict(overrides), components=names)
        source = source_of(load, config, code)
        others: list[str] = []
        with source.kept():
            models = source.loaded().models
            if shards is None:
                docs = progress(training_docs(source.loaded().nlp), desc="Counting", unit=" docs")
                tables = count_tables(models, docs)
            else:
                paths, others = choose_shards(Path(shards))
                results = _count_shards(source, paths, workers, dask)
                counted = progress(results, desc="Counting", total=len(paths), unit=" shards")
                tables = fold(counted, lambda *parts: merge_tables(parts))
                if not any(map(len, tables.tables.values())):
                    raise ValueError(
                        f"The shards at {shards} have no tokens. Give a corpus with text."
                    )
        tables = cut_tables(tables, min_freq=min_freq, max_rows=max_rows)
        for model in models:
            check_tables(model, tables)
        if output is not None:
            write_tables(output, tables)
    rows = {name: len(table) + 1 for name, table in tables.tables.items()}
    return InitializedTables(tables, rows, min_freq, max_rows, others)


def _corpora(config: Mapping[str, Any]) -> list[Path]:
    """List the paths of a config's corpora, which the tables must not replace."""
    corpora = config.get("corpora", {}).values()
    paths = [corpus.get("path") for corpus in corpora if isinstance(corpus, dict)]
    return [Path(path) for path in paths if isinstance(path, str)]


class _Counted:
    """The models of a config whose values are counted, and the pipeline that reads shards."""

    def __init__(self, config: str, overrides: dict[str, Any], components: Sequence[str]) -> None:
        self.nlp = pipeline_of_config(Path(config), overrides)
        self.models = [find_multi_embed(self.nlp, name) for name in components]

    @cached_property
    def reader(self) -> Language:
        """The pipeline that reads shards."""
        return shard_pipeline(self.nlp)

    @property
    def vocab(self) -> Vocab:
        """The vocab that may grow."""
        return self.reader.vocab


def _count_shards(
    source: Source[_Counted], paths: Sequence[Path], workers: Optional[int], dask: Optional[str]
) -> Iterator[Tables]:
    # Workers may run in other folders.
    absolute, names = [path.absolute() for path in paths], [*map(str, paths)]
    with open_workers(workers, dask) as pool:
        for _, tables in pool.imap(partial(_count_shard, source), absolute, names=names):
            yield tables


def _count_shard(source: Source[_Counted], path: Path) -> Tables:
    counted = source.loaded_for_shard()
    return count_tables(counted.models, model_shard(path, counted.reader))
