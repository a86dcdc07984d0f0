"""Files in common formats as docs with entities or labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..common.arguments import Seed, checked
from ..common.files import check_new
from ..common.lines import Account, Problem
from ..common.outputs import check_file_output, check_writable
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table, to_json
from .annotation import GROUP_KEYS, LABEL_KEYS
from .read import check_there, stream, write_corpora
from .shards import DOCS
from .sources import (
    NAMES,
    SHOWN_LINES,
    Reading,
    Source,
    offsets_hint,
    read_source,
    read_values,
    summarize,
)
from .splits import SPLITS, check_shares, split_corpus
from .statistics import Contradictions, SplitCounts, label_rows
from .texts import AnnotatedText

# What a path may be, and what stands for a file: lists of (text, annotation) or JSON objects.
Input = Union[str, Path, Iterable[Any]]
CONTRADICTS = "Same text as before, with other annotation"


@dataclass(frozen=True)
class FileReport:
    """What became of a file.

    lines (Mapping[str, int]): Counts of all "lines", and of "written", "left out", "header",
        "comment" or "blank". They add up.
    entities (Mapping[str, int]): Of texts: the entities "given", "written" and "left out", which
        add up. Those that were rejected count as left out.
    problems (Sequence[Problem]): The problems of lines, in order.
    """

    path: Path
    kind: str
    scheme: Optional[str]
    lines: Mapping[str, int]
    entities: Mapping[str, int]
    problems: Sequence[Problem]
    notes: Sequence[str]

    def shown(self, number: Optional[int] = SHOWN_LINES) -> list[tuple[str, list[str]]]:
        """Return each kind of problem, with lines, and the notes. number: how many lines of each.

        None shows all.
        """
        problems = summarize(self.path, self.problems, number, self.entities["given"])
        return [*problems, *((note, []) for note in self.notes)]


@dataclass(frozen=True, eq=False)
class Converted(Result):
    """Files as docs.

    docs (Mapping[str, list[Doc]]): The docs of each split, or of the only corpus.
    splits (Mapping[str, SplitCounts]): Their counts.
    files (Sequence[FileReport]): What became of each file.
    groups (Sequence[str]): What names the document of each doc, or "", in the order of the files.
    verbose (bool): Whether all problems are listed, and not the first of each kind.
    """

    docs: Mapping[str, list[Doc]] = field(repr=False)
    splits: Mapping[str, SplitCounts]
    files: Sequence[FileReport]
    groups: Sequence[str]
    verbose: bool = False

    def problems(self) -> list[tuple[str, list[str]]]:
        """Return the problems of lines, with a title for each kind, and notes without lines."""
        number = None if self.verbose else SHOWN_LINES
        return [pair for each in self.files for pair in each.shown(number)]

    def tables(self) -> list[Table]:
        """Return the table of documents, tokens and labels, and the table of lines."""
        splits = list(self.splits.values())
        rows = [
            ("documents", *(f"{split.docs:,}" for split in splits)),
            ("tokens", *(f"{split.tokens:,}" for split in splits)),
        ]
        if any(split.missing for split in splits) and any(split.labels for split in splits):
            missing = (f"{split.missing:,}" for split in splits)
            rows.append(("  without annotation of entities", *missing))
        for title, counters in (
            ("entities", [split.labels for split in splits]),
            ("labels of texts", [split.cats for split in splits]),
        ):
            if any(counters):
                rows.append((title, *(f"{counter.total():,}" for counter in counters)))
                rows += label_rows(counters)
        lines = [
            (each.path.name, *(f"{each.lines[fate]:,}" for fate in ("lines", *Account.FATES)))
            for each in self.files
        ]
        return [
            Table("Converted", ("", *self.splits), rows),
            Table("Lines of files", ("", "lines", *Account.FATES), lines),
        ]

    def notes(self) -> list[str]:
        """Return what each file is, and the problems of its lines."""
        notes = []
        for each in self.files:
            scheme = f" with {each.scheme} tags" if each.scheme else ""
            notes.append(f"{each.path} is {NAMES[each.kind]}{scheme}")
        return [*notes, *("\n".join((title, *lines)) for title, lines in self.problems())]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and what became of each file."""
        return {
            "splits": {
                name: {
                    "docs": split.docs,
                    "tokens": split.tokens,
                    "missing": split.missing,
                    "entities": dict(split.labels),
                    "cats": dict(split.cats),
                }
                for name, split in self.splits.items()
            },
            "files": to_json(self.files),
        }


