"""This package's operations: compiled on a CPU, launched on a GPU, or array code.

A layer's forward function is a formula, and asks `operations(model.ops)` to compute it.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Optional, Union

import numpy
from thinc.api import CupyOps, Model, NumpyOps, Ops
from thinc.types import Floats1d, Floats2d, FloatsXd

from ..common.types import Array
from . import gpu
from .array_ops import ArrayOps, count_ngrams
from .bags import Bags, BagSymbols, ColumnTable
from .dispatch import NONE, chosen_kernels, kernels
from .hashing import MAX_HASHES, Hashing, hashing_of
from .maxout import Cache, Docs, Gradients, Layer
from .threads import Part, in_parts, in_parts_of_docs

# The largest share of averages that a step keeps, as in thinc.
_MOST_KEPT = 0.9999
# A step of Adam on so many blocks takes as long as a row of other layers.
_BLOCKS_A_ROW = 4


def operations(where: Union[Ops, Array]) -> ArrayOps:
    """Return the operations for the device of thinc's Ops, or of an array.

    A layer may hold thinc's NumpyOps, which saved pipelines and `use_kernels` don't change. So ask
    in each call.
    """
    if isinstance(where, Ops):
        return _on_host() if where.xp is numpy else _on_gpu(where.device_id)
    return _on_host() if isinstance(where, numpy.ndarray) else _on_gpu(where.device.id)


def _on_host() -> ArrayOps:
    return _HOST if chosen_kernels() == NONE else _COMPILED


@cache
def _on_gpu(device_id: int) -> ArrayOps:
    return GpuOps(device_id=device_id)


def distinct_rows(ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Group equal rows: ids (N, C) uint64 -> the first of each group (U,), groups of rows (N,)."""
    return operations(ids).distinct_rows(ids)


def use_kernel_ops(model: Model) -> None:
    """Give KernelOps to all layers of a model that are on the CPU, in place."""
    ops = KernelOps()
    for node in model.walk():
        if type(node.ops) is NumpyOps:
            node.ops = ops


def use_thinc_ops(model: Model) -> None:
    """Give thinc's NumpyOps back to all layers of a model that have KernelOps, in place."""
    ops = NumpyOps()
    for node in model.walk():
        if type(node.ops) is KernelOps:
            node.ops = ops


class HostOps(ArrayOps, NumpyOps):
    """Array code with numpy: without a compiler, or if it's asked for."""


class GpuOps(ArrayOps, CupyOps):
    """Array code with CuPy, and the kernels of gpu.cu, each launched once a call."""

    def hash_embed(
        self, ids: Array, tables: Sequence[Array], hashing: Hashing
    ) -> tuple[Array, Array]:
        """Hash all columns, and add up their rows, in one launch."""
        return gpu.hash_embed(ids, tables, hashing)

    def backprop_hash_embed(
        self, gradients: Sequence[Array], hashing: Hashing, rows: Array, d_vectors: Array
    ) -> None:
        """Add the gradients of all tokens to the gradients of the tables, in one launch."""
        gpu.hash_embed_backward(gradients, hashing, rows, d_vectors)

    def _largest(self, windows: Array, layer: Layer) -> tuple[Array, Cache]:
        if layer.G is None or layer.relu:
            return super()._largest(windows, layer)
        xp, (nO, nP, columns) = self.xp, layer.W.shape
        by_piece = layer.W.transpose(1, 0, 2).reshape(nP * nO, columns)
        Y = xp.empty((len(windows), nO), dtype="float32")
        cache = Cache(xp.empty(Y.shape, "uint8"), xp.empty_like(Y), xp.empty(len(Y), "float32"))
        sums, b = windows @ by_piece.T, xp.ascontiguousarray(layer.b.T)
        gpu.maxout_norm_forward(
            sums, b, layer.G, layer.beta, Y, cache.Xhat, cache.scale, cache.which
        )
        return Y, cache

    def _backprop_largest(self, d: Array, layer: Layer, cache: Cache) -> Array:
        if layer.G is None or layer.relu:
            return super()._backprop_largest(d, layer, cache)
        nP = layer.W.shape[1]
        return gpu.maxout_norm_backward(d, layer.G, cache.Xhat, cache.scale, cache.which, nP)


