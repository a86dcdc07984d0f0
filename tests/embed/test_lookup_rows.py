from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Model, Ops, to_numpy

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.layers import Symbols, lookup_rows
from tests.helpers.kernels import using_kernels

IDS = st.integers(0, 2**64 - 1)


def make(symbols: list[int], unk_dropout: float = 0.0) -> Model:
    model = lookup_rows(attr="NORM", unk_dropout=unk_dropout)
    model.attrs["symbols"] = Symbols.from_ordered(numpy.array(symbols, dtype="uint64"))
    return model


def rows_of(model: Model, ids: list[int]) -> list[list[int]]:
    return to_numpy(model.predict(model.ops.asarray(numpy.array(ids, dtype="uint64")))).tolist()


@given(
    symbols=st.lists(IDS, min_size=1, max_size=30, unique=True),
    others=st.lists(IDS, max_size=10),
    data=st.data(),
)
def test_lookup_rows_equal_a_dict(
    symbols: list[int], others: list[int], data: st.DataObject
) -> None:
    row_of = {symbol: i + 1 for i, symbol in enumerate(symbols)}
    ids = data.draw(st.permutations(symbols + others))
    for kernels in available_kernels():
        with using_kernels(kernels):
            rows = rows_of(make(symbols), list(ids))
        assert rows == [[row_of.get(i, 0)] for i in ids]


def test_unk_dropout_takes_its_share_as_unknown_in_training(ops: Ops) -> None:
    ids = ops.asarray(numpy.full(10_000, 3, dtype="uint64"))
    rows, _ = make([3], unk_dropout=0.25).begin_update(ids)
    # 10,000 draws at 0.25: 5 standard deviations are 217
    assert 2500 - 217 < int((rows == 0).sum()) < 2500 + 217
    assert set(to_numpy(rows).ravel().tolist()) == {0, 1}
    assert rows_of(make([3], unk_dropout=0.9), [3] * 50) == [[1]] * 50


def test_table_survives_bytes_into_a_fresh_layer() -> None:
    loaded = lookup_rows(attr="NORM").from_bytes(make([9, 4, 6]).to_bytes())
    assert rows_of(loaded, [9, 4, 6, 5]) == [[1], [2], [3], [0]]


@pytest.mark.parametrize("other", [[4, 9], [9, 4, 6]])
def test_another_table_cannot_be_loaded_over_one(other: list[int]) -> None:
    model = make([9, 4])
    with pytest.raises(
        ValueError, match=r"of NORM: it holds a table of 2 symbols, .* trained with another"
    ):
        model.from_bytes(make(other).to_bytes())
    assert rows_of(model, [9, 4]) == [[1], [2]]


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_large_ids_are_told_apart(dtype: str, ops: Ops) -> None:
    # As floats, the first two would be one number
    symbols = numpy.array([2**53, 2**53 + 1, 2**53 + 2], dtype=dtype)
    model = make(symbols[:2].tolist())
    assert to_numpy(model.predict(ops.asarray(symbols))).tolist() == [[1], [2], [0]]


def test_symbols_of_a_signed_type_are_ordered_as_unsigned() -> None:
    symbols = numpy.array([-1, 5, 3], dtype="int64")
    table = Symbols.from_ordered(symbols)
    assert table.keys.tolist() == [3, 5, 2**64 - 1]
    assert table.rows.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: make([3, 7, 5, 7]), "must have each id once, got 7 twice"),
        (lambda: lookup_rows(attr="NORM", unk_dropout=1.0), "unk_dropout .* got 1.0 .*NORM"),
        (lambda: lookup_rows(attr="SHAPE").initialize(), "of SHAPE has no table of values"),
        (lambda: rows_of(lookup_rows(attr="SHAPE"), [1]), "spacy-multihash.init_tables.v1"),
    ],
)
def test_lookup_is_refused(use: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        use()
