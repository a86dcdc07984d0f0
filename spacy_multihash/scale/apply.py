"""Apply a pipeline to the shards of a corpus, and write a file for each.

Each file is written whole or not at all, so the work can be resumed after any interruption.
`manifest.json` in the folder has the pipeline and settings that made the files.
"""

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import metadata
from math import fsum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Optional, Union

import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..common.arguments import Positive, checked
from ..common.files import (
    check_writable,
    is_leftover,
    reading,
    replacing_file,
    write_bytes,
    write_json,
)
from ..common.lines import Account
from ..common.load import load_pipeline
from ..common.outputs import check_apart
from ..common.progress import Progress, no_progress
from ..common.result import Result
from ..corpus.contexts import pipe_with_contexts
from ..corpus.shards import DOCS, JSON_LINES, ending_of, list_shards, read_bare_shard
from ..corpus.texts import write_json_lines
from ..ner.estimate import (
    Counted,
    Expected,
    doubts,
    expected_scores,
    labels_of,
    saved_by_calibration,
)
from ..ner.probabilities import Noted, asking_probabilities, notes_of
from .pool import open_workers
from .source import Source, folder_of, source_of
from .workers import ItemError

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


class Counts(NamedTuple):
    """The numbers of docs, tokens and entities that were written, and of skipped texts.

    scored (int): Entities with a probability, if the pipeline is calibrated.
    right, true (float): How many of them are expected to be right, and how many entities there are,
        predicted or not, before anything is corrected by dev.
    """

    docs: int = 0
    tokens: int = 0
    entities: int = 0
    skipped: int = 0
    scored: int = 0
    right: float = 0.0
    true: float = 0.0

    @classmethod
    def total(cls, counts: Iterable["Counts"]) -> "Counts":
        """Add counts, so that the sums don't depend on their order."""
        columns = zip(cls._fields, zip(*counts, strict=True), strict=True)
        add = {"right": fsum, "true": fsum}
        return cls._make(add.get(name, sum)(column) for name, column in columns)


@dataclass(frozen=True, eq=False)
class Applied(Result):
    """What was written for the shards of a corpus.

    output (Path): The folder.
    shards (int): The number of all shards.
    before (int): The number of shards that were already done.
    counts (Counts): What was written now.
    failed (Mapping[str, str]): The shards that failed, and why.
    ignored (Mapping[str, int]): The number of files that aren't shards, by suffix.
    expected (Optional[Expected]): The expected scores of what was written now. None if the pipeline
        isn't calibrated.
    warnings (Sequence[str]): Why these may be wrong.
    """

    output: Path
    shards: int
    before: int
    counts: Counts
    failed: Mapping[str, str]
    ignored: Mapping[str, int]
    expected: Optional[Expected] = None
    warnings: Sequence[str] = ()

    def notes(self) -> Iterator[str]:
        """What was written, skipped and ignored, and what failed."""
        total, counts = f"{self.shards:,} shards", self.counts
        if self.ignored:
            kinds = (f"{n:,} with {suffix or 'none'}" for suffix, n in self.ignored.items())
            yield (
                f"{sum(self.ignored.values()):,} files of the corpus are ignored, because their "
                f"suffixes aren't those of shards: {', '.join(kinds)}."
            )
        if self.before:
            yield f"{self.before:,} of {total} were done before."
        if written := self.shards - self.before - len(self.failed):
            yield (
                f"Wrote {written:,} of {total} to {self.output}: {counts.docs:,} docs, "
                f"{counts.tokens:,} tokens, {counts.entities:,} entities."
            )
        if self.expected is not None and self.expected.f1 is not None:
            scores = (self.expected.precision, self.expected.recall, self.expected.f1)
            precision, recall, f1 = (f"{100 * (score or 0.0):.1f} %" for score in scores)
            yield from self.warnings
            yield (
                f"Expected of all entities: precision {precision}, recall {recall}, F1 {f1}. For "
                "intervals, call estimate on some of the texts."
            )
        if counts.skipped:
            yield (
                f"{counts.skipped:,} texts were skipped: the {ERRORS} files in {self.output} have "
                "their errors."
            )
        if self.failed:
            errors = "".join(f"\n{name} failed: {why}" for name, why in self.failed.items())
            yield (
                f"{len(self.failed):,} of {total} failed. Correct them and start again: only the "
                f"shards that failed are repeated.{errors}"
            )