class KernelOps(ArrayOps, NumpyOps):
    """The compiled kernels, which share their work among threads."""

    is_compiled = True

    # thinc's own operations

    def gemm(
        self,
        x: Floats2d,
        y: Floats2d,
        out: Optional[Floats2d] = None,
        trans1: bool = False,
        trans2: bool = False,
    ) -> Floats2d:
        """Multiply two matrices, each transposed first if asked for, as `Ops.gemm` does."""
        arrays = (x, y) if out is None else (x, y, out)
        if trans1 or not trans2 or not _can_multiply(arrays):
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        return _multiply(x, y, None, out)

    def affine(self, X: Floats2d, W: Floats2d, b: Floats1d) -> Floats2d:
        """Multiply rows by weights and add a bias, as in the last layer of a tagger."""
        return _multiply(X, W, b, None) if _can_multiply((X, W, b)) else super().affine(X, W, b)

    def cblas(self) -> Any:  # noqa: ANN401
        """Return the products that spaCy's parser calls from C."""
        return super().cblas() if chosen_kernels() == NONE else kernels.make_cblas()

    # Rows of tables

    def hash_rows(self, ids: Array, nV: int, num_hashes: int, seed: int) -> Array:
        """Hash ids (M,) uint64 to rows (M, num_hashes) int32 of a table of nV rows."""
        rows: Array = numpy.empty((len(ids), num_hashes), dtype="int32")
        kernels.hash_rows(ids, nV, hashing_of(((nV, num_hashes, seed),)).seeds[0], rows)
        return rows

    def look_up(self, ids: Array, keys: Array, row_of: Array) -> Array:
        """Find the rows (M,) int32 of ids (M,) uint64 among ascending keys (V,), 0 for none."""
        rows: Array = numpy.empty(len(ids), dtype="int32")
        kernels.look_up(ids, keys, row_of, rows)
        return rows

    def hash_ngrams(
        self, ids: Array, lengths: numpy.ndarray, orders: Sequence[int]
    ) -> tuple[Array, numpy.ndarray]:
        """Hash all n-grams of a batch of docs."""
        of_orders = numpy.array(orders, dtype="int32")
        counts = count_ngrams(lengths, of_orders)
        ngrams = numpy.empty(counts.sum(), dtype="uint64")
        ids = numpy.require(ids, None, ["C", "A"])
        kernels.hash_ngrams(ids, lengths.astype("int64"), of_orders, ngrams)
        return ngrams, counts

    def distinct_rows(self, ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Group equal rows: ids (N, C) uint64 -> first of each group (U,), groups of rows (N,)."""
        return kernels.distinct_rows(numpy.require(ids, None, ["C", "A"]))

    # Sums of rows

    def check_rows(self, layer: str, rows: Array, nV: int) -> None:
        """Do nothing: each kernel checks the rows that it reads."""

    def gather_sum(self, E: Array, bags: Bags) -> Array:
        """Sum the rows of each token: E (nV, W) float32 -> vectors (U, W) float32."""
        return self.sum_columns([E], [bags])

    def sum_columns(self, tables: Sequence[Array], bags: Sequence[Bags]) -> Array:
        """Sum the rows of U tokens in each column, side by side -> (U, the tables' width)."""
        ends = list(accumulate(E.shape[1] for E in tables))
        vectors: Array = numpy.empty((bags[0].num_tokens, ends[-1]), dtype="float32")

        def compute(first: int, last: int) -> None:
            for E, of_column, end in zip(tables, bags, ends, strict=True):
                out = vectors[:, end - E.shape[1] : end]
                kernels.gather_sum(E, of_column, first, last, out)

        in_parts(compute, len(vectors))
        return vectors

    def scatter_sum(self, dE: Array, bags: Bags, d_vectors: Array) -> None:
        """Add the gradient of each token's vector to the gradients of its rows.

        Each thread adds to some columns of all rows.
        """

        def add(first: int, last: int) -> None:
            kernels.scatter_sum(dE, bags, d_vectors, first, last)

        in_parts(add, dE.shape[1], rows=len(bags.rows))

    def gather_dot(self, E: Array, bags: Bags, d_vectors: Array) -> Array:
        """Compute the gradient of the weights (M, K) from the gradient of the vectors (U, W)."""
        d_weights: Array = self.alloc2f(*bags.rows.shape)

        def multiply(first: int, last: int) -> None:
            kernels.gather_dot(E, bags, first, last, d_vectors, d_weights)

        in_parts(multiply, bags.num_tokens)
        return d_weights

    def hash_embed(
        self, ids: Array, tables: Sequence[Array], hashing: Hashing
    ) -> tuple[Array, Array]:
        """Hash all columns, and add up their rows."""
        (U, A), W = ids.shape, tables[0].shape[1]
        vectors: Array = numpy.empty((U, A * W), dtype="float32")
        rows = numpy.empty((U, A, MAX_HASHES), dtype="int32")

        def compute(first: int, last: int) -> None:
            kernels.hash_embed(ids, tables, hashing, first, last, rows, vectors)

        in_parts(compute, U)
        return vectors, rows

    def backprop_hash_embed(
        self, gradients: Sequence[Array], hashing: Hashing, rows: Array, d_vectors: Array
    ) -> None:
        """Add the gradient of each vector to the gradients of its rows, a table in each thread."""
        d_vectors = numpy.require(d_vectors, "float32", ["C", "A"])

        def add(first: int, last: int) -> None:
            kernels.hash_embed_backward(gradients, hashing, first, last, rows, d_vectors)

        in_parts(add, len(gradients), rows=len(rows))

    # Layers of several steps, in prediction

    def mixer(self, columns: Sequence[ColumnTable], layer: Layer) -> Any:  # noqa: ANN401
        """Check the tables of columns, and the layer that mixes their vectors."""
        return kernels.Mixer(columns, layer)

    def mix(
        self,
        ids: numpy.ndarray,
        mixer: Any,  # noqa: ANN401
        bags: Sequence[BagSymbols] = (),
        given: Optional[Array] = None,
    ) -> Array:
        """Embed tokens by their columns, and mix the columns; each unique token once a thread."""
        Y: Array = numpy.empty((len(ids), mixer.nO), dtype="float32")
        in_parts(lambda first, last: mixer.mix(ids, bags, given, first, last, Y), len(ids))
        return Y

    def encoder(self, layers: Sequence[Layer], *, pad: bool) -> Any:  # noqa: ANN401
        """Check the layers of an encoder."""
        return kernels.Encoder(layers, pad)

    def encode(self, X: Array, encoder: Any, lengths: numpy.ndarray) -> Array:  # noqa: ANN401
        """Compute all layers of an encoder, doc by doc."""
        Y: Array = numpy.empty((len(X), encoder.nO), dtype="float32")

        def compute(part: Part) -> None:
            encoder.encode(X[part.rows], part.lengths, len(X), Y[part.rows])

        in_parts_of_docs(compute, lengths, len(X))
        return Y

    # Maxout over windows

    def window_maxout(
        self,
        X: Array,
        layer: Layer,
        docs: Docs,
        *,
        mask: Optional[Array] = None,
        is_train: bool = False,
    ) -> tuple[Array, Optional[Cache]]:
        """Compute a layer: X (N, nI) float32 contiguous -> Y (M, nO), and a cache in training."""
        shape = docs.rows, len(layer.W)
        Y = numpy.empty(shape, dtype="float32")
        cache = None
        if is_train:
            norm = layer.G is not None
            cache = Cache(
                numpy.empty(shape, dtype="uint8"),
                numpy.empty(shape, dtype="float32") if norm else None,
                numpy.empty(len(Y), dtype="float32") if norm else None,
            )

        def compute(first: int, last: int) -> None:
            kernels.maxout(X, layer, docs, first, last, Y, mask, *(cache or ()))

        in_parts(compute, len(Y))
        return Y, cache

    def backprop_window_maxout(
        self,
        dY: Array,
        X: Array,
        layer: Layer,
        docs: Docs,
        cache: Cache,
        gradients: Gradients,
        *,
        mask: Optional[Array] = None,
    ) -> Array:
        """Compute dX (N, nI) from dY (M, nO), and add to the gradients of `params`."""
        d_inner = dY if mask is None else dY * mask
        which, Xhat, scale = cache
        d_sums, dX = numpy.empty_like(dY), numpy.empty_like(X)

        def to_sums(first: int, last: int) -> None:
            nI = X.shape[1]
            kernels.back_to_sums(d_inner, layer, nI, first, last, d_sums, which, Xhat, scale)

        def to_input(first: int, last: int) -> None:
            kernels.back_to_input(d_sums, layer, docs, first, last, dX, which, dY)

        def to_weights(first: int, last: int) -> None:
            kernels.back_to_weights(
                d_sums, layer, docs, first, last, X, which, d_inner, Xhat, *gradients
            )

        in_parts(to_sums, len(dY))
        in_parts(to_input, len(dX))
        in_parts(to_weights, dY.shape[1], rows=len(dY))
        return dX

    # Decoders

    def viterbi(
        self,
        scores: numpy.ndarray,
        transitions: Optional[numpy.ndarray],
        known: numpy.ndarray,
        lengths: numpy.ndarray,
    ) -> numpy.ndarray:
        """Find the best tags (N,) int64 of all sequences."""
        into = None if transitions is None else numpy.ascontiguousarray(transitions.T)
        return kernels.viterbi(scores, into, known, lengths.astype("int64"))

    def recognizer(self, weights: object, actions: object) -> Any:  # noqa: ANN401
        """Check the weights and actions of spaCy's recognizer."""
        return kernels.Recognizer(weights, actions)

    def find_entities(
        self,
        X: Array,
        finder: Any,  # noqa: ANN401
        attrs: numpy.ndarray,
        lengths: numpy.ndarray,
    ) -> Optional[numpy.ndarray]:
        """Find the entities of docs, doc by doc."""
        spans_of: dict[int, Optional[numpy.ndarray]] = {}

        def find(part: Part) -> None:
            rows, sizes = part
            spans_of[rows.start] = finder.find(X[rows], attrs[rows], sizes, len(X))

        in_parts_of_docs(find, lengths, len(X))
        joined = []
        for first, spans in sorted(spans_of.items()):
            if spans is None:
                return None
            spans[:2] += first
            joined.append(spans)
        return joined[0] if len(joined) == 1 else numpy.concatenate(joined, axis=1)

    def tagger(self, *parameters: object) -> Any:  # noqa: ANN401
        """Check the layer that scores tags."""
        return kernels.Tagger(*parameters)

    def decode(
        self,
        array_code: Callable[..., Any],
        X: Array,
        weights: object,
        rules: object,
        actions: object,
        *parts: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Take the best actions of spaCy's recognizer, token by token."""
        return kernels.Recognizer(weights, actions).decode(X, rules, *parts)

    def parser(self, weights: object, actions: object) -> Any:  # noqa: ANN401
        """Check the weights and actions of spaCy's parser."""
        return kernels.Parser(weights, actions)

    def parse(
        self,
        X: Array,
        parser: Any,  # noqa: ANN401
        attrs: Array,
        lengths: numpy.ndarray,
    ) -> tuple[Array, Array]:
        """Parse docs as spaCy's greedy parser does, doc by doc."""
        table = numpy.empty((2, len(X)), dtype="uint64")
        heads, deps = table[0].view("int64"), table[1]
        is_decorated = numpy.empty(len(X), dtype="uint8")

        def compute(part: Part) -> None:
            rows, sizes = part
            parser.parse(X[rows], attrs[rows], sizes, heads[rows], deps[rows], is_decorated[rows])

        in_parts_of_docs(compute, lengths, len(X))
        return table, is_decorated

    # Training

    def adam_step(
        self,
        optimizer: Any,  # noqa: ANN401 (compute/adam.py's Adam)
        key: tuple[int, str],
        weights: Array,
        gradient: Array,
        lr_scale: float,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Take a step of Adam in place, in one pass over each parameter.

        thinc's own steps are taken for arrays of another dtype than float32, with gaps, or of other
        sizes than before, and for a beta of 0.
        """
        mom1, mom2, averages = optimizer.mom1, optimizer.mom2, optimizer.averages
        known = (kept[key] for kept in (mom1, mom2, averages or {}) if key in kept)
        sizes = {values.size for values in (weights, gradient, *known)}
        is_plain = len(sizes) == 1 and _is_plain(weights) and _is_plain(gradient)
        if not is_plain or optimizer.b1 <= 0.0 or optimizer.b2 <= 0.0:
            return super().adam_step(optimizer, key, weights, gradient, lr_scale)
        if len(gradient) < 1:
            return weights, gradient
        optimizer.nr_update[key] += 1
        blocks = kernels.num_blocks(weights.size)
        has_moments = optimizer.blocks_with_moments(key, blocks)
        for of_all in (mom1, mom2):
            if key not in of_all:
                of_all[key] = self.alloc1f(weights.size)
        optimizer.moving[key] = mom1[key], mom2[key], has_moments
        if averages is not None and key not in averages:
            averages[key] = self.alloc_f(weights.shape)
        decay = lr_scale * optimizer.learn_rate * optimizer.L2
        if optimizer.L2 != 0 and not optimizer.L2_is_weight_decay:
            gradient += optimizer.L2 * weights
        row, is_zero = gradient.reshape(-1), numpy.empty(blocks, dtype="uint8")
        norm, clip = kernels.sum_squares(row, is_zero) ** 0.5, 1.0
        if optimizer.grad_clip and norm >= optimizer.grad_clip:
            clip = optimizer.grad_clip / norm
        elif optimizer.grad_clip and not norm < optimizer.grad_clip:
            raise ValueError(
                f"The gradient of a parameter {key[1]} {gradient.shape} is NaN. Look for the "
                "component whose loss is nan, and train again with a lower learn_rate."
            )
        steps = optimizer.nr_update[key]
        unbiased = optimizer.learn_rate * (1.0 - optimizer.b2**steps) ** 0.5
        unbiased /= 1.0 - optimizer.b1**steps

        def step(first: int, last: int) -> None:
            kernels.adam(
                weights.reshape(-1),
                row,
                mom1[key],
                mom2[key],
                None if averages is None else averages[key].reshape((-1,)),
                is_zero,
                has_moments,
                first,
                last,
                clip,
                optimizer.b1,
                optimizer.b2,
                optimizer.eps,
                unbiased * lr_scale,
                decay if optimizer.L2_is_weight_decay else 0.0,
                1.0 - min((1.0 + steps) / (10.0 + steps), _MOST_KEPT),
            )

        in_parts(step, blocks, rows=blocks // _BLOCKS_A_ROW)
        return weights, gradient


def _can_multiply(arrays: Sequence[Array]) -> bool:
    """Return whether the kernels can multiply arrays."""
    return chosen_kernels() != NONE and all(
        a.dtype == "float32" and a.flags.c_contiguous and a.flags.aligned for a in arrays
    )


def _multiply(x: Array, W: Array, b: Optional[Array], out: Optional[Array]) -> Any:  # noqa: ANN401
    product = numpy.empty((len(x), len(W)), dtype="float32") if out is None else out
    in_parts(lambda first, last: kernels.product(x, W, first, last, product, b), len(x))
    return product


def _is_plain(values: FloatsXd) -> bool:
    """Check if an array can be read as one row of float32 numbers in the memory of the CPU."""
    is_numpy = isinstance(values, numpy.ndarray)
    return is_numpy and values.dtype == "float32" and values.flags.c_contiguous


_HOST, _COMPILED = HostOps(), KernelOps()
