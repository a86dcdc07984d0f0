"""Convert texts with labels, in JSON or CSV, to spaCy's binary format: a file for each split."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import msg

from experiments.corpora.docs import labelled
from spacy_multihash.corpus.read import write_corpora
from spacy_multihash.corpus.texts import read_csv_rows, read_json_lines

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
    """
    if path.suffix == ".csv":
        for _, (number, *parts) in read_csv_rows(path):
            yield " ".join(parts), CLASSES[number]
    else:
        for _, record in read_json_lines(path):
            yield record["text"], record["label"]


def find_files(assets: Path) -> Files:
    """Return the names of the files in a folder, those of JSON if it has both formats.

    Raises FileNotFoundError if it has neither.
    """
    for files in (JSON_FILES, CSV_FILES):
        if all((assets / name).is_file() for name in files):
            return files
    raise FileNotFoundError(f"Expected {JSON_FILES}, or {CSV_FILES}, in {assets}.")


def convert_textcat(assets: Path, output: Path) -> dict[str, int]:
    """Convert AG News. Nothing is written unless every split can be read.

    The tokens are those of spaCy's English tokenizer. There is no other preprocessing.

    assets (Path): The folder of the files that `find_files` finds.
    output (Path): The folder that gets train.spacy, dev.spacy and test.spacy. Dev is a random part
        of the training file, the same each time.

    Returns the number of docs of each split.
    """
    files = find_files(assets)
    nlp, rng = spacy.blank("en"), Random(SPLIT_SEED)
    splits = {split: DocBin(attrs=[]) for split in ("train", "dev", "test")}
    for text, label in read_texts(assets / files.train):
        split = "dev" if rng.random() < DEV_SHARE else "train"
        splits[split].add(labelled(nlp, text, label, LABELS))
    for text, label in read_texts(assets / files.test):
        splits["test"].add(labelled(nlp, text, label, LABELS))
    write_corpora(output, splits)
    return {split: len(doc_bin) for split, doc_bin in splits.items()}


def convert_textcat_cli(
    assets: Annotated[Path, typer.Argument(help=f"Folder of {JSON_FILES}, or {CSV_FILES}")],
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
