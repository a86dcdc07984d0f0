"""What the commands that make corpora of texts share: docs with labels, and their counts."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from spacy.language import Language
from spacy.tokens import DocBin
from wasabi import msg


@dataclass
class LabelSummary:
    """The counts of one split of a corpus of labelled texts."""

    split: str
    docs: int = 0
    tokens: int = 0


def add_labelled(
    doc_bin: DocBin,
    summary: LabelSummary,
    nlp: Language,
    text: str,
    label: str,
    labels: Iterable[str],
) -> None:
    """Add a text with its label to the documents of a split, and count it.

    nlp (Language): A pipeline, whose tokenizer makes the tokens.
    label (str): The label of the text.
    labels (Iterable[str]): All labels. A document has a value for each of them.
    """
    doc = nlp.make_doc(text)
    doc.cats = {name: float(name == label) for name in labels}
    doc_bin.add(doc)
    summary.docs += 1
    summary.tokens += len(doc)


def show_summaries(summaries: list[LabelSummary]) -> None:
    """Print the counts of each split as a table."""
    rows = [(row[0], *(f"{n:,}" for n in row[1:])) for row in map(astuple, summaries)]
    msg.table(rows, header=("split", "docs", "tokens"), divider=True, aligns=("l", "r", "r"))
