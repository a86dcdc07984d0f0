"""Items in this process, and on two workers of Dask."""

import os
import pickle
import re
import sys
import time
from pathlib import Path

import pytest

from spacy_multihash.scale.pool import open_workers
from spacy_multihash.scale.workers import ItemError, Workers, fold
from tests.helpers.cluster import (
    die_first,
    die_if_negative,
    fail_first,
    halve,
    ignores_interrupts,
    process_of,
    threads,
    wait_until,
)


def named(count: int) -> list[str]:
    return [f"item {i}" for i in range(count)]


def test_each_item_has_its_result(workers: Workers) -> None:
    assert dict(workers.imap(halve, range(20), names=named(20))) == {i: i / 2 for i in range(20)}
    assert list(workers.imap(halve, [], names=[])) == []


def test_no_more_items_are_begun_than_are_taken(two: Workers, tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(50)]
    for path in paths:
        path.touch()
    results = two.imap(Path.unlink, paths, names=named(50))
    next(results)
    time.sleep(0.5)  # in which more items could be begun
    assert len(list(tmp_path.iterdir())) >= 50 - 2 * 2 - 1
    results.close()  # type: ignore[attr-defined]
    assert dict(two.imap(halve, [4], names=["one"])) == {0: 2.0}  # no leftovers


def test_two_workers_are_two_processes(two: Workers) -> None:
    found = {process for _, process in two.imap(process_of, range(20), names=named(20))}
    assert len(found) == 2 and os.getpid() not in found


@pytest.mark.parametrize("count", [1, 2, 3, 8, 21])
def test_results_are_merged_few_times(count: int) -> None:
    merged: list[int] = []

    def join(first: list[int], second: list[int]) -> list[int]:
        merged.extend(first + second)
        return first + second

    assert sorted(fold(([i] for i in range(count)), join)) == [*range(count)]
    assert all(merged.count(i) <= 2 * count.bit_length() for i in range(count))


def test_item_that_fails_is_named_with_its_error(workers: Workers) -> None:
    with pytest.raises(ItemError, match="^item 1 failed: .*ValueError: -3 is negative"):
        list(workers.imap(halve, [1, -3, 2], names=named(3)))


def test_error_of_an_item_goes_from_process_to_process() -> None:
    error = pickle.loads(pickle.dumps(ItemError("item 1", "it is negative")))
    assert str(error) == "item 1 failed: it is negative"


def test_other_items_go_on_where_one_fails(workers: Workers) -> None:
    found = dict(workers.try_each(halve, [1, -3, 2, -4], names=named(4)))
    assert (found[0], found[2]) == (0.5, 1.0)
    assert [str(found[i]).partition(":")[0] for i in (1, 3)] == ["item 1 failed", "item 3 failed"]


def test_item_that_fails_once_is_tried_again(workers: Workers, tmp_path: Path) -> None:
    assert list(workers.imap(fail_first, [tmp_path / "first"], names=["one"]))


def test_item_of_a_killed_worker_is_done_by_another(two: Workers, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path in paths[1:]:
        path.touch()
    found = dict(two.imap(die_first, paths, names=named(3)))
    assert sorted(found) == [0, 1, 2]
    assert found[0] != int(paths[0].read_text())


def test_items_that_kill_workers_take_no_others_with_them(two: Workers) -> None:
    found = dict(two.try_each(die_if_negative, [-1, *range(4), -1], names=named(6)))
    for i in (0, 5):
        assert re.search(f"^item {i} failed: .*[Kk]illed|.*died", str(found.pop(i)))
    assert found == {i: (i - 1) / 2 for i in range(1, 5)}


def test_processes_of_this_machine_have_one_thread_and_end_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="there is no Dask: extra dask")
    monkeypatch.setenv("SPACY_MULTIHASH_THREADS", "2")
    with open_workers(2) as workers:
        assert dict(workers.imap(threads, [0, 1], names=named(2))) == {0: {"1"}, 1: {"1"}}
        killed = dict(workers.imap(die_first, [tmp_path / "pid"], names=["one"]))
        assert killed[0] != int((tmp_path / "pid").read_text())
        assert dict(workers.imap(ignores_interrupts, [0], names=["a"])) == {0: True}

        def processes() -> set[int]:
            return {process for _, process in workers.imap(process_of, range(9), names=named(9))}

        wait_until(lambda: len(processes()) == 2)  # a new one took the place of the killed one
        found = processes()
    for process in found:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_without_dask_one_process_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy_multihash.scale.cluster", None)
    with pytest.warns(UserWarning, match="One process does all, instead of 2, .* pip install"):
        with open_workers(2) as workers:
            assert dict(workers.imap(process_of, [0], names=["a"])) == {0: os.getpid()}
    with pytest.raises(ModuleNotFoundError, match="scale.cluster"):
        with open_workers(dask="tcp://127.0.0.1:8786"):
            pass
