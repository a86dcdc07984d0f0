"""Convert texts with labels, in JSON or CSV, to spaCy's binary format: a file for each split."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from wasabi import msg

from spacy_multihash.corpus.read import write_corpora
from spacy_multihash.corpus.texts import read_csv_rows, read_json_lines

LABELS = ("Business", "Sci/Tech", "Sports", "World")
# The labels of the classes in CSV files.
CLASSES = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}


# The files of the training and the test set, in both formats.
JSON_FILES = ("ag_news_train_part.jsonl.gz", "ag_news_test.jsonl.gz")
CSV_FILES = ("train.csv", "test.csv")
NAMES = " or ".join(" and ".join(files) for files in (JSON_FILES, CSV_FILES))
# "5% of the training data as validation data" (Svenstrup et al. 2017, section 5.2)
DEV_SHARE = 0.05
SPLIT_SEED = 42


def read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the text and the label of each line of a file, reading one line at a time.

    path (Path): A file with a JSON object with the strings "text" and "label" on each line. If its
        name ends in .csv, each line has a class from 1 to 4, a title and a description. The title
        and the description make the text.
    """
    if path.suffix == ".csv":
        for _, (number, *parts) in read_csv_rows(path):
            yield " ".join(parts), CLASSES[number]
    else:
        for _, record in read_json_lines(path):
            yield record["text"], record["label"]


def find_files(assets: Path) -> tuple[str, str]:
    """Return the names of the files in a folder, JSON if it has both formats.

    Raises FileNotFoundError if it has neither format.
    """
    for files in (JSON_FILES, CSV_FILES):
        if all((assets / name).is_file() for name in files):
            return files
    raise FileNotFoundError(f"Expected {NAMES} in {assets}.")


def labelled(nlp: Language, text: str, label: str, labels: Iterable[str]) -> Doc:
    """Make a doc of a text with a value for each label: 1 for its own, 0 for the others."""
    doc = nlp.make_doc(text)
    doc.cats = {name: float(name == label) for name in labels}
    return doc


def convert_textcat(assets: Path, output: Path) -> dict[str, int]:
    """Convert AG News. Nothing is written unless every split can be read.

    The tokens come from spaCy's English tokenizer, without other preprocessing.

    assets (Path): The folder of the files that `find_files` finds.
    output (Path): The folder to write train.spacy, dev.spacy and test.spacy to. Dev is a random
        part of the training file, the same each time.

    Returns the number of docs of each split.
    """
    train, test = find_files(assets)
    nlp, rng = spacy.blank("en"), Random(SPLIT_SEED)
    splits = {split: DocBin(attrs=[]) for split in ("train", "dev", "test")}
    for text, label in read_texts(assets / train):
        split = "dev" if rng.random() < DEV_SHARE else "train"
        splits[split].add(labelled(nlp, text, label, LABELS))
    for text, label in read_texts(assets / test):
        splits["test"].add(labelled(nlp, text, label, LABELS))
    write_corpora(output, splits)
    return {split: len(doc_bin) for split, doc_bin in splits.items()}


def convert_textcat_cli(
    assets: Annotated[Path, typer.Argument(help=f"Folder of {NAMES}")],
    output: Annotated[Path, typer.Argument(help="Folder for train, dev and test.spacy")],
) -> None:
    """Convert AG News to spaCy's binary format. 5 % of its training texts become dev.

    DOCS: docs/text-classification.md
    """
    try:
        counts = convert_textcat(assets, output)
    except (OSError, ValueError) as error:
        msg.fail("Could not convert AG News", error, exits=1)
    msg.good(f"Converted AG News to {output}: {counts}")
