"""Items done in this process and on two workers."""

import os
import signal
import subprocess
import sys
import time
from operator import add, concat
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from spacy_multihash.cluster.tree import Node, fold, parents
from spacy_multihash.cluster.workers import ItemError, Workers, open_workers
from tests.helpers.cluster import (
    allow_two_threads,
    as_text,
    blas_threads,
    die,
    die_first,
    die_if_negative,
    fail_first,
    fail_unportably,
    halve,
    in_brackets,
    name_unless_first,
    process_of,
    small_float,
    wait_for_workers,
)


@pytest.fixture(params=["here", "two"])
def workers(request: pytest.FixtureRequest) -> Workers:
    if request.param == "two":
        return request.getfixturevalue("two")
    with open_workers() as here:
        return here


def named(count: int) -> list[str]:
    return [f"item {i}" for i in range(count)]


def test_each_item_has_its_result(workers: Workers) -> None:
    found = dict(workers.imap(halve, range(20), names=named(20)))
    assert found == {i: i / 2 for i in range(20)}


def test_no_items_have_no_results(workers: Workers) -> None:
    assert list(workers.imap(halve, [], names=[])) == []


def test_items_and_names_are_as_many(workers: Workers) -> None:
    with pytest.raises(ValueError, match="a list of length 2, .* was one of length 1"):
        workers.imap(halve, [1, 2], names=["one"])


def test_no_more_items_are_begun_than_are_taken(two: Workers, tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(50)]
    for path in paths:
        path.touch()
    results = two.imap(Path.unlink, paths, names=named(50))
    next(results)
    assert len(list(tmp_path.iterdir())) >= 50 - 2 * 2 - 1


def test_two_workers_are_two_processes(two: Workers) -> None:
    assert two.count == 2
    found = {process for _, process in two.imap(process_of, range(20), names=named(20))}
    assert len(found) == 2 and os.getpid() not in found


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 21])
def test_results_are_merged_in_one_tree(workers: Workers, count: int) -> None:
    merged = workers.merge_tree(as_text, range(count), in_brackets, names=named(count))
    assert merged == fold(map(as_text, range(count)), in_brackets)


@pytest.mark.parametrize("most_leaves", [4, 99])
def test_items_that_are_merged_are_counted(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, most_leaves: int
) -> None:
    pytest.importorskip("distributed", reason="there is no Dask: extra dask")
    monkeypatch.setattr("spacy_multihash.cluster.over_dask.MOST_LEAVES", most_leaves)
    done: list[int] = []
    workers.merge_tree(halve, range(21), add, names=named(21), on_done=done.append)
    assert sum(done) == 21 and len(done) > 1


def test_sum_of_floats_is_the_same_on_any_workers(two: Workers) -> None:
    with open_workers() as here:
        one, other = (
            workers.merge_tree(small_float, range(40), add, names=named(40))
            for workers in (here, two)
        )
    assert one.tobytes() == other.tobytes()


def test_tree_keeps_the_order_and_halves_its_items() -> None:
    assert fold("abcdefg", in_brackets) == "(((a b) (c d)) ((e f) g))"
    assert fold("abcdef", in_brackets) == "(((a b) (c d)) (e f))"
    assert fold("a", in_brackets) == "a"


def test_nodes_of_the_tree_are_those_of_the_fold() -> None:
    for count in range(1, 40):
        spans = [Node(i, i + 1) for i in range(count)]
        merged: list[Node] = []

        def merge(one: Node, other: Node, merged: list[Node] = merged) -> Node:
            merged.append(Node(one.start, other.stop))
            assert merged[-1].split() == (one, other)
            return merged[-1]

        assert fold(spans, merge) == Node(0, count)
        assert {*merged} == {*parents(count, 1).values()}


