"""Static vectors in small files: rows of float16 or int8, and keys in sorted arrays.

In memory, rows are float32, as spaCy's own layers need, and keys are arrays: a key takes some
bytes, and in a dict 100. In a file, the first bytes of the sorted keys are left out, and the number
of keys that begin with each value is stored instead.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union, cast

import numpy
import srsly
from spacy.strings import get_string_id
from spacy.util import from_disk
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import get_array_module, get_current_ops, to_numpy

from ..common.checks import MAX_SIZE
from ..common.files import check_npy, reading, replacing_file, unpack
from ..compute.quantization import Precision, Quantized, dequantize, quantize, quantize_exactly

TABLE, KEYS, SPACY_KEYS = "vectors", "vectors.keys", "key2row"
_BYTES = 8  # bytes of a key
_REPAIR = "copy the pipeline, or compress it, again"
# At most this many first bytes of the keys are left out.
_MOST_LEFT_OUT = 2
# With this many keys per value of the first bytes, it pays to count them.
_MIN_KEYS_PER_PREFIX = 2


class SortedKeys(Mapping[int, int]):
    """Maps keys to rows, like the dict `key2row` of spaCy's vectors, but read-only.

    keys (numpy.ndarray): (K,) uint64, ascending.
    rows (numpy.ndarray): (K,) int32, the row of each key.
    last (numpy.ndarray): (K,) bool, whether a key is the last key of its row. spaCy names a row by
        its last key, so these keys come after the others.
    """

    def __init__(self, keys: numpy.ndarray, rows: numpy.ndarray, last: numpy.ndarray) -> None:
        """Keep the arrays."""
        self.ids, self.rows, self.last = keys, rows, last
        self._view = memoryview(cast(Any, keys))  # faster to index than an array

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
        """Return the rows of keys, (n,) uint64 -> (n,) int32, -1 if a key has none."""
        if not len(self.ids):
            return numpy.full(len(keys), -1, dtype="int32")
        at, present = find_sorted(self.ids, keys)
        return numpy.where(present, self.rows[at], numpy.int32(-1))

    def __getitem__(self, key: Any) -> int:  # noqa: ANN401 (as a dict, which any key may be asked)
        """Return the row of a key."""
        if isinstance(key, (int, numpy.integer)) and 0 <= key < 2**64:
            at = bisect_left(self._view, key)
            if at < len(self.ids) and self._view[at] == key:
                return int(self.rows[at])
        raise KeyError(key)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the keys, with the last key of each row after the others."""
        yield from self.ids[self._order()].tolist()

    def __len__(self) -> int:
        """Count the keys."""
        return len(self.ids)

    def items(self) -> Any:  # noqa: ANN401 (pairs, where a dict has a view of them)
        """List keys and rows."""
        return list(zip(self, self.values(), strict=True))

    def values(self) -> Any:  # noqa: ANN401 (numbers, where a dict has a view of them)
        """List the rows."""
        return self.rows[self._order()].tolist()

    def _order(self) -> numpy.ndarray:
        return numpy.argsort(self.last, kind="stable")


