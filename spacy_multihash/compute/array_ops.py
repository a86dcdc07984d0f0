"""Operations: what they take, and their array code, which runs with numpy and with CuPy.

`ArrayOps` declares each operation: its types, its docs and what it computes. `KernelOps` (ops.py)
and `GpuOps` (gpu.py) replace some by compiled code, and the tests compare them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import numpy
from thinc.api import Ops

from ..common.checks import OutOfRange
from ..common.types import Array
from .hashing import MAX_HASHES, Hashing, group_seeds, hash_ngrams_of_order
from .viterbi import best_tags


class Bags(NamedTuple):
    """The rows of the symbols of U tokens: for each token, rows of a table that are summed.

    rows (M, K) int32: The rows of each symbol, token by token. The table must have these rows.
    weights (M, K) float32: Factors of the rows, or None.
    ends (U,) int64, on the CPU: Where the symbols of each token end. None: each token has one.
    mean (bool): Whether sums are divided by the number of symbols.
    """

    rows: Array
    weights: Optional[Array] = None
    ends: Optional[numpy.ndarray] = None
    mean: bool = False

    @property
    def num_tokens(self) -> int:
        """The number of tokens, U."""
        return len(self.rows if self.ends is None else self.ends)


# Symbols (M,) uint64 and the ends (U,) int64 of those of each token, on the CPU.
BagSymbols = tuple[numpy.ndarray, numpy.ndarray]


class ColumnTable(NamedTuple):
    """The table of a column of tokens, and how symbols become its rows: looked up, or hashed.

    table (nV, W) float32.
    keys (V,) uint64, row_of (V,) int32: Symbols in ascending order, and the row of each; others
        have row 0. None if symbols are hashed.
    hashing: The number of rows, of hash functions, and the seed; or None.
    importance (rows, K) float32: Factors of the K rows of a symbol, in a row by hashing; or None.
    importance_hashing: The number of its rows, and the seed.
    is_appended (bool): Whether the sum of the factors is a part of a token's vector, the last.
    is_bag (bool): Whether a token may have any number of symbols.
    mean (bool): Whether sums are divided by it.
    """

    table: Array
    keys: Optional[Array] = None
    row_of: Optional[Array] = None
    hashing: Optional[tuple[int, int, int]] = None
    importance: Optional[Array] = None
    importance_hashing: tuple[int, int] = (1, 0)
    is_appended: bool = False
    is_bag: bool = False
    mean: bool = False


class Layer(NamedTuple):
    """A layer of maxout over windows of S = 2 * window + 1 rows, with layer normalization.

        sums  =  W_p window(X)_i + b_p, for each piece p
        Y_i   =  norm(max_p sums) * G + beta, times a mask of dropout, plus X_i

    Each of the steps after the sums is optional.

    W (nO, nP, S * nI), b (nO, nP): The linear functions.
    G, beta (nO,): Gain and shift of layer normalization, or None for none.
    dilation: The distance of neighbours in a window.
    relu: Whether Y is 0 where the sum of a single piece is negative.
    residual: Whether X is added.
    name: The layer's, for messages.
    """

    W: Array
    b: Array
    G: Optional[Array] = None
    beta: Optional[Array] = None
    window: int = 0
    dilation: int = 1
    relu: bool = False
    residual: bool = False
    name: str = "maxout"


class Docs(NamedTuple):
    """The rows of D docs, one after the other, before and after a layer.

    lengths (D,) int64: The numbers of tokens, on the host.
    before, after: How many rows of padding there are on each side of a doc.
    pad: Whether the first row of all stands for the padding beyond these rows. Otherwise windows
        read zeros there.
    """

    lengths: numpy.ndarray
    before: int = 0
    after: int = 0
    pad: bool = False

    @property
    def rows(self) -> int:
        """The number of rows after the layer, M."""
        return self.pad + int(self.lengths.sum()) + 2 * self.after * len(self.lengths)


class Cache(NamedTuple):
    """What the backward pass needs of M rows.

    which (M, nO) uint8: The piece that was the largest, the first of equals. With `relu`, 1 where
        the sum is positive.
    Xhat (M, nO), scale (M,): The normalized rows, and 1 / standard deviation; None without a norm.
    """

    which: Array
    Xhat: Optional[Array]
    scale: Optional[Array]


# The gradients of a layer's W, b, G and beta, to add to in place.
Gradients = tuple[Array, Array, Optional[Array], Optional[Array]]


def docs_between(layers: Sequence[Layer], lengths: numpy.ndarray, *, pad: bool) -> list[Docs]:
    """List the rows before and after each layer of an encoder.

    spacy.MaxoutWindowEncoder.v2 puts depth * window rows of zeros around each doc, and computes all
    of them in all layers. They don't stay zero, but most of them are equal or unused: after layer
    l, a row further than l * window from the doc has seen nothing of it, and nothing reads a row
    further than (depth - l) * window. So one row replaces equal rows, and unused rows are left out.

    lengths (D,) int64: The numbers of tokens of the docs.
    pad (bool): Whether docs have padding around them as in spaCy's encoder, instead of zeros.
    """
    if not pad:
        return [Docs(lengths)] * len(layers)
    depth, window = len(layers), layers[0].window
    around = [window * min(layer, depth - layer) for layer in range(depth + 1)]
    return [Docs(lengths, around[i], around[i + 1], pad=True) for i in range(depth)]


def for_kernel(ops: Ops, X: Array, dtype: str) -> Array:
    """Return an array that compiled code can read: contiguous, aligned, writable, of this type.

    It's the same array if it can be read, or else a copy.
    """
    if isinstance(X, numpy.ndarray) and X.dtype == dtype and X.flags.carray:
        return X
    if ops.xp is numpy:
        return numpy.require(X, dtype, ["C", "W", "A"])
    contiguous: Any = ops.as_contig
    return contiguous(X, dtype=dtype)  # CuPy has no read-only arrays


def for_sums(ops: Ops, X: Array) -> Array:
    """Return a gradient of sums as kernels read it: float32, with contiguous rows."""
    if isinstance(X, numpy.ndarray) and X.dtype == "float32" and X.flags.aligned:
        if X.strides[1] == 4 and X.strides[0] >= 0:
            return X  # columns of a larger array, too
    return for_kernel(ops, X, "float32")


def join_docs(ops: Ops, arrays: Sequence[Array], width: int) -> tuple[Array, numpy.ndarray]:
    """Concatenate the arrays of docs: (N, width) float32 contiguous.

    Also returns the lengths of non-empty docs, (D,) int64 on the host. Raises ValueError if the
    arrays have another width.
    """
    lengths = numpy.array([len(array) for array in arrays if len(array)], dtype="int64")
    if len(arrays) == 0:
        return ops.alloc2f(0, width), lengths
    joined = arrays[0] if len(arrays) == 1 else ops.xp.concatenate(arrays)
    if joined.shape[1] != width:
        raise ValueError(
            f"The encoder takes vectors of tokens of width {width}, got {joined.shape[1]}. Build "
            "it with the width of the layers around it."
        )
    return for_kernel(ops, joined, "float32"), lengths


def split_docs(rows: Array, lengths: Sequence[int]) -> list[Any]:
    """View the rows of each doc, as thinc's `unflatten` does, without its copies."""
    if len(lengths) == 1:
        return [rows]
    docs, end = [], 0
    for length in lengths:
        start, end = end, end + length
        docs.append(rows[start:end])
    return docs


