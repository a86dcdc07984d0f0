"""Cut the training set of a corpus to a number of sentences, to simulate small corpora."""

from pathlib import Path
from random import Random
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc, DocBin
from wasabi import msg

from spacy_multihash.corpus.read import read_docs, write_corpora


def cut_corpus(corpus: Path, output: Path, sentences: int, seed: int = 0) -> int:
    """Write a corpus with the first docs of its shuffled training set; dev and test stay the same.

    corpus, output (Path): Folders with train.spacy, dev.spacy and test.spacy.
    sentences (int): Docs are added until they have this many sentences. A doc without sentence
        boundaries is one sentence.
    seed (int): The seed of the order.

    Returns the number of sentences. Raises ValueError if the training set has fewer.
    """
    vocab = spacy.blank("xx").vocab
    docs = list(read_docs(corpus / "train.spacy", vocab))
    Random(seed).shuffle(docs)
    taken, count = DocBin(), 0
    while count < sentences:
        if not docs:
            raise ValueError(f"{corpus} has only {count} sentences for training.")
        doc = docs.pop(0)
        taken.add(doc)
        count += _count_sentences(doc)
    rest = {name: DocBin().from_disk(corpus / f"{name}.spacy") for name in ("dev", "test")}
    write_corpora(output, {"train": taken, **rest})
    return count


def _count_sentences(doc: Doc) -> int:
    return len(list(doc.sents)) if doc.has_annotation("SENT_START") else 1


def cut_cli(
    corpora: Annotated[list[Path], typer.Argument(help="Folders with train, dev and test.spacy")],
    sentences: Annotated[int, typer.Option(help="The number of sentences for training")],
    seed: Annotated[int, typer.Option(help="The seed of the choice")] = 0,
) -> None:
    """Cut training sets to a number of sentences. Each goes beside its corpus, as NAME-SENTENCES.

    Whole docs are taken, in random order. Dev and test stay as they are.

    DOCS: results/README.md
    """
    for corpus in corpora:
        output = corpus.with_name(f"{corpus.name}-{sentences}")
        try:
            count = cut_corpus(corpus, output, sentences, seed)
        except (OSError, ValueError) as error:
            msg.fail(f"Could not cut {corpus}", error, exits=1)
        msg.good(f"{output}: {count:,} sentences")
