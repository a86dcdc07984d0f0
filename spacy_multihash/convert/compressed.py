"""The callback that a compressed pipeline has: it is read, and stays small when it is saved."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable, Literal, Optional, Union

from spacy.language import Language

from ..common.checks import CHANGE_IT
from ..common.registered import KEEP_COMPRESSED
from ..embed.compressed_vectors import CompressedVectors, is_compressed
from .compressed_folder import Precisions, compress_folder


def make_keep_compressed_v1(
    vectors: Literal["float16", "int8", "float32"] = "int8",
    tables: Literal["float16", "int8", "float32"] = "int8",
    weights: Literal["float16", "int8", "float32"] = "float16",
    after_creation: Optional[Callable[[Language], Language]] = None,
) -> Callable[[Language], Language]:
    """Make the callback for [nlp.after_creation] that lets a pipeline be saved small.

    It changes no number. An array that the precision holds bit by bit is saved small: all arrays of
    a compressed pipeline are such ones, until training changes them.

    vectors, tables, weights (str): The precision of static vectors, of the tables of embeddings,
        and of all other weights: "float16", "int8" or "float32".
    after_creation (Optional[Callable]): The callback that the config had before.

    Raises ValueError for an unknown precision.
    """
    precisions = Precisions(vectors, tables, weights)
    precisions.check(KEEP_COMPRESSED, CHANGE_IT)

    def keep_compressed(nlp: Language) -> Language:
        if after_creation is not None:
            nlp = after_creation(nlp)
        # spaCy takes no language class of others: methods of the pipeline alone take its place.
        nlp.to_disk = partial(save_compressed, nlp, precisions)  # type: ignore[method-assign]
        nlp.from_disk = partial(load_compressed, nlp)  # type: ignore[method-assign]
        return nlp

    return keep_compressed


def save_compressed(
    nlp: Language, precisions: Precisions, path: Union[str, Path], *, exclude: Iterable[str] = ()
) -> None:
    """Save a pipeline, then make those files small whose numbers stay the same.

    path (Union[str, Path]): The folder.
    exclude (Iterable[str]): What is left out, as in `Language.to_disk`.
    """
    type(nlp).to_disk(nlp, path, exclude=exclude)
    compress_folder(Path(path), nlp.component_names, precisions, lossy=False)


def load_compressed(
    nlp: Language,
    path: Union[str, Path],
    *,
    exclude: Iterable[str] = (),
    overrides: Mapping[str, Any] = MappingProxyType({}),
) -> Language:
    """Load a saved pipeline into this one, also with a vocab that has vectors of spaCy's own class.

    Those would take the records of small files for numbers. They are replaced: what they hold is
    lost, as wherever spaCy loads a pipeline into the vocab of another one.

    path, exclude, overrides: As in `Language.from_disk`.
    """
    exclude, vocab = list(exclude), nlp.vocab
    reads_vectors = not {"vocab", "vectors"} & {*exclude} and is_compressed(Path(path) / "vocab")
    if reads_vectors and not isinstance(vocab.vectors, CompressedVectors):
        vocab.vectors = CompressedVectors(strings=vocab.strings, name=vocab.vectors.name)
    return type(nlp).from_disk(nlp, path, exclude=exclude, overrides=dict(overrides))
