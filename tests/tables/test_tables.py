import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy
import pytest
import srsly
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_multihash import Tables, cut_tables, make_tables, merge_tables, read_tables, write_tables
from spacy_multihash.corpus import symbols
from spacy_multihash.corpus.symbols import IdCounter
from spacy_multihash.tables.tables import in_order

COUNTS = st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 2**40), max_size=20)


def as_lists(tables: Tables) -> dict[str, list[tuple[int, int]]]:
    return {
        name: list(zip(table.keys.tolist(), table.counts.tolist(), strict=True))
        for name, table in tables.tables.items()
    }


def one_table(counts: dict[int, int], min_freq: int = 0) -> Tables:
    return make_tables({"NORM": Counter(counts)}, min_freq=min_freq)


# Counting


@given(
    arrays=st.lists(
        st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=8), max_size=8
    ),
    pending=st.integers(0, 9),
)
def test_ids_in_arrays_are_counted_as_one_by_one(arrays: list[list[int]], pending: int) -> None:
    with mock.patch.object(symbols, "_PENDING", pending):
        counter = IdCounter()
        for array in arrays:
            counter.add(numpy.array(array, dtype="uint64"))
        table = in_order(*counter.counts())
    expected = one_table(Counter(i for array in arrays for i in array))
    assert as_lists(Tables({"NORM": table})) == as_lists(expected)
    assert (table.keys.dtype, table.counts.dtype) == ("uint64", "uint64")


# Ordering and cutting


def test_symbols_are_ordered_by_count_and_then_by_id() -> None:
    tables = one_table({5: 1, 3: 2, 9: 2, 2**64 - 1: 7, 4: 1})
    assert as_lists(tables)["NORM"] == [(2**64 - 1, 7), (3, 2), (9, 2), (4, 1), (5, 1)]


@pytest.mark.parametrize(
    ("min_freq", "max_rows", "kept"),
    [(1, None, 4), (2, None, 3), (3, None, 1), (4, None, 0), (0, 2, 1), (0, 5, 4), (2, 3, 2)],
)
def test_min_freq_is_inclusive_and_max_rows_counts_row_0(
    min_freq: int, max_rows: int | None, kept: int
) -> None:
    counts = {"NORM": Counter({1: 3, 2: 2, 3: 2, 4: 1})}
    tables = make_tables(counts, min_freq=min_freq, max_rows=max_rows)
    assert tables.tables["NORM"].keys.tolist() == [1, 2, 3, 4][:kept]
    assert (tables.min_freq, tables.max_rows) == (min_freq, max_rows)


@given(counts=COUNTS, first=st.integers(0, 5), further=st.integers(0, 5), rows=st.integers(2, 8))
def test_cutting_twice_is_cutting_once(
    counts: dict[int, int], first: int, further: int, rows: int
) -> None:
    twice = cut_tables(one_table(counts, first), min_freq=first + further, max_rows=rows)
    once = make_tables({"NORM": Counter(counts)}, min_freq=first + further, max_rows=rows)
    assert as_lists(twice) == as_lists(once)


# Merging


@given(st.lists(COUNTS, min_size=1, max_size=4), st.integers(0, 4))
def test_merged_parts_are_the_whole(parts: list[dict[int, int]], min_freq: int) -> None:
    whole: Counter[int] = Counter()
    for part in parts:
        whole.update(part)
    merged = merge_tables([one_table(part) for part in parts])
    assert as_lists(cut_tables(merged, min_freq=min_freq)) == as_lists(one_table(whole, min_freq))


# Files


@given(
    norms=COUNTS,
    shapes=COUNTS,
    min_freq=st.integers(0, 3),
    max_rows=st.none() | st.integers(2, 2**31),
)
def test_tables_survive_a_file(
    tmp_path_factory: pytest.TempPathFactory,
    norms: dict[int, int],
    shapes: dict[int, int],
    min_freq: int,
    max_rows: int | None,
) -> None:
    counts = {"NORM": Counter(norms), "SHAPE": Counter(shapes)}
    tables = make_tables(counts, min_freq=min_freq, max_rows=max_rows)
    path = tmp_path_factory.mktemp("tables") / "x.tables"
    write_tables(path, tables)
    loaded = read_tables(path)
    assert as_lists(loaded) == as_lists(tables)
    assert (loaded.min_freq, loaded.max_rows) == (min_freq, max_rows)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.tables"
    write_tables(path, one_table({7: 3, 2**64 - 1: 5, 8: 3}))
    return path


def test_file_is_as_documented(path: Path) -> None:
    message = srsly.read_msgpack(path)
    body = message.pop("body")
    assert message == {
        "format": "spacy-multihash.tables",
        "version": 1,
        "md5": hashlib.md5(body).hexdigest(),
    }
    assert srsly.msgpack_loads(body) == {
        "min_freq": 0,
        "max_rows": None,
        "tables": {
            "NORM": {
                "keys": b"\xff" * 8 + b"\x07" + b"\0" * 7 + b"\x08" + b"\0" * 7,
                "counts": b"\x05" + b"\0" * 7 + (b"\x03" + b"\0" * 7) * 2,
            }
        },
    }


def test_files_that_are_cut_off_or_have_a_flipped_bit_are_refused(path: Path) -> None:
    data = path.read_bytes()
    for position in range(len(data)):
        byte = bytes([data[position] ^ 0x80])
        for damaged in (data[:position], data[:position] + byte + data[position + 1 :]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match="x.tables"):
                read_tables(path)


# Files: whatever bytes a file has, the error names the file.
@given(data=st.binary(max_size=40))
@example(data=b"\x81\x80\x01")  # a map that has a map as a key
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "x.tables"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="x.tables"):
        read_tables(path)


# What is refused

COUNTED = {"NORM": Counter({1: 2, 2: 1, 3: 1})}
WHOLE, SHAPES = one_table({1: 2}), make_tables({"SHAPE": {}}, min_freq=0)
THREE = make_tables(COUNTED, max_rows=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_tables(COUNTED, min_freq=-1), "min_freq must be an integer of 0 or more"),
        (lambda: make_tables(COUNTED, max_rows=1), "max_rows must be an integer of 2 or more"),
        (lambda: merge_tables([]), "at least one corpus, got none"),
        (lambda: merge_tables([WHOLE, one_table({1: 2}, 2)]), "tables 2 have min_freq = 2"),
        (lambda: merge_tables([make_tables(COUNTED, min_freq=0, max_rows=9)]), "max_rows = 9"),
        (lambda: merge_tables([WHOLE, SHAPES]), r"1 have \['NORM'\], tables 2 have \['SHAPE'\]"),
        (lambda: cut_tables(one_table({1: 2}, 2), min_freq=1), "can't be cut at min_freq = 1"),
        (lambda: cut_tables(THREE, min_freq=10, max_rows=4), "cut at max_rows = 4"),
        (lambda: cut_tables(THREE, min_freq=10), "cut at max_rows = None"),
    ],
)
def test_other_cuts_and_merges_are_refused(call: Callable[[], Tables], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_other_files_are_refused(path: Path) -> None:
    message = srsly.read_msgpack(path)
    srsly.write_msgpack(path, message | {"version": 2})
    with pytest.raises(ValueError, match="format version 2, and this package reads version 1"):
        read_tables(path)
    srsly.write_msgpack(path, {"NORM": {1: 2}})
    with pytest.raises(ValueError, match="x.tables is not a file of tables"):
        read_tables(path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="no file of tables at .*x.tables. Make it with"):
        read_tables(path)