def find_sorted(keys: numpy.ndarray, ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find ids (n,) in one or more ascending keys: their places (n,), and whether they're there."""
    at = numpy.minimum(numpy.searchsorted(keys, ids), len(keys) - 1)
    return at, keys[at] == ids


def pack_keys(keys: SortedKeys) -> dict[str, numpy.ndarray]:
    """Return the arrays that represent keys in a file."""
    choices = range(_MOST_LEFT_OUT, 0, -1)
    left_out = next((n for n in choices if len(keys) >= _MIN_KEYS_PER_PREFIX * 256**n), 0)
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
    """Return the keys packed by `pack_keys`.

    Raises KeyError or ValueError if the arrays don't fit together, before anything is allocated.
    """
    counts, ends, rows, last = parts = [arrays[name] for name in ("counts", "ends", "rows", "last")]
    if [getattr(each, "ndim", 0) for each in parts] != [1, 2, 1, 1]:
        raise ValueError("some of its arrays are missing")
    K, left_out = len(rows), _BYTES - ends.shape[1]
    lengths = [len(each) for each in parts]
    if not (
        ends.dtype == last.dtype == "uint8"
        and {counts.dtype.kind, rows.dtype.kind} <= {*"iu"}
        and 0 <= left_out <= _MOST_LEFT_OUT
        and lengths == [256**left_out, K, K, -(-K // 8)]
        and counts.sum(dtype="uint64") == K
        and 0 <= counts.min() <= counts.max() <= K
        and -1 <= rows.min(initial=0) <= rows.max(initial=0) <= MAX_SIZE
    ):
        raise ValueError("its arrays don't fit together")
    as_bytes = numpy.zeros((K, _BYTES), dtype="uint8")
    as_bytes[:, left_out:] = ends
    keys = as_bytes.view(">u8").ravel().astype("uint64")
    if left_out:
        prefixes = numpy.repeat(numpy.arange(len(counts), dtype="uint64"), counts)
        keys |= prefixes << numpy.uint64(8 * ends.shape[1])
    if (keys[1:] <= keys[:-1]).any():
        raise ValueError("the keys aren't in ascending order")
    is_last = numpy.unpackbits(last, count=K).astype(bool)
    return SortedKeys(keys, rows.astype("int32"), is_last)


def _smallest(numbers: numpy.ndarray) -> numpy.ndarray:
    """Return whole numbers in the smallest dtype that holds them."""
    if numbers.min(initial=0) < 0:  # the row of a key without a vector
        return numbers
    return numbers.astype(numpy.min_scalar_type(int(numbers.max(initial=0))))


def is_compressed(folder: Path) -> bool:
    """Return whether the vectors in a vocab's folder are rows of codes."""
    if not (folder / TABLE).is_file():
        return False
    with (folder / TABLE).open("rb") as file_:
        try:
            return check_npy(file_, (folder / TABLE).stat().st_size).names is not None
        except Exception:  # a damaged file raises when the table is read
            return False


def check_table_file(path: Path) -> None:
    """Raise ValueError if the file of a table doesn't have the bytes of its table."""
    with reading(path, _REPAIR):
        if path.is_file():
            with path.open("rb") as file_:
                check_npy(file_, path.stat().st_size)


class CompressedVectors(Vectors):
    """spaCy's vectors with keys in sorted arrays. They can also be read from small files.

    If the keys change, they become a dict, as in spaCy.
    """

    key2row: Any  # SortedKeys, or a dict

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (those of spaCy's vectors)
        """Take the settings of spaCy's vectors."""
        super().__init__(**settings)
        self.key2row = SortedKeys.of(self.key2row)

    def __reduce__(self) -> tuple[Callable, tuple[bytes]]:
        """Pickle the bytes."""
        return _unpickle, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        """Compare the table, its keys in any order, and its settings."""
        return (
            isinstance(other, Vectors)
            and self.shape == other.shape
            and self._get_cfg() == other._get_cfg()
            and self.key2row == other.key2row
            and bool((to_numpy(self.data) == to_numpy(other.data)).all())
        )

    def __ne__(self, other: object) -> bool:
        """Compare, since spaCy's compiled class doesn't call `__eq__`."""
        return not self == other

    def add(self, key: Any, *, vector: Any = None, row: Any = None) -> int:  # noqa: ANN401
        """Add a key, as spaCy does."""
        self._make_dict()
        return super().add(key, vector=vector, row=row)

    def resize(self, shape: tuple[int, int], inplace: bool = False) -> Any:  # noqa: ANN401
        """Change the number of rows, as spaCy does."""
        self._make_dict()
        return super().resize(shape, inplace)

    def find(self, *, keys: Any = None, **others: Any) -> Any:  # noqa: ANN401
        """Find rows or keys, as spaCy does, but handle several keys at once."""
        sorted_keys = isinstance(self.key2row, SortedKeys) and self.mode == Mode.default
        if keys is None or others or not sorted_keys:
            return super().find(keys=keys, **others)
        if getattr(keys, "dtype", None) == "uint64":
            ids = to_numpy(keys)
        else:
            ids = numpy.array([get_string_id(key) for key in keys], dtype="uint64")
        return get_array_module(self.data).asarray(self.key2row.find(ids))

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "CompressedVectors":
        """Read the vectors in a folder, in either form. Raises ValueError if a file is damaged."""
        path = Path(path)
        self.key2row = {}
        with reading(path, _REPAIR):
            if not is_compressed(path):
                check_table_file(path / TABLE)
                super().from_disk(path, exclude=exclude)
                self.key2row = SortedKeys.of(self.key2row)
            else:
                readers = {
                    "strings": lambda p: self.strings.from_disk(p.with_suffix(".json")),
                    TABLE: self._read_rows,
                    KEYS: self._read_keys,
                    "vectors.cfg": lambda p: self._set_cfg(srsly.read_json(p)),
                }
                from_disk(path, readers, exclude)
                self._sync_unset()
            rows = self.key2row.rows if isinstance(self.key2row, SortedKeys) else numpy.zeros(0)
            if self.mode == Mode.default and rows.max(initial=-1) >= len(self.data):
                raise ValueError(f"a key has the row {rows.max()}, of {len(self.data):,} rows")
        return self

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Write spaCy's own form, for spaCy's own vectors to read."""
        self._with_dict(lambda: super(CompressedVectors, self).to_disk(path, exclude=exclude))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the same bytes as spaCy's own vectors."""
        return self._with_dict(lambda: super(CompressedVectors, self).to_bytes(exclude=exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "CompressedVectors":
        """Read the bytes of spaCy's own vectors."""
        self.key2row = {}
        super().from_bytes(data, exclude=exclude)
        self.key2row = SortedKeys.of(self.key2row)
        return self

    def _read_rows(self, path: Path) -> None:
        check_table_file(path)
        with path.open("rb") as file_:
            records = numpy.load(file_, allow_pickle=False)[:, 0]
        scales = records["scale"] if "scale" in records.dtype.names else None
        rows: Any = dequantize(records["codes"], scales)
        self.data = get_current_ops().asarray2f(rows)

    def _read_keys(self, path: Path) -> None:
        if path.is_file():  # there's none for a floret table
            self.key2row = unpack_keys(unpack(path.read_bytes()))

    def _make_dict(self) -> None:
        if isinstance(self.key2row, SortedKeys):
            self.key2row = dict(self.key2row.items())

    def _with_dict(self, write: Callable[[], Any]) -> Any:  # noqa: ANN401
        key2row = self.key2row
        self._make_dict()
        try:
            return write()
        finally:
            self.key2row = key2row


def make_compressed_vectors_v1() -> Callable[[Vocab], CompressedVectors]:
    """Make vectors that can be saved small, for the config's [nlp.vectors]."""

    def make_vectors(vocab: Vocab) -> CompressedVectors:
        return CompressedVectors(strings=vocab.strings)

    return make_vectors


def compress_vectors(folder: Path, precision: Precision, *, lossy: bool) -> int:
    """Compress the files of a vocab's vectors, which are in spaCy's own form.

    folder (Path): The folder of the vocab.
    precision (Precision): The precision of the rows. Keys are always compressed.
    lossy (bool): Whether numbers may change, and rows without a key are left out. If not, rows only
        become codes if the codes give back the same numbers.

    Returns the number of rows left out. Raises ValueError for NaN, infinity, and numbers out of
    float16's range.
    """
    vectors = CompressedVectors().from_disk(folder, exclude=["strings"])
    data, keys = to_numpy(vectors.data), vectors.key2row
    if 0 in data.shape:
        return 0
    num_rows = len(data)
    if lossy and vectors.mode == Mode.default:
        used = numpy.unique(keys.rows[keys.rows >= 0])
        rows = numpy.where(keys.rows < 0, keys.rows, numpy.searchsorted(used, keys.rows))
        data, keys = data[used], SortedKeys(keys.ids, rows.astype("int32"), keys.last)
    codes = quantize(data, precision) if lossy else quantize_exactly(data, precision)
    codes = codes or Quantized(data)
    if vectors.mode == Mode.default:
        with replacing_file(folder / KEYS) as new:
            srsly.write_msgpack(new, pack_keys(keys))
    with replacing_file(folder / TABLE) as new, new.open("wb") as file_:
        numpy.lib.format.write_array(file_, _records(codes), version=(1, 0), allow_pickle=False)
    (folder / SPACY_KEYS).unlink(missing_ok=True)
    return num_rows - len(data)


def _records(codes: Quantized) -> numpy.ndarray:
    """Make an array (rows, 1) of records: the codes and the scale of each row.

    spaCy's own vectors read it if a component is sourced, and can't compute with records. Plain
    codes would be taken for vectors.
    """
    fields: list[Any] = [("codes", codes.codes.dtype.newbyteorder("<"), codes.codes.shape[1:])]
    if codes.scales is not None:
        fields.append(("scale", "<f4"))
    records = numpy.zeros((len(codes.codes), 1), dtype=fields)
    records["codes"][:, 0] = codes.codes
    if codes.scales is not None:
        records["scale"][:, 0] = codes.scales
    return records


def _unpickle(data: bytes) -> CompressedVectors:
    return CompressedVectors().from_bytes(data)
