"""What spaCy knows of vectors: hashes of words, n-grams of floret, packages, and its own files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Optional, Union

import numpy
import spacy
from spacy.attrs import IDS
from spacy.strings import get_string_id
from spacy.symbols import IDS as SYMBOL_IDS
from spacy.util import get_lang_class, get_model_meta, get_package_path, is_package
from spacy.vectors import Vectors
from spacy.vocab import Vocab, create_vocab

from ..common.types import TEXT_ATTRS

# Strings that have small numbers of their own in the place of hashes, such as DATE and X.
SYMBOLS: Sequence[str] = tuple(filter(None, SYMBOL_IDS))
# The names of the attributes by which tables find words, by spaCy's numbers of them.
ATTR_NAMES: Mapping[int, str] = {IDS[name]: name for name in TEXT_ATTRS}


def word_keys(words: Iterable[str]) -> numpy.ndarray:
    """Return the hashes of words, (n,) uint64."""
    return numpy.array([get_string_id(word) for word in words], dtype="uint64")


def word_values(words: Sequence[str], lang: str, attr: int) -> list[str]:
    """Return the words' values of an attribute, as their lexemes have them.

    The lemma of a word without context is the word itself. Raises ImportError if spaCy lacks the
    language.
    """
    getters: dict[int, Callable] = _blank_vocab(lang).lex_attr_getters  # type: ignore[attr-defined]
    return [getters.get(attr, str)(word) for word in words]


@cache
def _blank_vocab(lang: str) -> Vocab:
    return create_vocab(lang, get_lang_class(lang).Defaults)


def floret_vectors(
    rows: numpy.ndarray, settings: Mapping[str, Any], words: Sequence[str]
) -> numpy.ndarray:
    """Return the vectors of words, (n, width), the means of their n-grams' rows.

    rows (numpy.ndarray): All rows of a floret table.
    settings (Mapping[str, Any]): What its vectors.cfg says.
    words (Sequence[str]): The words, none of them empty.
    """
    return Vectors(data=numpy.asarray(rows, dtype="float32"), **settings).get_batch(words)


def find_package(name: str) -> Optional[Path]:
    """Return the folder of an installed pipeline, without loading it. None for other packages."""
    if not is_package(name):
        return None
    try:
        path = get_package_path(name)
    except ImportError:  # one that is imported by another name
        return None
    if not (path / "meta.json").is_file():
        return None
    meta = get_model_meta(path)
    return path / f"{meta['lang']}_{meta['name']}-{meta['version']}"


def source_path(source: Union[str, Path]) -> Path:
    """Return the path that a source has: that of an installed pipeline if there is no other."""
    path = Path(source)
    return path if path.exists() else find_package(str(source)) or path


def write_vocab(path: Path, words: Sequence[str]) -> None:
    """Write what a vocab has beside its vectors to a folder that is there."""
    vocab = Vocab()
    for word in words:
        vocab.strings.add(word)
    vocab.to_disk(path, exclude=["vectors"])


def write_pipeline(
    path: Path,
    words: Sequence[str],
    data: numpy.ndarray,
    key2row: Mapping[int, int],
    floret: Optional[Mapping[str, Any]],
    *,
    lang: str,
    name: str,
) -> None:
    """Write a pipeline without components around vectors that are written already.

    data (numpy.ndarray): The rows of the table, which may be mapped to their file.
    key2row (Mapping[int, int]): The row of each word's hash.
    floret (Optional[Mapping[str, Any]]): Settings of floret, None for a table of words.
    name (str): The name of the vectors.
    """
    nlp = spacy.blank(lang)
    for word in words:
        nlp.vocab.strings.add(word)
    vectors = Vectors(strings=nlp.vocab.strings, data=data, name=name, **(floret or {}))
    vectors.key2row = key2row
    nlp.vocab.vectors = vectors
    nlp.to_disk(path, exclude=["vectors"])
