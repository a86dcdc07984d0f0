"""Whether runs have results, and whether those are of the present code."""

from pathlib import Path
from typing import Any, Optional

import pytest
import srsly

from experiments.arms.tasks import CRF
from experiments.runs.files import FORMAT, results_path
from experiments.runs.grid import Run, run_hash
from experiments.runs.record import CODE, corpus_digests, module_digest
from experiments.runs.state import State, find_states, runs_to_do

RUN = Run("wnut17", CRF)
MODULE = "experiments.runs.crf"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CODE.mkdir(parents=True)
    srsly.write_json(CODE / "now.json", {MODULE: module_digest(MODULE)})
    srsly.write_json(CODE / "before.json", {MODULE: "0", "experiments.gone": "1"})
    srsly.write_json(CODE / "lately.json", {MODULE: "0"})


def write_result(run: Run = RUN, **values: Any) -> None:
    path = results_path(run)
    path.parent.mkdir(parents=True)
    srsly.write_json(path, {"format": FORMAT, "config_hash": run_hash(run), **values})


@pytest.mark.parametrize(
    ("code", "state", "line"),
    [
        (None, State("unrecorded"), "unrecorded    wnut17/crf/no-vectors/seed0"),
        ("now", State("done"), "done          wnut17/crf/no-vectors/seed0"),
        (
            "lately",
            State("older code", 1),
            "older code    wnut17/crf/no-vectors/seed0  1 module has changed",
        ),
        (
            "before",
            State("older code", 2),
            "older code    wnut17/crf/no-vectors/seed0  2 modules have changed",
        ),
    ],
)
def test_results_are_of_the_present_code_or_not(
    code: Optional[str], state: State, line: str
) -> None:
    write_result(**({} if code is None else {"record": {"code": code}}))
    found = find_states([RUN])[RUN]
    assert found == state
    assert found.of(RUN) == line
    assert runs_to_do([RUN], renew=False) == []
    assert runs_to_do([RUN], renew=True) == ([] if code == "now" else [RUN])


def test_results_of_another_config_are_none() -> None:
    write_result(config_hash="0", record={"code": "now"})
    assert find_states([RUN]) == {RUN: State("missing")}
    assert runs_to_do([RUN], renew=False) == runs_to_do([RUN], renew=True) == [RUN]


@pytest.mark.parametrize(
    "parts",
    [
        {"evaluation": "lately"},
        {"test_evaluation": "lately"},
        {"evaluation": "lately", "test_evaluation": "now"},
    ],
)
def test_changes_in_what_evaluates_count_as_well(parts: dict[str, str]) -> None:
    write_result(record={"code": "now", **parts})
    other = Run("anem", CRF)
    write_result(other, record={"code": "now"})
    states = {RUN: State("older code", 1), other: State("done")}
    assert find_states([RUN, other]) == find_states([other, RUN]) == states
    assert runs_to_do([other, RUN], renew=True) == [RUN]


def test_results_of_another_corpus_are_told() -> None:
    RUN.corpus("train").parent.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        RUN.corpus(split).write_text(split)
    write_result(record={"code": "now", "corpus": corpus_digests(RUN)})
    assert find_states([RUN]) == {RUN: State("done")}
    RUN.corpus("dev").write_text("other")
    assert find_states([RUN]) == {RUN: State("other corpus")}
    assert runs_to_do([RUN], renew=False) == []
    assert runs_to_do([RUN], renew=True) == [RUN]


def test_results_with_evaluations_that_are_not_asked_for_are_none() -> None:
    write_result(record={"code": "now"}, after={"noise_5": {}})
    assert find_states([RUN]) == {RUN: State("missing")}


def test_code_that_is_listed_nowhere_is_an_error() -> None:
    write_result(record={"code": "lost"})
    with pytest.raises(FileNotFoundError, match=r"no file results/code/lost\.json, which lists"):
        find_states([RUN])
    assert runs_to_do([RUN], renew=False) == []
