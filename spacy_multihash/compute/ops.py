"""This package's operations: compiled on a CPU, launched on a GPU, or array code.

A layer's forward function is a formula, and asks `operations(model.ops)` to compute it. `ArrayOps`
has the types and the docs of all operations; the tests hold those here to its arguments.
"""

from functools import cache
from itertools import accumulate
from typing import Union

import numpy
from thinc.api import Model, NumpyOps, Ops

from ..common.types import Array
from . import dispatch
from .array_ops import ArrayOps, Cache, count_ngrams, for_kernel
from .dispatch import NONE, kernels
from .gpu import GpuOps
from .hashing import MAX_HASHES, hashing_of
from .threads import in_parts, in_parts_of_docs


def operations(where: Union[Ops, Array]) -> ArrayOps:
    """Return the operations for the device of thinc's Ops, or of an array.

    A layer may hold thinc's NumpyOps, which saved pipelines and `use_kernels` don't change. So ask
    in each call.
    """
    if isinstance(where, numpy.ndarray) or getattr(where, "xp", None) is numpy:
        return _HOST if dispatch.chosen == NONE else _COMPILED
    return _on_gpu(where.device_id if isinstance(where, Ops) else where.device.id)


@cache
def _on_gpu(device_id: int) -> ArrayOps:
    return GpuOps(device_id=device_id)


