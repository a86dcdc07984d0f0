import hashlib
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy
import pytest
import spacy
import srsly
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.attrs import IS_ALPHA, IS_SPACE, LENGTH, NORM
from spacy.tokens import Doc

from spacy_multihash import (
    Table,
    Tables,
    count_symbols,
    cut_tables,
    make_tables,
    merge_tables,
    read_tables,
    write_tables,
)
from spacy_multihash.tables import tables as tables_module
from spacy_multihash.tables.tables import IdCounter

COUNTS = st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 2**40), max_size=20)


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in ["Anna met Anna 7 times", "", "7", "anna met Bob"]]


def as_lists(tables: Tables) -> dict[str, list[tuple[int, int]]]:
    return {
        name: list(zip(table.keys.tolist(), table.counts.tolist(), strict=True))
        for name, table in tables.tables.items()
    }


def one_table(counts: dict[int, int], min_freq: int = 0) -> Tables:
    return make_tables({"NORM": Counter(counts)}, min_freq=min_freq)


# Counting


def test_symbols_are_kept_from_ten_times_on_by_default() -> None:
    tables = make_tables({"NORM": Counter({1: 9, 2: 10, 3: 11})})
    assert as_lists(tables) == {"NORM": [(3, 11), (2, 10)]}
    assert tables.min_freq == 10


def test_counts_are_those_of_a_plain_loop(docs: list[Doc]) -> None:
    counts = count_symbols(docs, {"NORM": NORM, "LENGTH": LENGTH, "IS_ALPHA": IS_ALPHA})
    tokens = [token for doc in docs for token in doc]
    assert counts == {
        "NORM": Counter(token.norm for token in tokens),
        "LENGTH": Counter(len(token) for token in tokens),
        "IS_ALPHA": Counter(int(token.is_alpha) for token in tokens),
    }


def test_single_attribute_is_counted(docs: list[Doc]) -> None:
    counts = count_symbols(docs, {"NORM": NORM})
    assert counts["NORM"][docs[0].vocab.strings["anna"]] == 3


def test_docs_are_read_once_as_they_come(docs: list[Doc]) -> None:
    assert count_symbols(iter(docs), {"NORM": NORM}) == count_symbols(docs, {"NORM": NORM})


def test_no_docs_have_no_symbols() -> None:
    assert count_symbols([], {"NORM": NORM}) == {"NORM": Counter()}


@given(
    arrays=st.lists(
        st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=8), max_size=8
    ),
    pending=st.integers(0, 9),
)
def test_ids_in_arrays_are_counted_as_one_by_one(arrays: list[list[int]], pending: int) -> None:
    with mock.patch.object(tables_module, "_PENDING", pending):
        counter = IdCounter()
        for array in arrays:
            counter.add(numpy.array(array, dtype="uint64"))
        table = counter.table()
    expected = one_table(Counter(i for array in arrays for i in array)).tables["NORM"]
    assert table.keys.tolist() == expected.keys.tolist()
    assert table.counts.tolist() == expected.counts.tolist()
    assert (table.keys.dtype, table.counts.dtype) == ("uint64", "uint64")


# Ordering and cutting


def test_symbols_are_ordered_by_count_and_then_by_id() -> None:
    tables = one_table({5: 1, 3: 2, 9: 2, 2**64 - 1: 7, 4: 1})
    assert as_lists(tables)["NORM"] == [(2**64 - 1, 7), (3, 2), (9, 2), (4, 1), (5, 1)]


@given(counts=COUNTS, data=st.data())
def test_order_does_not_depend_on_the_order_of_reading(
    counts: dict[int, int], data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(counts.items()))))
    assert as_lists(one_table(shuffled)) == as_lists(one_table(counts))


@pytest.mark.parametrize(("min_freq", "kept"), [(0, 4), (1, 4), (2, 3), (3, 1), (4, 0)])
def test_min_freq_is_inclusive(min_freq: int, kept: int) -> None:
    tables = one_table({1: 3, 2: 2, 3: 2, 4: 1}, min_freq)
    assert len(tables.tables["NORM"]) == kept
    assert tables.min_freq == min_freq


@pytest.mark.parametrize(
    ("max_rows", "kept"), [(2, [1]), (3, [1, 2]), (5, [1, 2, 3, 4]), (9, [1, 2, 3, 4])]
)
def test_max_rows_counts_the_row_of_unknown_symbols(max_rows: int, kept: list[int]) -> None:
    counts = {"NORM": Counter({1: 3, 2: 2, 3: 2, 4: 1})}
    tables = make_tables(counts, min_freq=0, max_rows=max_rows)
    assert tables.tables["NORM"].keys.tolist() == kept


@given(counts=COUNTS, first=st.integers(0, 5), further=st.integers(0, 5), rows=st.integers(2, 8))
def test_cutting_twice_is_cutting_once(
    counts: dict[int, int], first: int, further: int, rows: int
) -> None:
    twice = cut_tables(one_table(counts, first), min_freq=first + further, max_rows=rows)
    once = make_tables({"NORM": Counter(counts)}, min_freq=first + further, max_rows=rows)
    assert as_lists(twice) == as_lists(once)


def test_cut_at_two_cannot_be_undone() -> None:
    with pytest.raises(ValueError, match="cut at min_freq = 2, and cannot be cut at min_freq = 1"):
        cut_tables(one_table({1: 2}, 2), min_freq=1)


def test_cut_at_one_leaves_nothing_out() -> None:
    assert as_lists(cut_tables(one_table({1: 1}, 1), min_freq=0)) == {"NORM": [(1, 1)]}