def test_leaves_of_several_items_leave_the_tree_as_it_is(
    two: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_multihash.cluster.over_dask.MOST_LEAVES", 4)
    merged = two.merge_tree(as_text, range(21), in_brackets, names=named(21))
    assert merged == fold(map(as_text, range(21)), in_brackets)
    with pytest.raises(ItemError, match="^item 9 failed on worker tcp://.*: -1 is negative"):
        two.merge_tree(as_text, [*range(9), -1, 3], in_brackets, names=named(11))


def test_nothing_to_merge_is_refused(workers: Workers) -> None:
    with pytest.raises(ValueError, match="expected one or more items, was given none"):
        workers.merge_tree(halve, [], add, names=[])


def test_item_that_fails_is_named_with_worker_and_cause(workers: Workers) -> None:
    where = "in this process" if workers.count == 1 else "on worker tcp://"
    with pytest.raises(ItemError, match=f"^item 1 failed {where}.*ValueError: -3 is negative"):
        list(workers.imap(halve, [1, -3, 2], names=named(3)))
    with pytest.raises(ItemError, match=f"^item 1 failed {where}.*ValueError: -3 is negative"):
        workers.merge_tree(halve, [1, -3, 2], add, names=named(3))


def test_merge_that_fails_is_named(two: Workers) -> None:
    with pytest.raises(ItemError, match="^item 0 to item 1 failed on worker tcp://.*TypeError"):
        two.merge_tree(process_of, range(2), concat, names=named(2))


def test_other_items_go_on_where_one_fails(workers: Workers) -> None:
    errors: list[ItemError] = []
    items = [1, -3, 2, -4]
    found = dict(workers.imap(halve, items, names=named(4), on_error=errors.append))
    assert found == {0: 0.5, 2: 1.0}
    assert sorted(error.name for error in errors) == ["item 1", "item 3"]
    assert isinstance(errors[0].cause, ValueError)


def test_item_that_fails_is_done_again_on_another_worker(two: Workers, tmp_path: Path) -> None:
    ((_, process),) = two.imap(fail_first, [tmp_path / "first"], names=["one"])
    assert process != int((tmp_path / "first").read_text())


def test_item_that_fails_once_is_done_again_here(tmp_path: Path) -> None:
    with open_workers() as here:
        assert list(here.imap(fail_first, [tmp_path / "first"], names=["one"]))


def test_item_of_a_killed_worker_is_done_by_another(two: Workers, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path in paths[1:]:
        path.touch()
    found = dict(two.imap(die_first, paths, names=["a", "b", "c"]))
    assert sorted(found) == [0, 1, 2]
    assert found[0] != int(paths[0].read_text())


def test_result_that_a_killed_worker_had_is_found_again(two: Workers, scheduler: str) -> None:
    former = wait_for_workers(scheduler, 2)
    results = two.imap(process_of, range(4), names=named(4))
    first, _ = next(results)
    time.sleep(0.5)  # until all are done
    for process in former:
        os.kill(process, signal.SIGKILL)
    time.sleep(0.5)  # until the scheduler knows it
    found = dict(results)
    assert sorted([first, *found]) == [0, 1, 2, 3]
    assert not {*found.values()} & {*former}


def test_item_that_kills_workers_is_named(two: Workers) -> None:
    with pytest.raises(ItemError, match="^killer failed on worker tcp://.*KilledWorker"):
        list(two.imap(die, [1], names=["killer"]))


def test_item_that_kills_workers_takes_no_other_with_it(two: Workers) -> None:
    errors: list[ItemError] = []
    items = [-1, *range(7)]
    found = dict(two.imap(die_if_negative, items, names=named(8), on_error=errors.append))
    assert [(error.name, type(error.cause).__name__) for error in errors] == [
        ("item 0", "KilledWorker")
    ]
    assert found == {i: (i - 1) / 2 for i in range(1, 8)}


@pytest.mark.parametrize("killer", [0, 6])
def test_item_that_kills_workers_is_named_where_results_are_merged(
    two: Workers, killer: int
) -> None:
    items = [-1 if i == killer else i for i in range(9)]
    with pytest.raises(ItemError, match=f"^item {killer} failed on worker .*KilledWorker"):
        two.merge_tree(die_if_negative, items, add, names=named(9))


def test_item_of_a_killed_worker_is_merged(two: Workers, tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(9)]
    for path in paths[:3] + paths[4:]:
        path.touch()
    merged = two.merge_tree(name_unless_first, paths, in_brackets, names=named(9))
    assert paths[3].read_text()
    assert merged == fold(map(str, range(9)), in_brackets)


def test_error_that_cannot_travel_is_told(two: Workers) -> None:
    with pytest.raises(ItemError, match="^one failed .* RuntimeError: Unportable: held here"):
        list(two.imap(fail_unportably, [1], names=["one"]))


def test_this_process_has_one_thread_as_a_worker() -> None:
    with threadpool_limits(2):
        assert blas_threads(0) == [2]
        with open_workers() as here:
            ((_, threads),) = here.imap(blas_threads, [0], names=["one"])
    assert threads == [1]


def test_a_worker_has_one_thread(two: Workers, scheduler: str) -> None:
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        # Dask gives the workers that it starts one thread. Only the thread that does the items can
        # change that.
        for worker in client.nthreads():
            for function, result in ((allow_two_threads, None), (blas_threads, [2])):
                future = client.submit(function, 0, workers=worker, pure=False)
                assert future.result() == result
    ((_, threads),) = two.imap(blas_threads, [0], names=["one"])
    assert threads == [1]


def test_one_worker_needs_no_dask() -> None:
    code = (
        "import sys; from spacy_multihash.cluster.workers import open_workers\n"
        "with open_workers(1) as workers: print(list(workers.imap(abs, [-2], names=['x'])))\n"
        "assert not {'dask', 'distributed'} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[(0, 2)]\n"


def test_missing_dask_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy_multihash.cluster.over_dask", None)
    with pytest.raises(ImportError, match=r"pip install 'spacy-multihash\[dask\]'"):
        with open_workers(2):
            pass


def test_number_of_workers_is_checked() -> None:
    with pytest.raises(ValueError, match="workers must be a whole number from 1 on, was: 0"):
        with open_workers(0):
            pass
    with pytest.raises(ValueError, match="either a number of workers or the address"):
        with open_workers(2, dask="tcp://127.0.0.1:8786"):
            pass
