"""Tables of fewer bits: float16, int8 with a scale a row, and product quantization.

spaCy computes with float32. So a table is written with the numbers that the codes stand for, and
the codes are saved as well. A file of codes is read as a table.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Optional, Union, cast

import numpy
import srsly
from threadpoolctl import threadpool_limits

from ..compute.quantization import scales_of, to_bytes, to_half
from .arrays import Arrays, load_arrays
from .lookup import progress
from .table import (
    ORTH,
    CheckedRows,
    Index,
    MappedRows,
    Rows,
    RowValues,
    VectorTable,
    chunks,
    has_vector,
    used_rows,
)

Method = Literal["float16", "int8", "pq"]
METHODS: tuple[Method, ...] = ("float16", "int8", "pq")
_TABLE = ("codes", "keys", "rows", "head")
KINDS: Mapping[str, tuple[str, ...]] = {
    "float16": _TABLE,
    "int8": (*_TABLE, "scales"),
    "pq": (*_TABLE, "codebooks", "zeros"),
}
_EXTRA = "pq needs scikit-learn: python -m pip install 'spacy-multihash[vectors]'"
_LEAST_HALF = 2.0**-25  # half of the least number of float16
# Rows that centroids are estimated on.
SAMPLE = 2**16


class ScaledRows:
    """Rows of whole numbers, each multiplied by a scale of its own."""

    def __init__(self, codes: Rows, scales: Union[numpy.ndarray, Rows]) -> None:
        """Wrap codes (rows, width) and scales (rows,)."""
        self.codes = codes
        self.scales = scales
        self.shape = codes.shape

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width) float32."""
        return self.codes[index].astype("float32") * self.scales[index][:, None]