@pytest.mark.parametrize("max_rows", [None, 4])
def test_cut_of_rows_cannot_be_undone(max_rows: int | None) -> None:
    tables = make_tables({"NORM": Counter({1: 2, 2: 1, 3: 1})}, min_freq=0, max_rows=3)
    with pytest.raises(ValueError, match=f"cut at max_rows = 3, .* cut at max_rows = {max_rows}"):
        cut_tables(tables, min_freq=0, max_rows=max_rows)


def test_negative_min_freq_is_refused() -> None:
    with pytest.raises(ValueError, match="min_freq must be a whole number from 0 on, was: -1"):
        one_table({1: 1}, -1)


@pytest.mark.parametrize("max_rows", [1, 0, -3])
def test_too_few_rows_are_refused(max_rows: int) -> None:
    message = f"max_rows must be a whole number from 2 on, was: {max_rows}"
    with pytest.raises(ValueError, match=message):
        make_tables({"NORM": Counter({1: 1})}, min_freq=0, max_rows=max_rows)


# Merging


@given(st.lists(COUNTS, min_size=1, max_size=4), st.integers(0, 4))
def test_merged_parts_are_the_whole(parts: list[dict[int, int]], min_freq: int) -> None:
    whole: Counter[int] = Counter()
    for part in parts:
        whole.update(part)
    merged = merge_tables([one_table(part) for part in parts])
    assert as_lists(cut_tables(merged, min_freq=min_freq)) == as_lists(one_table(whole, min_freq))


def test_no_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one corpus, was given none"):
        merge_tables([])


def test_parts_that_were_cut_are_refused() -> None:
    with pytest.raises(ValueError, match="were cut: part 2 has min_freq = 2, max_rows = None"):
        merge_tables([one_table({1: 2}), one_table({1: 2}, 2)])


def test_parts_of_other_attributes_are_refused() -> None:
    other = make_tables({"SHAPE": Counter({1: 1})}, min_freq=0)
    with pytest.raises(ValueError, match=r"part 1 has \['NORM'\], part 2 has \['SHAPE'\]"):
        merge_tables([one_table({1: 2}), other])


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


def test_path_may_be_a_string(path: Path) -> None:
    write_tables(str(path), one_table({1: 1}))
    assert as_lists(read_tables(str(path))) == {"NORM": [(1, 1)]}


def test_folder_of_the_file_is_made(tmp_path: Path) -> None:
    write_tables(tmp_path / "a" / "b" / "x.tables", one_table({1: 1}))
    assert len(read_tables(tmp_path / "a" / "b" / "x.tables").tables["NORM"]) == 1


def test_file_that_cannot_be_written_leaves_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_tables(path, one_table({1: 1}))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No file of tables at .*none.tables. Make it with"):
        read_tables(tmp_path / "none.tables")


def test_truncated_file_is_refused_at_any_length(path: Path) -> None:
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="x.tables (is damaged|is not a file of tables)"):
            read_tables(path)


@pytest.mark.parametrize("flipped", [0x01, 0x20, 0x80, 0xFF])
def test_flipped_bits_are_refused_wherever_they_are(flipped: int, path: Path) -> None:
    data = path.read_bytes()
    for position in range(len(data)):
        byte = bytes([data[position] ^ flipped])
        path.write_bytes(data[:position] + byte + data[position + 1 :])
        with pytest.raises(ValueError, match="x.tables"):
            read_tables(path)


def test_other_version_is_refused(path: Path) -> None:
    message = srsly.read_msgpack(path)
    srsly.write_msgpack(path, message | {"version": 2})
    with pytest.raises(ValueError, match="format version 2, this package reads version 1"):
        read_tables(path)


@pytest.mark.parametrize(
    "content",
    [srsly.msgpack_dumps({"NORM": {1: 2}}), srsly.msgpack_dumps([1]), b'{"format": 1}', b"word\n"],
)
def test_foreign_file_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match="x.tables is (not a file of tables|damaged)"):
        read_tables(path)


# Files: whatever bytes a file has, the error names the file.
@given(data=st.binary(max_size=40))
@example(data=b"\x81\x80\x01")  # a map that has a map as a key
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "x.tables"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="x.tables"):
        read_tables(path)


def test_file_with_bytes_behind_its_end_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="x.tables is damaged"):
        read_tables(path)


def test_failure_in_the_middle_of_writing_leaves_the_old_file_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def write_half(partial: Path, data: bytes) -> None:
        with partial.open("wb") as file_:
            file_.write(data[: len(data) // 2])
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write_half)
        with pytest.raises(OSError, match="disk full"):
            write_tables(path, one_table({1: 1}))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_parts_whose_rows_were_cut_are_refused() -> None:
    cut = make_tables({"NORM": Counter({1: 2})}, min_freq=0, max_rows=9)
    with pytest.raises(ValueError, match="were cut: part 1 has min_freq = 0, max_rows = 9"):
        merge_tables([cut])


def test_false_of_an_attribute_is_a_symbol() -> None:
    doc = Doc(spacy.blank("en").vocab, words=["a", " ", "b"])
    counts = count_symbols([doc], {"IS_SPACE": IS_SPACE})
    assert counts == {"IS_SPACE": Counter({0: 2, 1: 1})}


def test_table_has_the_length_of_its_symbols() -> None:
    assert len(Table(numpy.arange(3, dtype="uint64"), numpy.ones(3, dtype="uint64"))) == 3