def distinct_rows(ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Group equal rows: ids (N, C) uint64 -> the first of each group (U,), groups of rows (N,)."""
    return operations(ids).distinct_rows(ids)


def use_kernel_ops(model: Model) -> None:
    """Give KernelOps to all layers of a model that are on the CPU, in place."""
    _replace_ops(model, NumpyOps, KernelOps())


def use_thinc_ops(model: Model) -> None:
    """Give thinc's NumpyOps back to all layers of a model that have KernelOps, in place."""
    _replace_ops(model, KernelOps, NumpyOps())


def _replace_ops(model: Model, former: type, ops: Ops) -> None:
    for node in model.walk():
        if type(node.ops) is former:
            node.ops = ops


class HostOps(ArrayOps, NumpyOps):
    """Array code with numpy: without a compiler, or if it's asked for."""


class KernelOps(ArrayOps, NumpyOps):
    """The compiled kernels, which share their work among threads."""

    is_compiled = True

    # thinc's own operations

    def gemm(self, x, y, out=None, trans1=False, trans2=False):
        arrays = (x, y) if out is None else (x, y, out)
        if trans1 or not trans2 or not _can_multiply(arrays):
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        return _multiply(x, y, None, out)

    def affine(self, X, W, b):
        return _multiply(X, W, b, None) if _can_multiply((X, W, b)) else super().affine(X, W, b)

    def cblas(self):
        return super().cblas() if dispatch.chosen == NONE else kernels.make_cblas()

    # Rows of tables

    def hash_rows(self, ids, nV, num_hashes, seed):
        rows = numpy.empty((len(ids), num_hashes), dtype="int32")
        seeds = hashing_of(((nV, num_hashes, seed),)).seeds[0]
        kernels.hash_rows(for_kernel(self, ids, "uint64"), nV, seeds, rows)
        return rows

    def look_up(self, ids, keys, row_of):
        rows = numpy.empty(len(ids), dtype="int32")
        kernels.look_up(for_kernel(self, ids, "uint64"), keys, row_of, rows)
        return rows

    def hash_ngrams(self, ids, lengths, orders):
        counts = count_ngrams(lengths, orders)
        ngrams = numpy.empty(counts.sum(), dtype="uint64")
        ids, orders = for_kernel(self, ids, "uint64"), numpy.array(orders, dtype="int32")
        kernels.hash_ngrams(ids, lengths.astype("int64"), orders, ngrams)
        return ngrams, counts

    def distinct_rows(self, ids):
        return kernels.distinct_rows(for_kernel(self, ids, "uint64"))

    # Sums of rows

    def check_rows(self, layer, rows, nV):
        """Do nothing: each kernel checks the rows that it reads."""

    def sum_columns(self, tables, bags):
        ends = list(accumulate(E.shape[1] for E in tables))
        vectors = numpy.empty((bags[0].num_tokens, ends[-1]), dtype="float32")

        def compute(first, last):
            for E, of_column, end in zip(tables, bags, ends, strict=True):
                out = vectors[:, end - E.shape[1] : end]
                kernels.gather_sum(E, of_column, first, last, out)

        in_parts(compute, len(vectors))
        return vectors

    def scatter_sum(self, dE, bags, d_vectors):
        def add(first, last):  # to some columns of all rows
            kernels.scatter_sum(dE, bags, d_vectors, first, last)

        in_parts(add, dE.shape[1], rows=len(bags.rows))

    def gather_dot(self, E, bags, d_vectors):
        d_weights = self.alloc2f(*bags.rows.shape)

        def multiply(first, last):
            kernels.gather_dot(E, bags, first, last, d_vectors, d_weights)

        in_parts(multiply, bags.num_tokens)
        return d_weights

    def hash_embed(self, ids, tables, hashing):
        (U, A), W = ids.shape, tables[0].shape[1]
        ids = for_kernel(self, ids, "uint64")
        vectors = numpy.empty((U, A * W), dtype="float32")
        rows = numpy.empty((U, A, MAX_HASHES), dtype="int32")

        def compute(first, last):
            kernels.hash_embed(ids, tables, hashing, first, last, rows, vectors)

        in_parts(compute, U)
        return vectors, rows

    def backprop_hash_embed(self, gradients, hashing, rows, d_vectors):
        d_vectors = for_kernel(self, d_vectors, "float32")

        def add(first, last):  # to some tables
            kernels.hash_embed_backward(gradients, hashing, first, last, rows, d_vectors)

        in_parts(add, len(gradients), rows=len(rows))

    # Layers of several steps, in prediction

    def mixer(self, columns, layer):
        return kernels.Mixer(columns, layer)

    def mix(self, ids, mixer, bags=(), given=None):
        ids, Y = for_kernel(self, ids, "uint64"), numpy.empty((len(ids), mixer.nO), dtype="float32")
        in_parts(lambda first, last: mixer.mix(ids, bags, given, first, last, Y), len(ids))
        return Y

    def encoder(self, layers, *, pad):
        return kernels.Encoder(layers, pad)

    def encode(self, X, encoder, lengths):
        Y = numpy.empty((len(X), encoder.nO), dtype="float32")

        def compute(part):
            encoder.encode(X[part.rows], part.lengths, len(X), Y[part.rows])

        in_parts_of_docs(compute, lengths, len(X))
        return Y

    # Maxout over windows

    def window_maxout(self, X, layer, docs, *, mask=None, is_train=False):
        shape = docs.rows, len(layer.W)
        Y, cache = numpy.empty(shape, dtype="float32"), None
        if is_train:
            Xhat = scale = None
            if layer.G is not None:
                Xhat, scale = numpy.empty_like(Y), numpy.empty(len(Y), dtype="float32")
            cache = Cache(numpy.empty(shape, dtype="uint8"), Xhat, scale)

        def compute(first, last):
            kernels.maxout(X, layer, docs, first, last, Y, mask, *(cache or ()))

        in_parts(compute, len(Y))
        return Y, cache

    def backprop_window_maxout(self, dY, X, layer, docs, cache, gradients, *, mask=None):
        d_inner = dY if mask is None else dY * mask
        which, Xhat, scale = cache
        d_sums, dX = numpy.empty_like(dY), numpy.empty_like(X)

        def to_sums(first, last):
            nI = X.shape[1]
            kernels.back_to_sums(d_inner, layer, nI, first, last, d_sums, which, Xhat, scale)

        def to_input(first, last):
            kernels.back_to_input(d_sums, layer, docs, first, last, dX, which, dY)

        def to_weights(first, last):
            kernels.back_to_weights(
                d_sums, layer, docs, first, last, X, which, d_inner, Xhat, *gradients
            )

        in_parts(to_sums, len(dY))
        in_parts(to_input, len(dX))
        in_parts(to_weights, dY.shape[1], rows=len(dY))
        return dX

    # Decoders

    def viterbi(self, scores, transitions, constraints, lengths):
        into = None if transitions is None else numpy.ascontiguousarray(transitions.T)
        return kernels.viterbi(scores, into, constraints, lengths.astype("int64"))

    def recognizer(self, weights, actions):
        return kernels.Recognizer(weights, actions)

    def find_entities(self, X, finder, attrs, lengths):
        spans_of = {}

        def find(part):
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

    def tagger(self, *parameters):
        return kernels.Tagger(*parameters)

    def decode(self, array_code, *batch):
        X, weights, rules, actions, *parts = batch
        return kernels.Recognizer(weights, actions).decode(X, rules, *parts)

    def parser(self, weights, actions):
        return kernels.Parser(weights, actions)

    def parse(self, X, parser, attrs, lengths):
        table = numpy.empty((2, len(X)), dtype="uint64")
        heads, deps = table[0].view("int64"), table[1]
        is_decorated = numpy.empty(len(X), dtype="uint8")

        def compute(part):
            rows, sizes = part
            parser.parse(X[rows], attrs[rows], sizes, heads[rows], deps[rows], is_decorated[rows])

        in_parts_of_docs(compute, lengths, len(X))
        return table, is_decorated


def _can_multiply(arrays):
    """Return whether the kernels can multiply arrays."""
    return dispatch.chosen != NONE and all(
        a.ndim and a.dtype == "float32" and a.flags.c_contiguous and a.flags.aligned for a in arrays
    )


def _multiply(x, W, b, out):
    product = numpy.empty((len(x), len(W)), dtype="float32") if out is None else out
    in_parts(lambda first, last: kernels.product(x, W, first, last, product, b), len(x))
    return product


_HOST, _COMPILED = HostOps(), KernelOps()
