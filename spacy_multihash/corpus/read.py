"""Read corpora in .spacy files, and write them whole or not at all."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from numbers import Real
from pathlib import Path
from shutil import move
from typing import Any, NoReturn, Optional, Union, cast

import numpy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus, Example
from spacy.vocab import Vocab
from thinc.types import Ints2d

from ..common.arguments import is_iterable
from ..common.files import check_new, reading, replacing_file, staging

# A corpus: a .spacy file or a folder of them, or docs, maybe in examples, with gold annotation.
Docs = Union[str, Path, DocBin, Iterable[Doc]]
Data = Union[Docs, Iterable[Example]]
DOCS, JSON_LINES, TEXTS = ".spacy", ".jsonl", (".txt", ".txt.gz")
ENDINGS = (DOCS, JSON_LINES, f"{JSON_LINES}.gz", *TEXTS)
_REPAIR = "copy or convert the file again"


def list_shards(path: Path, endings: Sequence[str] = ENDINGS) -> tuple[list[Path], Counter[str]]:
    """List the files of a folder and its subfolders by name, and count other files by suffix.

    Names that begin with a dot are skipped.

    endings (Sequence[str]): How the names of files end that count. A single file may be given, too.

    Raises FileNotFoundError if there are no files, and ValueError for files and folders that occur
    twice.
    """
    others, files, met = Counter[str](), list[Path](), dict[tuple[int, int], Path]()
    for file_ in _walk(path, met) if path.is_dir() else [path] if path.is_file() else []:
        if file_.name.endswith(tuple(endings)):
            check_new(file_, met)
            files.append(file_)
        else:
            others[file_.suffix] += 1
    if not files and path.is_file():
        raise FileNotFoundError(
            f"{path} isn't a {' or '.join(endings)} file. Make a .spacy file with:\n"
            f"    python -m spacy multihash convert {path} corpus.spacy"
        )
    if not files:
        raise FileNotFoundError(
            f"There is no corpus at {path}: expected a {' or '.join(endings)} file, or a folder of "
            "them. Check the path, or make a .spacy file with: python -m spacy multihash convert"
        )
    return sorted(files, key=lambda file_: file_.relative_to(path).parts), others


def _walk(folder: Path, met: dict[tuple[int, int], Path]) -> Iterator[Path]:
    for where, folders, files in os.walk(folder, onerror=_fail, followlinks=True):
        check_new(Path(where), met)
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(where, name) for name in files if not name.startswith("."))


def _fail(error: OSError) -> NoReturn:
    raise error


def read_docs(path: Union[str, Path], vocab: Vocab) -> Iterator[Doc]:
    """Stream the docs of a .spacy file, or of all such files in a folder, by name.

    Raises at the call: FileNotFoundError if there is no such file, and ValueError if the first file
    can't be read, or if there are no docs. If a later file can't be read, raises ValueError when it
    reaches that file.
    """
    files, _ = list_shards(Path(path), (DOCS,))
    bins = ((file_, open_doc_bin(file_)) for file_ in files)
    first = next((pair for pair in bins if len(pair[1])), None)
    if first is None:
        raise ValueError(f"The corpus at {path} has no documents. Check the path.")
    return (doc for pair in chain([first], bins) for doc in docs_of(*pair, vocab))


def model_examples(nlp: Language, path: Union[str, Path]) -> Iterator[Example]:
    """Stream the examples of a .spacy file or a folder of them, as `spacy.Corpus.v1` makes them.

    Raises the errors of `read_docs`, at the same time.
    """
    return Corpus(path).make_examples(nlp, read_docs(path, nlp.vocab))


def check_there(path: Path, what: str = "file") -> None:
    """Raise FileNotFoundError for a path where nothing is, which may be a text."""
    if not os.path.exists(path):  # Path.exists raises OSError for long names
        text = " Is it a text? Give texts with their annotation." * (" " in path.name)
        raise FileNotFoundError(f"There is no {what} at {path!s:.100}. Check the path.{text}")


def stream(data: Any, expected: str) -> Iterator[Any]:  # noqa: ANN401 (anything)
    """Yield the items of whatever Python iterates over, but strings, mappings and docs.

    A table of pandas gives its rows.

    expected (str): What there should be, for messages.

    Raises ValueError, when it's reached, for anything else, and if there are no items.
    """
    if hasattr(data, "columns") and hasattr(data, "to_dict"):  # pandas' tables iterate over names
        data = data.to_dict("records")
    if isinstance(data, (str, bytes, Mapping, Doc, Span)) or not is_iterable(data):
        advice = " Give a list." * isinstance(data, (Doc, Span))
        raise ValueError(f"Expected {expected}, got {type(data).__name__}: {data!r:.60}.{advice}")
    is_empty = True
    for item in data:
        is_empty = False
        yield item
    if is_empty:
        advice = " Iterators can be read only once: give a list." * isinstance(data, Iterator)
        raise ValueError(f"Expected {expected}, got none in {type(data).__name__}.{advice}")


def items_of(data: Any, vocab: Vocab, *kinds: type) -> Iterator[Any]:  # noqa: ANN401 (anything)
    """Yield the items of a corpus in memory, or the docs of a DocBin.

    kinds (type): The types that items may have, such as Doc.

    Raises the errors of `stream`, and ValueError for items of other types.
    """
    named = ("texts" if kind is str else f"{kind.__name__}s" for kind in kinds)
    expected = f"a path or {' or '.join(named)}"
    if isinstance(data, DocBin) and Doc in kinds:
        data = data.get_docs(vocab) if len(data) else []
    for item in stream(data, expected):
        if isinstance(item, Example) and Doc in kinds and Example not in kinds:
            item = item.reference
        if not isinstance(item, kinds):
            kind = type(item).__name__
            raise ValueError(f"Expected {expected}, got {kind} among them: {item!r:.60}.")
        yield item


def gold_docs(data: Docs, vocab: Vocab) -> Iterator[Doc]:
    """Stream the docs of a corpus. Raises the errors of `read_docs` at the call."""
    if isinstance(data, (str, Path)):
        return read_docs(data, vocab)
    return items_of(data, vocab, Doc)


def examples_of(nlp: Language, data: Data) -> Iterator[Example]:
    """Stream the examples of a corpus: a path, or docs or examples with gold annotation.

    The docs of a path are read, and the pipeline tokenizes the texts of docs, as spaCy's training
    does. Examples keep their tokens, and are copied, so that those given don't get predictions.
    Raises the errors of `read_docs` at the call.
    """
    if isinstance(data, (str, Path)):
        return model_examples(nlp, data)
    return (example_of(nlp, item) for item in items_of(data, nlp.vocab, Doc, Example))


def example_of(nlp: Language, item: Union[Doc, Example, str]) -> Example:
    """Make an example that a pipeline may annotate. A text has no gold annotation."""
    if isinstance(item, str):
        doc = nlp.make_doc(item)
        return Example(doc, doc.copy())
    if isinstance(item, Example):
        return Example(bare(item.predicted), item.reference)
    return Example(nlp.make_doc(item.text), item)


def bare(doc: Doc) -> Doc:
    """Return a doc with the same tokens and no annotation."""
    return Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])


def tokens_of(examples: Iterable[Example]) -> Iterator[Doc]:
    """Yield the docs that a pipeline is trained on: gold docs if the tokens are the same.

    NORM is computed by the pipeline, since files have the NORM of the pipeline that made them.
    """
    for example in examples:
        met, doc = example.x, example.y
        if [token.orth for token in met] == [token.orth for token in doc]:
            norms = met.to_array("NORM")
            if (norms != doc.to_array("NORM")).any():
                doc = doc.copy().from_array(["NORM"], cast(Ints2d, norms.reshape(-1, 1)))
            yield doc
        else:
            yield met


def text_labels(cats: Mapping[str, float]) -> set[str]:
    """Return the labels of a whole text, the labels with a share of at least a half."""
    return {label for label, share in known_labels(cats).items() if share >= 0.5}


def known_labels(cats: Mapping[str, Optional[float]]) -> dict[str, float]:
    """Return the labels that apply or don't. Those with None or NaN are unknown."""
    for label, share in cats.items():
        if not (share is None or isinstance(share, (float, int, numpy.bool_, Real))):
            raise ValueError(f"Expected 0 or 1 for {label!r} in doc.cats, got {share!r}.")
    return {x: share for x, share in cats.items() if share is not None and share == share}


def open_doc_bin(path: Path) -> DocBin:
    """Read a .spacy file, without making its docs yet. Raises ValueError."""
    with reading(path, _REPAIR):
        return DocBin().from_disk(path)


def docs_of(path: Path, doc_bin: DocBin, vocab: Vocab) -> Iterator[Doc]:
    """Make the docs of a .spacy file. Raises ValueError for a damaged document."""
    docs = doc_bin.get_docs(vocab)
    for number in count(1):
        with reading(f"{path}, document {number}", _REPAIR):
            doc = next(docs, None)
        if doc is None:
            return
        yield doc


def write_corpora(folder: Path, corpora: Mapping[str, DocBin]) -> None:
    """Write corpora as FOLDER/NAME.spacy: each file whole, or no file if any can't be made.

    Files of the same name are replaced. Links stay, and their targets are replaced.
    """
    with staging(folder / "corpora") as staged:
        for name, doc_bin in corpora.items():
            doc_bin.to_disk(staged / f"{name}.spacy")
        for name in corpora:
            with replacing_file(folder / f"{name}.spacy") as new:
                move(staged / f"{name}.spacy", new)  # maybe to another disk, if it's a link
