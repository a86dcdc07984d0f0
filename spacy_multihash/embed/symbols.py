"""The table of symbols that a lookup searches, an attr of its layer."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy
import srsly
from thinc.api import Model, Ops
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Ints1d

from ..common.messages import unpack
from ..common.pinned import PARTLY_LOADED, describe
from ..compute.ops import on_cpu

UNKNOWN_ROW = 0


def _no_keys() -> numpy.ndarray:
    return numpy.zeros(0, dtype="uint64")


def _no_rows() -> numpy.ndarray:
    return numpy.zeros(0, dtype="int32")


# The copies of tables on GPUs, by the number of the GPU. As attributes they would be pickled.
_COPIES: WeakKeyDictionary["Symbols", dict[int, tuple[Ints1d, Ints1d]]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Symbols:
    """Symbols of one attribute in ascending order, and the row of each.

    An empty table stands for one that has yet to be set.

    keys (numpy.ndarray): (V,) uint64 attribute ids, strictly ascending.
    rows (numpy.ndarray): (V,) int32 rows, a permutation of 1..V; row 0 is the unknown symbol.
    """

    keys: numpy.ndarray = field(default_factory=_no_keys)
    rows: numpy.ndarray = field(default_factory=_no_rows)

    @classmethod
    def from_ordered(cls, symbols: numpy.ndarray) -> "Symbols":
        """Give row i + 1 to symbol i of the symbols (V,) uint64, counted from 0.

        Raises ValueError for a symbol that occurs twice.
        """
        symbols = symbols.astype("uint64")
        order = numpy.argsort(symbols)
        keys = symbols[order]
        if (keys[1:] == keys[:-1]).any():
            twice = int(keys[1:][keys[1:] == keys[:-1]][0])
            raise ValueError(f"A table of symbols must hold each id once, holds {twice} twice.")
        return cls(keys, (order + 1).astype("int32"))

    def __len__(self) -> int:
        """Count the symbols, V."""
        return len(self.keys)

    def _arrays(self, ops: Ops) -> tuple[Ints1d, Ints1d]:
        """Get keys and rows on the device. They are copied to it once."""
        arrays = (cast(Ints1d, self.keys), cast(Ints1d, self.rows))
        if on_cpu(ops):
            return arrays
        copies = _COPIES.setdefault(self, {})
        if ops.device_id not in copies:
            keys, rows = (cast(Ints1d, ops.asarray(array)) for array in arrays)
            copies[ops.device_id] = (keys, rows)
        return copies[ops.device_id]

    def find(self, ops: Ops, ids: Ints1d) -> Ints1d:
        """Find the rows (N,) int32 of ids (N,) uint64 by binary search: 0 for an unknown id.

        Other integers are taken as uint64: numpy would compare them with the keys as floats.
        """
        ids = ops.as_contig(ids, dtype="uint64")
        if not on_cpu(ops):
            return self._search(ops, ids)
        # Sorted ids are found in the same part of a large table, which then stays in the caches.
        order = cast(Ints1d, numpy.argsort(cast(Any, ids)))
        found = cast(Ints1d, numpy.empty(len(ids), dtype="int32"))
        found[order] = self._search(ops, ids[order])
        return found

    def _search(self, ops: Ops, ids: Ints1d) -> Ints1d:
        keys, rows = self._arrays(ops)
        at = ops.xp.searchsorted(keys, ids)
        at[at == len(keys)] = 0  # past the last key: the key at any place differs
        return ops.xp.where(keys[at] == ids, rows[at], ops.xp.int32(UNKNOWN_ROW))

    def describe(self) -> str:
        """Describe the table for a message by its size and a digest of what it holds."""
        digest = hashlib.md5(self.keys.tobytes() + self.rows.tobytes(), usedforsecurity=False)
        return f"{len(self)} symbols (md5 {digest.hexdigest()[:8]})"


def _unpack(message: bytes) -> Symbols:
    """Read a saved table, and raise ValueError if it is not as `Symbols` says."""
    try:
        saved = unpack(message)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if not isinstance(saved, dict) or saved.keys() != {"keys", "rows"}:
        raise ValueError("expected a map of keys and rows")
    keys = _read_array("keys", saved["keys"], "uint64")
    rows = _read_array("rows", saved["rows"], "int32")
    if len(keys) != len(rows):
        raise ValueError(f"it has {len(keys)} keys and {len(rows)} rows")
    if (keys[1:] <= keys[:-1]).any():
        raise ValueError("its keys are not in ascending order, each once")
    if (numpy.sort(rows) != numpy.arange(1, len(rows) + 1)).any():
        raise ValueError(f"its rows are not 1 to {len(rows)}, each once")
    return Symbols(keys, rows)


def _read_array(name: str, saved: object, dtype: str) -> numpy.ndarray:
    """Copy an array: what is unpacked is a read-only view, in the byte order that was written."""
    if (
        not isinstance(saved, numpy.ndarray)
        or saved.ndim != 1
        or saved.dtype.newbyteorder("=") != dtype
    ):
        was = f"{saved.ndim} of {saved.dtype}" if isinstance(saved, numpy.ndarray) else repr(saved)
        raise ValueError(f"{name} must be an array of one dimension, dtype {dtype}, was: {was}")
    return numpy.array(saved, dtype=dtype)


@serialize_attr.register(Symbols)
def _serialize(_: Symbols, value: Symbols, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps({"keys": value.keys, "rows": value.rows})


@deserialize_attr.register(Symbols)
def _deserialize(present: Symbols, value: bytes, name: str, model: Model) -> Symbols:
    try:
        saved = _unpack(value)
    except ValueError as error:
        raise ValueError(
            f"Cannot load weights into layer {describe(model)}: their table of symbols is damaged: "
            f"{error}. Copy the saved model again. {PARTLY_LOADED}"
        ) from error
    if len(present) and present.describe() != saved.describe():
        raise ValueError(
            f"Cannot load weights into layer {describe(model)}: it holds a table of "
            f"{present.describe()}, the weights were trained with one of {saved.describe()}. "
            "Make the tables from the corpus that the weights were trained on, "
            f"or load into a freshly built layer, which takes the table over. {PARTLY_LOADED}"
        )
    return saved
