"""The strings that the components of a saved pipeline need."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Optional

import numpy
import srsly
from spacy.strings import get_string_id

from ..common.messages import unpack
from .compressed_folder import MODEL_PARTS

# What spaCy reads by hashes of words, or into words that it adds to the strings by itself.
_NAMES_NO_STRINGS = ("lookups.bin", "tokenizer", "vocab", "config.cfg")
# So many hashes there are: some files have them as numbers with a sign.
_HASHES = 2**64


def needed_ids(folder: Path, labels: Iterable[str]) -> Optional[set[int]]:
    """Collect the hashes of all strings that the files of components have, or that they refer to.

    folder (Path): The pipeline, in spaCy's own form.
    labels (Iterable[str]): Labels, which are needed too.

    Returns None if a file is neither JSON nor MessagePack, so that nobody knows what it needs.
    Bytes within a file may be 64-bit hashes as well. Weights of other frameworks need no strings.
    """
    ids = {get_string_id(label) for label in labels}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not set(path.relative_to(folder).parts) & {*_NAMES_NO_STRINGS}:
            value = _read(path.read_bytes())
            if value is None:
                return None
            for each in _ids(value):
                if each is None:
                    return None
                ids.add(each)
    return ids


def _read(data: bytes) -> Any:  # noqa: ANN401 (whatever a file holds)
    """Read JSON, JSON lines or MessagePack; None for anything else."""
    for read in (_read_json, _read_lines, unpack):
        try:
            return [read(data)]
        except (TypeError, ValueError):
            continue
    return None


def _read_json(data: bytes) -> Any:  # noqa: ANN401
    return srsly.json_loads(data.decode("utf8"))


def _read_lines(data: bytes) -> Any:  # noqa: ANN401
    return [srsly.json_loads(line) for line in data.decode("utf8").splitlines() if line.strip()]


def _ids(value: Any) -> Iterator[Optional[int]]:  # noqa: ANN401
    """Yield the hashes of strings, and whole numbers, which may be such hashes.

    Yields None for bytes that can be neither read nor such numbers.
    """
    if isinstance(value, str):
        yield get_string_id(value)
        if value[:1] in ("{", "["):  # a file within a file
            yield from _ids(_read(value.encode("utf8")) or ())
    elif isinstance(value, bytes):
        yield from _ids_of_bytes(value)
    elif isinstance(value, dict):
        if value.keys() == MODEL_PARTS:
            value = {**value, "shims": None}
        yield from _ids([*value.keys(), *value.values()])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _ids(each)
    elif isinstance(value, int):
        yield value % _HASHES
    elif isinstance(value, numpy.ndarray) and value.dtype.kind in "iu" and value.itemsize == 8:
        yield from value.astype("uint64").ravel().tolist()


def _ids_of_bytes(value: bytes) -> Iterator[Optional[int]]:
    found = _read(value)
    if found is not None:
        yield from _ids(found)
    elif len(value) % 8:
        yield None
    else:
        for dtype in ("<u8", ">u8"):
            yield from numpy.frombuffer(value, dtype).tolist()
