"""Sums of rows: the kernels, the array code, and a loop in float64 agree."""

from typing import Any, NamedTuple

import numpy
import pytest
from numpy.testing import assert_array_equal
from thinc.api import Ops, to_numpy

from spacy_multihash.compute.array_ops import Bags, for_sums
from spacy_multihash.compute.ops import operations
from tests.helpers.arrays import assert_all_close
from tests.helpers.kernels import assert_same_with_threads

ROWS = 13


class Case(NamedTuple):
    """Arguments of the sums."""

    E: numpy.ndarray
    bags: Bags
    d_vectors: numpy.ndarray


def draw(lengths: list[int] | int, K: int, W: int, weighted: bool, mean: bool = False) -> Case:
    """Draw a table and symbols; lengths is a number for tokens of a symbol each."""
    rng = numpy.random.default_rng(0)
    ends = None if isinstance(lengths, int) else numpy.cumsum(lengths, dtype="int64")
    M, U = (lengths, lengths) if isinstance(lengths, int) else (sum(lengths), len(lengths))
    rows = rng.integers(0, ROWS, (M, K), dtype="int32")
    weights = rng.normal(size=(M, K)).astype("float32") if weighted else None
    E, d_vectors = (rng.normal(size=(n, W)).astype("float32") for n in (ROWS, U))
    return Case(E, Bags(rows, weights, ends, mean), d_vectors)


def reference(case: Case) -> list[numpy.ndarray]:
    """Compute the sums, the gradient of the table, and that of the weights, symbol by symbol."""
    E, bags, d_vectors = case.E.astype("float64"), case.bags, case.d_vectors.astype("float64")
    ends = range(1, len(d_vectors) + 1) if bags.ends is None else bags.ends.tolist()
    vectors, dE = numpy.zeros(d_vectors.shape), numpy.zeros(E.shape)
    d_weights = numpy.zeros(bags.rows.shape)
    starts = [0, *ends]
    for u, (start, end) in enumerate(zip(starts, ends, strict=False)):
        share = 1 / (end - start) if bags.mean and end > start else 1
        for m in range(start, end):
            for k, row in enumerate(bags.rows[m]):
                weight = share * (1 if bags.weights is None else bags.weights[m, k])
                vectors[u] += weight * E[row]
                dE[row] += weight * d_vectors[u]
                d_weights[m, k] = share * E[row] @ d_vectors[u]
    return [vectors, dE, d_weights]


def compute(case: Case, ops: Ops) -> list[numpy.ndarray]:
    E, d_vectors = ops.asarray(case.E), for_sums(ops, ops.asarray(case.d_vectors))
    weights = None if case.bags.weights is None else ops.asarray(case.bags.weights)
    bags = case.bags._replace(rows=ops.asarray(case.bags.rows), weights=weights)
    dE: Any = ops.alloc2f(*E.shape)
    compiled = operations(ops)
    compiled.scatter_sum(dE, bags, d_vectors)
    found = compiled.sum_columns([E], [bags]), dE, compiled.gather_dot(E, bags, d_vectors)
    return [to_numpy(array) for array in found]


@pytest.mark.parametrize("W", [7, 96])
@pytest.mark.parametrize("lengths", [9, [3, 0, 1, 4, 9, 0], 0, [0, 0]], ids=str)
def test_sums_and_gradients_equal_a_loop(ops: Ops, lengths: Any, W: int) -> None:
    for weighted in (False, True):
        for mean in (False, True) if isinstance(lengths, list) else (False,):
            case = draw(lengths, 3, W, weighted, mean)
            assert_all_close(compute(case, ops), reference(case), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
def test_numbers_that_are_not_finite_stay_so(ops: Ops, value: float) -> None:
    case = draw([2, 0, 1], 2, 9, weighted=False)
    case.bags.rows[:] = [[1, 2], [3, 4], [5, 5]]
    case.E[2, 3] = case.d_vectors[0, 5] = value
    for array, other in zip(compute(case, ops), reference(case), strict=True):
        assert_array_equal(numpy.isnan(array), numpy.isnan(other))
        assert_array_equal(numpy.isinf(array), numpy.isinf(other))


def test_results_are_the_same_with_any_number_of_threads(ops: Ops) -> None:
    lengths = numpy.random.default_rng(0).integers(0, 4, 3000).tolist()
    case = draw(lengths, 2, 37, weighted=True, mean=True)
    assert_same_with_threads(lambda: compute(case, ops))
