"""Files of tables whose checksum is right, and whose contents are not."""

import gc
import hashlib
from pathlib import Path
from typing import Any

import numpy
import pytest
import srsly

from spacy_multihash import Table, Tables, read_tables, write_tables
from spacy_multihash.tables.tables import FORMAT, VERSION


def u8(*numbers: int) -> bytes:
    return numpy.array(numbers, dtype="<u8").tobytes()


def table(keys: Any, counts: Any) -> dict[str, Any]:
    return {"min_freq": 0, "max_rows": None, "tables": {"NORM": {"keys": keys, "counts": counts}}}


GOOD = table(u8(7, 8), u8(3, 3))
DAMAGED: list[tuple[Any, str]] = [
    (b"\xc1", "cannot be unpacked"),
    ([], "expected a map of min_freq, max_rows and tables"),
    ({"tables": {}}, "expected a map of min_freq, max_rows and tables"),
    ({**GOOD, "min_freq": -1}, "min_freq must be a whole number from 0 on, was: -1"),
    ({**GOOD, "min_freq": "2"}, "min_freq must be a whole number from 0 on, was: '2'"),
    ({**GOOD, "min_freq": True}, "min_freq must be a whole number from 0 on, was: True"),
    ({**GOOD, "max_rows": 1}, "max_rows must be a whole number from 2 on, was: 1"),
    ({**GOOD, "max_rows": 2.5}, "max_rows must be a whole number from 2 on, was: 2.5"),
    ({**GOOD, "tables": []}, "tables must be a map"),
    ({**GOOD, "tables": {3: GOOD["tables"]["NORM"]}}, "name of a table must be a string, was: 3"),
    ({**GOOD, "tables": {"NORM": b""}}, "NORM must have keys and counts"),
    ({**GOOD, "tables": {"NORM": {"keys": b""}}}, "NORM must have keys and counts"),
    (table([7, 8], [3, 3]), "NORM must have keys and counts"),
    (table(u8(7)[:7], u8(3)), "keys of NORM have 7 bytes, which is no multiple of 8"),
    (table(u8(7), u8(3)[:3]), "counts of NORM have 3 bytes, which is no multiple of 8"),
    (table(u8(7, 8), u8(3)), "NORM has 2 keys and 1 counts"),
    (table(u8(7, 8, 7), u8(3, 2, 1)), "NORM has the symbol 7 twice"),
    (table(u8(7), u8(2**63)), "counts of NORM are negative, or too large"),
    (table(u8(7, 8), u8(2, 3)), "NORM are not in order: most frequent first, ties by id"),
    (table(u8(8, 7), u8(3, 3)), "NORM are not in order: most frequent first, ties by id"),
    ({**GOOD, "min_freq": 4}, "NORM has a symbol with the count 3, but min_freq is 4"),
    ({**GOOD, "max_rows": 2}, "NORM has 2 symbols, but max_rows is 2"),
]


def write(path: Path, body: Any) -> Path:
    packed = body if isinstance(body, bytes) else srsly.msgpack_dumps(body)
    md5 = hashlib.md5(packed).hexdigest()
    message = {"format": FORMAT, "version": VERSION, "md5": md5, "body": packed}
    path.write_bytes(srsly.msgpack_dumps(message))
    return path


def test_whole_file_is_read(tmp_path: Path) -> None:
    assert read_tables(write(tmp_path / "x.tables", GOOD)).tables["NORM"].keys.tolist() == [7, 8]


@pytest.mark.parametrize(("body", "message"), DAMAGED, ids=[message for _, message in DAMAGED])
def test_contents_are_checked(body: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"x.tables is damaged: .*{message}.* Copy it again"):
        read_tables(write(tmp_path / "x.tables", body))


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x81\x80\x01"])
def test_garbage_collector_is_left_as_it_was(data: bytes, is_on: bool, tmp_path: Path) -> None:
    (tmp_path / "x.tables").write_bytes(data)
    try:
        gc.enable() if is_on else gc.disable()
        with pytest.raises(ValueError, match="x.tables"):
            read_tables(tmp_path / "x.tables")
        assert gc.isenabled() == is_on
    finally:
        gc.enable()


def test_symbols_without_counts_may_be_in_any_order(tmp_path: Path) -> None:
    # Tables of rows that were given have no counts.
    keys, counts = numpy.array([9, 7], dtype="uint64"), numpy.zeros(2, dtype="uint64")
    write_tables(tmp_path / "x.tables", Tables({"NORM": Table(keys, counts)}))
    assert read_tables(tmp_path / "x.tables").tables["NORM"].keys.tolist() == [9, 7]
