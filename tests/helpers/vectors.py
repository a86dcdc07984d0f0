"""Small tables of vectors, in memory and in files."""

from collections.abc import Sequence
from pathlib import Path

import numpy
import spacy
from spacy.vectors import Vectors

from spacy_multihash.vectors.table import VectorTable, word_keys

WORDS = [f"word{i}" for i in range(60)]
FLORET = {"minn": 2, "maxn": 3, "hash_count": 2, "hash_seed": 0, "bow": "<", "eow": ">"}
FLORET_TABLE = {"mode": "floret", **FLORET}


def random_vectors(rows: int = len(WORDS), width: int = 8, seed: int = 0) -> numpy.ndarray:
    """Draw vectors with a mean and with axes of different variances, (rows, width) float32."""
    rng = numpy.random.default_rng(seed)
    mixed = rng.normal(size=(rows, width)) * numpy.arange(1, width + 1)
    return (mixed @ rng.normal(size=(width, width)) + 3).astype("float32")


def make_table(
    X: numpy.ndarray, words: list[str] | None = None, name: str = "table"
) -> VectorTable:
    words = WORDS[: len(X)] if words is None else words
    return VectorTable(name, X, word_keys(words), numpy.arange(len(words)), words)


def write_pipeline(
    path: Path, X: numpy.ndarray, words: Sequence[str] | None = None, lang: str = "xx"
) -> Path:
    """Write a pipeline with vectors, as spaCy does."""
    nlp = spacy.blank(lang)
    words = WORDS[: len(X)] if words is None else words
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=X, name="some.vectors")
    for row, word in enumerate(words):
        nlp.vocab.vectors.add(nlp.vocab.strings.add(word), row=row)
    nlp.to_disk(path)
    return path


def write_floret(path: Path, X: numpy.ndarray, lang: str = "xx") -> Path:
    """Write a pipeline with a floret table."""
    nlp = spacy.blank(lang)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=X, **FLORET_TABLE)
    nlp.to_disk(path)
    return path


def write_lines(path: Path, X: numpy.ndarray, words: list[str] | None = None) -> Path:
    """Write vectors as word2vec does."""
    words = WORDS[: len(X)] if words is None else words
    lines = [f"{len(X)} {X.shape[1]}"]
    lines += [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, X, strict=True)]
    path.write_text("\n".join(lines) + "\n", "utf8")
    return path


def loaded(path: Path, words: list[str] | None = None) -> numpy.ndarray:
    """Load a pipeline as spaCy does, and look words up."""
    vocab = spacy.load(path).vocab
    return numpy.asarray(vocab.vectors.get_batch([vocab.strings.add(w) for w in words or WORDS]))


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of all files in a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
