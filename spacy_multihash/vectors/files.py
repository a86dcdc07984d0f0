"""Read and write vectors: packages, folders of pipelines or vocabs, and text."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy
import spacy
import srsly
from spacy.attrs import ORTH
from spacy.strings import StringStore
from spacy.util import load_model, logger
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import to_numpy

from ..common.files import read_json_map, reading, recover, replacing_file, replacing_folder
from ..common.load import loading, source_path
from ..common.progress import Progress, no_progress
from .compressed import TABLE, CompressedVectors, check_table_file, is_compressed
from .table import ATTR_NAMES, VectorTable, check_finite, check_table, word_keys
from .text import ends_in_number, is_text, read_text, write_text

_NONE = numpy.zeros(0, dtype="uint64")


def read_table(
    source: Union[str, Path], lang: Optional[str] = None, *, progress: Progress = no_progress
) -> VectorTable:
    """Read a table of vectors.

    source (Union[str, Path]): A package's name, the folder of a pipeline or a vocab, or a file of
        vectors as text.
    lang (Optional[str]): The language. Default: the source's language, or "xx" for text.

    Raises FileNotFoundError or ValueError if there's no table, or if it's damaged.
    """
    path = source_path(source)
    if path.is_file():
        table = _read_text(path, progress)
    elif (path / "vocab" / TABLE).is_file():
        table = _read_folder(path / "vocab", path / "meta.json")
    elif (path / TABLE).is_file():
        table = _read_folder(path)
    else:
        raise FileNotFoundError(
            f"There are no vectors at {source}: expected a package's name, the folder of a pipeline"
            " or of a vocab, or vectors as text. Check the name."
        )
    lang = lang or table.lang
    title = table.title or f"{lang}.vectors"
    return check_table(replace(table, name=str(source), lang=lang, title=title))


def write_table(output: Path, table: VectorTable, *, progress: Progress = no_progress) -> None:
    """Write a table: as text if the output has such a suffix, otherwise as an empty pipeline.

    Raises ValueError, and writes nothing, if a number isn't finite, or if text can't hold the
    table.
    """
    computed = replace(table, name=f"The vectors computed for {output}")
    check_finite(computed, "Scale the vectors that were read first.")
    if is_text(output):
        words = text_words(table)
        rows = range(len(words)) if table.floret is not None else table.rows.tolist()
        with replacing_file(output) as new:
            packed = output.suffix.lower() == ".gz"
            watched = progress(words, desc="Writing", unit=" lines")
            write_text(new, watched, rows, table.data, table.floret, packed=packed)
        return
    strings = StringStore(filter(None, table.words))
    vectors = Vectors(strings=strings, data=table.data, name=table.title, **(table.floret or {}))
    vectors.key2row = dict(zip(table.keys.tolist(), table.rows.tolist(), strict=True))
    nlp = spacy.blank(table.lang)
    nlp.vocab.vectors = vectors
    with replacing_folder(output) as new:
        nlp.to_disk(new)
        if table.floret is None and table.attr != ORTH:  # spaCy doesn't write it
            config = {"mode": "default", "attr": table.attr}
            srsly.write_json(new / "vocab" / "vectors.cfg", config)


def text_words(table: VectorTable) -> list[str]:
    """Return the words of a table, or the numbers of floret's rows, to write as text.

    Raises ValueError if text can't hold the table: if it doesn't find words by ORTH, if the text of
    a word is unknown, contains a line feed, or ends in a decimal number, or if a sign of floret is
    empty or contains a blank.
    """
    problem = None
    words = [word for word in table.words if word]
    signs = [] if table.floret is None else [table.floret["bow"], table.floret["eow"]]
    if table.attr != ORTH:
        name = ATTR_NAMES.get(table.attr, table.attr)
        problem = f"finds words by {name}, and would be read as a table by ORTH"
    elif any(sign.split() != [sign] for sign in signs):
        problem = f"has the signs {signs}, but blanks separate the fields of a line"
    elif len(words) < len(table.words):
        problem = f"lacks the text of {len(table.words) - len(words):,} words"
    elif cut := [word for word in words if "\n" in word]:
        problem = f"has {len(cut):,} words with a line feed, such as {cut[0]!r}"
    elif wide := [word for word in words if ends_in_number(word)]:
        problem = f"has {len(wide):,} words that end in a blank or number, such as {wide[0]!r}"
    if problem is not None:
        raise ValueError(f"{table.name} {problem}. Write a folder instead of text.")
    return words if table.floret is None else [str(row) for row in range(len(table.data))]


def _read_folder(folder: Path, meta_path: Optional[Path] = None) -> VectorTable:
    """Read the vectors of a vocab, in spaCy's own form or compressed."""
    meta: dict[str, Any] = {}
    is_small = is_compressed(folder)
    vectors = CompressedVectors() if is_small else Vectors()
    if meta_path is not None and meta_path.is_file():
        meta = read_json_map(meta_path, lang=str, vectors=dict)
    check_table_file(folder / TABLE)
    with reading(folder):
        vectors.from_disk(folder)
        keys = numpy.array(list(vectors.key2row.keys()), dtype="uint64")
        rows = numpy.array(list(vectors.key2row.values()), dtype="int64")
    if is_small:  # its keys are sorted by hash
        order = numpy.argsort(rows, kind="stable")
        keys, rows = keys[order], rows[order]
    keys, rows = keys[rows != -1], rows[rows != -1]  # words of row -1 have no vector
    words = [vectors.strings[k] if k in vectors.strings else None for k in keys.tolist()]
    floret = vectors._get_cfg() if vectors.mode == "floret" else None
    title = (meta.get("vectors") or {}).get("name") or ""
    table = VectorTable("", to_numpy(vectors.data), keys, rows, words, floret, vectors.attr)
    return replace(table, lang=meta.get("lang") or "xx", title=title)


