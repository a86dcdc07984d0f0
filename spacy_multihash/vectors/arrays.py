"""Parameters and codes in .npz files: named arrays, read back with numpy, and checked."""

import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Literal, Optional, Union

import numpy

from .table import Rows, chunks

FORMAT = "spacy-multihash.vectors"
VERSION = 1
Arrays = Mapping[str, Union[numpy.ndarray, Rows]]
NumberType = Literal["float", "int", "bool"]
# The kinds of dtypes that are of a type, in numpy's notation.
_KINDS: Mapping[NumberType, str] = {"float": "f", "int": "iu", "bool": "b"}


def write_rows(
    file_: IO[bytes], rows: Rows, *, show: Callable[[list[slice]], Iterable[slice]] = iter
) -> None:
    """Write rows as an .npy file, chunk by chunk: of their dtype, or of float32 without one.

    show (Callable): Passes the chunks along, and may show progress.
    """
    dtype = getattr(rows, "dtype", "<f4")
    header = {"descr": dtype, "fortran_order": False, "shape": rows.shape}
    numpy.lib.format.write_array_header_1_0(file_, header)
    for chunk in show(chunks(rows.shape[0])):
        file_.write(numpy.ascontiguousarray(rows[chunk], dtype=dtype).tobytes())


def save_arrays(
    path: Path,
    kind: str,
    arrays: Arrays,
    *,
    show: Callable[[list[slice]], Iterable[slice]] = iter,
) -> None:
    """Write arrays to an .npz file; the same arrays make the same bytes.

    path (Path): The file.
    kind (str): What the arrays are, for the reader.
    arrays (Arrays): The arrays by name. Rows that are no array are written in chunks.
    show (Callable): Passes the chunks along, and may show progress.
    """
    head = {"format": numpy.array(FORMAT), "version": numpy.array(VERSION)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in {**head, "kind": numpy.array(kind), **arrays}.items():
            # A ZipInfo of its own has a fixed date.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as file_:
                if isinstance(value, numpy.ndarray):
                    numpy.lib.format.write_array(file_, value, allow_pickle=False)
                else:
                    write_rows(file_, value, show=show)


def load_arrays(path: Path, kinds: Mapping[str, tuple[str, ...]]) -> dict[str, numpy.ndarray]:
    """Read what `save_arrays` wrote.

    path (Path): The file.
    kinds (Mapping[str, tuple[str, ...]]): The arrays of each kind that is expected, by its name.

    Returns the arrays by name, and "kind". Raises FileNotFoundError if there is no such file, and
    ValueError if it is damaged or something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: expected an .npz of these commands.")
    try:
        # numpy leaves a file open that it opened itself, where it is damaged.
        with path.open("rb") as file_, numpy.load(file_, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # whatever a damaged file makes numpy or zipfile raise
        raise ValueError(
            f"{path} is damaged, or no .npz file at all ({type(error).__name__}: {error}). Copy or "
            "make it again."
        ) from error
    if str(arrays.get("format")) != FORMAT or str(arrays.get("version")) != str(VERSION):
        raise ValueError(
            f"{path} is not of these commands: expected the format {FORMAT}, version {VERSION}. "
            "Give a file that one of them saved."
        )
    kind = str(arrays["kind"]) if "kind" in arrays else ""
    if kind not in kinds or not set(kinds[kind]) <= set(arrays):
        raise ValueError(
            f"{path} must be of the kind {' or '.join(kinds)}, with all its arrays, was: {kind}. "
            "Give another file."
        )
    return arrays


def check_array(
    path: Path,
    name: str,
    array: numpy.ndarray,
    shape: tuple[Optional[int], ...],
    type_: NumberType = "float",
) -> None:
    """Raise ValueError if an array of a file has another shape or type, or is not finite.

    path (Path): The file, for the message.
    name (str): Name of the array in the file.
    array (numpy.ndarray): The array.
    shape (tuple[Optional[int], ...]): Its shape. None is for any size but 0.
    type_ (NumberType): The type of its numbers, which have to be finite as float32.
    """
    fits = len(array.shape) == len(shape) and all(
        found > 0 if size is None else found == size
        for found, size in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype.kind not in _KINDS[type_]:
        expected = ", ".join("n" if size is None else str(size) for size in shape)
        raise ValueError(
            f"{path} is damaged: {name} must be of the type {type_} and the shape ({expected}), "
            f"was: {array.dtype}, {array.shape}. Make it again."
        )
    with numpy.errstate(over="ignore"):
        is_finite = numpy.isfinite(array.astype("float32")).all()
    if not is_finite:
        raise ValueError(
            f"{path} cannot be used: {name} has NaN, infinity, or a number that float32 cannot "
            "hold. Make it again, from smaller vectors or with other settings."
        )
