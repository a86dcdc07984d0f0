"""The small files of compressed vectors: rows of codes, and keys in sorted arrays.

A key takes some bytes, where a dict takes 100. In a file, the first bytes of the keys are left out:
sorted keys are told apart by how many begin with each value.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy
import srsly

from ..compute.quantization import widen

TABLE, KEYS = "vectors", "vectors.keys"
_BYTES = 8  # of a key
# As many keys for each value of the first bytes make up for counting them.
_LEAST_KEYS = 2


class SortedKeys(Mapping[int, int]):
    """From keys to rows, as the dict `key2row` of spaCy's vectors; nothing can be set in it.

    keys (numpy.ndarray): (K,) uint64, ascending.
    rows (numpy.ndarray): (K,) int32, the row of each key.
    last (numpy.ndarray): (K,) bool, whether a key is the last one of its row. spaCy names a row by
        the last of its keys, and so these keys come after the others.
    """

    def __init__(self, keys: numpy.ndarray, rows: numpy.ndarray, last: numpy.ndarray) -> None:
        """Keep the arrays."""
        self.ids, self.rows, self.last = keys, rows, last
        self._view = memoryview(
            cast(Any, keys)
        )  # whose items are found in less time than an array's

    @classmethod
    def of(cls, key2row: Mapping[int, int]) -> "SortedKeys":
        """Sort the keys of a dict."""
        if isinstance(key2row, cls):
            return key2row
        keys = numpy.fromiter(key2row.keys(), "uint64", len(key2row))
        rows = numpy.fromiter(key2row.values(), "int32", len(key2row))
        last = numpy.zeros(len(keys), dtype=bool)
        _, from_end = numpy.unique(rows[::-1], return_index=True)
        last[len(keys) - 1 - from_end] = True
        order = numpy.argsort(keys)
        return cls(keys[order], rows[order], last[order])

    def find(self, keys: numpy.ndarray) -> numpy.ndarray:
        """Return the rows of keys, (n,) uint64 -> (n,) int32, and -1 for a key without one."""
        if not len(self.ids):
            return numpy.full(len(keys), -1, dtype="int32")
        at, present = find_sorted(self.ids, keys)
        return numpy.where(present, self.rows[at], numpy.int32(-1))

    def without_unused_rows(self) -> tuple["SortedKeys", numpy.ndarray]:
        """Number the rows anew that keys have. Returns such keys, and the rows' former numbers."""
        used = numpy.unique(self.rows[self.rows >= 0])
        rows = numpy.where(self.rows < 0, self.rows, numpy.searchsorted(used, self.rows))
        return SortedKeys(self.ids, rows.astype("int32"), self.last), used

    def __getitem__(self, key: Any) -> int:  # noqa: ANN401 (as a dict, which any key may be asked)
        """Return the row of a key."""
        if isinstance(key, (int, numpy.integer)) and 0 <= key < 2**64:
            at = bisect_left(self._view, key)
            if at < len(self.ids) and self._view[at] == key:
                return int(self.rows[at])
        raise KeyError(key)

    def __eq__(self, other: object) -> bool:
        """Compare keys and rows with those of other such keys, or of a dict."""
        if not isinstance(other, SortedKeys):
            return super().__eq__(other)
        same_keys = numpy.array_equal(self.ids, other.ids)
        return same_keys and numpy.array_equal(self.rows, other.rows)

    def __iter__(self) -> Iterator[int]:
        """Go through the keys, as `items` and `values` do."""
        yield from self.ids[self._order()].tolist()

    def __len__(self) -> int:
        """Count the keys."""
        return len(self.ids)

    def items(self) -> Any:  # noqa: ANN401 (pairs, where a dict has a view of them)
        """List keys and rows, the last key of each row after the others."""
        order = self._order()
        return list(zip(self.ids[order].tolist(), self.rows[order].tolist(), strict=True))

    def values(self) -> Any:  # noqa: ANN401 (numbers, where a dict has a view of them)
        """List the rows."""
        return self.rows[self._order()].tolist()

    def _order(self) -> numpy.ndarray:
        return numpy.argsort(self.last, kind="stable")


def find_sorted(keys: numpy.ndarray, ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find ids (n,) in ascending keys, one or more: their places (n,), and whether they are there.

    The place of an id that is not there is that of some key.
    """
    at = numpy.searchsorted(keys, ids)
    at[at == len(keys)] = 0  # past the last key: the key at any place differs
    return at, keys[at] == ids


def pack_keys(keys: SortedKeys) -> dict[str, numpy.ndarray]:
    """Return the arrays that a file has for keys."""
    left_out = next((n for n in (2, 1) if len(keys) >= _LEAST_KEYS * 256**n), 0)
    as_bytes = keys.ids.astype(">u8").view("uint8").reshape(-1, _BYTES)
    prefixes = keys.ids >> numpy.uint64(8 * (_BYTES - left_out)) if left_out else keys.ids * 0
    counts = numpy.bincount(prefixes.astype("int64"), minlength=256**left_out)
    return {
        "counts": _smallest(counts),
        "ends": numpy.ascontiguousarray(as_bytes[:, left_out:]),  # (K, 8 - left_out)
        "rows": _smallest(keys.rows),
        "last": numpy.packbits(keys.last),
    }


def unpack_keys(arrays: Mapping[str, numpy.ndarray]) -> SortedKeys:
    """Return the keys that `pack_keys` packed. Raises ValueError if arrays do not fit together."""
    counts, ends = arrays["counts"], arrays["ends"]
    left_out = _BYTES - ends.shape[1]
    as_bytes = numpy.zeros((len(ends), _BYTES), dtype="uint8")
    as_bytes[:, left_out:] = ends
    keys = as_bytes.view(">u8").ravel().astype("uint64")
    if left_out:
        prefixes = numpy.repeat(numpy.arange(len(counts), dtype="uint64"), counts)
        keys |= prefixes << numpy.uint64(8 * ends.shape[1])
    last = numpy.unpackbits(arrays["last"], count=len(keys)).astype(bool)
    rows = arrays["rows"].astype("int32")
    if len(rows) != len(keys):
        raise ValueError(f"there are {len(keys):,} keys, but rows of {len(rows):,}")
    return SortedKeys(keys, rows, last)


def _smallest(numbers: numpy.ndarray) -> numpy.ndarray:
    """Return whole numbers in the dtype with the fewest bytes that holds them."""
    if numbers.min(initial=0) < 0:  # the row of a key without vector
        return numbers
    return numbers.astype(numpy.min_scalar_type(int(numbers.max(initial=0))))


def is_compressed(folder: Path) -> bool:
    """Tell whether the vectors of a vocab's folder are rows of codes."""
    if not (folder / TABLE).is_file():
        return False
    with (folder / TABLE).open("rb") as file_:
        try:
            version = numpy.lib.format.read_magic(file_)
            read = numpy.lib.format.read_array_header_1_0
            return version == (1, 0) and read(file_)[2].names is not None
        except Exception:  # of a damaged file: who reads the table says what is wrong
            return False


def read_rows(path: Path) -> numpy.ndarray:
    """Read rows of codes as numbers, (rows, width) float32.

    Raises what numpy raises if the file is damaged.
    """
    with path.open("rb") as file_:
        records = numpy.load(file_, allow_pickle=False)[:, 0]
    scales = records["scale"] if "scale" in records.dtype.names else None
    return widen(records["codes"], scales)


def read_keys(path: Path) -> SortedKeys:
    """Read keys. Raises what srsly or `unpack_keys` raise if the file is damaged."""
    return unpack_keys(srsly.read_msgpack(path))
