import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Model, Ops

from spacy_multihash.layers import TableEmbed


def make() -> Model:
    return TableEmbed(3, 5).initialize()


def as_rows(ops: Ops, rows: list[list[int]]) -> numpy.ndarray:
    return ops.asarray(numpy.array(rows, dtype="int32").reshape((len(rows), -1 if rows else 2)))


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