def _read_text(path: Path, progress: Progress) -> VectorTable:
    """Read vectors as text. If a word occurs more than once, its first vector counts."""
    words, data, floret = read_text(path, progress)
    if floret is not None:
        return VectorTable("", data, _NONE, _NONE.astype("int64"), [], {**floret, "attr": ORTH})
    keys = word_keys(words)
    rows = numpy.sort(numpy.unique(keys, return_index=True)[1])
    if len(rows) < len(words):
        again = words[numpy.setdiff1d(numpy.arange(len(words)), rows)[0]]
        logger.warning(  # spaCy's commands print it
            f"{path} has {len(words) - len(rows):,} words more than once, such as {again!r}: the "
            "first vector of each was kept."
        )
    return VectorTable("", data, keys[rows], rows, [words[row] for row in rows.tolist()])


def load_vectors(name: Union[str, Path], *, or_vocab: bool = True) -> Vocab:
    """Load the vocab of a pipeline, or a vocab by itself, and check that it has vectors.

    or_vocab (bool): Whether to accept the folder of a vocab, too. Training doesn't.

    Raises ValueError.
    """
    recover(name)
    is_vocab = (Path(name) / "vectors").is_file()
    expected = "a pipeline (a package's name or a path)" + ", or the folder of a vocab" * or_vocab
    if is_vocab and not or_vocab:
        raise ValueError(
            f"{name} is the folder of a vocab: expected {expected}. Make one with: python -m spacy "
            "init vectors"
        )
    missing = f"Cannot load the vectors of {name}: expected {expected}. Check the name."
    with loading(f"the vectors of {name}", name, missing):
        if is_vocab:
            vocab = Vocab()
            if is_compressed(Path(name)):
                vocab.vectors = CompressedVectors(strings=vocab.strings)
            vocab.from_disk(name, exclude=["lookups"])
        else:
            vocab = load_model(name).vocab
    # Vectors of floret have rows, but no keys: their number of keys is -1.
    if not len(vocab.vectors) or not vocab.vectors.n_keys:
        raise ValueError(
            f"{name} has no vectors: its table is empty. Give a pipeline that has some, such as an "
            "_md or _lg package, or leave --vectors out."
        )
    return vocab
