"""The shards of a corpus: read one after another, or counted by workers, a shard at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm

from ..corpus.shards import DOCS, ending_of, list_shards, model_shard
from ..scale.workers import Workers, fold
from ._util import msg

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

    def model_docs(self, nlp: Language) -> Iterator[Doc]:
        """Read the docs of all shards, as a model gets them."""
        for path in tqdm(self.paths, "Reading", unit=" shards", leave=False, disable=None):
            yield from model_shard(path, nlp)

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
