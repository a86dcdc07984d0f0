"""Words with their texts: those of a corpus, and those of a table of static vectors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import List, Optional

import numpy
from spacy.attrs import ORTH
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import to_numpy

from ..common.checks import refusal
from ..corpus.read import model_docs
from ..corpus.static_vectors import has_vectors
from ..corpus.training import training_docs


def count_texts(docs: Iterable[Doc], attr: int) -> Counter[str]:
    """Count the values of an attribute whose values are strings; docs are not kept."""
    counts: Counter[str] = Counter()
    for doc in docs:
        strings = doc.vocab.strings
        counts.update(strings[key] for key in doc.to_array([attr]).ravel().tolist())
    return counts


def check_corpora(corpora: Optional[Sequence[Path]], where: str) -> None:
    """Refuse an empty list of corpora, which has no words. Raises ValueError.

    where (str): The callback, for messages.
    """
    if corpora is not None and not corpora:
        expected = "null for the training corpus, or a list of .spacy files or folders"
        raise refusal(where, "corpora", expected, corpora)


def count_keys(docs: Iterable[Doc], attrs: Sequence[int]) -> Counter[tuple[str, str]]:
    """Count tokens by what finds them in a table of vectors, and by their words.

    A token without a value, such as one without a lemma, is found by its word.

    attrs (Sequence[int]): Attributes whose values are strings. A token counts for each different
        value of them.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for doc in docs:
        ids = doc.to_array([ORTH, *attrs])
        words, keys = ids[:, 0], numpy.where(ids[:, 1:] == 0, ids[:, :1], ids[:, 1:])
        found: Counter[tuple[int, int]] = Counter()
        for column in range(keys.shape[1]):
            is_new = (keys[:, :column] != keys[:, column : column + 1]).all(axis=1)
            found.update(zip(keys[is_new, column].tolist(), words[is_new].tolist(), strict=True))
        strings = doc.vocab.strings
        for (key, word), count in found.items():
            counts[strings[key], strings[word]] += count
    return counts


def docs_of_corpora(nlp: Language, corpora: Optional[Sequence[Path]], where: str) -> Iterator[Doc]:
    """Stream the docs of corpora, or without any those of the training corpus.

    where (str): The callback, for messages.

    Raises ValueError if a corpus cannot be read to its end.
    """
    if corpora is not None:
        return chain.from_iterable(model_docs(nlp, path) for path in corpora)
    if nlp.config.interpolate()["training"]["max_epochs"] == -1:
        raise ValueError(
            f"{where}: the training corpus is streamed ([training] max_epochs = -1), and may have "
            "no end. Give a sample of it as corpora, a list of .spacy files."
        )
    return training_docs(nlp)


def by_frequency(counts: Counter[str]) -> List[str]:
    """List texts, the most frequent first, ties in the order of the alphabet."""
    return sorted(counts, key=lambda text: (-counts[text], text))


def check_vectors(vocab: Vocab, where: str) -> Vectors:
    """Return the table of static vectors, if it has a row for each of its words.

    where (str): The callback or command, for messages.

    Raises ValueError without vectors, for vectors of n-grams (floret), and for other kinds.
    """
    vectors = vocab.vectors
    if not isinstance(vectors, Vectors) or vectors.mode != Mode.default:
        raise ValueError(
            f"{where} needs a table with static vectors of words, but that of the pipeline makes "
            "the vectors of all words of their n-grams (floret), or is of another kind. No word "
            "lacks a vector there."
        )
    if not vectors.size or not vectors.key2row:
        raise ValueError(
            f"{where} needs static vectors, but the pipeline has none: its table has the shape "
            f"{tuple(vectors.shape)} and {len(vectors.key2row)} words. Name vectors as "
            "[initialize] vectors."
        )
    return vectors


def named_words(vocab: Vocab, words: Iterable[str]) -> List[str]:
    """List the words of the table of static vectors whose texts are known.

    A table has the ids of its words. Texts are known of the words that are given, and of those
    among the strings of the vocab. Words whose vector is zero are left out.

    words (Iterable[str]): Words, in the table or not. They come first, in this order. The others
        follow in the order of their rows: most tables have the most frequent words first.
    """
    vectors, strings = vocab.vectors, vocab.strings
    stored = sorted(vectors.key2row.items(), key=lambda item: (item[1], item[0]))
    others = (strings[key] for key, _ in stored if key in strings)
    return list(present_rows(vocab, (*words, *others)))


def present_rows(vocab: Vocab, words: Iterable[str]) -> dict[str, int]:
    """Map words to their rows in the table of static vectors, in the order of the words.

    Words that the table lacks are left out, and those whose vector is zero, which stands for none.
    """
    keys = {word: vocab.strings[word] for word in words}
    present = has_vectors(vocab.vectors, numpy.array([*keys.values()], dtype="uint64"))
    key2row = vocab.vectors.key2row
    return {
        word: key2row[key] for (word, key), has in zip(keys.items(), present, strict=True) if has
    }


def rows_of(vocab: Vocab, words: Sequence[str]) -> numpy.ndarray:
    """Get the rows (N,) int64 of words that the table of static vectors has."""
    key2row, strings = vocab.vectors.key2row, vocab.strings
    return numpy.array([key2row[strings[word]] for word in words], dtype="int64")


def vectors_of(vocab: Vocab, words: Sequence[str]) -> numpy.ndarray:
    """Get the static vectors (N, W) of words that the table has."""
    return to_numpy(vocab.vectors.data[rows_of(vocab, words).tolist()])


def vector_attr(vectors: Vectors) -> int:
    """Return the id of the attribute whose values are the words of a table."""
    return int(getattr(vectors, "attr", ORTH))
