"""Apply a pipeline to the shards of a corpus, and write a file for each.

Each file is written whole or not at all, so the work can be resumed after any interruption.
`manifest.json` in the folder has the pipeline and settings that made the files.
"""

import errno
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from tqdm import tqdm

from ..common.contexts import remembered, with_contexts
from ..common.files import (
    is_leftover,
    reading,
    replacing_file,
    write_bytes,
    write_json,
)
from ..corpus.shards import DOCS, JSON_LINES, ending_of, read_bare_shard
from ..corpus.texts import BadLines, write_json_lines
from .probabilities import ask_probabilities, probabilities_of
from .source import Source
from .workers import ItemError, Workers

MANIFEST = "manifest.json"
# The suffix of an output file, by its format.
SUFFIXES = {"spacy": DOCS, "jsonl": JSON_LINES}
# Appended to the name of a shard's output, for the list of its skipped texts.
ERRORS = ".errors"
# A full disk or quota: no other shard could be written, either.
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Decimal places of probabilities in JSON lines.
DIGITS = 6
# Modification times are whole multiples of one of these in nanoseconds, by file system.
_TICKS = (1, 100, 1_000, 1_000_000_000)


class Shard(NamedTuple):
    """A shard to read, and the file to write."""

    source: Path
    target: Path


class Applied(NamedTuple):
    """The numbers of docs, tokens and entities that were written, and of skipped texts."""

    docs: int
    tokens: int
    entities: int
    skipped: int = 0


class Result(NamedTuple):
    """The results of all shards.

    before: The number of shards that were already done.
    done: The results written now, by shard.
    errors: The shards that failed.
    """

    before: int
    done: list[Applied]
    errors: list[ItemError]


@dataclass(frozen=True)
class Application:
    """A pipeline to apply to the shards of a folder, or to one shard.

    format (str): "spacy" or "jsonl".
    batch_size (Optional[int]): Docs per batch. None uses the pipeline's own.
    max_length (Optional[int]): Maximum characters of a text. None uses the pipeline's own.
    """

    source: Source[Language]
    shards: Path
    output: Path
    format: str
    batch_size: Optional[int] = None
    max_length: Optional[int] = None

    def manifest(self) -> dict[str, Optional[str]]:
        """Return the values that must stay the same to resume the work."""
        return {
            "model": self.source.place,
            "model_digest": self.source.digest,
            "code_digest": self.source.code_digest,
            "format": self.format,
            "shards": str(self.shards),
            **{name: metadata.version(name) for name in ("spacy", "spacy-multihash")},
        }

    def plan(self, files: Sequence[Path]) -> list[Shard]:
        """Return each file with its output file: the same name with another suffix.

        Raises ValueError if two files have the same output.
        """
        root = self.shards if self.shards.is_dir() else self.shards.parent
        planned: dict[Path, Path] = {}
        for path in files:
            name = path.relative_to(root).as_posix().removesuffix(ending_of(path))
            target = self.output / f"{name}{SUFFIXES[self.format]}"
            other = planned.setdefault(target, path)
            if other is not path:
                raise ValueError(
                    f"{other} and {path} would both be written to {target}. Rename one of them."
                )
        return [Shard(source, target) for target, source in planned.items()]

    def check_output(self, *, force: bool) -> list[Path]:
        """Check that the output is new, empty, or was started with the same pipeline and settings.

        Returns the earlier output files to remove, if `force` is set. Raises ValueError.
        """
        path, manifest = self.output / MANIFEST, self.manifest()
        if not path.is_file():
            inside = self.output.iterdir() if self.output.exists() else ()
            if not all(map(is_leftover, inside)):
                raise ValueError(
                    f"{self.output} is not empty, and has no {MANIFEST} that says what made its "
                    "files. Give another OUTPUT, or empty it."
                )
            return []
        with reading(path, f"empty {self.output}, or give another OUTPUT"):
            former = srsly.read_json(path)
            if former.keys() != manifest.keys():
                raise ValueError("it wasn't written by apply: it has other keys")
            suffix = SUFFIXES[former["format"]]
        if force:
            # Hidden files and folders are half written, or belong to other programs.
            endings = (suffix, f"{suffix}{ERRORS}")
            files = [file_ for ending in endings for file_ in self.output.rglob(f"*{ending}")]
            return [
                file_
                for file_ in files
                if not any(name.startswith(".") for name in file_.relative_to(self.output).parts)
            ]
        changed = [name for name, value in manifest.items() if former[name] != value]
        if changed:
            before, now = ({name: m[name] for name in changed} for m in (former, manifest))
            raise ValueError(
                f"{self.output} was started with {before}, now it is {now}. Give another OUTPUT, "
                "or --force to start anew."
            )
        return []

    def run(self, workers: Workers, todo: Sequence[Shard], *, before: int = 0) -> Result:
        """Apply the pipeline to the shards in `todo`, after `before` others were done.

        Raises OSError if the disk is full, and the errors of `Workers.imap`.
        """
        result = Result(before, [], [])
        write_json(self.output / MANIFEST, self.manifest())
        total, names = before + len(todo), [str(shard.source) for shard in todo]
        with tqdm(total=total, initial=before, unit=" shards", disable=None) as progress:

            def note(error: ItemError) -> None:
                result.errors.append(error)
                progress.write(str(error), file=sys.stderr)
                progress.update()

            function = partial(apply_to_shard, self)
            for i, applied in workers.imap(function, todo, names=names, on_error=note):
                if isinstance(applied, OSError):
                    raise OSError(
                        f"{names[i]} failed: {applied}. {len(result.done):,} shards were written. "
                        "Make room, and start the command again: it goes on from there."
                    ) from applied
                result.done.append(applied)
                progress.update()
        return result


