"""Kernels against their array twins, in odd shapes: no width, length or number of docs is special.

Under the address sanitizer, this is also where a kernel that reads beyond its arrays is caught.
"""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from thinc.api import NumpyOps

from spacy_multihash.compute import hashing
from spacy_multihash.compute.array_ops import Bags, ColumnTable, Docs, Layer
from spacy_multihash.compute.dispatch import NONE, available_kernels, kernels
from spacy_multihash.compute.ops import operations
from spacy_multihash.embed.rows import Symbols, hash_rows
from spacy_multihash.ner.biluo import Constraints, entities_of
from spacy_multihash.ner.tagger.decode import decode, decode_constrained, decode_crf
from spacy_multihash.ner.transition.rules import ANY_LABEL, NO_ACTION, NO_LABEL, Actions, Rules
from spacy_multihash.ner.transition.states import (
    Batch,
    Weights,
    find_entities,
    visit_states,
    whole_docs,
)
from spacy_multihash.parse.actions import Actions as ParseActions
from tests.helpers.kernels import using_kernels

COMPILED = [name for name in available_kernels() if name != NONE]
pytestmark = pytest.mark.skipif(not COMPILED, reason="installed without a compiler")

OPS = NumpyOps()
# Widths around those of vectors and blocks, and lengths around those of runs.
WIDTHS = st.one_of(st.integers(1, 41), st.sampled_from([64, 96, 97, 128, 255]))
LENGTHS = st.lists(
    st.one_of(st.integers(0, 5), st.integers(0, 130), st.sampled_from([63, 64, 65, 257])),
    max_size=8,
).map(lambda lengths: numpy.array(lengths, dtype="int64"))
SEEDS = st.integers(0, 2**32 - 1)


