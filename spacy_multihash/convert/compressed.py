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
    compress_folder(Path(path), precisions, lossy=False)


def load_compressed(
    nlp: Language,
    path: Union[str, Path],
    *,
    exclude: Iterable[str] = (),
    overrides: Mapping[str, Any] = MappingProxyType({}),
) -> Language:
    """Load a saved pipeline into this one, if its vocab can read small vectors.

    path, exclude, overrides: As in `Language.from_disk`.

    Raises ValueError for small vectors and a vocab of another class of vectors, which would take
    the records of the file for numbers.
    """
    exclude, vectors = list(exclude), nlp.vocab.vectors
    reads_vectors = not {"vocab", "vectors"} & {*exclude}
    if (
        reads_vectors
        and is_compressed(Path(path) / "vocab")
        and not isinstance(vectors, CompressedVectors)
    ):
        raise ValueError(
            f"The pipeline at {path} has small vectors, which {type(vectors).__name__} cannot "
            "read. Load it without vocab=, or with the vocab of another compressed pipeline."
        )
    return type(nlp).from_disk(nlp, path, exclude=exclude, overrides=dict(overrides))
