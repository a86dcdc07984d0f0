"""Convert texts with labels, in JSON or CSV, to spaCy's binary format: a file for each split."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import msg

from experiments.corpora.docs import LabelSummary, add_labelled, show_summaries
from spacy_multihash.corpus.lines import read_csv_rows, read_json_lines
from spacy_multihash.corpus.read import write_corpora

LABELS = ("Business", "Sci/Tech", "Sports", "World")
# The labels of the classes in CSV files.
CLASSES = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}


class Files(NamedTuple):
    """The names of the files of the corpus in one format."""

    train: str
    test: str

    def __str__(self) -> str:
        """Return both names, for messages."""
        return " and ".join(self)


JSON_FILES = Files("ag_news_train_part.jsonl.gz", "ag_news_test.jsonl.gz")
CSV_FILES = Files("train.csv", "test.csv")
# "5% of the training data as validation data" (Svenstrup et al. 2017, section 5.2)
DEV_SHARE = 0.05
SPLIT_SEED = 42


def read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the text and the label of each line of a file, reading one line at a time.

    path (Path): A file with a JSON object on each line, which has the strings "text" and "label".
        If its name ends in .csv, each line has a class from 1 to 4, a title and a description. The
        title and the description make the text.

    Raises ValueError for a malformed line, with its number, and for a file without lines.
    """
    found = None
    for found in (_read_csv if path.suffix == ".csv" else _read_json)(path):
        yield found
    if found is None:
        raise ValueError(f"{path}: expected texts, found none. Use the published file.")


def _read_csv(path: Path) -> Iterator[tuple[str, str]]:
    for number, fields in read_csv_rows(path):
        label = CLASSES.get(fields[0]) if len(fields) == 3 else None
        text = " ".join(fields[1:])
        if label is None or not text.strip():
            raise ValueError(
                f"{path}:{number}: expected a class from 1 to 4, a title and a description; found "
                f"{str(fields)[:80]}. Correct the line, or use the published file."
            )
        yield text, label


def _read_json(path: Path) -> Iterator[tuple[str, str]]:
    for number, record in read_json_lines(path):
        where, start = f"{path}:{number}", str(record)[:80]
        text, label = record.get("text"), record.get("label")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f'{where}: expected words as "text", found {text!r} in {start}. Correct the line, '
                "or use the published file."
            )
        if label not in LABELS:
            raise ValueError(
                f'{where}: expected as "label" one of {", ".join(LABELS)}; found {label!r}. '
                "Correct the line, or use the published file."
            )
        yield text, label


def find_files(assets: Path) -> Files:
    """Return the names of the files in a folder, those of JSON if it has both formats.

    Raises FileNotFoundError if it has neither.
    """
    for files in (JSON_FILES, CSV_FILES):
        if all((assets / name).is_file() for name in files):
            return files
    raise FileNotFoundError(
        f"Expected {JSON_FILES}, or {CSV_FILES}, in {assets}. Both pairs lack a file. Download "
        f"{CSV_FILES} with: python -m spacy project assets --extra, or try generated texts: "
        "python -m spacy project run make-topics"
    )


def convert_textcat(assets: Path, output: Path) -> list[LabelSummary]:
    """Convert AG News. Nothing is written unless every split can be read.

    The tokens are those of spaCy's English tokenizer. There is no other preprocessing.

    assets (Path): The folder of the files that `find_files` finds.
    output (Path): The folder that gets train.spacy, dev.spacy and test.spacy. Dev is a random part
        of the training file, the same each time.
    """
    files = find_files(assets)
    nlp, rng = spacy.blank("en"), Random(SPLIT_SEED)
    splits = {split: (DocBin(attrs=[]), LabelSummary(split)) for split in ("train", "dev", "test")}
    for text, label in read_texts(assets / files.train):
        split = "dev" if rng.random() < DEV_SHARE else "train"
        add_labelled(*splits[split], nlp, text, label, LABELS)
    for text, label in read_texts(assets / files.test):
        add_labelled(*splits["test"], nlp, text, label, LABELS)
    write_corpora(output, {split: doc_bin for split, (doc_bin, _) in splits.items()})
    return [summary for _, summary in splits.values()]


def convert_textcat_cli(
    assets: Annotated[Path, typer.Argument(help=f"Folder of {JSON_FILES}, or {CSV_FILES}")],
    output: Annotated[Path, typer.Argument(help="Folder for train, dev and test.spacy")],
) -> None:
    """Convert AG News to spaCy's binary format. 5 % of its training texts become dev.

    DOCS: docs/text-classification.md
    """
    try:
        summaries = convert_textcat(assets, output)
    except (OSError, ValueError) as error:
        msg.fail("Could not convert AG News", error, exits=1)
    msg.good("Converted AG News", output)
    show_summaries(summaries)