@checked
def convert(
    paths: Input,
    output: Union[str, Path, None] = None,
    *,
    reading: Optional[Reading] = None,
    lang: str = "xx",
    split: Union[str, Sequence[float], None] = None,
    seed: Seed = 0,
    force: bool = False,
    verbose: bool = False,
    progress: Progress = no_progress,
) -> Converted:
    """Convert files to docs: CoNLL, JSON lines, CSV, or texts with their annotation.

    Each line of a file is written, left out and named, or refused.

    paths (Input): A file or several, UTF-8, plain or .gz; or a list of texts, each as an object of
        JSON lines, or a text with its annotation, such as ("Anna left", {"entities": [(0, 4,
        "PER")]}).
    output (Optional): The .spacy file to write, or with `split` the folder for train.spacy and
        others. None: write nothing.
    reading (Optional[Reading]): How to read the files.
    lang (str): The language whose tokenizer cuts texts.
    split (Optional): The shares of train, dev and maybe test, such as [0.8, 0.1, 0.1].
    seed (int): Decides which document goes where.
    force (bool): Whether to replace `output`.
    verbose (bool): Whether the result lists all problems of lines.
    RETURNS (Converted): The docs, their counts, and what became of each line.

    Raises ValueError, ImportError or OSError, and writes nothing, if a file can't be read, if an
    option doesn't apply, if the output is in the way, or if no entities or labels are left.
    """
    output = None if output is None else Path(output)
    shares = _shares_of(split)
    if shares is not None:
        check_shares(shares)
    names = SPLITS[: len(shares)] if shares is not None else ()
    if output is not None:
        _check_output(output, names, force=force)
    if split is None and seed:
        raise ValueError("--seed is for --split. Leave it out.")
    nlp = spacy.blank(lang)
    reading = reading or Reading()
    sources = _read_all(paths, reading)
    items = [(source, item) for source in sources for item in source.items]
    groups = [item.group for _, item in items]
    docs, seen, written = list[Doc](), Contradictions(), Counter[int]()
    for source, item in progress(items, desc="Converting", total=len(items)):
        docs.append(source.make_doc(item, nlp))
        written[id(source)] += len(docs[-1].ents)
        if former := seen.add(docs[-1], source.account.at(item.line)):
            detail = f"{former.text!r}, other annotation than in {former.first}"
            source.account.problem(item.line, CONTRADICTS, detail)
    parts: Mapping[str, Sequence[int]] = {output.stem if output else "docs": range(len(items))}
    if split is not None:
        if len(items) == 1:
            notes = sources[0].account.notes
            raise ValueError(" ".join(["There is 1 document, which --split can't part.", *notes]))
        by_order = any(source.has_entities for source in sources)
        parts = split_corpus(docs, groups, shares, seed, by_order=by_order).places
    of_parts = {name: [docs[i] for i in places] for name, places in parts.items()}
    counts = {name: SplitCounts.of(of_part) for name, of_part in of_parts.items()}
    files = [_report(source, written[id(source)], nlp, reading) for source in sources]
    converted = Converted(of_parts, counts, files, groups, verbose)
    if not any(counter.labels or counter.cats or counter.denied for counter in counts.values()):
        raise ValueError("\n".join(["No entity is left.", *_lines(converted.problems())]))
    if output is not None:
        bins = {name: DocBin(docs=of_part) for name, of_part in of_parts.items()}
        write_corpora(output.parent if split is None else output, bins)
    return converted


