"""Texts to measure on, and batches of them."""

import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy
import spacy
from spacy.tokens import Doc, DocBin

from benchmarks.common.layers import ATTRS
from benchmarks.common.paths import ROOT, SHARED, TWEETS


class Text(NamedTuple):
    """Short docs of a language, and the name of the text."""

    name: str
    lang: str
    docs: list[Doc]


def run_experiments(*arguments: str) -> None:
    """Run a command of the experiments, in a process of its own."""
    command = [sys.executable, "-m", "experiments", *arguments]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def load_text(seed: int = 0) -> Text:
    """Load CoNLL-2002 Spanish dev, or the project's sample if it is not there. Shuffle the docs.

    CoNLL is looked for in corpus/, and then in ../shared/datasets.
    """
    path, published = ROOT / "corpus" / "conll-es" / "dev.spacy", SHARED / "datasets"
    with TemporaryDirectory() as folder:
        name, lang = "CoNLL-2002 Spanish dev", "es"
        if not path.is_file():
            if (published / "conll2002").is_dir():
                command, split = ["convert", "conll-es", str(published), folder], "dev"
            else:
                command, split = ["make-sample", folder], "train"
                name, lang = "the project's sample (python -m experiments make-sample)", "en"
            run_experiments(*command)
            path = Path(folder) / f"{split}.spacy"
        return read_text(path, name, lang, seed)


def read_text(path: Path, name: str, lang: str, seed: int = 0) -> Text:
    """Read a text from a file in spaCy's format, and shuffle its docs."""
    docs = read_docs(path, lang)
    return Text(name, lang, random.Random(seed).sample(docs, len(docs)))


def read_docs(path: Path, lang: str) -> list[Doc]:
    """Read docs from a file in spaCy's format."""
    return list(DocBin().from_disk(path).get_docs(spacy.blank(lang).vocab))


def read_tweets() -> list[list[str]]:
    """Read the words of each tweet of WNUT 2017 dev."""
    tweets = TWEETS.read_text("utf8").replace("\n\t\n", "\n\n").strip().split("\n\n")
    return [[row.split("\t")[0] for row in tweet.split("\n")] for tweet in tweets]


def describe_text(text: Text) -> dict[str, object]:
    """Describe a text for the results."""
    counts = {"docs": len(text.docs), "tokens": count_tokens(text.docs)}
    return {"name": text.name, "lang": text.lang, **counts, "types": count_types(text.docs)}


def count_tokens(docs: Sequence[Doc]) -> int:
    """Count tokens, N."""
    return sum(len(doc) for doc in docs)


def count_types(docs: Sequence[Doc]) -> int:
    """Count the tokens that differ in their embedded attributes, U."""
    return len(numpy.unique(numpy.concatenate([doc.to_array(ATTRS) for doc in docs]), axis=0))


def take_docs(docs: Sequence[Doc], size: int) -> list[Doc]:
    """Take the first docs.

    Raises ValueError if there are too few.
    """
    if len(docs) < size:
        raise ValueError(f"A batch needs {size} docs, the text has {len(docs)}.")
    return list(docs[:size])


def take_tokens(docs: Sequence[Doc], size: int) -> list[Doc]:
    """Take the first docs that have at least this many tokens together.

    Raises ValueError if there are too few.
    """
    if count_tokens(docs) < size:
        raise ValueError(f"A batch needs {size} tokens, the text has {count_tokens(docs)}.")
    ends = numpy.cumsum([len(doc) for doc in docs])
    return list(docs[: int(numpy.searchsorted(ends, size)) + 1])


def take_batches(
    docs: Sequence[Doc], take: Callable[[Sequence[Doc]], list[Doc]], number: int
) -> list[list[Doc]]:
    """Take batches one after the other, and start again at the end of the text."""
    batches = []
    for _ in range(number):
        batch = take(docs)
        batches.append(batch)
        docs = [*docs[len(batch) :], *batch]
    return batches


def merge_docs(docs: Sequence[Doc], size: int) -> list[Doc]:
    """Join docs into docs of at least this many tokens each. The rest at the end is left out."""
    merged = []
    while count_tokens(docs) >= size:
        part = take_tokens(docs, size)
        docs = docs[len(part) :]
        merged.append(join_docs(part))
    return merged


def join_docs(docs: Sequence[Doc]) -> Doc:
    """Join docs into one."""
    joined = Doc.from_docs(list(docs))
    if joined is None:
        raise ValueError("Needs one doc or more to join, was given none.")
    return joined
