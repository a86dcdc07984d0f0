import tracemalloc
from collections.abc import Sequence

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from thinc.api import NumpyOps

from spacy_multihash.compute import buffers
from spacy_multihash.compute.buffers import take_rows
from spacy_multihash.encode.dilated_layout import Field, lay_out_dilated
from spacy_multihash.encode.segments import Chunk, Segment, add_rows, read_rows, split_docs
from spacy_multihash.encode.windows import dilated_windows, lay_out

LENGTHS = st.lists(st.integers(0, 30), max_size=8)


@given(LENGTHS, st.integers(1, 12))
def test_chunks_hold_each_token_once_in_order(lengths: list[int], size: int) -> None:
    expected = [(doc, token) for doc, length in enumerate(lengths) for token in range(length)]
    found = []
    for chunk in split_docs(lengths, size):
        assert chunk.start == len(found)
        found += [(s.doc, token) for s in chunk.segments for token in range(s.start, s.end)]
        assert chunk.end == len(found)
    assert found == expected


class CupyLike:
    """The part of CuPy that `take_rows` uses, with its arguments: `take` has no `mode` there."""

    @staticmethod
    def take(
        a: numpy.ndarray, indices: numpy.ndarray, axis: int, out: numpy.ndarray
    ) -> numpy.ndarray:
        return numpy.take(a, indices, axis=axis, out=out)


@pytest.mark.parametrize("module", [numpy, CupyLike], ids=["numpy", "cupy"])
def test_rows_are_taken_by_either_module(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "get_array_module", lambda _: module)
    X = numpy.arange(12, dtype="float32").reshape(4, 3)
    rows = numpy.array([3, 0, 3])
    assert_array_equal(take_rows("test", X, rows), X[rows])


@given(LENGTHS, st.integers(1, 12))
def test_chunks_are_about_as_large_as_asked_for(lengths: list[int], size: int) -> None:
    chunks = split_docs(lengths, size)
    # Twice as much as asked for, and up to a piece of a doc, which may be half more than that.
    assert all(0 < chunk.end - chunk.start <= 3.5 * size for chunk in chunks)


def test_no_small_chunk_is_left_over() -> None:
    sizes = [chunk.end - chunk.start for chunk in split_docs([27] * 38, 512)]
    assert sizes == [513, 513]
    sizes = [chunk.end - chunk.start for chunk in split_docs([27] * 260, 1024)]
    assert len(sizes) == 6
    assert max(sizes) - min(sizes) <= 2 * 27


def test_segments_know_where_their_doc_begins() -> None:
    chunks = split_docs([5, 0, 20, 3], 7)
    segments = [segment for chunk in chunks for segment in chunk.segments]
    assert segments == [
        Segment(0, 0, 5, 0, 5),
        Segment(2, 5, 20, 0, 6),
        Segment(2, 5, 20, 6, 13),
        Segment(2, 5, 20, 13, 20),
        Segment(3, 25, 3, 0, 3),
    ]


def test_rows_are_read_and_added_back() -> None:
    docs = [numpy.full((3, 2), 1.0), numpy.zeros((0, 2)), numpy.full((2, 2), 5.0)]
    chunk = Chunk([Segment(0, 0, 3, 1, 2), Segment(2, 3, 2, 0, 2)], 0, 3)
    extents = [(0, 3), (0, 2)]
    rows = read_rows(docs, chunk, extents)
    assert rows.dtype == "float32"
    assert_array_equal(rows[:, 0], [0, 1, 1, 1, 5, 5])
    out = numpy.ones((5, 2))
    add_rows(rows, chunk, extents, out)
    assert_array_equal(out[:, 1], [2, 2, 2, 6, 6])


def naive_sums(docs: Sequence[numpy.ndarray], depth: int, w: int) -> list[numpy.ndarray]:
    """Each layer adds up the window and 1, with depth * w rows of padding around each doc."""
    results = []
    for doc in docs:
        rows = numpy.concatenate([numpy.zeros(depth * w), doc, numpy.zeros(depth * w)])
        for _ in range(depth):
            around = numpy.concatenate([numpy.zeros(w), rows, numpy.zeros(w)])
            rows = 1 + numpy.asarray([around[i : i + 2 * w + 1].sum() for i in range(len(rows))])
        results.append(rows[depth * w : depth * w + len(doc)])
    return results


@given(LENGTHS, st.integers(1, 12), st.integers(1, 5), st.integers(0, 3))
def test_windows_see_what_all_the_padding_would_show_them(
    lengths: list[int], size: int, depth: int, w: int
) -> None:
    rng = numpy.random.default_rng(0)
    docs = [rng.integers(-3, 4, length).astype("float64") for length in lengths]
    results = []
    for chunk in split_docs(lengths, size):
        extents, reads = lay_out(chunk.segments, depth, w)
        rows = read_rows([doc[:, None] for doc in docs], chunk, extents)[:, 0].astype("float64")
        for layer in reads:
            rows = 1 + rows[layer].sum(axis=1)
        results.append(rows[1:])
    expected = naive_sums(docs, depth, w)
    assert_array_equal(numpy.concatenate([[], *results]), numpy.concatenate([[], *expected]))


def test_a_doc_of_one_token_needs_32_rows_of_padding_in_8_layers() -> None:
    _, reads = lay_out([Segment(0, 0, 1, 0, 1)], 8, 1)
    assert sum(len(rows) - 2 for rows in reads) == 32  # without the token and row 0


@given(LENGTHS, st.integers(1, 12), st.integers(1, 5), st.integers(1, 3))
def test_a_row_stands_at_most_once_in_each_column(
    lengths: list[int], size: int, depth: int, w: int
) -> None:
    for chunk in split_docs(lengths, size):
        for rows in lay_out(chunk.segments, depth, w).reads:
            for column in rows.T:
                read = column[column > 0]
                assert len(read) == len(set(read.tolist()))


def test_a_wide_window_on_short_docs_takes_little_memory() -> None:
    docs = numpy.zeros(30, "int64"), numpy.full(30, 20)
    tracemalloc.start()
    (reads,) = dilated_windows(docs, 1, [100_000])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000  # bytes
    assert_array_equal(reads[1:], [[0, row, 0] for row in range(1, 601)])


def test_layouts_that_are_kept_cannot_be_written_to() -> None:
    segment = Segment(0, 0, 5, 0, 5)
    reads = lay_out([segment], 2, 1).reads
    ops = NumpyOps()
    dilated = lay_out_dilated(ops, Chunk([segment], 0, 5), Field((1, 2), 1, 1))
    for array in [*reads, *dilated.reads, dilated.kept]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