class ZeroedRows:
    """Rows, with zeros in the place of those that a mask marks."""

    def __init__(self, rows: Rows, zeros: Union[numpy.ndarray, Rows]) -> None:
        """Wrap rows (n, width) and a mask (n,) bool."""
        self.rows = rows
        self.zeros = zeros
        self.shape = rows.shape

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width) float32."""
        return numpy.where(self.zeros[index][:, None], numpy.float32(0), self.rows[index])


def quantize(table: VectorTable, method: Method, codebooks: Optional[numpy.ndarray]) -> Arrays:
    """Return the codes of a table, computed when they are asked for, and what they stand for.

    codebooks (Optional[numpy.ndarray]): Centroids for "pq", from `make_codebooks`.
    """
    data, (_, width) = table.data, table.data.shape
    if method == "float16":
        return {"codes": MappedRows(data, _half_rows, width, dtype="<f2")}
    if method == "int8":
        codes = MappedRows(data, lambda X: to_bytes(X, scales_of(X)), width, dtype="|i1")
        return {"codes": codes, "scales": RowValues(data, scales_of, "<f4")}
    if codebooks is None:
        raise ValueError("pq needs codebooks. Make them with make_codebooks.")
    parts, _, length = codebooks.shape
    if parts * length != width:
        raise ValueError(
            f"The codebooks must be of the width {width}, which {table.name} has, was: "
            f"{parts * length}. Give those of another table."
        )
    codes = MappedRows(data, lambda X: encode(X, codebooks), parts, dtype="|u1")
    zeros = RowValues(data, lambda X: ~has_vector(X), "|b1")
    return {"codes": codes, "codebooks": codebooks, "zeros": zeros}


def _half_rows(X: numpy.ndarray) -> numpy.ndarray:
    half = to_half(X)
    if lost := int((has_vector(X) & ~has_vector(half)).sum()):
        raise ValueError(
            f"float16 makes zeros of numbers up to {_LEAST_HALF:.0e}: {lost:,} or more vectors "
            "would become zeros, which stand for no vector. Scale them first, such as with unit, "
            "or take int8."
        )
    return half


def widen(arrays: Arrays) -> Rows:
    """Return the rows that codes stand for, (rows, width) float32."""
    codes = cast(Rows, arrays["codes"])
    if "scales" in arrays:
        return ScaledRows(codes, cast(Rows, arrays["scales"]))
    if "codebooks" not in arrays:
        return MappedRows(codes, lambda C: C.astype("float32"), codes.shape[1])
    codebooks = cast(numpy.ndarray, arrays["codebooks"])
    width = codebooks.shape[0] * codebooks.shape[2]
    decoded = MappedRows(codes, lambda C: decode(C, codebooks), width)
    return ZeroedRows(decoded, cast(Rows, arrays["zeros"]))


def make_codebooks(
    table: VectorTable,
    parts: int,
    centroids: int = 256,
    *,
    seed: int = 0,
    show_progress: bool = False,
) -> numpy.ndarray:
    """Find the centroids of each part of the columns, by k-means on at most 65,536 rows.

    Rows of zeros, which stand for no vector, are left out.

    parts (int): Parts of equal width. A vector becomes as many bytes.
    centroids (int): Centroids of a part, at most 256.
    seed (int): Chooses the rows, and where k-means begins.

    Returns (parts, centroids, width / parts) float32. Raises ValueError if the parts do not divide
    the width, if there are fewer different vectors but zeros than centroids, or if centroids are
    not finite, and ImportError without scikit-learn.
    """
    if parts < 1 or table.width % parts:
        raise ValueError(f"parts must divide the width {table.width}, was: {parts}. Give another.")
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError as error:
        raise ImportError(_EXTRA) from error
    rows = numpy.arange(table.data.shape[0]) if table.floret else used_rows(table)
    rows = rows[numpy.concatenate([has_vector(table.data[rows[c]]) for c in chunks(len(rows))])]
    if len(rows) > SAMPLE:
        rows = numpy.sort(numpy.random.default_rng(seed).choice(rows, SAMPLE, replace=False))
    X = table.data[rows].reshape(len(rows), parts, table.width // parts)
    found = []
    for part in progress(range(parts), "Centroids", show_progress):
        P = numpy.ascontiguousarray(X[:, part])
        if (distinct := len(numpy.unique(P, axis=0))) < centroids:
            raise ValueError(
                f"centroids must be at most {distinct}, was: {centroids}. {table.name} has no more "
                f"different vectors in columns {part * P.shape[1]} to "
                f"{(part + 1) * P.shape[1] - 1}. Ask for fewer."
            )
        model = MiniBatchKMeans(centroids, random_state=seed, n_init=1, batch_size=4096)
        # One thread computes the same sums in the same order.
        with threadpool_limits(limits=1), numpy.errstate(over="ignore", invalid="ignore"):
            found.append(model.fit(P).cluster_centers_)
        if not numpy.isfinite(found[-1]).all():
            raise ValueError(
                f"The centroids of {table.name} must be finite, but those of columns "
                f"{part * P.shape[1]} to {(part + 1) * P.shape[1] - 1} are not: its numbers are "
                "too large. Scale them first, such as with unit, or take int8."
            )
    return numpy.stack(found).astype("float32")


def encode(X: numpy.ndarray, codebooks: numpy.ndarray) -> numpy.ndarray:
    """Return the number of the nearest centroid of each part, (n, width) -> (n, parts) uint8."""
    parts, _, length = codebooks.shape
    codes = numpy.empty((len(X), parts), dtype="uint8")
    for part, centroids in enumerate(codebooks):
        P = X[:, part * length : (part + 1) * length]
        distances = (centroids**2).sum(axis=1) - 2 * P @ centroids.T
        codes[:, part] = distances.argmin(axis=1)
    return codes


def decode(codes: numpy.ndarray, codebooks: numpy.ndarray) -> numpy.ndarray:
    """Return the centroids that codes stand for, (n, parts) -> (n, width) float32."""
    parts = numpy.arange(codebooks.shape[0])
    return codebooks[parts, codes].reshape(len(codes), -1)


def describe(table: VectorTable) -> Mapping[str, numpy.ndarray]:
    """Return the arrays that make a table of codes: keys, rows, words and settings."""
    head = {
        "words": list(table.words),
        "floret": table.floret,
        "lang": table.lang,
        "title": table.title,
        "attr": table.attr,
    }
    packed = numpy.frombuffer(srsly.json_dumps(head).encode("utf8"), dtype="uint8")
    return {"keys": table.keys, "rows": table.rows, "head": packed}


def read_codes(path: Path) -> VectorTable:
    """Read a file of codes as a table.

    Raises what `load_arrays` raises, and ValueError if the arrays do not fit together.
    """
    arrays = load_arrays(path, KINDS)
    try:
        head: Any = srsly.json_loads(arrays["head"].tobytes().decode("utf8"))
        rows = CheckedRows(widen(arrays), str(path))
        table = VectorTable(
            str(path), rows, arrays["keys"], arrays["rows"], head["words"], head["floret"]
        )
        fits = (
            len(table.keys) == len(table.rows) == len(table.words) and rows[slice(0, 1)].ndim == 2
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}). Make it again.") from error
    if not fits:
        raise ValueError(f"{path} is damaged: its arrays do not fit together. Make it again.")
    return replace(table, lang=head["lang"], title=head["title"], attr=head.get("attr", ORTH))
