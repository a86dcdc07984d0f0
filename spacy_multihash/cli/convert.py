"""`python -m spacy multihash convert`: a corpus of one's own as .spacy files."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import List, Optional

import spacy
import typer
from spacy.tokens import DocBin
from tqdm import tqdm

from ..corpus.conll import FULL_STOPS, Cut, Layout
from ..corpus.convert import (
    GLUED,
    INCORRECT_SPANS,
    MAX_LABELS,
    ODD_TAG,
    REJECTED,
    SPACE,
    SPLITS,
    AnnotatedTexts,
    Counts,
    Format,
    Problem,
    Source,
    TaggedTokens,
    guess_format,
    has_tagged_tokens,
    read_tagged,
    read_texts,
    split_items,
)
from ..corpus.read import write_corpora
from ..corpus.texts import CsvLayout
from ._util import check_file_output, check_writable, msg, show_table

SUFFIX = ".spacy"
DEFAULT_LAYOUT = Layout()
DEFAULT_CSV_LAYOUT = CsvLayout()
SHOWN_LINES = 3
# What became of lines with a problem. All others are left out.
_FATES = {
    ODD_TAG: "Read as B-",
    GLUED: "Read as one token",
    SPACE: "Left out without --trim",
    REJECTED: f"Put into doc.spans[{INCORRECT_SPANS!r}], not doc.ents",
}


class InputFormat(str, Enum):
    """The formats that are read."""

    conll = "conll"
    jsonl = "jsonl"
    csv = "csv"


@dataclass(frozen=True)
class Conversion:
    """What came out of a file.

    format (Format): Its format.
    scheme (Optional[str]): The scheme of its tags; None for texts.
    splits (Mapping[str, Counts]): What each corpus holds that was written.
    problems (Sequence[Problem]): What is wrong with lines.
    hint (str): Which options would fit better.
    """

    format: Format
    scheme: Optional[str]
    splits: Mapping[str, Counts]
    problems: Sequence[Problem] = field(default_factory=list)
    hint: str = ""


def convert_cli(
    input_path: Path = typer.Argument(
        ...,
        metavar="INPUT",
        help="UTF-8 file, perhaps .gz",
        exists=True,
        dir_okay=False,
    ),
    output: Path = typer.Argument(
        ..., help="File to write, NAME.spacy, or with --split a folder for train.spacy and others"
    ),
    format_: Optional[InputFormat] = typer.Option(
        None, "--format", help="Format of INPUT. Default: by its suffix, or by its first line"
    ),
    lang: str = typer.Option("xx", "--lang", "-l", help="Language, the one of your config"),
    split: Optional[str] = typer.Option(
        None, help="Shares of train, dev and test, such as 0.8,0.1,0.1, or of train and dev"
    ),
    seed: int = typer.Option(0, help="Decides which document goes where, with --split"),
    docs: Optional[str] = typer.Option(
        None,
        help="CoNLL: what becomes a document: sentences, documents (what lies between lines "
        "-DOCSTART-), full-stops (cut behind each full stop), or the most tokens of one. Default: "
        "documents if INPUT begins with such a line, otherwise sentences",
    ),
    labels: Optional[str] = typer.Option(
        None, help='JSON of "tokens" and "ner_tags": the tags that numbers stand for, O,B-PER,...'
    ),
    token_column: int = typer.Option(
        1, help="CoNLL: column of tokens, from 1, or from -1 at the end"
    ),
    tag_column: int = typer.Option(-1, help="CoNLL: column of tags, from 1, or from -1 at the end"),
    text_column: str = typer.Option("text", help="CSV: name of the column of texts"),
    label_column: str = typer.Option("label", help="CSV: name of the column of labels"),
    delimiter: Optional[str] = typer.Option(
        None, help="CSV: what stands between columns. Default: comma, tab or semicolon"
    ),
    label_separator: Optional[str] = typer.Option(
        None, help="CSV: what stands between the labels of a text. Default: each text has one"
    ),
    offsets: str = typer.Option(
        "characters",
        help="JSON: what offsets are: characters, utf16, utf8, inclusive (ends are the last "
        "character), or a number to add to them",
    ),
    trim: bool = typer.Option(
        False, "--trim", help="JSON: leave out whitespace at the ends of entities"
    ),
    max_labels: int = typer.Option(
        MAX_LABELS, min=1, help="JSON, CSV: the most different labels of texts"
    ),
    strict: bool = typer.Option(
        False,
        "--strict",
        help="Stop at what would be left out and at I- tags that continue nothing",
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it is there"),
) -> None:
    """Convert a corpus of your own for spacy train: CoNLL, JSON lines or CSV.

    CoNLL has a token and its tag a line, with tags of IOB1, IOB2 or BILUO, and blank lines between
    sentences. JSON lines, or one JSON array, have a "text" each, with "spans" of entities as
    Prodigy writes them, with a "label" of entities or texts as doccano does, or with "cats", or
    "tokens" with "ner_tags" as Hugging Face does. CSV has a header with a column of texts and one
    of labels.

    Entities that do not align with tokens are left out, and shown with their lines. If none is
    left, nothing is written.

    DOCS: python -m pydoc spacy_multihash.corpus.convert
    """
    try:
        documents, cut = _parse_docs(docs)
        done = convert(
            input_path,
            output,
            format=format_.value if format_ else None,
            lang=lang,
            shares=None if split is None else _parse_shares(split),
            seed=seed,
            documents=documents,
            cut=cut,
            labels=None if labels is None else [label.strip() for label in labels.split(",")],
            layout=Layout(_from_zero(token_column), _from_zero(tag_column)),
            csv_layout=CsvLayout(text_column, label_column, delimiter, label_separator),
            offsets=offsets,
            trim=trim,
            max_labels=max_labels,
            strict=strict,
            force=force,
            show_progress=True,
        )
    except (ImportError, OSError, ValueError) as error:
        msg.fail(f"Cannot convert {input_path}", str(error), exits=1)
    _show(done, input_path)
    msg.good(f"Wrote {output}")


def convert(
    input_path: Path,
    output: Path,
    *,
    format: Optional[Format] = None,  # noqa: A002 (the option's name)
    lang: str = "xx",
    shares: Optional[Sequence[float]] = None,
    seed: int = 0,
    documents: Optional[bool] = None,
    cut: Optional[Cut] = None,
    labels: Optional[Sequence[str]] = None,
    layout: Layout = DEFAULT_LAYOUT,
    csv_layout: CsvLayout = DEFAULT_CSV_LAYOUT,
    offsets: str = "characters",
    trim: bool = False,
    max_labels: int = MAX_LABELS,
    strict: bool = False,
    force: bool = False,
    show_progress: bool = False,
) -> Conversion:
    """Convert a file to .spacy files, and return what they hold.

    input_path (Path): The file.
    output (Path): The .spacy file to write, or with `shares` the folder.
    format (Optional[Format]): The file's format. None: by its suffix or first line.
    lang (str): The language whose tokenizer cuts texts.
    shares (Optional[Sequence[float]]): The shares of train, dev and test. None: no splits.
    seed (int): Decides which document goes into which split.
    documents (Optional[bool]): As for `read_conll`.
    cut (Optional[Cut]): Where to cut documents of tagged tokens, as for `cut_records`.
    labels (Optional[Sequence[str]]): The tags that numbers stand for in JSON.
    layout (Layout): Where a line of CoNLL has what.
    csv_layout (CsvLayout): Where a CSV file has what.
    offsets (str): What the offsets of entities are, as `in_characters` takes them.
    trim (bool): Leave out whitespace at the ends of entities.
    max_labels (int): The most different labels of texts.
    strict (bool): Whether what would be left out is an error.
    force (bool): Replace what is there.
    show_progress (bool): Show a progress bar on stderr, if that is a terminal.

    Raises ValueError, ImportError or OSError, and writes nothing, if something cannot be read or is
    in the way, or if no entity and no label is left.
    """
    names = [output.stem] if shares is None else list(SPLITS[: len(shares)])
    folder = output.parent if shares is None else output
    _check_output(output, names if shares else None, force=force)
    if input_path.exists() and not (input_path.is_file() or input_path.is_dir()):
        raise ValueError(
            f"Expected a file as INPUT, which is read more than once, was a pipe or a device: "
            f"{input_path}. Save it to a file first."
        )
    nlp = spacy.blank(lang)
    format = format or guess_format(input_path, csv_layout, layout)  # noqa: A001
    source: Source
    is_json = format == "jsonl" and has_tagged_tokens(input_path)
    if format == "conll" or is_json:
        source = read_tagged(
            input_path,
            layout,
            documents=documents,
            cut=cut,
            labels=labels,
            is_json=is_json,
            strict=strict,
        )
    else:
        source = read_texts(
            input_path,
            csv_layout if format == "csv" else None,
            strict=strict,
            offsets=offsets,
            trim=trim,
            max_labels=max_labels,
        )
    hint = source.hint(nlp) if isinstance(source, TaggedTokens) else ""
    if shares is not None and len(source) == 1 and hint:
        raise ValueError(f"There is 1 document, which --split can't part. {hint}")
    everything = range(len(source))
    parts = {names[0]: everything} if shares is None else split_items(everything, shares, seed)
    counts, bins = {}, {}
    hidden = None if show_progress else True  # None: hidden unless stderr is a terminal
    with tqdm(
        total=len(source), desc="Converting", unit=" docs", leave=False, disable=hidden
    ) as progress:
        for name, places in parts.items():
            counts[name], bins[name] = Counts(), DocBin()
            for doc in counts[name].watch(source.make_doc(i, nlp) for i in places):
                bins[name].add(doc)
                progress.update()
    if isinstance(source, AnnotatedTexts) and source.has_spans:
        hint = source.hint(nlp) if source.problems else ""
        if not any(split.entities or split.cats for split in counts.values()):
            summary = summarize_problems(input_path, sorted(source.problems))
            lines = [line for title, details in summary for line in (title, *details)]
            raise ValueError("\n".join(["No entity is left.", *filter(None, [hint]), *lines]))
    write_corpora(folder, bins)
    scheme = source.scheme if isinstance(source, TaggedTokens) else None
    return Conversion(format, scheme, counts, sorted(source.problems), hint)


def _parse_docs(text: Optional[str]) -> tuple[Optional[bool], Optional[Cut]]:
    """Read --docs: whether documents lie between lines -DOCSTART-, and where to cut them."""
    if text in (None, "sentences", "documents"):
        return None if text is None else text == "documents", None
    if text == FULL_STOPS:
        return None, FULL_STOPS
    if str(text).isdecimal() and int(str(text)):
        return None, int(str(text))
    raise ValueError(
        f"--docs must be sentences, documents, {FULL_STOPS} or a number of tokens, was: {text}."
    )


def _parse_shares(text: str) -> list[float]:
    try:
        return [float(share) for share in text.split(",")]
    except ValueError as error:
        raise ValueError(
            f"Expected numbers with commas between them as --split, such as 0.8,0.1,0.1, was: "
            f"{text!r}."
        ) from error


def _from_zero(column: int) -> int:
    if column == 0:
        raise ValueError("Expected a column from 1 on, or from -1 at the end, was: 0.")
    return column - 1 if column > 0 else column


def _check_output(output: Path, names: Optional[Sequence[str]], *, force: bool) -> None:
    """Check that nothing is in the way, before a long file is read."""
    if names is None:
        if output.suffix != SUFFIX or output.is_dir():
            raise ValueError(
                f"Expected as OUTPUT the name of a {SUFFIX} file, was: {output}. To write a folder "
                "with train, dev and test, give --split 0.8,0.1,0.1."
            )
        check_file_output(output, "OUTPUT", force=force)
        return
    if output.suffix == SUFFIX or output.is_file():
        raise ValueError(f"Expected a folder as OUTPUT with --split, was: {output}.")
    check_writable(output.resolve(), "OUTPUT")
    there = [name for name in SPLITS if (output / f"{name}{SUFFIX}").exists()]
    if there and not force:
        files = ", ".join(f"{name}{SUFFIX}" for name in there)
        raise ValueError(f"{output} has {files}. Give another OUTPUT, or --force to replace them.")
    left = sorted(set(there) - set(names))
    if left:
        # Documents of an old test set may be in the new training set.
        raise ValueError(
            f"{output / left[0]}{SUFFIX} is of another split, and would not be replaced. Delete "
            "it, or give another OUTPUT."
        )


def _show(done: Conversion, path: Path) -> None:
    """Print what was written, and what is wrong with lines."""
    scheme = f" with tags of {done.scheme}" if done.scheme else ""
    msg.info(f"{path} is {_NAMES[done.format]}{scheme}")
    splits = list(done.splits.values())
    rows = [
        ("documents", *(f"{split.docs:,}" for split in splits)),
        ("tokens", *(f"{split.tokens:,}" for split in splits)),
    ]
    for title, counters in (
        ("entities", [split.entities for split in splits]),
        ("labels of texts", [split.cats for split in splits]),
    ):
        labels = sorted({label for counter in counters for label in counter})
        if labels:
            rows.append((title, *(f"{counter.total():,}" for counter in counters)))
        rows += [(f"  {label}", *(f"{c[label]:,}" for c in counters)) for label in labels]
    show_table("Converted", ("", *done.splits), rows)
    for title, lines in summarize_problems(path, done.problems):
        msg.warn(title)
        for line in lines:
            msg.text(line)
    if done.hint:
        msg.warn(done.hint)


def summarize_problems(path: Path, problems: Sequence[Problem]) -> list[tuple[str, list[str]]]:
    """Count the problems of each kind, and list the first of them with their lines."""
    by_kind: dict[str, List[Problem]] = defaultdict(list)
    for problem in problems:
        by_kind[problem.what].append(problem)
    summary = []
    for what, found in by_kind.items():
        lines = [f"{path}:{problem.line}: {problem.detail}" for problem in found[:SHOWN_LINES]]
        if len(found) > SHOWN_LINES:
            lines.append(f"and {len(found) - SHOWN_LINES:,} more")
        summary.append((f"{_FATES.get(what, 'Left out')}: {what} ({len(found):,})", lines))
    return summary


_NAMES = {"conll": "in the style of CoNLL", "jsonl": "lines of JSON", "csv": "CSV"}
