"""From attribute ids to rows, by hashing."""

from typing import Callable

from thinc.api import Model
from thinc.types import Ints1d, Ints2d

from ..common.checks import MAX_SIZE, check_whole
from ..common.pinned import Pinned
from ..common.types import RowLayer
from ..compute.hashing import MAX_HASHES, group_seeds

NAME = "hash_rows"
MAX_ROWS = MAX_SIZE


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

    Raises ValueError for a number that is out of range.
    """
    _check_range("rows", nV, 1, MAX_ROWS, attr)
    _check_range("num_hashes", num_hashes, 1, MAX_HASHES, attr)
    _check_range("seeds", seed, 0, 2**32 - 1, attr)
    return Model(
        NAME,
        forward,
        attrs={
            "attr": Pinned(attr),
            "rows_by": Pinned("hash"),
            "nV": Pinned(nV),
            "num_hashes": Pinned(num_hashes),
            "seed": Pinned(seed),
        },
    )


def forward(model: RowLayer, ids: Ints1d, is_train: bool) -> tuple[Ints2d, Callable]:
    """Hash the ids group by group of words, and reduce the words to rows."""
    xp = model.ops.xp
    num_hashes = model.attrs["num_hashes"].value
    ids = model.ops.as_contig(ids, dtype="uint64")
    groups = [model.ops.hash(ids, seed) for seed in seeds_of(model)]  # each (N, 4) uint32
    words = groups[0] if len(groups) == 1 else xp.hstack(groups)
    rows = words[:, :num_hashes] % xp.uint32(model.attrs["nV"].value)  # (N, num_hashes)
    rows = rows.view("int32")  # rows are below 2**31

    def backprop(d_rows: Ints2d) -> Ints1d:
        return model.ops.alloc1i(ids.shape[0])  # integers have no gradient

    return rows, backprop


def seeds_of(model: RowLayer) -> list[int]:
    """List the seeds of the word groups of a layer."""
    return group_seeds(model.attrs["seed"].value, model.attrs["num_hashes"].value)


def hashed_by(model: RowLayer) -> tuple[int, int, int]:
    """Return the number of rows, the number of hash functions and the seed of a layer."""
    return tuple(model.attrs[name].value for name in ("nV", "num_hashes", "seed"))


def _check_range(name: str, value: int, low: int, high: int, attr: str) -> None:
    advice = f"Change {name} of {attr} in the config's embedding layer."
    check_whole(f"Layer 'hash_rows' of {attr}", name, value, low, high, advice=advice)
