"""Corpora in shards: files in a folder to read one by one."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..common.lines import Account, read_lines
from .read import (
    DOCS,
    ENDINGS,
    JSON_LINES,
    Data,
    docs_of,
    example_of,
    items_of,
    list_shards,
    open_doc_bin,
    tokens_of,
)
from .texts import other_keys, read_json_lines, text_of


def ending_of(path: Path) -> str:
    """Return the ending that makes a file a shard, or "" for other files."""
    return next((ending for ending in ENDINGS if path.name.endswith(ending)), "")


def choose_shards(path: Path) -> tuple[list[Path], list[str]]:
    """List the shards of a folder that count, or one, and the names of the others.

    If a folder has .spacy files, only these count. Raises the errors of `list_shards`.
    """
    shards, _ = list_shards(path)
    docs = [shard for shard in shards if ending_of(shard) == DOCS]
    return docs or shards, [str(shard) for shard in shards if docs and shard not in docs]


def not_counted(names: Sequence[str]) -> str:
    """Name shards that don't count."""
    more = f", and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"Not counted, as there are {DOCS} files beside them: {', '.join(names[:3])}{more}"


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
    else:
        yield from (doc for doc, _ in read_bare_shard(Account(path), nlp))


def read_bare_shard(account: Account, nlp: Language) -> Iterator[tuple[Doc, Mapping[str, Any]]]:
    """Stream the docs of a shard without annotation, and the other keys of their JSON.

    A document of a .spacy file gives its text, which the pipeline tokenizes, or its words if their
    spaces are unknown. A line of JSON gives its keys other than text and annotation, such as "id"
    and "meta". Other shards have no keys.

    account (Account): The shard. Notes what became of each line or document, and may keep errors.

    Raises the errors of `read_shard`.
    """
    path, ending = account.path, ending_of(account.path)
    if ending == DOCS:
        for number, doc in enumerate(docs_of(path, open_doc_bin(path), nlp.vocab), start=1):
            account.read(number)
            with account.line(number, "written"):
                if doc.has_unknown_spaces:
                    yield Doc(nlp.vocab, [token.text for token in doc]), {}
                else:
                    yield _make_doc(doc.text, nlp), {}
    elif ending.startswith(JSON_LINES):
        for number, line in read_json_lines(account):
            with account.line(number, "written"):
                yield _make_doc(text_of(line), nlp), other_keys(line)
    else:
        for number, text in read_lines(account):
            with account.line(number, "written"):
                yield _make_doc(text, nlp), {}


def read_bare_docs(path: Union[str, Path], nlp: Language) -> Iterator[Doc]:
    """Stream the docs of all shards of a folder, or of one, without annotation.

    Raises FileNotFoundError at the call if there are none, and the errors of `read_shard`.
    """
    files, _ = list_shards(Path(path))
    return (doc for file_ in files for doc, _ in read_bare_shard(Account(file_), nlp))


def examples_of_any(nlp: Language, data: Data) -> Iterator[Example]:
    """Stream the examples of a corpus as `examples_of`, or of texts without annotation.

    Raises FileNotFoundError at the call if there are none, and the errors of `read_shard`.
    """
    if not isinstance(data, (str, Path)):
        return (example_of(nlp, item) for item in items_of(data, nlp.vocab, Doc, Example, str))
    files, _ = list_shards(Path(data))
    return chain.from_iterable(_examples_of_shard(nlp, file_) for file_ in files)


def _examples_of_shard(nlp: Language, path: Path) -> Iterator[Example]:
    docs = read_shard(path, nlp)
    if ending_of(path) == DOCS:
        return Corpus(path).make_examples(nlp, docs)
    return (Example(doc, doc.copy()) for doc in docs)


def _make_doc(text: str, nlp: Language) -> Doc:
    if len(text) > nlp.max_length:
        raise ValueError(
            f"expected a text of at most {nlp.max_length:,} characters, got {len(text):,}. Cut "
            "it, or raise nlp.max_length, which is --max-length of apply."
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
