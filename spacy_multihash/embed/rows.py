"""Map attribute ids to rows of a table, by hashing or by lookup."""

import weakref
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Optional, cast

import numpy
import srsly
from thinc.api import Model, Ops
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Ints1d, Ints2d

from ..common.checks import MAX_SIZE, check_share, check_whole
from ..common.nodes import PARTLY_LOADED, Pinned, bound, describe
from ..common.registered import INIT_TABLES
from ..common.types import Array, RowLayer
from ..compute.hashing import MAX_HASHES
from ..compute.ops import operations
from ..compute.plans import READING, Reading

HASH_NAME = "hash_rows"
LOOKUP_NAME = "lookup_rows"
MAX_ROWS = MAX_SIZE
UNKNOWN_ROW = 0


def hash_rows(nV: int, *, attr: str, num_hashes: int, seed: int) -> RowLayer:
    """Map each id to `num_hashes` rows of a table by hashing, as thinc's HashEmbed does.

    Hash function i is word i of MurmurHash3 x64 128-bit of the 8 bytes of the id, modulo nV
    (Miranda et al. 2022, section 3.1; thinc's name for its function says x86). The fifth and
    further functions take further groups of four words, with seeds derived from the first.

    ids (N,) uint64 -> rows (N, num_hashes) int32 in [0, nV). Rows have no gradient.

    nV (int): Number of rows of the table, 1 <= nV < 2**31.
    attr (str): Name of the attribute, for messages.
    num_hashes (int): Number of hash functions, 1 to 16.
    seed (int): Seed of the first word group, 0 <= seed < 2**32.

    Raises ValueError if a number is out of range.
    """
    for name, value, low, high in (
        ("rows", nV, 1, MAX_ROWS),
        ("num_hashes", num_hashes, 1, MAX_HASHES),
        ("seeds", seed, 0, 2**32 - 1),
    ):
        advice = f"Change {name} of {attr} in the config's embedding layer."
        check_whole(f"Layer 'hash_rows' of {attr}", name, value, low, high, advice=advice)
    return Model(
        HASH_NAME,
        forward_hash,
        attrs={
            "attr": Pinned(attr),
            "rows_by": Pinned("hash"),
            "nV": Pinned(nV),
            "num_hashes": Pinned(num_hashes),
            "seed": Pinned(seed),
        },
    )


def forward_hash(model: RowLayer, ids: Ints1d, is_train: bool) -> tuple[Ints2d, Callable]:
    """Hash the ids, and reduce the hashes to rows."""
    rows = operations(model.ops).hash_rows(ids, *hashed_by(model))
    return rows, partial(_no_gradient, model.ops)


def _no_gradient(ops: Ops, d_rows: Ints2d) -> Ints1d:
    """Return zeros for ids, which are integers."""
    return ops.alloc1i(len(d_rows))


def hashed_by(model: RowLayer, reading: Reading = READING) -> tuple[int, int, int]:
    """Return the number of rows, the number of hash functions and the seed of a layer."""
    nV, num_hashes, seed = (reading.attr(model, name) for name in ("nV", "num_hashes", "seed"))
    return nV.value, num_hashes.value, seed.value


def lookup_rows(*, attr: str, unk_dropout: float = 0.0) -> RowLayer:
    """Map each id to its row in a table of values, and unknown ids to row 0.

    The callback spacy-multihash.init_tables.v1, or set_tables, sets the table after building, as
    attrs["symbols"]. Loading restores it.

    ids (N,) uint64 -> rows (N, 1) int32 in [0, number of symbols]. Rows have no gradient.

    attr (str): Name of the attribute, for messages and to find its table.
    unk_dropout (float): In training, the share of ids that are treated as unknown, so that row 0 is
        trained even if every value of the training corpus is in the table. 0 <= unk_dropout < 1.

    Raises ValueError at initialization, and in use, if no table was set.
    """
    check_share(f"Layer 'lookup_rows' of {attr}", "unk_dropout", unk_dropout)
    return Model(
        LOOKUP_NAME,
        # The rate isn't an attr, because loading would replace it with the saved model's rate.
        bound(forward_lookup, unk_dropout),
        init=init_lookup,
        attrs={
            "attr": Pinned(attr),
            "rows_by": Pinned("lookup"),
            "symbols": Symbols(),
        },
    )


def forward_lookup(
    unk_dropout: float, model: RowLayer, ids: Ints1d, is_train: bool
) -> tuple[Ints2d, Callable]:
    """Look the ids up by binary search."""
    _check_symbols(model)
    rows = model.attrs["symbols"].find(model.ops, ids)  # (N,)
    if is_train and unk_dropout:
        keep = model.ops.get_dropout_mask(rows.shape, unk_dropout) != 0
        rows = model.ops.xp.where(keep, rows, model.ops.xp.int32(UNKNOWN_ROW))
    return model.ops.reshape2i(rows, -1, 1), partial(_no_gradient, model.ops)


def read_keys(model: RowLayer, ops: Ops, reading: Reading) -> tuple[Array, Array]:
    """Read the table of symbols, on the device: keys (V,) uint64, and their rows (V,) int32."""
    symbols = reading.attr(model, "symbols")
    _check_symbols(model)
    return on_device(ops, symbols.keys), on_device(ops, symbols.rows)