class ArrayOps(Ops):
    """thinc's Ops with the arithmetic of this package.

    Some operations take what another one has made of a layer's parameters, which a plan keeps.
    """

    # Whether kernels compute: then plans keep parameters, and there's a parser.
    is_compiled = False

    # Rows of tables

    def hash_rows(self, ids: Array, nV: int, num_hashes: int, seed: int) -> Array:
        """Hash ids (M,) uint64 to rows (M, num_hashes) int32 of a table of nV rows."""
        ids = for_kernel(self, ids, "uint64")
        groups = [self.hash(ids, of_group) for of_group in group_seeds(seed, num_hashes)]
        words = self.xp.hstack(groups)[:, :num_hashes] % self.xp.uint32(nV)
        return words.view("int32")  # rows are below 2**31

    def look_up(self, ids: Array, keys: Array, row_of: Array) -> Array:
        """Find the rows (M,) int32 of ids (M,) uint64 among ascending keys (V,), 0 for none.

        Ids of other integers are cast: numpy would compare them with the keys as floats.
        """
        ids = for_kernel(self, ids, "uint64")
        place = self.xp.searchsorted(keys, ids)
        place[place == len(keys)] = 0  # past the last key: any key differs
        return self.xp.where(keys[place] == ids, row_of[place], self.xp.int32(0))

    def hash_ngrams(
        self, ids: Array, lengths: numpy.ndarray, orders: Sequence[int]
    ) -> tuple[Array, numpy.ndarray]:
        """Hash all n-grams of a batch of docs; none goes beyond the end of its doc.

        An n-gram of order 1 has the id of its token. For n >= 2 its id is the first 64 bits of
        MurmurHash3 x64 128-bit, with seed 0, of the 8 * n bytes of its tokens' ids, little-endian.
        The seed is the same for all models, so that one dictionary of n-grams serves them all; the
        seeds of hash_rows differ.

        ids (N,) uint64 of all tokens, lengths (B,) int32 of the docs, in the memory of the CPU
        -> n-gram ids (M,) uint64, ordered by doc, first token and order, and the number of n-grams
        of each doc (B,) int32, in the memory of the CPU.

        orders (Sequence[int]): Numbers of tokens of the n-grams, ascending.
        """
        left = numpy.repeat(lengths.cumsum(), lengths) - numpy.arange(len(ids))  # to the doc's end
        fits = self.xp.asarray(left[:, None] >= numpy.array(orders))  # (N, number of orders)
        hashed = self.xp.zeros(fits.shape, dtype="uint64")
        for column, order in zip(hashed.T, orders, strict=True):
            ngrams = ids if order == 1 else hash_ngrams_of_order(self.xp, ids, order)
            column[: len(ngrams)] = ngrams
        return hashed[fits], count_ngrams(lengths, orders)

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
        row = int(rows.view("uint32").max())  # negative rows are large: a single pass
        row -= 2**32 * (row >= 2**31)
        if not 0 <= row < nV:
            raise OutOfRange(
                f"Layer '{layer}' has {nV} rows (0 to {nV - 1}), but was asked for row {row}. The "
                "layer before it maps to more rows than the table has: build both with the same "
                "number of rows."
            )

    def sum_columns(self, tables: Sequence[Array], bags: Sequence[Bags]) -> Array:
        """Sum the rows of U tokens in each column, side by side.

        tables: An array (nV, W) float32 for each of the bags -> vectors (U, sum of W) float32.
        """
        sums = [self._gather_sum(*column) for column in zip(tables, bags, strict=True)]
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
        d_symbols = self._of_symbols(bags, d_vectors)
        d_weights: Array = self.alloc2f(*bags.rows.shape)
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
        rows, bags = self.xp.zeros((*ids.shape, MAX_HASHES), dtype="int32"), []
        for a, (nV, K, seed) in enumerate(hashing.columns):
            rows[:, a, :K] = self.hash_rows(ids[:, a], nV, K, seed)
            bags.append(Bags(rows[:, a, :K]))
        return self.sum_columns(tables, bags), rows

    def backprop_hash_embed(
        self, gradients: Sequence[Array], hashing: Hashing, rows: Array, d_vectors: Array
    ) -> None:
        """Add the gradient of each vector to the gradients of its rows.

        rows (U, A, 16) int32, d_vectors (U, A * W) float32 -> gradients, A arrays (nV, W). On a
        GPU, the order of additions to a row varies, and so do its last bits.
        """
        W = gradients[0].shape[1]
        for a, (dE, (_, K, _)) in enumerate(zip(gradients, hashing.columns, strict=True)):
            self.scatter_sum(dE, Bags(rows[:, a, :K]), d_vectors[:, a * W : (a + 1) * W])

    def _gather_sum(self, E: Array, bags: Bags) -> Array:
        of_symbols: Array = self.alloc2f(len(bags.rows), E.shape[1])
        for k, rows in enumerate(bags.rows.T):
            of_symbols += E[rows] if bags.weights is None else E[rows] * bags.weights[:, k : k + 1]
        if bags.ends is None:
            return of_symbols
        owners, shares = self._owners(bags)
        sums: Array = self.alloc2f(bags.num_tokens, E.shape[1])
        self.scatter_add(sums, owners, of_symbols)
        return sums * shares

    def _of_symbols(self, bags: Bags, d_vectors: Array) -> Array:
        """Return the gradient of each symbol's vector, that of its token: (M, W)."""
        if bags.ends is None:
            return d_vectors
        owners, shares = self._owners(bags)
        return (d_vectors * shares)[owners]

    def _owners(self, bags: Bags) -> tuple[Array, Array]:
        """Return the token of each symbol, (M,) int32; and 1 / length, or 1 for sums, (U, 1)."""
        lengths: Array = numpy.diff(bags.ends, prepend=0)  # type: ignore[type-var]
        owners: Array = numpy.repeat(numpy.arange(len(lengths)), lengths)
        shares: Array = 1 / (lengths.clip(1) if bags.mean else numpy.ones(len(lengths)))[:, None]
        return self.asarray1i(owners), self.asarray(shares, dtype="float32")

    # Layers of several steps, in prediction

    def mixer(self, columns: Sequence[ColumnTable], layer: Layer) -> Any:  # noqa: ANN401
        """Prepare the tables of columns, and the layer that mixes them; None without kernels."""
        return None

    def mix(
        self,
        ids: numpy.ndarray,
        mixer: Any,  # noqa: ANN401
        bags: Sequence[BagSymbols] = (),
        given: Optional[Array] = None,
    ) -> Array:
        """Embed U tokens by their columns, and mix the columns, by compiled kernels.

        ids (U, A) uint64: Of the A columns with one symbol a token. Equal tokens are embedded once,
            if there are no other columns.
        bags: Symbols (M,) uint64 and the ends (U,) int64 of tokens, of each other column.
        given (U, W) float32: More vectors.

        Returns vectors (U, nO) float32.
        """
        raise NotImplementedError

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
        """Compute a layer: X (N, nI) float32 contiguous -> Y (M, nO), and a cache in training.

        mask (Optional[Array]): Of dropout, (M, nO).
        """
        windows = self._windows(X, _reads_of(docs, layer))
        Y, cache = self._largest(windows, layer)
        if mask is not None:
            Y *= mask
        if layer.residual:
            Y += _centre_of(windows, X.shape[1])
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
        """Compute dX (N, nI) from dY (M, nO) float32 contiguous. Adds to the gradients.

        Sums over rows are taken in an order that doesn't depend on threads.
        """
        d_inner = dY if mask is None else dY * mask
        dW, db, dG, dbeta = gradients
        if dG is not None:
            dG += (d_inner * cache.Xhat).sum(axis=0)
            dbeta += d_inner.sum(axis=0)
        d_sums = self._backprop_largest(d_inner, layer, cache)
        reads = _reads_of(docs, layer)
        dW += (d_sums.T @ self._windows(X, reads)).reshape(dW.shape)
        db += d_sums.sum(axis=0).reshape(db.shape)
        d_windows = d_sums @ layer.W.reshape(d_sums.shape[1], -1)
        if layer.residual:
            _centre_of(d_windows, X.shape[1])[:] += dY
        if layer.window == 0:
            return d_windows
        dX = self.xp.zeros((len(X) + 1, X.shape[1]), dtype="float32")
        rows = self.xp.asarray((reads % len(dX)).ravel(), dtype="int32")
        self.scatter_add(dX, rows, d_windows.reshape(len(rows), X.shape[1]))
        return dX[:-1]

    def _windows(self, X: Array, reads: numpy.ndarray) -> Array:
        """Put the rows of each window side by side: (N, nI) -> (M, S * nI)."""
        if reads.shape[1] == 1:
            return X
        if (reads < 0).any():
            X = self.xp.concatenate([X, self.alloc2f(1, X.shape[1])])
        return X[self.xp.asarray(reads)].reshape(len(reads), reads.shape[1] * X.shape[1])

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

    def draw_mask(self, shape: tuple[int, int], rate: float) -> Optional[Array]:
        """Draw a mask of dropout, of 0 and 1 / (1 - rate); None if rate is 0.

        On the CPU, it's drawn from numpy's random state, and 16 random bits decide on an entry,
        where thinc takes 53, in a third of the time. So the rate is rounded to 1 / 65536.
        """
        if rate <= 0:
            return None
        if self.xp is not numpy:
            return self.get_dropout_mask(shape, rate)
        seed = numpy.random.randint(2**32, size=1, dtype="uint64")
        generator = numpy.random.Generator(numpy.random.SFC64(int(seed[0])))
        dropped = min(round(rate * 2**16), 2**16)  # of 2**16
        scale = numpy.float32(2**16 / max(2**16 - dropped, 1))
        return (generator.integers(2**16, size=shape, dtype="uint16") >= dropped) * scale

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
        constraints: numpy.ndarray,
        lengths: numpy.ndarray,
    ) -> numpy.ndarray:
        """Find the best tags (N,) int64 of all sequences: see `viterbi.best_tags`."""
        return best_tags(scores, transitions, constraints, lengths)

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


