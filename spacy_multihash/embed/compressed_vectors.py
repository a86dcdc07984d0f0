"""Static vectors whose files are small: rows of float16 or int8, and keys in sorted arrays.

In memory, the rows are float32, as spaCy's own layers need them. Files of spaCy's own form are read
as well. `to_disk` writes spaCy's own form; the callback that a compressed pipeline has makes the
files small (see convert).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable, Union, cast

import numpy
import srsly
from spacy.strings import get_string_id
from spacy.util import from_disk
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import get_array_module, get_current_ops, to_numpy

from ..common.files import replacing_file
from ..common.messages import keep_collector
from ..compute.quantization import Codes, Precision, narrow, narrow_exactly
from ..vectors.compressed import (
    KEYS,
    TABLE,
    SortedKeys,
    is_compressed,
    pack_keys,
    read_keys,
    read_rows,
)

SPACY_KEYS = "key2row"


class CompressedVectors(Vectors):
    """spaCy's vectors, with keys in sorted arrays, read from small files too.

    A change of the keys makes a dict of them, as spaCy has.
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
        """Compare the table, its keys and settings, in whatever order the keys are."""
        return (
            isinstance(other, Vectors)
            and self.shape == other.shape
            and self._get_cfg() == other._get_cfg()
            and self.key2row == other.key2row
            and bool((to_numpy(self.data) == to_numpy(other.data)).all())
        )

    def __ne__(self, other: object) -> bool:
        """Compare too: spaCy's class, which is compiled, would not ask `__eq__`."""
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
        """Find rows or keys, as spaCy does: all keys at once, where there are several."""
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
        """Read the vectors of a folder, in either form.

        Raises ValueError if a file is damaged.
        """
        path = Path(path)
        if not is_compressed(path):
            self.key2row = {}
            super().from_disk(path, exclude=exclude)
            self.key2row = SortedKeys.of(self.key2row)
            return self
        readers = {
            "strings": lambda p: self.strings.from_disk(p.with_suffix(".json")),
            TABLE: self._read_table,
            KEYS: self._read_keys,
            "vectors.cfg": lambda p: self._set_cfg(srsly.read_json(p)),
        }
        self.key2row = {}
        from_disk(path, readers, exclude)
        self._sync_unset()
        return self

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Write spaCy's own form, which spaCy's own vectors read."""
        self._as_spacy(lambda: super(CompressedVectors, self).to_disk(path, exclude=exclude))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Give the bytes that spaCy's own vectors give."""
        return self._as_spacy(lambda: super(CompressedVectors, self).to_bytes(exclude=exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "CompressedVectors":
        """Read the bytes of spaCy's own vectors."""
        self.key2row = {}
        super().from_bytes(data, exclude=exclude)
        self.key2row = SortedKeys.of(self.key2row)
        return self

    def _read_table(self, path: Path) -> None:
        try:
            self.data = get_current_ops().asarray2f(cast(Any, read_rows(path)))
        except (EOFError, KeyError, OSError, ValueError) as error:
            raise _damaged(path, error) from error

    def _read_keys(self, path: Path) -> None:
        if not path.is_file():  # of a floret table
            return
        try:
            with keep_collector():
                self.key2row = read_keys(path)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(path, error) from error

    def _make_dict(self) -> None:
        if isinstance(self.key2row, SortedKeys):
            self.key2row = dict(self.key2row.items())

    def _as_spacy(self, write: Callable[[], Any]) -> Any:  # noqa: ANN401
        kept = self.key2row
        self._make_dict()
        try:
            return write()
        finally:
            self.key2row = kept


def make_compressed_vectors_v1() -> Callable[[Vocab], CompressedVectors]:
    """Make vectors for a vocab whose files may be small, for the config's [nlp.vectors]."""

    def make_vectors(vocab: Vocab) -> CompressedVectors:
        return CompressedVectors(strings=vocab.strings)

    return make_vectors


def compress_vectors(folder: Path, precision: Precision, *, lossy: bool) -> int:
    """Make the files of a vocab's vectors small. They are in spaCy's own form.

    folder (Path): The folder of the vocab.
    precision (Precision): That of the rows. The keys are small in any.
    lossy (bool): Whether numbers may change, and rows that no key has are left out. If not, and
        codes would not stand for the rows bit by bit, rows stay float32.

    Returns how many rows are left out. Raises ValueError for NaN, infinity, and numbers that
    float16 does not hold.
    """
    vectors = CompressedVectors().from_disk(folder, exclude=["strings"])
    data, keys = to_numpy(vectors.data), SortedKeys.of(vectors.key2row)
    if 0 in data.shape:
        return 0
    num_rows = len(data)
    if lossy and vectors.mode == Mode.default:
        keys, used = keys.without_unused_rows()
        data = data[used]
    found = narrow(data, precision) if lossy else narrow_exactly(data, precision) or Codes(data)
    if vectors.mode == Mode.default:
        with replacing_file(folder / KEYS) as new:
            srsly.write_msgpack(new, pack_keys(keys))
    with replacing_file(folder / TABLE) as new, new.open("wb") as file_:
        numpy.lib.format.write_array(file_, _records(found), version=(1, 0), allow_pickle=False)
    (folder / SPACY_KEYS).unlink(missing_ok=True)
    return num_rows - len(data)


def _records(found: Codes) -> numpy.ndarray:
    """Make an array (rows, 1) of records: the codes of a row, and its scale.

    spaCy's own vectors, which read it where a component is sourced, cannot compute with it. Plain
    codes they would take for vectors.
    """
    width = found.codes.shape[1]
    fields: list[Any] = [("codes", found.codes.dtype.newbyteorder("<"), (width,))]
    if found.scales is not None:
        fields.append(("scale", "<f4"))
    records = numpy.zeros((len(found.codes), 1), dtype=fields)
    records["codes"][:, 0] = found.codes
    if found.scales is not None:
        records["scale"][:, 0] = found.scales
    return records


def _unpickle(data: bytes) -> CompressedVectors:
    return CompressedVectors().from_bytes(data)


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is damaged ({error}). Copy the pipeline, or compress it, again.")