def init_lookup(model: RowLayer, X: Optional[Ints1d] = None, Y: Optional[Ints2d] = None) -> None:
    """Check that the table is set."""
    _check_symbols(model)


def _check_symbols(model: RowLayer) -> None:
    if not len(model.attrs["symbols"]):
        raise ValueError(
            f"Layer {describe(model)} has no table of values. Add the callback that makes it: "
            f'[initialize.before_init] @callbacks = "{INIT_TABLES}" with '
            "component = the name of the component that holds this layer, or call "
            "spacy_multihash.set_tables before initializing."
        )


# Copies of arrays on GPUs, by the identity of the array and the number of the GPU.
_COPIES: dict[tuple[int, int], Array] = {}


def on_device(ops: Ops, array: Array) -> Array:
    """Return an array on a device. Copies are cached while the array lives."""
    if ops.device_type == "cpu" or not isinstance(array, numpy.ndarray):
        return array
    key = (id(array), ops.device_id)
    if key not in _COPIES:
        _COPIES[key] = ops.asarray(cast(Any, array))
        weakref.finalize(array, _COPIES.pop, key, None).atexit = False
    return _COPIES[key]


@dataclass(frozen=True, eq=False)
class Symbols:
    """Symbols of one attribute in ascending order, and the row of each.

    An empty table means that it isn't set yet.

    keys (numpy.ndarray): (V,) uint64 attribute ids, strictly ascending.
    rows (numpy.ndarray): (V,) int32 rows, a permutation of 1..V; row 0 is the unknown value.
    """

    keys: numpy.ndarray = field(default_factory=lambda: numpy.zeros(0, dtype="uint64"))
    rows: numpy.ndarray = field(default_factory=lambda: numpy.zeros(0, dtype="int32"))

    @classmethod
    def from_ordered(cls, symbols: numpy.ndarray) -> "Symbols":
        """Give row i + 1 to value i of the symbols (V,) uint64, counted from 0.

        Raises ValueError if a value occurs twice.
        """
        symbols = symbols.astype("uint64")
        order = numpy.argsort(symbols)
        keys = symbols[order]
        if (keys[1:] == keys[:-1]).any():
            twice = int(keys[1:][keys[1:] == keys[:-1]][0])
            raise ValueError(f"A table must have each id once, got {twice} twice.")
        return cls(keys, (order + 1).astype("int32"))

    def check(self, where: str) -> None:
        """Raise ValueError unless keys ascend and each has a row of its own."""
        V = self.keys.size
        if not (
            self.keys.shape == self.rows.shape == (V,)
            and (self.keys[1:] > self.keys[:-1]).all()
            and numpy.array_equal(numpy.sort(self.rows), numpy.arange(1, V + 1))
        ):
            raise ValueError(
                f"Cannot load weights into layer {where}: its table has keys of shape "
                f"{self.keys.shape} and rows of shape {self.rows.shape}. Keys must ascend, and "
                "each must have a row from 1 to their number. Copy or make the file again."
            )

    def __len__(self) -> int:
        """Count the values, V."""
        return len(self.keys)

    def find(self, ops: Ops, ids: Ints1d) -> Ints1d:
        """Find the rows (N,) int32 of ids (N,) uint64 by binary search: 0 for an unknown id."""
        keys, row_of = on_device(ops, self.keys), on_device(ops, self.rows)
        return operations(ops).look_up(ids, keys, row_of)


@serialize_attr.register(Symbols)
def _serialize(_: Symbols, value: Symbols, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps({"keys": value.keys, "rows": value.rows})


@deserialize_attr.register(Symbols)
def _deserialize(present: Symbols, value: bytes, name: str, model: Model) -> Symbols:
    arrays = srsly.msgpack_loads(value)
    if not isinstance(arrays, dict):
        raise ValueError(
            f"Layer {describe(model)}: expected the arrays of a table's symbols and rows, got "
            f"{type(arrays).__name__}. Load the layer's own weights."
        )
    # Unpacked arrays are read-only views, in the byte order of the machine that wrote them.
    keys, rows = (
        _read_array(model, name, arrays.get(name), kind)
        for name, kind in (("keys", "uint64"), ("rows", "int32"))
    )
    saved = Symbols(keys, rows)
    saved.check(describe(model))
    is_same = numpy.array_equal(present.keys, saved.keys) and numpy.array_equal(
        present.rows, saved.rows
    )
    if len(present) and not is_same:
        raise ValueError(
            f"Cannot load weights into layer {describe(model)}: it holds a table of {len(present)} "
            f"symbols, the weights were trained with another, of {len(saved)}. "
            "Make the tables from the corpus that the weights were trained on, "
            f"or load into a freshly built layer, which takes the table over. {PARTLY_LOADED}"
        )
    return saved


def _read_array(model: Model, name: str, array: object, kind: str) -> numpy.ndarray:
    """Copy an array of integers. Raises ValueError for others, which numpy would wrap or cut."""
    kept = isinstance(array, numpy.ndarray) and array.dtype.newbyteorder("=") == kind
    if not kept:
        found = getattr(array, "dtype", type(array).__name__)
        raise ValueError(
            f"Layer {describe(model)}: the {name} of its table must be {kind}, got {found}. Load "
            "the layer's own weights."
        )
    return numpy.array(array, kind)