def _lines(problems: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    return [line for title, lines in problems for line in (title, *lines)]


def _report(source: Source, written: int, nlp: Language, reading: Reading) -> FileReport:
    """Say what became of a file, whose docs have `written` entities.

    Raises ValueError if its entities fit other offsets, and most don't fit these.
    """
    account = source.account
    texts = [item for item in source.items if isinstance(item, AnnotatedText) and item.spans]
    given = sum(len(text.spans or ()) for text in texts) or written
    is_odd = bool(texts and account.problems)
    hint = offsets_hint(account, texts, reading.counting, nlp) if is_odd else ""
    report = FileReport(
        account.path,
        source.kind,
        source.scheme,
        account.counts(),
        {"given": given, "written": written, "left out": given - written},
        sorted(account.problems),
        [*account.notes, *filter(None, [hint])],
    )
    if hint and reading.offsets is None:
        title = f"{account.path}: most entities don't align."
        raise ValueError("\n".join([title, *_lines(report.shown())]))
    return report


def _read_all(paths: Input, reading: Reading) -> Sequence[Source]:
    expected = "files to convert, or texts with their annotation"
    paths = [paths] if isinstance(paths, (str, Path)) else list(stream(paths, expected))
    if any(isinstance(path, Doc) for path in paths):
        raise ValueError("Expected files or texts to convert, got docs, which are what it makes.")
    if all(isinstance(path, (str, Path)) for path in paths):
        files, met = [Path(path) for path in paths], dict[tuple[int, int], Path]()
        for path in files:
            check_there(path)
            check_new(path, met)
        sources = [read_source(path, reading) for path in files]
    else:
        sources = [read_values([*map(_as_json, paths)], reading)]
    reading.check_applies(sources)
    return sources


def _as_json(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return a text with its spans, or with its annotation, as JSON would have it."""
    value = _listed(value)
    if isinstance(value, list) and len(value) == 2:
        text, annotation = value
        if not isinstance(annotation, dict):
            return {"text": text, "label": annotation}
        shares = all(isinstance(each, (bool, int, float)) for each in annotation.values())
        if annotation and shares and not annotation.keys() & {*LABEL_KEYS, *GROUP_KEYS, "id"}:
            return {"text": text, "cats": annotation}
    return value


def _listed(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, dict):
        return {key: _listed(each) for key, each in value.items()}
    return [*map(_listed, value)] if isinstance(value, (list, tuple)) else value


def _shares_of(split: Any) -> Any:  # noqa: ANN401 (anything, checked next)
    """Return the shares of a string or of an array, and anything else as it is."""
    if not isinstance(split, str):
        return _listed(split)
    try:
        return [float(share) for share in split.split(",")]
    except ValueError as error:
        raise ValueError(
            f"Expected numbers with commas between them as --split, such as 0.8,0.1,0.1, got "
            f"{split!r}."
        ) from error


def _check_output(output: Path, names: Sequence[str], *, force: bool) -> None:
    """Check that a file, or a folder of splits, can be written, before reading a long file."""
    if not names:
        if output.suffix != DOCS or output.is_dir():
            raise ValueError(
                f"Expected as OUTPUT the name of a {DOCS} file, got {output}. To write a folder "
                "with train, dev and test, give --split 0.8,0.1,0.1."
            )
        check_file_output(output, "OUTPUT", force=force)
        return
    if output.suffix == DOCS or output.is_file():
        raise ValueError(f"Expected a folder as OUTPUT with --split, got {output}.")
    check_writable(output.resolve(), "OUTPUT")
    there = [name for name in SPLITS if (output / f"{name}{DOCS}").exists()]
    if there and not force:
        files = ", ".join(f"{name}{DOCS}" for name in there)
        raise ValueError(f"{output} has {files}. Give another OUTPUT, or --force to replace them.")
    left = sorted(set(there) - set(names))
    if left:
        # Documents of an old test set may be in the new training set.
        raise ValueError(
            f"{output / left[0]}{DOCS} is of another split, and would not be replaced. Delete "
            "it, or give another OUTPUT."
        )
