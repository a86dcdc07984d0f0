"""`python -m spacy multihash convert`: convert your own corpus to .spacy files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import spacy
import typer
from spacy.tokens import Doc, DocBin
from tqdm import tqdm

from ..common.outputs import check_file_output, check_writable
from ..corpus.conll import Layout
from ..corpus.convert import (
    SHOWN_LINES,
    AnnotatedTexts,
    Format,
    Reading,
    Source,
    TaggedTokens,
    read_source,
    summarize_problems,
)
from ..corpus.read import text_labels, write_corpora
from ..corpus.shards import DOCS
from ..corpus.splits import SPLITS, split_related
from ..corpus.texts import CsvLayout
from ._util import failing, msg, show_table

DEFAULT = Reading()
_NAMES = {"conll": "CoNLL", "jsonl": "JSON lines", "csv": "CSV"}


@dataclass
class Counts:
    """The counts of a split: docs, tokens, and each label."""

    docs: int = 0
    tokens: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    cats: Counter[str] = field(default_factory=Counter)

    def add(self, doc: Doc) -> None:
        """Count a doc."""
        self.docs += 1
        self.tokens += len(doc)
        self.entities.update(ent.label_ for ent in doc.ents)
        self.cats.update(text_labels(doc.cats))


@dataclass(frozen=True)
class Conversion:
    """The result of converting a file.

    source (Source): The file, with the problems of its lines.
    splits (Mapping[str, Counts]): The counts of each corpus that was written.
    hint (str): The options that would fit better.
    """

    source: Source
    splits: Mapping[str, Counts]
    hint: str = ""


def convert_cli(
    input_path: Path = typer.Argument(
        ..., metavar="INPUT", help="UTF-8 file, plain or .gz", exists=True, dir_okay=False
    ),
    output: Path = typer.Argument(
        ..., help="File to write, NAME.spacy, or with --split a folder for train.spacy and others"
    ),
    format: Optional[Format] = typer.Option(
        None, help="Format of INPUT. Default: by its suffix, or by its first line"
    ),
    lang: str = typer.Option("xx", "--lang", "-l", help="Language, as in your config"),
    split: Optional[str] = typer.Option(
        None, help="Shares of train, dev and test, such as 0.8,0.1,0.1, or of train and dev"
    ),
    seed: int = typer.Option(0, help="Decides which document goes where, with --split"),
    group: Optional[str] = typer.Option(
        None,
        help="--split: what names the document of a text, so that its texts stay together: a key "
        "of JSON, a column of CSV, the number of a column or the key of comments of CoNLL. "
        "Default: keys such as doc_id, and comments such as newdoc",
    ),
    docs: Optional[str] = typer.Option(
        None,
        help="CoNLL: what becomes a doc: sentences, documents (separated by -DOCSTART- lines), or "
        "a maximum number of tokens. Default: documents if INPUT starts with a -DOCSTART- line, "
        "otherwise sentences",
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
    label_separator: Optional[str] = typer.Option(
        None, help="CSV: separator between the labels of a text. Default: one label per text"
    ),
    offsets: str = typer.Option(
        "characters",
        help="JSON: how offsets count: characters, utf16, utf8, inclusive (ends are the last "
        "character), or a number to add to them",
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    verbose: bool = typer.Option(False, "--verbose", "-V", help="Show all lines with problems"),
) -> None:
    """Convert a corpus of your own for spacy train: CoNLL, JSON lines or CSV.

    CoNLL has a token and its tag on each line; tags are IOB1, IOB2 or BILUO. Blank lines separate
    sentences. JSON lines, or one JSON array, have a "text" each, with "spans" of entities as
    Prodigy writes them, with a "label" of entities or texts as doccano does, or with "cats", or
    "tokens" with "ner_tags" as Hugging Face does. CSV has a header, a column of texts and a column
    of labels.

    Entities that don't align with tokens are left out, and shown with their lines. If no entities
    or labels are left, nothing is written.

    DOCS: python -m pydoc spacy_multihash.corpus.convert
    """
    with failing(f"Cannot convert {input_path}"):
        reading = Reading(
            format=format,
            docs=docs,
            labels=None if labels is None else [label.strip() for label in labels.split(",")],
            layout=Layout(token_column, tag_column),
            csv_layout=CsvLayout(text_column, label_column, label_separator),
            offsets=offsets,
            group=group,
        )
        shares = None if split is None else _parse_shares(split)
        done = convert(
            input_path, output, reading, lang=lang, shares=shares, seed=seed, force=force
        )
    _show(done, verbose=verbose)
    msg.good(f"Wrote {output}")


def convert(
    input_path: Path,
    output: Path,
    reading: Reading = DEFAULT,
    *,
    lang: str = "xx",
    shares: Optional[Sequence[float]] = None,
    seed: int = 0,
    force: bool = False,
) -> Conversion:
    """Convert a file to a .spacy file, or with shares of splits to a folder of .spacy files.

    Raises ValueError, ImportError or OSError, and writes nothing, if the input can't be read, if
    the output is in the way, or if no entities or labels are left.
    """
    if shares is None:
        _check_file(output, force=force)
    else:
        _check_folder(output, SPLITS[: len(shares)], force=force)
    if not (input_path.is_file() or input_path.is_dir()):
        raise ValueError(
            f"Expected a file as INPUT, which is read more than once, was a pipe or a device: "
            f"{input_path}. Save it to a file first."
        )
    nlp = spacy.blank(lang)
    source = read_source(input_path, reading)
    hint = source.hint(nlp) if isinstance(source, TaggedTokens) else ""
    if shares is not None and len(source) == 1 and hint:
        raise ValueError(f"There is 1 document, which --split can't part. {hint}")
    items = range(len(source))
    parts = {output.stem: [*items]}
    if shares is not None:
        by_order = isinstance(source, TaggedTokens) or source.has_spans
        words = [source.words(i) for i in items]
        parts = dict(split_related(source.groups(), words, shares, seed, by_order=by_order).places)
    counts, bins = {}, {}
    with tqdm(
        total=len(source), desc="Converting", unit=" docs", leave=False, disable=None
    ) as progress:
        for name, places in parts.items():
            counts[name], bins[name] = Counts(), DocBin()
            for i in places:
                doc = source.make_doc(i, nlp)
                counts[name].add(doc)
                bins[name].add(doc)
                progress.update()
    if isinstance(source, AnnotatedTexts) and source.has_spans:
        hint = source.hint(nlp) if source.problems else ""
        if not any(split.entities or split.cats for split in counts.values()):
            summary = summarize_problems(source)
            lines = [line for title, details in summary for line in (title, *details)]
            raise ValueError("\n".join(["No entity is left.", *filter(None, [hint]), *lines]))
    write_corpora(output.parent if shares is None else output, bins)
    return Conversion(source, counts, hint)


def _parse_shares(text: str) -> list[float]:
    try:
        return [float(share) for share in text.split(",")]
    except ValueError as error:
        raise ValueError(
            f"Expected numbers with commas between them as --split, such as 0.8,0.1,0.1, was: "
            f"{text!r}."
        ) from error


def _check_file(output: Path, *, force: bool) -> None:
    """Check that a file can be written, before reading a long file."""
    if output.suffix != DOCS or output.is_dir():
        raise ValueError(
            f"Expected as OUTPUT the name of a {DOCS} file, was: {output}. To write a folder "
            "with train, dev and test, give --split 0.8,0.1,0.1."
        )
    check_file_output(output, "OUTPUT", force=force)


def _check_folder(output: Path, names: Sequence[str], *, force: bool) -> None:
    """Check that a folder of splits can be written, before reading a long file."""
    if output.suffix == DOCS or output.is_file():
        raise ValueError(f"Expected a folder as OUTPUT with --split, was: {output}.")
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


def _show(done: Conversion, *, verbose: bool) -> None:
    """Print what was written, and the problems of lines."""
    source, splits = done.source, list(done.splits.values())
    scheme = f" with {source.scheme} tags" if isinstance(source, TaggedTokens) else ""
    msg.info(f"{source.path} is {_NAMES[source.format]}{scheme}")
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
    for title, lines in summarize_problems(source, None if verbose else SHOWN_LINES):
        msg.warn(title)
        for line in lines:
            msg.text(line)
    if done.hint:
        msg.warn(done.hint)