class Draw:
    """Numbers of a seed, and choices of hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.rng = numpy.random.default_rng(data.draw(SEEDS))

    def one(self, *choices: Any) -> Any:
        return self.data.draw(st.sampled_from(choices))

    def size(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))

    def floats(self, *shape: int, scale: float = 1.0) -> numpy.ndarray:
        return (self.rng.normal(size=shape) * scale).astype("float32")

    def ids(self, *shape: int) -> numpy.ndarray:
        return self.rng.integers(0, self.one(5, 1000, 2**64 - 1), shape, dtype="uint64")


def fuzz(compare: Callable[[Draw], None]) -> Callable:
    @given(st.data())
    def test(data: st.DataObject) -> None:
        compare(Draw(data))

    return test


def assert_all_equal_twins(
    compute: Callable[[], list[Any]], *, atol: float = 1e-4, rtol: float = 1e-3
) -> None:
    """Compute with the array twins, and then with each of the kernels."""
    with using_kernels(NONE):
        expected = compute()
    for name in COMPILED:
        with using_kernels(name):
            for found, twin in zip(compute(), expected, strict=True):
                if twin is None or numpy.asarray(twin).dtype.kind != "f":
                    assert_array_equal(found, twin, err_msg=name)
                else:
                    scale = max(1.0, float(abs(twin).max(initial=0)))
                    assert_allclose(found, twin, atol=atol * scale, rtol=rtol, err_msg=name)


def draw_layer(draw: Draw, nI: int, nO: int, *, window: int = 0, residual: bool = False) -> Layer:
    nP = draw.size(1, 5)
    W = draw.floats(nO, nP, (2 * window + 1) * nI, scale=0.3)
    # The norm of two or three numbers that are nearly equal would magnify rounding
    G, beta = draw.floats(2, nO) if nO > 3 and draw.one(True, False) else (None, None)
    dilation = draw.one(1, 1, 2, 7, 10**6)
    return Layer(W, draw.floats(nO, nP), G, beta, window, dilation, residual=residual)


@fuzz
def test_encoders(draw: Draw) -> None:
    depth, window, pad = draw.size(1, 5), draw.one(0, 1, 1, 2, 8), draw.one(True, False)
    width, lengths = draw.size(1, 34), draw.data.draw(LENGTHS)
    lengths = lengths[lengths > 0]
    layers = [draw_layer(draw, width, width, window=window, residual=True) for _ in range(depth)]
    if pad:
        layers = [layer._replace(dilation=1) for layer in layers]
    X = draw.floats(int(lengths.sum()), width)
    padding = [window * min(i, depth - i) if pad else 0 for i in range(depth + 1)]
    Y = numpy.concatenate([numpy.zeros((int(pad), width), "float32"), X])
    with using_kernels(NONE):
        for layer, before, after in zip(layers, padding, padding[1:], strict=False):
            Y, _ = operations(OPS).window_maxout(Y, layer, Docs(lengths, before, after, pad))
    for name in (NONE, *COMPILED):
        with using_kernels(name):
            ops = operations(OPS)
            found = ops.encode(X, ops.encoder(layers, pad=pad), lengths)
        assert_allclose(found, Y[int(pad) :], atol=2e-2, rtol=2e-2, err_msg=name)


@fuzz
def test_bags(draw: Draw) -> None:
    nV, W, K = draw.size(1, 50), draw.data.draw(WIDTHS), draw.size(1, 16)
    ends = None
    U = draw.one(0, 1, 33, 700)
    if draw.one(True, False):
        ends = draw.rng.integers(0, 5, U).cumsum(dtype="int64")
    M = U if ends is None else int(ends[-1]) if U else 0
    rows = draw.rng.integers(0, nV, (M, K), dtype="int32")
    weights = draw.one(None, draw.floats(M, K))
    bag = Bags(rows, weights, ends, draw.one(True, False))
    E, d_vectors = draw.floats(nV, W), draw.floats(U, W + 5)[:, 3 : 3 + W]

    def compute() -> list[Any]:
        dE = numpy.zeros_like(E)
        operations(OPS).scatter_sum(dE, bag, d_vectors)
        return [
            operations(OPS).sum_columns([E], [bag]),
            dE,
            operations(OPS).gather_dot(E, bag, d_vectors),
        ]

    assert_all_equal_twins(compute)


@fuzz
def test_hashes_and_lookups(draw: Draw) -> None:
    nV, num_hashes = draw.one(1, 2, 7, 5000, 2**31 - 1), draw.size(1, 16)
    seed = draw.one(0, 8, 2**32 - 1, int(draw.rng.integers(2**32)))
    layer = hash_rows(nV, attr="NORM", num_hashes=num_hashes, seed=seed)
    lengths = draw.data.draw(LENGTHS).astype("int32")
    ids, matrix = draw.ids(int(lengths.sum())), draw.ids(draw.size(0, 300), draw.size(1, 5))
    orders = sorted({draw.size(1, 10) for _ in range(draw.size(1, 4))})
    symbols = Symbols.from_ordered(draw.rng.permutation(numpy.unique(draw.ids(draw.size(1, 300)))))

    def compute() -> list[Any]:
        found = [layer.predict(ids), symbols.find(OPS, numpy.append(symbols.keys, ids))]
        ngrams = operations(OPS).hash_ngrams(ids, lengths, orders)
        return [*found, *ngrams, *operations(OPS).distinct_rows(matrix)]

    assert_all_equal_twins(compute)


@fuzz
def test_hashed_columns(draw: Draw) -> None:
    A, W, U = draw.size(1, 5), draw.data.draw(WIDTHS), draw.one(0, 1, 32, 33, 600)
    columns = [
        (draw.size(1, 60), draw.size(1, 16), int(draw.rng.integers(2**32))) for _ in range(A)
    ]
    tables, hashed = [draw.floats(nV, W) for nV, _, _ in columns], hashing.hashing_of((*columns,))
    ids, d_vectors = draw.ids(U, A), draw.floats(U, A * W)
    expected, gradients = [], []
    with using_kernels(NONE):
        for a, (nV, num_hashes, seed) in enumerate(columns):
            layer = hash_rows(nV, attr="NORM", num_hashes=num_hashes, seed=seed)
            bag = Bags(layer.predict(numpy.ascontiguousarray(ids[:, a])))
            expected.append(operations(OPS).sum_columns([tables[a]], [bag]))
            gradients.append(numpy.zeros_like(tables[a]))
            operations(OPS).scatter_sum(gradients[a], bag, d_vectors[:, a * W : (a + 1) * W])
    for name in (NONE, *COMPILED):
        with using_kernels(name):
            ops = operations(OPS)
            vectors, rows = ops.hash_embed(ids, tables, hashed)
            found = [numpy.zeros_like(table) for table in tables]
            ops.backprop_hash_embed(found, hashed, rows, d_vectors)
        assert_allclose(vectors, numpy.hstack(expected), atol=1e-4, err_msg=name)
        for gradient, twin in zip(found, gradients, strict=True):
            atol = 1e-4 * max(1.0, float(abs(twin).max(initial=0)))  # sums of many tokens
            assert_allclose(gradient, twin, atol=atol, rtol=1e-3, err_msg=name)


@fuzz
def test_columns_of_any_kind(draw: Draw) -> None:
    U, nO = draw.one(0, 1, 32, 33, 600), draw.one(4, 40)
    ops, kinds = operations(OPS), draw.one("any", "any", "plain")
    columns, bags, singles, vectors = [], [], [numpy.zeros((U, 0), dtype="uint64")], []
    for _ in range(draw.size(1, 5)):
        nV, W = draw.size(2, 60), draw.one(1, 3, 16, 33)
        column, ends = ColumnTable(draw.floats(nV, W)), None
        if kinds == "any" and draw.one(0, 1):
            counts = draw.rng.integers(0, 4, U) * draw.one(0, 1)
            ids, ends = draw.ids(int(counts.sum())), counts.cumsum()
            column = column._replace(is_bag=True, mean=bool(draw.one(0, 1)))
            bags.append((ids, ends))
        else:
            ids = draw.ids(U)
            singles.append(ids[:, None])
        if kinds == "any" and draw.one(0, 1):
            table = Symbols.from_ordered(draw.rng.permutation(numpy.unique(draw.ids(nV - 1))))
            column = column._replace(keys=table.keys, row_of=table.rows)
            rows = ops.look_up(ids, table.keys, table.rows)[:, None]
        else:
            column = column._replace(hashing=(nV, draw.size(1, 16), int(draw.rng.integers(2**32))))
            rows = ops.hash_rows(ids, *column.hashing)
        factors = None
        if kinds == "any" and draw.one(0, 1):
            of_rows = draw.floats(draw.size(1, 20), rows.shape[1])
            is_appended, hashing = bool(draw.one(0, 1)), (len(of_rows), 7)
            column = column._replace(
                importance=of_rows, importance_hashing=hashing, is_appended=is_appended
            )
            factors = of_rows[ops.hash_rows(ids, len(of_rows), 1, 7)[:, 0]]
        columns.append(column)
        sums = [(column.table, Bags(rows, factors, ends, column.mean))]
        if column.is_appended:
            numbers = numpy.arange(len(ids), dtype="int32")[:, None]
            sums.append((factors, Bags(numbers, None, ends, column.mean)))
        with using_kernels(NONE):
            vectors.append(operations(OPS).sum_columns(*zip(*sums, strict=True)))
    given = draw.floats(U, draw.one(1, 7)) if kinds == "any" and draw.one(0, 1) else None
    vectors += [] if given is None else [given]
    X = numpy.hstack(vectors)
    mix = draw_layer(draw, X.shape[1], nO)
    with using_kernels(NONE):
        expected, _ = operations(OPS).window_maxout(X, mix, Docs(numpy.array([U])))
    for name in COMPILED:
        with using_kernels(name):
            ops = operations(OPS)
            mixed = ops.mix(numpy.hstack(singles), ops.mixer(columns, mix), bags, given)
        assert_allclose(mixed, expected, atol=2e-2, rtol=2e-2, err_msg=name)


@fuzz
def test_best_sequences_of_tags(draw: Draw) -> None:
    nO, lengths = 4 * draw.one(0, 1, 2, 5, 30) + 1, draw.data.draw(LENGTHS)
    N = int(lengths.sum())
    scores, transitions = draw.floats(N, nO, scale=3), draw.floats(nO, nO)
    if draw.one(True, False):  # with ties, which go to the same tags
        scores, transitions = scores.round(), transitions.round()
    constraints = Constraints(*(draw.rng.random(N) < share for share in (0.1, 0.05, 0.05)))
    constraints.starts[(lengths.cumsum() - lengths)[lengths > 0]] = True
    assert_all_equal_twins(
        lambda: [
            decode_constrained(scores, constraints),
            decode_crf(scores, lengths, transitions, constraints),
        ]
    )


@fuzz
def test_entities_of_tags(draw: Draw) -> None:
    C, nI, lengths = draw.one(0, 1, 2, 5, 30), draw.size(1, 20), draw.data.draw(LENGTHS)
    nO, N = 4 * C + 1, int(lengths.sum())
    X, W, b = draw.floats(N, nI), draw.floats(nO, nI), draw.floats(nO)
    attrs = numpy.stack([draw.rng.integers(0, n, N) for n in (3, 2, 4)], axis=1)
    attrs *= draw.rng.random((N, 3)) < draw.one(0, 0.1, 0.5)
    unseen = (draw.rng.random(nO) < 0.2).astype("uint8") * (numpy.arange(nO) > 0).astype("uint8")
    transitions = draw.floats(nO, nO) if draw.one(0, 1) else None
    starts = attrs[:, 0] == 1
    starts[(lengths.cumsum() - lengths)[lengths > 0]] = True
    constraints = Constraints(starts, attrs[:, 1] == 1, numpy.isin(attrs[:, 2], (1, 3)))
    scores = X @ W.T + b
    scores[:, unseen == 1] = -numpy.inf
    with using_kernels(NONE):
        decoder = "constrained" if transitions is None else "crf"
        tags = decode(decoder, scores, lengths, transitions, constraints)
    for name in COMPILED:
        with using_kernels(name):
            tagger = kernels.Tagger(W, b, unseen, transitions)
            spans = tagger.find(X, attrs.astype("uint64"), lengths, N)
            assert_array_equal(spans, numpy.array(entities_of(tags, nO)), err_msg=name)
            if N:
                broken = X.copy()
                broken[-1, -1] = draw.one(numpy.nan, numpy.inf)
                assert tagger.find(broken, attrs.astype("uint64"), lengths, N) is None


@fuzz
def test_greedy_recognizers(draw: Draw) -> None:
    K, lengths = draw.one(1, 2, 5, 18), draw.data.draw(LENGTHS)
    lengths = numpy.append(lengths[lengths > 0], 3)
    nO, N = 4 * K + 2, int(lengths.sum())
    places = draw.rng.permutation(nO)
    columns = places[: 4 * K].reshape(4, K)
    columns[draw.rng.random(columns.shape) < draw.one(0, 0, 0.2)] = NO_ACTION
    outside, blocked = (draw.one(int(place), NO_ACTION) for place in places[4 * K :])
    labels_of = [str(label) for label in range(K)]
    actions = Actions(labels_of, numpy.arange(K, dtype="uint64"), columns, outside, blocked, nO)
    labels = numpy.full((4, N), ANY_LABEL)
    some = draw.rng.random(labels.shape) < 0.2
    labels[some] = draw.rng.integers(NO_LABEL, K, int(some.sum()))
    flags = draw.rng.random((2, N)) < [[0.9], [0.1]]
    rules = Rules(numpy.concatenate([labels, flags]).astype("int64"), lengths.cumsum())
    nF, nP, nI = draw.one(3, 6), draw.size(1, 3), draw.size(1, 34)
    upper = draw.one(True, False)
    nH = draw.size(1, 34) if upper else nO
    W, b = (draw.floats(nO, nH), draw.floats(nO)) if upper else (None, None)
    unseen = draw.one(None, draw.rng.random(nO) < 0.2)
    lower, added, pad = (
        draw.floats(*shape) for shape in ((nF, nH * nP, nI), (nH * nP,), (nF, nH * nP))
    )
    batch = Batch(draw.floats(N, nI), Weights(lower, added, pad, W, b, nP, unseen), rules, actions)
    mask = draw.one(None, draw.floats(N, nH))

    def compute() -> list[Any]:
        states = visit_states(batch, whole_docs(rules.doc_ends), mask)
        visited = numpy.asarray(states.labels) != ANY_LABEL
        return [*find_entities(batch), states.starts, states.columns, visited]

    assert_all_equal_twins(compute)


@fuzz
def test_greedy_parsers(draw: Draw) -> None:
    """Parses are the same by all kernels; weights are whole numbers, so that sums are exact."""
    nF, nP, nI, nH = draw.one(8, 13), draw.size(1, 3), draw.size(1, 34), draw.size(1, 34)
    upper, lengths = draw.one(True, False), draw.data.draw(LENGTHS)
    nO, N = draw.size(1, 130) if upper else nH, int(lengths.sum())

    def whole(*shape: int) -> numpy.ndarray:
        return draw.rng.integers(-3, 4, shape).astype("float32")

    W, b = (whole(nO, nH), whole(nO)) if upper else (None, None)
    lower = whole(nF, nH * nP, nI), whole(nH * nP), whole(nF, nH * nP)
    unseen = draw.one(None, draw.rng.random(nO) < 0.2)
    weights = Weights(*lower, W, b, nP, unseen)
    kinds = draw.rng.integers(0, 5, nO).astype("uint8")
    kinds[: draw.size(0, 5)] = draw.one(0, 2, 3)
    labels = numpy.arange(1, nO + 1, dtype="uint64")
    subtok, decorated = (
        (draw.rng.random(nO) < share).astype("uint8") for share in (draw.one(0, 0, 0.1), 0.1)
    )
    actions = ParseActions(kinds, labels, subtok, decorated, 1000)
    share = draw.one(0, 0.1, 1)
    starts = draw.rng.choice(numpy.array([1, -1, 0]), N, p=[share / 5, share * 4 / 5, 1 - share])
    attrs = numpy.zeros((N, 3), "uint64")
    attrs[:, 0] = starts.astype("int64").view("uint64")
    X, found = whole(N, nI), []
    for name in COMPILED:
        results = (numpy.empty(N, dtype) for dtype in ("int64", "uint64", "uint8"))
        heads, deps, is_decorated = results
        with using_kernels(name):
            kernels.Parser(weights, actions).parse(X, attrs, lengths, heads, deps, is_decorated)
        found.append((heads, deps, is_decorated))
    heads = found[0][0] + numpy.arange(N)
    begins = numpy.repeat(lengths.cumsum() - lengths, lengths)
    assert (heads >= begins).all() and (heads < begins + numpy.repeat(lengths, lengths)).all()
    assert_equal(found[1:], found[:1] * len(found[1:]))
