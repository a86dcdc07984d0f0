"""Corpora in shards: files in a folder to read one by one."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..common.lines import Account, BadLines, read_lines
from .read import Data, docs_of, examples_of, open_doc_bin, tokens_of
from .texts import other_keys, read_json_lines, text_of

DOCS = ".spacy"
JSON_LINES = ".jsonl"
TEXTS = (".txt", ".txt.gz")
ENDINGS = (DOCS, JSON_LINES, f"{JSON_LINES}.gz", *TEXTS)


def list_shards(path: Path) -> tuple[list[Path], Counter[str]]:
    """List the shards of a folder and its subfolders by name, and count other files by suffix.

    Names that begin with a dot are skipped.

    Raises FileNotFoundError if there are no shards, and ValueError for a folder that occurs twice.
    """
    others = Counter[str]()
    if path.is_file() and ending_of(path):
        return [path], others
    found = []
    for file_ in _walk(path) if path.is_dir() else ():
        if ending_of(file_):
            found.append(file_)
        else:
            others[file_.suffix] += 1
    if not found:
        raise FileNotFoundError(
            f"There is no corpus at {path}: expected a folder with files that end in "
            f"{', '.join(ENDINGS)}, or one such file. Check the path, or make one with: python "
            "-m spacy multihash convert"
        )
    return sorted(found, key=lambda file_: file_.relative_to(path).parts), others


def ending_of(path: Path) -> str:
    """Return the ending that makes a file a shard, or "" for other files."""
    return next((ending for ending in ENDINGS if path.name.endswith(ending)), "")


def _walk(folder: Path) -> Iterator[Path]:
    met: dict[tuple[int, int], str] = {}
    for where, folders, files in os.walk(folder, onerror=_fail, followlinks=True):
        status = os.stat(where)
        former = met.setdefault((status.st_dev, status.st_ino), where)
        if former != where:
            raise ValueError(
                f"{where} is the same folder as {former}: its shards would count more than once. "
                "Remove the link that leads there."
            )
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(where, name) for name in files if not name.startswith("."))


def _fail(error: OSError) -> NoReturn:
    raise error


def read_shard(path: Path, nlp: Language) -> Iterator[Doc]:
    """Stream the docs of a shard, in their order.

    A .spacy file has docs with their annotation. A .jsonl file has an object with a "text" on each
    line. A .txt file has a text on each line, which may be empty. Files in .gz are compressed files
    of these formats. The pipeline tokenizes texts.

    Raises ValueError, with the file, and the line or the number of the document that can't be read,
    when it's reached.
    """
    if ending_of(path) == DOCS:
        yield from docs_of(path, open_doc_bin(path), nlp.vocab)
        return
    for doc, _ in _read_texts(path, nlp, Account(path)):
        yield doc


def read_bare_shard(
    path: Path, nlp: Language, account: Account, bad: Optional[BadLines] = None
) -> Iterator[tuple[Doc, Mapping[str, Any]]]:
    """Stream the docs of a shard without annotation, and the other keys of their JSON.

    A document of a .spacy file gives its text, which the pipeline tokenizes, or its words if their
    spaces are unknown. A line of JSON gives its keys other than text and annotation, such as "id"
    and "meta". Other shards have no keys. Raises the errors of `read_shard`.

    account (Account): Notes what became of each line or document.
    bad (Optional[BadLines]): Keeps the errors of texts, which are left out. None: raise the first.
    """
    if ending_of(path) != DOCS:
        yield from _read_texts(path, nlp, account, bad)
        return
    for number, doc in enumerate(docs_of(path, open_doc_bin(path), nlp.vocab), start=1):
        account.read(number)
        with account.using(number, bad):
            if doc.has_unknown_spaces:
                yield Doc(nlp.vocab, [token.text for token in doc]), {}
            else:
                yield _make_doc(doc.text, nlp, f"{path}: document {number}"), {}


def _read_texts(
    path: Path, nlp: Language, account: Account, bad: Optional[BadLines] = None
) -> Iterator[tuple[Doc, Mapping[str, Any]]]:
    if ending_of(path).startswith(JSON_LINES):
        for number, line in read_json_lines(path, account, bad):
            where = f"{path}:{number}"
            with account.using(number, bad):
                yield _make_doc(text_of(line, where), nlp, where), other_keys(line)
    else:
        for number, text in read_lines(path, account, bad):
            with account.using(number, bad):
                yield _make_doc(text, nlp, f"{path}:{number}"), {}


def read_bare_docs(path: Union[str, Path], nlp: Language) -> Iterator[Doc]:
    """Stream the docs of all shards of a folder, or of one, without annotation.

    Raises FileNotFoundError at the call if there are none, and the errors of `read_shard`.
    """
    files, _ = list_shards(Path(path))
    return (doc for file_ in files for doc, _ in read_bare_shard(file_, nlp, Account(file_)))


def examples_of_any(nlp: Language, data: Data) -> Iterator[Example]:
    """Stream the examples of a corpus as `examples_of`, or of texts without annotation.

    Raises FileNotFoundError at the call if there are none, and the errors of `read_shard`.
    """
    if not isinstance(data, (str, Path)):
        return examples_of(nlp, data)
    files, _ = list_shards(Path(data))
    return chain.from_iterable(_examples_of_shard(nlp, file_) for file_ in files)


def _examples_of_shard(nlp: Language, path: Path) -> Iterator[Example]:
    docs = read_shard(path, nlp)
    if ending_of(path) == DOCS:
        return Corpus(path).make_examples(nlp, docs)
    return (Example(doc, doc.copy()) for doc in docs)


def _make_doc(text: str, nlp: Language, where: str) -> Doc:
    """Make the doc of a text. Raises ValueError if the text is too long."""
    if len(text) > nlp.max_length:
        raise ValueError(
            f"{where}: expected a text of at most {nlp.max_length:,} characters, got "
            f"{len(text):,}. Cut it, or raise nlp.max_length, which is --max-length of apply."
        )
    return nlp.make_doc(text)


def model_shard(path: Path, nlp: Language) -> Iterator[Doc]:
    """Stream the docs of a shard with the tokens that a pipeline is trained on.

    `tokens_of` makes the docs of .spacy files. Raises the errors of `read_shard`.
    """
    docs = read_shard(path, nlp)
    if ending_of(path) == DOCS:
        return tokens_of(Corpus(path).make_examples(nlp, docs))
    return docs
