"""Convert texts with labels, as lines of JSON, to spaCy's binary format, one file a split."""

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from random import Random
from typing import Annotated

import spacy
import srsly
import typer
from _docbin import LabelSummary, add_labelled, read_lines
from spacy.tokens import DocBin
from wasabi import msg

from spacy_multihash.corpora import write_corpora

LABELS = ("Business", "Sci/Tech", "Sports", "World")
TRAIN_FILE, TEST_FILE = "ag_news_train_part.jsonl.gz", "ag_news_test.jsonl.gz"
# "5% of the training data as validation data" (Svenstrup et al. 2017, section 5.2)
DEV_SHARE = 0.05
SPLIT_SEED = 42


def read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield text and label of each line of a file, reading one line at a time.

    path (Path): A file of JSON objects with the strings "text" and "label", one a line.

    Raises ValueError for a line that is none, with its number, and for a file without lines.
    """
    number = 0
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        try:
            record = srsly.json_loads(line)
        except ValueError as error:
            raise ValueError(
                f"{where}: expected a JSON object on each line, found {line[:80]!r} ({error}). "
                "Correct the line, or take the file as published."
            ) from error
        fields = record if isinstance(record, dict) else {}
        text, label = fields.get("text"), fields.get("label")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f'{where}: expected words as "text", found {text!r} in {line[:80]!r}. Correct the '
                "line, or take the file as published."
            )
        if label not in LABELS:
            raise ValueError(
                f'{where}: expected as "label" one of {", ".join(LABELS)}; found {label!r}. '
                "Correct the line, or take the file as published."
            )
        yield text, label
    if not number:
        raise ValueError(f"{path}: expected texts, found none. Take the file as published.")


def convert_textcat(assets: Path, output: Path) -> list[LabelSummary]:
    """Convert AG News; nothing is written unless every split can be read.

    Tokens are those of spaCy's English tokenizer, and there is no other preprocessing.

    assets (Path): The folder of the files.
    output (Path): The folder that gets train.spacy, dev.spacy and test.spacy. Dev is a random part
        of the training file, the same each time.
    """
    for name in (TRAIN_FILE, TEST_FILE):
        if not (assets / name).is_file():
            raise FileNotFoundError(
                f"{assets / name} is missing. Copy it there, or try everything on generated texts: "
                "python -m spacy project run make-topics"
            )
    nlp, rng = spacy.blank("en"), Random(SPLIT_SEED)
    splits = {split: (DocBin(attrs=[]), LabelSummary(split)) for split in ("train", "dev", "test")}
    for text, label in read_texts(assets / TRAIN_FILE):
        split = "dev" if rng.random() < DEV_SHARE else "train"
        add_labelled(*splits[split], nlp, text, label, LABELS)
    for text, label in read_texts(assets / TEST_FILE):
        add_labelled(*splits["test"], nlp, text, label, LABELS)
    write_corpora(output, {split: doc_bin for split, (doc_bin, _) in splits.items()})
    return [summary for _, summary in splits.values()]


def convert_textcat_cli(
    assets: Annotated[Path, typer.Argument(help=f"Folder of {TRAIN_FILE} and {TEST_FILE}.")],
    output: Annotated[Path, typer.Argument(help="Folder for train, dev and test.spacy.")],
) -> None:
    """Convert AG News to spaCy's binary format; 5 % of its training texts become dev.

    DOCS: docs/weighted.md
    """
    try:
        summaries = convert_textcat(assets, output)
    except (OSError, ValueError) as error:
        msg.fail("Could not convert AG News", error, exits=1)
    msg.good("Converted AG News", output)
    show_summaries(summaries)


def show_summaries(summaries: list[LabelSummary]) -> None:
    """Print what came out for each split."""
    rows = [(row[0], *(f"{n:,}" for n in row[1:])) for row in map(astuple, summaries)]
    msg.table(rows, header=("split", "docs", "tokens"), divider=True, aligns=("l", "r", "r"))


if __name__ == "__main__":
    typer.run(convert_textcat_cli)
