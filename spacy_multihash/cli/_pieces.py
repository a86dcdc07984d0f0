"""What commands count of a corpus in shards: each worker a shard at a time, with one result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from operator import add
from pathlib import Path
from typing import Optional, TypeVar

from spacy.attrs import IDS
from spacy.language import Language
from spacy.vocab import Vocab
from tqdm import tqdm

from ..cluster.workers import Workers
from ..common.features import parse_feature
from ..corpus.entities import Matching
from ..corpus.shards import DOCS, ending_of, list_shards, model_shard, read_shard
from ..corpus.split_counts import SplitCounts, count_split
from ..corpus.statistics import is_word_attr
from ..embed.find import EmbeddingTable
from ..inspection.symbols import count_for_tables, find_texts, has_strings, known_counts
from ..tables.set_tables import Extractor, count_corpus
from ..tables.tables import Table, Tables, add_tables
from ._messages import msg
from ._workers import Source

# Finds tables in a pipeline. It travels between processes.
FindTables = Callable[[Language], Sequence[EmbeddingTable]]

PartT = TypeVar("PartT")


@dataclass(frozen=True)
class Shards:
    """The files of a corpus, each of which is a piece.

    path (Path): The folder, or the one file.
    paths (Sequence[Path]): The files, in order.
    names (Sequence[str]): Their names, for messages.
    """

    path: Path
    paths: Sequence[Path]
    names: Sequence[str]

    @classmethod
    def of(cls, path: Path) -> "Shards":
        """List the shards of a folder, or the one that a file is. Raises FileNotFoundError.

        Of a folder with .spacy files, only these are counted. Others are named in a warning.
        """
        found = _one_kind(list_shards(path))
        # Workers may run in other folders.
        return cls(path, [shard.absolute() for shard in found], [str(shard) for shard in found])

    def merged(
        self,
        workers: Workers,
        count: Callable[[Path], PartT],
        merge: Callable[[PartT, PartT], PartT],
        *,
        show_progress: Optional[bool] = None,
    ) -> PartT:
        """Count each shard, and merge what was counted in the order of the shards.

        show_progress (Optional[bool]): Show a progress bar on stderr. None shows it on terminals.
        """
        disable = None if show_progress is None else not show_progress
        total = len(self.paths)
        with tqdm(total=total, desc="Counting", unit=" shards", disable=disable) as bar:
            return workers.merge_tree(
                count, self.paths, merge, names=self.names, on_done=bar.update
            )


def _one_kind(shards: list[Path]) -> list[Path]:
    """Return the .spacy files, if there are any, and say which others are left out."""
    docs = [shard for shard in shards if ending_of(shard) == DOCS]
    others = [str(shard) for shard in shards if ending_of(shard) != DOCS]
    if not docs or not others:
        return shards
    named = ", ".join(others[:3])
    more = f", and {len(others) - 3:,} more" if len(others) > 3 else ""
    msg.warn(f"Not counted, as there are {DOCS} files beside them: {named}{more}", err=True)
    return docs


def check_workers(
    shards: Optional[Path], workers: Optional[int], dask: Optional[str], option: str
) -> None:
    """Refuse workers without shards. option: The option that gives shards."""
    if shards is None and (workers is not None or dask is not None):
        raise ValueError(
            f"--workers and --dask count shards: give the folder that has them with {option}. "
            "Without it, this process does all."
        )


def count_split_shards(
    workers: Workers,
    source: Source[Language],
    matching: Matching,
    shards: Shards,
    asked: Optional[AbstractSet[int]] = None,
) -> SplitCounts:
    """Count the split that shards make, as `count_split` does. Raises ValueError without docs."""
    count = partial(_count_split_shard, source, matching, asked)
    counts = shards.merged(workers, count, add)
    if not counts.doc_lens:
        raise ValueError(f"The corpus at {shards.path} has no documents. Check the path.")
    return counts


def _count_split_shard(
    source: Source[Language], matching: Matching, asked: Optional[AbstractSet[int]], path: Path
) -> SplitCounts:
    nlp = source.loaded_for_shard()
    return count_split(read_shard(path, nlp), nlp.vocab, matching, asked)


def annotated_attrs(names: Iterable[str], vocab: Vocab) -> dict[str, Extractor]:
    """Map the names of attributes and features that annotation gives to what finds their symbols.

    Names of attributes that depend on a word alone are left out, and so are unknown ones.

    Raises ValueError for a name that is no feature's, but looks so.
    """
    found: dict[str, Extractor] = {}
    for name in names:
        feature = parse_feature(
            name, where="corpus-stats", setting="each of --attrs", advice="Correct the name."
        )
        # "" is among spaCy's ids
        is_known = feature is not None or (name != "" and name in IDS and has_strings(name))
        if is_known and not is_word_attr(name, vocab):
            found[name if feature is None else feature.name] = feature
    return found


def count_annotated_shards(
    workers: Workers, source: Source[Language], attrs: Mapping[str, Extractor], shards: Shards
) -> dict[str, int]:
    """Count the distinct values of what annotation gives."""
    counted = shards.merged(workers, partial(_count_annotated, source, attrs), add_tables)
    return {name: len(table) for name, table in counted.tables.items()}


def _count_annotated(
    source: Source[Language], attrs: Mapping[str, Extractor], path: Path
) -> Tables:
    return Tables(count_corpus(read_shard(path, source.loaded_for_shard()), attrs))


@dataclass(frozen=True)
class ShardSymbols:
    """The symbols of a corpus in shards.

    workers (Workers): They read the shards.
    shards (Shards): The shards.
    source (Source[Language]): The pipeline.
    find (FindTables): Finds the tables whose symbols are counted.
    """

    workers: Workers
    shards: Shards
    source: Source[Language]
    find: FindTables

    def count(self, tables: Iterable[EmbeddingTable]) -> dict[EmbeddingTable, Table]:
        """Count the symbols that each table, one that `find` finds, has rows for."""
        count = partial(_count_shard, self.source, self.find)
        return known_counts(self.shards.merged(self.workers, count, add_tables), tables)

    def texts(self, table: EmbeddingTable, ids: Sequence[int]) -> list[str]:
        """Write symbols as texts, reading shards until all are found."""
        found = find_texts(tuple, table, ids, self.source.loaded().vocab)
        wanted = set(ids) - found.keys()
        if wanted:
            write = partial(_write_shard, self.source, self.find, table.attr, sorted(wanted))
            parts = self.workers.imap(write, self.shards.paths, names=self.shards.names)
            for _, part in parts:
                found |= part
                wanted -= part.keys()
                if not wanted:
                    break
        return [found[id_] for id_ in ids]


def _count_shard(source: Source[Language], find: FindTables, path: Path) -> Tables:
    nlp = source.loaded_for_shard()
    return count_for_tables(model_shard(path, nlp), find(nlp))


def _write_shard(
    source: Source[Language], find: FindTables, attr: str, ids: Sequence[int], path: Path
) -> dict[int, str]:
    nlp = source.loaded_for_shard()
    table = {table.attr: table for table in find(nlp)}[attr]
    return find_texts(partial(model_shard, path, nlp), table, ids, nlp.vocab)
