"""Read corpora in .spacy files, and write them whole or not at all."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from pathlib import Path
from shutil import move
from typing import Optional, Union, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.corpus import walk_corpus
from spacy.vocab import Vocab
from thinc.types import Ints2d

from ..common.files import reading, replacing_file, staging

# A corpus: a .spacy file or a folder of them, or docs or examples with gold annotation.
Data = Union[str, Path, Iterable[Doc], Iterable[Example]]
_REPAIR = "copy or convert the file again"


def read_docs(path: Union[str, Path], vocab: Vocab) -> Iterator[Doc]:
    """Stream the docs of a .spacy file, or of all such files in a folder.

    Raises at the call: FileNotFoundError if there is no such file, and ValueError if the first file
    can't be read, or if there are no docs. If a later file can't be read, raises ValueError when it
    reaches that file.
    """
    path = Path(path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[W090\]")  # the error below says more
        files = walk_corpus(path, ".spacy") if path.exists() else []
    if not files:
        if path.is_file():
            raise FileNotFoundError(
                f"{path} isn't a .spacy file. Make one with:\n"
                f"    python -m spacy multihash convert {path} corpus.spacy"
            )
        raise FileNotFoundError(
            f"There is no corpus at {path}: expected a .spacy file, or a folder of them. Check the "
            "path, or make one with: python -m spacy multihash convert"
        )
    bins = ((Path(file_), open_doc_bin(Path(file_))) for file_ in files)
    first = next((pair for pair in bins if len(pair[1])), None)
    if first is None:
        raise ValueError(f"The corpus at {path} has no documents. Check the path.")
    return (doc for pair in chain([first], bins) for doc in docs_of(*pair, vocab))


def model_examples(nlp: Language, path: Union[str, Path]) -> Iterator[Example]:
    """Stream the examples of a .spacy file or a folder of them, as `spacy.Corpus.v1` makes them.

    Raises the errors of `read_docs`, at the same time.
    """
    return Corpus(path).make_examples(nlp, read_docs(path, nlp.vocab))


def examples_of(nlp: Language, data: Data) -> Iterator[Example]:
    """Stream the examples of a corpus: a path, or docs or examples with gold annotation.

    The docs of a path are read, and the pipeline tokenizes the texts of docs, as spaCy's training
    does. Raises the errors of `read_docs` at the call.
    """
    if isinstance(data, (str, Path)):
        return model_examples(nlp, data)
    return (
        item if isinstance(item, Example) else Example(nlp.make_doc(item.text), item)
        for item in data
    )


def tokens_of(examples: Iterable[Example]) -> Iterator[Doc]:
    """Yield the docs that a pipeline is trained on: gold docs if the tokens are the same.

    NORM is computed by the pipeline, since files have the NORM of the pipeline that made them.
    """
    for example in examples:
        met, doc = example.x, example.y
        if [token.orth for token in met] == [token.orth for token in doc]:
            norms = cast(Ints2d, met.to_array(["NORM"]).reshape(-1, 1))
            yield doc.from_array(["NORM"], norms)
        else:
            yield met


def text_labels(cats: Mapping[str, float]) -> set[str]:
    """Return the labels of a whole text, the labels with a share of at least a half."""
    return {label for label, share in known_labels(cats).items() if share >= 0.5}


def known_labels(cats: Mapping[str, Optional[float]]) -> dict[str, float]:
    """Return the labels that apply or don't. Those with None or NaN are unknown."""
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
