"""Read corpora in .spacy files, and write them whole or not at all."""

import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Union, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.corpus import walk_corpus
from spacy.vocab import Vocab
from thinc.types import Ints2d

from ..common.files import keep_collector, staging, write_bytes


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
        raise FileNotFoundError(
            f"There is no corpus at {path}: expected a .spacy file, or a folder of them. Check the "
            "path, or make one with: python -m spacy multihash convert"
        )
    bins = (open_doc_bin(Path(file_)) for file_ in files)
    first = next((doc_bin for doc_bin in bins if len(doc_bin)), None)
    if first is None:
        raise ValueError(f"The corpus at {path} has no documents. Check the path.")
    return (doc for doc_bin in chain([first], bins) for doc in doc_bin.get_docs(vocab))


def model_examples(nlp: Language, path: Union[str, Path]) -> Iterator[Example]:
    """Stream the examples of a .spacy file or a folder of them, as `spacy.Corpus.v1` makes them.

    Raises the errors of `read_docs`, at the same time.
    """
    return Corpus(path).make_examples(nlp, read_docs(path, nlp.vocab))


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
    return {label for label, share in cats.items() if share >= 0.5}


def open_doc_bin(path: Path) -> DocBin:
    """Read a .spacy file, without making its docs yet. Raises ValueError."""
    try:
        with keep_collector():
            return DocBin().from_disk(path)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(
            f"{path} is cut off, or no .spacy file at all ({error}). Copy or convert it again."
        ) from error


def write_corpora(folder: Path, corpora: Mapping[str, DocBin]) -> None:
    """Write corpora as FOLDER/NAME.spacy: each file whole, or no file if any can't be made.

    Files of the same name are replaced. Links stay, and their targets are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with staging(folder, "corpora") as staged:
        for name, doc_bin in corpora.items():
            doc_bin.to_disk(staged / f"{name}.spacy")
        for name in corpora:
            whole, path = staged / f"{name}.spacy", folder / f"{name}.spacy"
            if path.is_symlink():
                write_bytes(path, whole.read_bytes())
            else:
                whole.replace(path)
