"""Count a corpus in shards: each worker counts a shard at a time, and the counts are merged."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Optional, TypeVar

from spacy.language import Language
from tqdm import tqdm

from ..corpus.shards import DOCS, ending_of, list_shards, model_shard
from ..embed.find import EmbeddingTable
from ..inspection.symbols import count_for_tables, counts_of_tables, find_texts
from ..scale.source import Source
from ..scale.workers import Workers, fold
from ..tables.tables import Table, Tables, add_tables
from ._util import msg

# Finds tables in a pipeline. It's pickled for other processes.
FindTables = Callable[[Language], Sequence[EmbeddingTable]]

CountsT = TypeVar("CountsT")


@dataclass(frozen=True)
class Shards:
    """The files of a corpus, in order, with their names for messages."""

    path: Path
    paths: Sequence[Path]
    names: Sequence[str]

    @classmethod
    def of(cls, path: Path) -> "Shards":
        """List the shards of a folder, or a file as its only shard. Raises FileNotFoundError.

        If a folder has .spacy files, only these are counted, and a warning names others.
        """
        shards, _ = list_shards(path)
        docs = [shard for shard in shards if ending_of(shard) == DOCS]
        others = [str(shard) for shard in shards if ending_of(shard) != DOCS]
        if docs and others:
            more = f", and {len(others) - 3:,} more" if len(others) > 3 else ""
            names = f"{', '.join(others[:3])}{more}"
            msg.warn(f"Not counted, as there are {DOCS} files beside them: {names}", err=True)
            shards = docs
        # Workers may run in other folders.
        return cls(path, [shard.absolute() for shard in shards], [str(shard) for shard in shards])

    def merged(
        self,
        workers: Workers,
        count: Callable[[Path], CountsT],
        merge: Callable[[CountsT, CountsT], CountsT],
    ) -> CountsT:
        """Count each shard, and merge the counts."""
        results = workers.imap(count, self.paths, names=self.names)
        with tqdm(results, "Counting", len(self.paths), unit=" shards", disable=None) as shown:
            return fold((result for _, result in shown), merge)


def check_workers(
    shards: Optional[Path], workers: Optional[int], dask: Optional[str], option: str
) -> None:
    """Raise ValueError if there are workers but no shards. option: The option that gives shards."""
    if shards is None and (workers is not None or dask is not None):
        raise ValueError(
            f"--workers and --dask count shards: give the folder that has them with {option}. "
            "Without it, this process does all."
        )


@dataclass(frozen=True)
class ShardSymbols:
    """The symbols of a sharded corpus, for the tables that `find` finds in a pipeline."""

    workers: Workers
    shards: Shards
    source: Source[Language]
    find: FindTables

    def count(self, tables: Iterable[EmbeddingTable]) -> dict[EmbeddingTable, Table]:
        """Count the symbols that each table has rows for. `find` must find the tables."""
        count = partial(_count_shard, self.source, self.find)
        return counts_of_tables(self.shards.merged(self.workers, count, add_tables), tables)

    def texts(self, table: EmbeddingTable, ids: Sequence[int]) -> list[str]:
        """Write symbols as texts, reading shards until all are found."""
        text_of = find_texts(tuple, table, ids, self.source.loaded().vocab)
        wanted = set(ids) - text_of.keys()
        if wanted:
            write = partial(_write_shard, self.source, self.find, table.attr, sorted(wanted))
            results = self.workers.imap(write, self.shards.paths, names=self.shards.names)
            for _, texts in results:
                text_of |= texts
                wanted -= texts.keys()
                if not wanted:
                    break
        return [text_of[id_] for id_ in ids]


def _count_shard(source: Source[Language], find: FindTables, path: Path) -> Tables:
    nlp = source.loaded_for_shard()
    return count_for_tables(model_shard(path, nlp), find(nlp))


def _write_shard(
    source: Source[Language], find: FindTables, attr: str, ids: Sequence[int], path: Path
) -> dict[int, str]:
    nlp = source.loaded_for_shard()
    table = {table.attr: table for table in find(nlp)}[attr]
    return find_texts(partial(model_shard, path, nlp), table, ids, nlp.vocab)
