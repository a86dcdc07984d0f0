import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Model, Ops, to_numpy

from spacy_multihash.layers import TableEmbed
from tests.helpers.gradients import check_param_gradients

CASES = {
    "distinct": [[0, 1], [2, 3]],
    "one token": [[1, 4]],
    "repeated tokens": [[1, 2], [1, 2], [1, 2]],
    "a row twice in a token": [[3, 3], [0, 3]],
    "one hash": [[4], [0], [4]],
    "four hashes": [[4, 0, 4, 1], [2, 2, 2, 2]],
    "no tokens": [],
}


def make() -> Model:
    return TableEmbed(3, 5).initialize()


def as_rows(ops: Ops, rows: list[list[int]]) -> numpy.ndarray:
    return ops.asarray(numpy.array(rows, dtype="int32").reshape((len(rows), -1 if rows else 2)))


@pytest.mark.parametrize("rows", CASES.values(), ids=CASES.keys())
def test_vectors_are_the_sum_of_their_rows(ops: Ops, rows: list[list[int]]) -> None:
    model = make()
    E = to_numpy(model.get_param("E"))
    expected = numpy.zeros((len(rows), 3), dtype="float32")
    for i, token in enumerate(rows):
        for row in token:
            expected[i] += E[row]
    vectors = model.predict(as_rows(ops, rows))
    assert vectors.dtype == "float32"
    assert_allclose(to_numpy(vectors), expected, atol=1e-6)


@pytest.mark.parametrize("rows", [c for c in CASES.values() if c])
def test_gradient_equals_central_differences(ops: Ops, rows: list[list[int]]) -> None:
    check_param_gradients(make(), as_rows(ops, rows), lambda Y: Y, eps=1e-2, atol=1e-4)


def test_gradient_of_another_shape_is_refused(ops: Ops) -> None:
    _, backprop = make().begin_update(as_rows(ops, [[0, 1]]))
    with pytest.raises(ValueError, match="Shape mismatch in backprop"):
        backprop(ops.alloc2f(2, 3))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("row", [5, -1, 2**31 - 1])
def test_row_outside_the_table_is_refused(row: int, dtype: str) -> None:
    with pytest.raises(IndexError, match=f"has 5 rows \\(0 to 4\\), but was asked for row {row}"):
        make().predict(numpy.array([[0, row]], dtype=dtype))


def test_table_without_a_number_of_rows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"number of rows \(nV\) is not set"):
        TableEmbed(3).initialize()


def test_open_number_of_rows_is_restored_by_loading() -> None:
    saved = make()
    loaded = TableEmbed(3).from_bytes(saved.to_bytes())
    rows = as_rows(saved.ops, [[0, 4]])
    assert_allclose(loaded.predict(rows), saved.predict(rows))


def test_rows_of_64_bits_are_taken() -> None:
    model = make()
    rows = numpy.array([[1, 2], [3, 3]], dtype="int32")
    assert_allclose(model.predict(rows.astype("int64")), model.predict(rows))
