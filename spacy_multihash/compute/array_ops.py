"""Operations in plain array code, which runs with numpy and with CuPy.

The compiled methods of `KernelOps` and the launches of `GpuOps` (ops.py) replace them where there
are any, and are tested against them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Optional, cast

import numpy
from thinc.api import Ops, Optimizer
from thinc.types import FloatsXd

from ..common.checks import OutOfRange
from ..common.types import Array
from .bags import Bags, BagSymbols, ColumnTable
from .hashing import MAX_HASHES, Hashing, group_seeds, hash_ngrams_of_order, hashing_of
from .maxout import Cache, Docs, Gradients, Layer, centre_of, docs_between, reads_of, windows_of
from .viterbi import best_tags


def on_cpu(ops: Ops) -> bool:
    """Return whether all arrays are on the CPU."""
    return ops.device_type == "cpu"


def for_kernel(ops: Ops, X: Array, dtype: str) -> Array:
    """Return an array that compiled code can read: contiguous, aligned, writable, of this type.

    It's the same array if it can be read, or else a copy.
    """
    if isinstance(X, numpy.ndarray) and X.dtype == dtype and X.flags.carray:
        return X
    if on_cpu(ops):
        return numpy.require(X, dtype, ["C", "W", "A"])
    contiguous: Any = ops.as_contig
    return contiguous(X, dtype=dtype)  # CuPy has no read-only arrays


def for_sums(ops: Ops, X: Array) -> Array:
    """Return a gradient of sums as kernels read it: float32, with contiguous rows."""
    if isinstance(X, numpy.ndarray) and X.dtype == "float32" and X.flags.aligned:
        if X.strides[1] == 4 and X.strides[0] >= 0:
            return X  # columns of a larger array, too
    return for_kernel(ops, X, "float32")


class ArrayOps(Ops):
    """thinc's Ops with the arithmetic of this package.

    Some operations take what another one has made of a layer's parameters, which a plan keeps.
    """

    # Whether kernels compute: then plans keep parameters, and there's a parser.
    is_compiled = False

    # Rows of tables

    def hash_rows(self, ids: Array, nV: int, num_hashes: int, seed: int) -> Array:
        """Hash ids (M,) uint64 to rows (M, num_hashes) int32 of a table of nV rows."""
        groups = [self.hash(ids, of_group) for of_group in group_seeds(seed, num_hashes)]
        words = self.xp.hstack(groups)[:, :num_hashes] % self.xp.uint32(nV)
        return words.view("int32")  # rows are below 2**31

    def look_up(self, ids: Array, keys: Array, row_of: Array) -> Array:
        """Find the rows (M,) int32 of ids (M,) uint64 among ascending keys (V,), 0 for none."""
        at = self.xp.searchsorted(keys, ids)
        at[at == len(keys)] = 0  # past the last key: any key differs
        return self.xp.where(keys[at] == ids, row_of[at], self.xp.int32(0))

    def hash_ngrams(
        self, ids: Array, lengths: numpy.ndarray, orders: Sequence[int]
    ) -> tuple[Array, numpy.ndarray]:
        """Hash all n-grams of a batch of docs; none goes beyond the end of its doc.

        An n-gram of order 1 has the id of its token. For n >= 2 its id is the first 64 bits of
        MurmurHash3 x64 128-bit, with seed 0, of the 8 * n bytes of its tokens' ids, little-endian.
        No string is ever built. The seed is the same for all models, so that one dictionary of
        n-grams serves them all; the seeds of hash_rows differ.

        ids (N,) uint64 of all tokens, lengths (B,) int32 of the docs, in the memory of the CPU
        -> n-gram ids (M,) uint64, and the number of n-grams of each doc (B,) int32, in the memory
        of the CPU. The ids are ordered by doc, first token and order, so that a run of them is a
        stretch of text.

        orders (Sequence[int]): Numbers of tokens of the n-grams, ascending.
        """
        of_orders = numpy.array(orders, dtype="int32")
        left = numpy.repeat(lengths.cumsum(), lengths) - numpy.arange(len(ids))  # to the doc's end
        fits = self.xp.asarray(left[:, None] >= of_orders)  # (N, number of orders)
        hashed = self.xp.zeros(fits.shape, dtype="uint64")
        for column, order in zip(hashed.T, orders, strict=True):
            ngrams = ids if order == 1 else hash_ngrams_of_order(self.xp, ids, order)
            column[: len(ngrams)] = ngrams
        return hashed[fits], count_ngrams(lengths, of_orders)

    def distinct_rows(self, ids: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Group equal rows: ids (N, C) uint64 -> first of each group (U,), groups of rows (N,)."""
        _, first, group_of = numpy.unique(ids, axis=0, return_index=True, return_inverse=True)
        order = first.argsort()  # by first occurrence, so that unique rows keep their order
        return first[order], order.argsort()[group_of.reshape(-1)].astype("int32")

    # Sums of rows

    def check_rows(self, layer: str, rows: Array, nV: int) -> None:
        """Raise IndexError for a row outside of a table; kernels check while they read."""
        if not rows.size:
            return
        asked = int(rows.view("uint32").max())  # negative rows are large: a single pass
        asked -= 2**32 * (asked >= 2**31)
        if not 0 <= asked < nV:
            raise OutOfRange(
                f"Layer '{layer}' has {nV} rows (0 to {nV - 1}), but was asked for row {asked}. "
                "The layer before it maps to more rows than the table has: build both with the "
                "same number of rows."
            )

    def gather_sum(self, E: Array, bags: Bags) -> Array:
        """Sum the rows of each token: E (nV, W) float32 -> vectors (U, W) float32."""
        of_symbols: Array = self.alloc2f(len(bags.rows), E.shape[1])
        for k, rows in enumerate(bags.rows.T):
            of_symbols += E[rows] if bags.weights is None else E[rows] * bags.weights[:, k : k + 1]
        if bags.ends is None:
            return of_symbols
        sums: Array = self.alloc2f(bags.num_tokens, E.shape[1])
        self.scatter_add(sums, self._owners(bags), of_symbols)
        return sums * self._shares(bags)

    def sum_columns(self, tables: Sequence[Array], bags: Sequence[Bags]) -> Array:
        """Sum the rows of U tokens in each column, side by side -> (U, the tables' width)."""
        sums = [self.gather_sum(*of_column) for of_column in zip(tables, bags, strict=True)]
        return sums[0] if len(sums) == 1 else self.xp.hstack(sums)

    def scatter_sum(self, dE: Array, bags: Bags, d_vectors: Array) -> None:
        """Add each token's gradient, (U, W), to the gradients of its rows, dE (nV, W).

        On the CPU, the gradients of a row add up in the order of the tokens, whatever the threads.
        """
        d_symbols = self._of_symbols(bags, d_vectors)
        for k, rows in enumerate(bags.rows.T):
            d_rows = d_symbols if bags.weights is None else d_symbols * bags.weights[:, k : k + 1]
            self.scatter_add(
                dE, for_kernel(self, rows, "int32"), for_kernel(self, d_rows, "float32")
            )

    def gather_dot(self, E: Array, bags: Bags, d_vectors: Array) -> Array:
        """Compute the gradient of the weights (M, K) from the gradient of the vectors (U, W)."""
        d_weights: Array = self.alloc2f(*bags.rows.shape)
        d_symbols = self._of_symbols(bags, d_vectors)
        for k, rows in enumerate(bags.rows.T):
            d_weights[:, k] = self.xp.einsum("nd,nd->n", E[rows], d_symbols)
        return d_weights

    def hash_embed(
        self, ids: Array, tables: Sequence[Array], hashing: Hashing
    ) -> tuple[Array, Array]:
        """Hash the ids of A columns, and add up their rows.

        ids (U, A) uint64 contiguous, tables A arrays (nV, W) float32 -> vectors (U, A * W) float32;
        and for the backward pass, rows (U, A, 16) int32.
        """
        vectors, rows = [], self.xp.zeros((*ids.shape, MAX_HASHES), dtype="int32")
        for a, (E, (nV, K, seed)) in enumerate(zip(tables, hashing.columns, strict=True)):
            of_column = self.hash_rows(self.xp.ascontiguousarray(ids[:, a]), nV, K, seed)
            vectors.append(self.gather_sum(E, Bags(of_column)))
            rows[:, a, :K] = of_column
        return self.xp.hstack(vectors), rows

    def backprop_hash_embed(
        self, gradients: Sequence[Array], hashing: Hashing, rows: Array, d_vectors: Array
    ) -> None:
        """Add the gradient of each vector to the gradients of its rows.

        rows (U, A, 16) int32, d_vectors (U, A * W) float32 -> gradients, A arrays (nV, W).
        """
        W = gradients[0].shape[1]
        for a, (dE, (_, K, _)) in enumerate(zip(gradients, hashing.columns, strict=True)):
            self.scatter_sum(dE, Bags(rows[:, a, :K]), d_vectors[:, a * W : (a + 1) * W])

    def _of_symbols(self, bags: Bags, d_vectors: Array) -> Array:
        """Return the gradient of each value's vector, that of its token: (M, W)."""
        if bags.ends is None:
            return d_vectors
        return (d_vectors * self._shares(bags))[self._owners(bags)]

    def _owners(self, bags: Bags) -> Array:
        """Return the token of each value, (M,) int32."""
        lengths: Array = bags.lengths()
        return self.asarray1i(numpy.repeat(numpy.arange(len(lengths)), lengths))  # type: ignore[arg-type]

    def _shares(self, bags: Bags) -> Array:
        """Return 1 / length for mean pooling, 1 for sums: (U, 1) float32."""
        lengths = bags.lengths().clip(1) if bags.mean else numpy.ones(bags.num_tokens)
        shares: Array = (1 / lengths)[:, None]
        return self.asarray(shares, dtype="float32")

    # Layers of several steps, in prediction

    def mixer(self, columns: Sequence[ColumnTable], layer: Layer) -> Any:  # noqa: ANN401
        """Prepare the tables of columns, and the layer that mixes their vectors."""
        return columns, layer

    def mix(
        self,
        ids: numpy.ndarray,
        mixer: Any,  # noqa: ANN401
        bags: Sequence[BagSymbols] = (),
        given: Optional[Array] = None,
    ) -> Array:
        """Embed U tokens by their columns, and mix the columns -> (U, nO) float32.

        ids (U, A) uint64, in the memory of the CPU: Of the A columns with one symbol a token. Equal
            tokens are embedded once, if there are no other columns.
        bags: Symbols (M,) uint64 and the ends (U,) int64 of tokens, of each other column.
        given (U, W) float32: More vectors, on the device.
        """
        columns, layer = mixer
        if bags or given is not None:
            return self._mix(self._columns(ids, columns, bags, given), layer)
        first, unique_of = self.distinct_rows(ids)
        mixed = self._mix(self._columns(ids[first], columns), layer)
        return mixed[self.xp.asarray(unique_of)]

    def _columns(
        self,
        ids: numpy.ndarray,
        columns: Sequence[ColumnTable],
        bags: Sequence[BagSymbols] = (),
        given: Optional[Array] = None,
    ) -> Array:
        """Put the vectors of all columns, and given vectors, side by side."""
        hashings = tuple(column.hashing for column in columns)
        tables = [column.table for column in columns]
        is_plain = not any(column.is_bag or column.importance is not None for column in columns)
        if is_plain and None not in hashings and len({E.shape[1] for E in tables}) == 1:
            on_device = self.xp.asarray(ids, dtype="uint64")
            vectors = [self.hash_embed(on_device, tables, hashing_of(cast(Any, hashings)))[0]]
        else:
            singles, others = iter(ids.T), iter(bags)
            sums: list[tuple[Array, Bags]] = []
            for column in columns:
                symbols, ends = next(others) if column.is_bag else (next(singles), None)
                found = self.xp.asarray(numpy.ascontiguousarray(symbols), dtype="uint64")
                sums += self._sums_of(column, found, ends)
            vectors = [self.gather_sum(*of) for of in sums]
        vectors += [] if given is None else [given]
        return vectors[0] if len(vectors) == 1 else self.xp.hstack(vectors)

    def _sums_of(
        self, column: ColumnTable, symbols: Array, ends: Optional[numpy.ndarray]
    ) -> list[tuple[Array, Bags]]:
        """Find the rows of a column's symbols, and the factors that are appended."""
        if column.hashing is None:
            rows = self.look_up(symbols, column.keys, column.row_of)[:, None]
            self.check_rows("table_embed", rows, len(column.table))
        else:
            rows = self.hash_rows(symbols, *column.hashing)
        if column.importance is None:
            return [(column.table, Bags(rows, None, ends, column.mean))]
        nV, seed = column.importance_hashing
        factors = column.importance[self.hash_rows(symbols, nV, 1, seed)[:, 0]]
        sums = [(column.table, Bags(rows, factors, ends, column.mean))]
        if column.is_appended:
            numbers = self.xp.arange(len(symbols), dtype="int32")[:, None]
            sums.append((factors, Bags(numbers, None, ends, column.mean)))
        return sums

    def encoder(self, layers: Sequence[Layer], *, pad: bool) -> Any:  # noqa: ANN401
        """Prepare the layers of an encoder.

        pad (bool): Whether docs have padding around them as in spaCy's encoder, instead of zeros.
        """
        return layers, pad

    def encode(self, X: Array, encoder: Any, lengths: numpy.ndarray) -> Array:  # noqa: ANN401
        """Compute all layers of an encoder: X (N, nI) float32 -> Y (N, nO) float32.

        lengths (D,) int64: The numbers of tokens of the docs.
        """
        layers, pad = encoder
        if pad:
            X = self.xp.concatenate([self.alloc2f(1, X.shape[1]), X])
        for layer, docs in zip(layers, docs_between(layers, lengths, pad=pad), strict=True):
            X, _ = self.window_maxout(X, layer, docs)
        return X[1:] if pad else X

    def _mix(self, vectors: Array, layer: Layer) -> Array:
        return self.window_maxout(vectors, layer, Docs(numpy.array([len(vectors)])))[0]

    # Maxout over windows: the formula is in maxout.py

    def window_maxout(
        self,
        X: Array,
        layer: Layer,
        docs: Docs,
        *,
        mask: Optional[Array] = None,
        is_train: bool = False,
    ) -> tuple[Array, Optional[Cache]]:
        """Compute a layer: X (N, nI) float32 contiguous -> Y (M, nO), and a cache in training.

        mask (Optional[Array]): Of dropout, (M, nO).
        """
        windows = windows_of(self.xp, X, reads_of(docs, layer))
        Y, cache = self._largest(windows, layer)
        if mask is not None:
            Y *= mask
        if layer.residual:
            Y += centre_of(windows, X.shape[1])
        return Y, cache if is_train else None

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
        """Compute dX (N, nI) from dY (M, nO) float32 contiguous. Adds to the gradients of `params`.

        Sums over rows are taken in an order that doesn't depend on threads.
        """
        d_inner = dY if mask is None else dY * mask
        dW, db, dG, dbeta = gradients
        if dG is not None:
            dG += (d_inner * cache.Xhat).sum(axis=0)
            dbeta += d_inner.sum(axis=0)
        d_sums = self._backprop_largest(d_inner, layer, cache)
        reads = reads_of(docs, layer)
        dW += (d_sums.T @ windows_of(self.xp, X, reads)).reshape(dW.shape)
        db += d_sums.sum(axis=0).reshape(db.shape)
        d_windows = d_sums @ layer.W.reshape(d_sums.shape[1], -1)
        if layer.residual:
            centre_of(d_windows, X.shape[1])[:] += dY
        if layer.window == 0:
            return d_windows
        dX = self.xp.zeros((len(X) + 1, X.shape[1]), dtype="float32")
        rows = self.xp.asarray((reads % len(dX)).ravel(), dtype="int32")
        self.scatter_add(dX, rows, d_windows.reshape(len(rows), X.shape[1]))
        return dX[:-1]

    def _largest(self, windows: Array, layer: Layer) -> tuple[Array, Cache]:
        """Compute the normalized largest pieces: windows (M, S * nI) -> (M, nO)."""
        xp, (nO, nP, columns) = self.xp, layer.W.shape
        sums = windows @ layer.W.reshape(nO * nP, columns).T + layer.b.reshape(-1)
        sums = sums.reshape(len(windows), nO, nP)
        Y, which = sums.max(axis=2), sums.argmax(axis=2).astype("uint8")
        if layer.relu:
            which = (Y > 0).astype("uint8")
            Y = xp.maximum(Y, 0)
        if layer.G is None:
            return Y, Cache(which, None, None)
        centred = Y - Y.mean(axis=1, keepdims=True)
        scale = 1 / xp.sqrt((centred**2).mean(axis=1) + numpy.float32(1e-8))
        Xhat = centred * scale[:, None]
        return Xhat * layer.G + layer.beta, Cache(which, Xhat, scale)

    def _backprop_largest(self, d: Array, layer: Layer, cache: Cache) -> Array:
        """Go back through the norm to the sums: d (M, nO) -> (M, nO * nP)."""
        (nO, nP, _), (which, Xhat, scale) = layer.W.shape, cache
        if layer.G is not None:
            d = d * layer.G
            share = (d * Xhat).mean(axis=1, keepdims=True)
            d = (d - d.mean(axis=1, keepdims=True) - Xhat * share) * scale[:, None]  # type: ignore[index]
        if layer.relu:
            d = d * which
        pieces = self.xp.arange(nP)
        is_largest = self.xp.ones((1, 1, 1), bool) if nP == 1 else which[:, :, None] == pieces
        return (d[:, :, None] * is_largest).reshape(len(d), nO * nP)

    # Decoders

    def recognizer(self, weights: object, actions: object) -> Any:  # noqa: ANN401
        """Prepare the weights and actions of spaCy's recognizer; None where there are no kernels.

        weights (Weights), actions (Actions): Of ner/transition.
        """
        return None

    def find_entities(
        self,
        X: Array,
        finder: Any,  # noqa: ANN401
        attrs: numpy.ndarray,
        lengths: numpy.ndarray,
    ) -> Optional[numpy.ndarray]:
        """Find the entities of docs; None without kernels, and where array code must look closer.

        X (N, nI) float32: The vectors of tokens.
        finder: A `recognizer`, for docs that have no entities so far, or a `tagger`.
        attrs (N, 3 or 4) uint64: SENT_START, IS_SPACE, ENT_IOB, and for a recognizer ENT_TYPE.
        lengths (D,) int64: How many tokens each doc has.

        Returns the starts, ends and labels of E entities, (3, E) int64.
        """
        return None

    def tagger(self, *parameters: object) -> Any:  # noqa: ANN401
        """Prepare the layer that scores tags: see `Tagger` in kernels.pyx; None without kernels."""
        return None

    def viterbi(
        self,
        scores: numpy.ndarray,
        transitions: Optional[numpy.ndarray],
        known: numpy.ndarray,
        lengths: numpy.ndarray,
    ) -> numpy.ndarray:
        """Find the best tags (N,) int64 of all sequences: see `viterbi.best_tags`."""
        return best_tags(scores, transitions, known, lengths)

    def parser(self, weights: object, actions: object) -> Any:  # noqa: ANN401
        """Prepare the weights and actions of spaCy's parser.

        weights (Weights), actions (Actions): Of ner/transition and of parse.
        """
        raise NotImplementedError

    def parse(
        self,
        X: Array,
        parser: Any,  # noqa: ANN401
        attrs: Array,
        lengths: numpy.ndarray,
    ) -> tuple[Array, Array]:
        """Parse D docs with N tokens as spaCy's greedy parser does, by compiled kernels.

        X (N, nI) float32: The vectors of tokens.
        attrs (N, 3) uint64: SENT_START, HEAD and DEP.
        lengths (D,) int64: How many tokens each doc has.

        Returns HEAD and DEP, (2, N) uint64; and whether a token may have a label that spaCy splits
        after parsing, (N,) uint8.
        """
        raise NotImplementedError

    def decode(self, array_code: Callable[..., Any], *batch: Any) -> Any:  # noqa: ANN401
        """Take the best actions of spaCy's recognizer, token by token.

        array_code (Callable): What computes where there's no kernel. It's a part of the recognizer,
            as it needs its rules.
        batch: The arguments of `array_code`, and of the kernel `decode`.
        """
        return array_code(*batch)

    # Training

    def adam_step(
        self,
        optimizer: Any,  # noqa: ANN401 (compute/adam.py's Adam)
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        lr_scale: float,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Take a step of Adam in place, set the gradient to 0, and return both."""
        optimizer.moving.pop(key, None)
        return Optimizer.__call__(optimizer, key, weights, gradient, lr_scale=lr_scale)


def count_ngrams(lengths: numpy.ndarray, orders: numpy.ndarray) -> numpy.ndarray:
    """Count the n-grams of each doc, (B,) int32."""
    return (lengths[:, None] - orders + 1).clip(0).sum(axis=1).astype("int32")