def count_ngrams(lengths: numpy.ndarray, orders: Sequence[int]) -> numpy.ndarray:
    """Count the n-grams of each doc, (B,) int32."""
    return (lengths[:, None] - numpy.array(orders) + 1).clip(0).sum(axis=1).astype("int32")


def _reads_of(docs: Docs, layer: Layer) -> numpy.ndarray:
    """Find the rows that the window of each row reads, (M, S) int64; -1 stands for zeros."""
    lengths, sizes = docs.lengths + 2 * docs.before, docs.lengths + 2 * docs.after
    doc = numpy.repeat(numpy.arange(len(sizes)), sizes)
    place = numpy.arange(len(doc)) - numpy.repeat(sizes.cumsum() - sizes, sizes)
    offsets = layer.dilation * numpy.arange(-layer.window, layer.window + 1)
    reads = (place - docs.after + docs.before)[:, None] + offsets
    beyond = (reads < 0) | (reads >= lengths[doc][:, None])
    reads += docs.pad + (lengths.cumsum() - lengths)[doc][:, None]
    reads[beyond] = 0 if docs.pad else -1
    first = numpy.zeros((int(docs.pad), len(offsets)), dtype="int64")
    return numpy.concatenate([first, reads])


def _centre_of(windows: Array, nI: int) -> Array:
    """View the row in the centre of each window: (M, S * nI) -> (M, nI)."""
    start = windows.shape[1] // nI // 2 * nI
    return windows[:, start : start + nI]
