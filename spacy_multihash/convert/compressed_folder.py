"""The files of a pipeline made small: rows of vectors, tables of embeddings, and weights.

Weights stay in the files and under the names that thinc writes: only their arrays have fewer bits.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import srsly

from ..common.checks import check_choice
from ..common.files import replacing_file
from ..common.messages import unpack
from ..compute.quantization import PRECISIONS, Precision
from ..embed.compressed_vectors import compress_vectors, is_compressed
from ..embed.vector_tables import PREFIX
from .packed_arrays import pack_array

# The parameter that holds the table, of our embeddings and of thinc's.
_TABLE = "E"
_MODEL = "model"
# What thinc writes of a model.
MODEL_PARTS = {"nodes", "attrs", "params", "shims"}


@dataclass(frozen=True)
class Precisions:
    """The numbers that files have.

    vectors (Precision): Of static vectors.
    tables (Precision): Of the tables of embeddings, ours and spaCy's.
    weights (Precision): Of all other weights.
    """

    vectors: Precision = "int8"
    tables: Precision = "int8"
    weights: Precision = "float16"

    def of(self, parameter: str) -> Precision:
        """Return what a parameter of a layer becomes, by its name."""
        return self.tables if parameter == _TABLE else self.weights

    def check(self, where: str, advice: str) -> None:
        """Raise ValueError for a precision that there is not."""
        for name, value in vars(self).items():
            check_choice(where, name, value, PRECISIONS, advice=advice)


def compress_folder(
    folder: Path, components: Iterable[str], precisions: Precisions, *, lossy: bool
) -> int:
    """Make the files of a saved pipeline small.

    folder (Path): The pipeline, in spaCy's own form. It may have other folders beside.
    components (Iterable[str]): The names of its components.
    precisions (Precisions): What numbers become.
    lossy (bool): Whether numbers may change. If not, only what was small before becomes small.

    Returns how many rows of vectors are left out, since no key has them. Raises ValueError, and
    leaves some files changed, for NaN, infinity, and numbers that float16 does not hold.
    """
    for path in _models(folder, components):
        _compress_model(path, str(path.parent.relative_to(folder)), precisions, lossy=lossy)
    vocab = folder / "vocab"
    _compress_lookups(vocab / "lookups.bin", precisions.vectors, lossy=lossy)
    if not (vocab / "vectors").is_file() or is_compressed(vocab):
        return 0
    with _naming("vocab: the static vectors", precisions.vectors):
        return compress_vectors(vocab, precisions.vectors, lossy=lossy)


def kept_bytes(folder: Path, components: Iterable[str]) -> dict[str, int]:
    """Return the bytes of weights of other frameworks, which stay as they are, by component.

    folder (Path): The pipeline.
    components (Iterable[str]): The names of its components. Those without such weights are left
        out.
    """
    sizes = {
        str(path.parent.relative_to(folder)): sum(
            len(shim) for shims in _read_model(path).get("shims", []) for shim in shims
        )
        for path in _models(folder, components)
    }
    return {component: size for component, size in sizes.items() if size}


def _models(folder: Path, components: Iterable[str]) -> list[Path]:
    """List the files of models that components have, in their folders or deeper."""
    return sorted(path for name in components for path in (folder / name).rglob(_MODEL))


def _compress_model(path: Path, component: str, precisions: Precisions, *, lossy: bool) -> None:
    message = _read_model(path)
    for node, name, params in _params(message):
        precision = precisions.of(name)
        with _naming(f"{component}: the weights {name} of the layer '{node}'", precision):
            params[name] = pack_array(params[name], precision, lossy=lossy)
    if message:
        with replacing_file(path) as new:
            srsly.write_msgpack(new, message)


def _read_model(path: Path) -> dict[str, Any]:
    """Read the file of a thinc model; an empty dict for anything else."""
    if not path.is_file():
        return {}
    try:
        found = unpack(path.read_bytes())
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.keys() == MODEL_PARTS else {}


def _params(message: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield node, name and dict of each parameter of a model."""
    for node, params in zip(message.get("nodes", []), message.get("params", []), strict=True):
        for name, value in params.items():
            if isinstance(value, numpy.ndarray) and value.dtype == "float32":
                yield node["name"], name, params


def _compress_lookups(path: Path, precision: Precision, *, lossy: bool) -> None:
    """Compress the tables of vectors beside the vocab's own."""
    if not path.is_file():
        return
    tables = unpack(path.read_bytes())
    ours = {name: table for name, table in tables.items() if name.startswith(PREFIX)}
    for name, table in ours.items():
        for key, value in table.items():
            if isinstance(value, numpy.ndarray) and value.dtype == "float32":
                with _naming(f"vocab: the vectors '{name.removeprefix(PREFIX)}'", precision):
                    table[key] = pack_array(value, precision, lossy=lossy)
    if ours:
        with replacing_file(path) as new:
            srsly.write_msgpack(new, tables)


@contextmanager
def _naming(what: str, precision: Precision) -> Iterator[None]:
    """Say what could not be compressed."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what} cannot be {precision}: {error}") from error