def is_done(shard: Shard) -> bool:
    """Return whether a shard has its output, and hasn't changed since it was read."""
    try:
        time = shard.target.stat().st_mtime_ns
        changed = shard.source.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return any(time == changed // tick * tick for tick in _TICKS)


def apply_to_shard(application: Application, shard: Shard) -> Union[Applied, OSError]:
    """Apply a pipeline to a shard on a worker. Existing annotation in .spacy files is ignored.

    If the disk is full, returns the error instead of raising it: a retry wouldn't help.
    """
    try:
        return _apply_to_shard(application, shard)
    except OSError as error:
        if error.errno in _FULL:
            return error
        raise


def _apply_to_shard(application: Application, shard: Shard) -> Applied:
    nlp = application.source.loaded_for_shard()
    if application.format == "jsonl":
        # In .spacy files, the pipeline's own settings decide about probabilities.
        ask_probabilities(nlp)
    if application.max_length is not None:
        nlp.max_length = application.max_length
    bad = BadLines()
    bare = read_bare_shard(shard.source, nlp, bad)
    counts = Counter[str]()
    changed = shard.source.stat().st_mtime_ns
    with replacing_file(shard.target) as new:
        if application.format == "spacy":
            docs = nlp.pipe((doc for doc, _ in bare), batch_size=application.batch_size)
            _stored((_counted(doc, counts) for doc in docs), shard.source).to_disk(new)
        else:
            contexts = deque[Mapping[str, Any]]()
            texts = remembered(bare, contexts)
            pairs = nlp.pipe(texts, as_tuples=True, batch_size=application.batch_size)
            annotated = with_contexts(pairs, contexts, str(shard.source))
            records = ({**_record(_counted(doc, counts)), **rest} for doc, rest in annotated)
            write_json_lines(new, records)
        if bad.errors and not counts["docs"]:
            raise ValueError(f"All {len(bad.errors):,} texts are wrong. {bad.errors[0]}")
        skipped = shard.target.with_name(f"{shard.target.name}{ERRORS}")
        skipped.unlink(missing_ok=True)
        if bad.errors:
            write_bytes(skipped, "".join(f"{error}\n" for error in bad.errors).encode())
        os.utime(new, ns=(changed, changed))  # `is_done` compares it
    return Applied(counts["docs"], counts["tokens"], counts["entities"], len(bad.errors))


def _stored(docs: Iterable[Doc], source: Path) -> DocBin:
    doc_bin = DocBin(store_user_data=True)
    for number, doc in enumerate(docs, start=1):
        try:
            doc_bin.add(doc)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"{source}: document {number} cannot be stored, because MessagePack cannot write "
                f"its user_data and custom attributes ({error}). Use --format jsonl."
            ) from error
    return doc_bin


def _counted(doc: Doc, counts: Counter[str]) -> Doc:
    counts.update(docs=1, tokens=len(doc), entities=len(doc.ents))
    return doc


def _record(doc: Doc) -> dict[str, Any]:
    """Return the JSON of a doc."""
    probabilities = probabilities_of(doc)
    entities = []
    for ent in doc.ents:
        entity = {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
        probability = probabilities.get((ent.start_char, ent.end_char, ent.label_))
        if probability is not None:
            entity["probability"] = round(probability, DIGITS)
        entities.append(entity)
    record: dict[str, Any] = {"text": doc.text, "entities": entities}
    if doc.cats:
        record["cats"] = {label: round(score, DIGITS) for label, score in doc.cats.items()}
    return record