@checked
def apply(
    nlp: Union[str, Path],
    data: Union[str, Path],
    output: Union[str, Path],
    *,
    format: Literal["spacy", "jsonl"] = "spacy",
    workers: Optional[Positive] = None,
    dask: Optional[str] = None,
    batch_size: Optional[Positive] = None,
    max_length: Optional[Positive] = None,
    code: Union[str, Path, None] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> Applied:
    """Apply a pipeline to a large corpus, in a folder of shards.

        print(apply("training/model-best", "corpus", "annotated", format="jsonl", progress=tqdm))

    Each shard gives a file in `output`, written whole or not at all. After an interruption, start
    again to do the rest. A shard that fails is tried again, and the others go on. Texts that can't
    be read are skipped, and listed in an .errors file next to the shard's output.

    nlp (Union[str, Path]): The pipeline: a package's name or a path, which each worker loads.
    data (Union[str, Path]): Folder of .spacy, .jsonl, .txt (a text on each line) and .gz files, or
        a single file.
    output (Union[str, Path]): Folder to write, with a file for each shard.
    format (str): What to write: .spacy files, or JSON lines of entities.
    workers (Optional[int]): Number of processes, with a thread each. Needs the extra dask; without
        it, one process does all, with a warning. None: 1.
    dask (Optional[str]): Address of a Dask scheduler, to use its workers.
    batch_size (Optional[int]): Docs per batch. None: the pipeline's own.
    max_length (Optional[int]): Skip texts with more characters. None: the pipeline's own limit.
    code (Union[str, Path, None]): Python file with registered functions, which workers import
        first.
    force (bool): Do all shards again, even if `output` has other settings. Former outputs are
        deleted first.
    progress (Progress): Shows how many shards are done, as tqdm does.

    If you set workers in a script, call it below `if __name__ == "__main__":`.

    Raises ValueError if nothing can be done, OSError if the disk is full, and ConnectionError if
    the Dask scheduler is lost. Files that are complete stay.
    """
    if isinstance(nlp, Language):
        raise ValueError(
            "Workers load the pipeline from its files: save it with nlp.to_disk, and give the path."
        )
    corpus, folder = Path(data).resolve(), Path(output).resolve()
    check_apart(folder, corpus, code)
    check_writable(folder / MANIFEST, "OUTPUT")
    files, ignored = list_shards(corpus)
    source = source_of(load_pipeline, nlp, code)
    if not source.digest:
        load_pipeline(nlp)  # raises a clear error
    check_apart(folder, folder_of(source.place))
    planned = _plan(files, corpus, folder, SUFFIXES[format])
    manifest = {
        "model": source.place,
        "model_digest": source.digest,
        "code_digest": source.code_digest,
        "format": format,
        "shards": str(corpus),
        **{name: metadata.version(name) for name in ("spacy", "spacy-multihash")},
    }
    replaced = _check_output(folder, manifest, force=force)
    todo = [shard for shard in planned if force or not is_done(shard)]
    before, names = len(planned) - len(todo), [str(shard.source) for shard in todo]
    counted, failed, expected = [Counts()], {}, None
    if todo:
        pipeline = source.loaded()  # fails at once if it can't be loaded
        with source.kept(), open_workers(workers, dask) as pool:
            for path in replaced:
                path.unlink(missing_ok=True)
            write_json(folder / MANIFEST, manifest)
            work = _Work(source, format, batch_size, max_length)
            results = pool.try_each(work, todo, names=names)
            settings = {"total": len(planned), "initial": before, "unit": " shards"}
            for i, result in progress(results, **settings):
                if isinstance(result, OSError):
                    raise OSError(
                        f"{names[i]} failed: {result}. {len(counted) - 1:,} shards were written. "
                        "Make room, and start the command again: it goes on from there."
                    ) from result
                if isinstance(result, ItemError):
                    failed[names[i]] = result.reason
                else:
                    counted.append(result)
    counts, warnings = Counts.total(counted), list[str]()
    if todo and saved_by_calibration(pipeline):
        expected = expected_scores(pipeline, counts.scored, counts.right, counts.true)
        warnings += doubts(pipeline, counts.scored, counts.right)
    others = dict(sorted(ignored.items()))
    return Applied(Path(output), len(planned), before, counts, failed, others, expected, warnings)


def _plan(files: Sequence[Path], corpus: Path, output: Path, suffix: str) -> list[Shard]:
    """Return each file with its output: the same name with another suffix.

    Raises ValueError if two files have the same output.
    """
    root = corpus if corpus.is_dir() else corpus.parent
    planned: dict[Path, Path] = {}
    for path in files:
        name = path.relative_to(root).as_posix().removesuffix(ending_of(path))
        target = output / f"{name}{suffix}"
        if (other := planned.setdefault(target, path)) is not path:
            raise ValueError(
                f"{other} and {path} would both be written to {target}. Rename one of them."
            )
    return [Shard(source, target) for target, source in planned.items()]


def _check_output(output: Path, manifest: dict[str, str], *, force: bool) -> list[Path]:
    """Check that the output is new, empty, or was started with the same pipeline and settings.

    Returns the earlier output files to remove, if `force` is set. Raises ValueError.
    """
    path = output / MANIFEST
    if not path.is_file():
        if not all(map(is_leftover, output.iterdir() if output.exists() else ())):
            raise ValueError(
                f"{output} is not empty, and has no {MANIFEST} that says what made its files. "
                "Give another OUTPUT, or empty it."
            )
        return []
    with reading(path, f"empty {output}, or give another OUTPUT"):
        former = srsly.read_json(path)
        if former.keys() != manifest.keys():
            raise ValueError("it wasn't written by apply: it has other keys")
        suffix = SUFFIXES[former["format"]]
    if force:
        files = [path for end in (suffix, f"{suffix}{ERRORS}") for path in output.rglob(f"*{end}")]
        # Hidden files and folders are half written, or belong to other programs.
        return [
            path
            for path in files
            if not any(part.startswith(".") for part in path.relative_to(output).parts)
        ]
    changed = [name for name, value in manifest.items() if former[name] != value]
    if changed:
        before, now = ({name: m[name] for name in changed} for m in (former, manifest))
        raise ValueError(
            f"{output} was started with {before}, now it is {now}. Give another OUTPUT, or "
            "--force to start anew."
        )
    return []


def is_done(shard: Shard) -> bool:
    """Return whether a shard has its output, and hasn't changed since it was read."""
    try:
        time = shard.target.stat().st_mtime_ns
        changed = shard.source.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return any(time == changed // tick * tick for tick in _TICKS)


@dataclass(frozen=True)
class _Work:
    """What a worker does with a shard. Existing annotation in .spacy files is ignored."""

    source: Source[Language]
    format: str
    batch_size: Optional[int]
    max_length: Optional[int]

    def __call__(self, shard: Shard) -> Union[Counts, OSError]:
        """Write the output. A full disk is returned, not raised: a retry wouldn't help."""
        try:
            return self._write(shard)
        except OSError as error:
            if error.errno in _FULL:
                return error
            raise

    def _write(self, shard: Shard) -> Counts:
        nlp = self.source.loaded_for_shard()
        tally = Counted(labels_of(nlp)) if saved_by_calibration(nlp) else None
        # .spacy files get no spans that the pipeline's own settings don't ask for.
        asks = self.format == "jsonl" or tally is not None
        if self.max_length is not None:
            nlp.max_length = self.max_length
        counts = Counter[str]()

        def counted(doc: Doc) -> Noted:
            """Count a doc, and remove the notes of its recognizers."""
            counts.update(docs=1, tokens=len(doc), entities=len(doc.ents))
            noted = notes_of(doc)
            if tally is not None:
                tally.add(doc, noted)
            return noted

        account = Account(shard.source, keeps_errors=True)
        bare, errors = read_bare_shard(account, nlp), account.errors
        changed = shard.source.stat().st_mtime_ns
        asking = asking_probabilities(nlp) if asks else nullcontext()
        with asking, replacing_file(shard.target) as new:
            if self.format == "spacy":
                stored = DocBin(store_user_data=True)
                for doc in nlp.pipe((doc for doc, _ in bare), batch_size=self.batch_size):
                    counted(doc)
                    _store(doc, stored, f"{shard.source}: document {counts['docs']}")
                stored.to_disk(new)
            else:
                annotated = pipe_with_contexts(nlp, bare, str(shard.source), self.batch_size)
                records = ({**_record(doc, counted(doc)), **rest} for doc, rest in annotated)
                write_json_lines(new, records)
            account.check()
            dropped = account.counts()["written"] - counts["docs"]
            skipped = len(errors) + dropped
            if dropped:
                errors.append(f"{shard.source}: a component dropped {dropped:,} texts.")
            if errors and not counts["docs"]:
                raise ValueError(f"All {skipped:,} texts are wrong. {errors[0]}")
            listed = shard.target.with_name(f"{shard.target.name}{ERRORS}")
            listed.unlink(missing_ok=True)
            if errors:
                write_bytes(listed, "".join(f"{error}\n" for error in errors).encode())
            os.utime(new, ns=(changed, changed))  # `is_done` compares it
        sums = (0, 0.0, 0.0) if tally is None else tally.sums()
        return Counts(counts["docs"], counts["tokens"], counts["entities"], skipped, *sums)


def _store(doc: Doc, stored: DocBin, where: str) -> None:
    try:
        stored.add(doc)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"{where} cannot be stored, because MessagePack cannot write its user_data and custom "
            f"attributes ({error}). Use --format jsonl."
        ) from error


def _record(doc: Doc, noted: Noted) -> dict[str, Any]:
    """Return the JSON of a doc."""
    entities = []
    for ent in doc.ents:
        place = (ent.start_char, ent.end_char, ent.label_)
        entity = dict(zip(("start", "end", "label"), place, strict=True))
        if (probability := noted.probabilities.get(place)) is not None:
            entity["probability"] = round(probability, DIGITS)
        entities.append(entity)
    record: dict[str, Any] = {"text": doc.text, "entities": entities}
    if doc.cats:
        record["cats"] = {label: round(score, DIGITS) for label, score in doc.cats.items()}
    return record
