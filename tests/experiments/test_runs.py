"""Runs from end to end: trained, scored, recorded, resumed."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.arms import Arm, arm_config
from experiments.results import (
    GOLD,
    OWN,
    TRUE,
    add_run,
    merge_runs,
    read_counts,
    read_rows,
    read_runs,
)
from experiments.runs import Run, missing, run_config, train_and_score
from experiments.statistics import Cell, Runs
from tests.helpers.cluster import wait_until
from tests.helpers.corpora import make_docs
from tests.helpers.paths import ROOT

STEPS = {"training.max_steps": 6, "training.eval_frequency": 3}


@pytest.fixture
def project(here: Path) -> Path:
    """A folder with a corpus, the configs, and two fast arms."""
    for name in ("configs", "experiments"):
        (here / name).symlink_to(ROOT / name)
    corpus = here / "corpus" / "small"
    corpus.mkdir(parents=True)
    for split, repeats in (("train", 3), ("dev", 1), ("test", 2)):
        DocBin(docs=make_docs(repeats)).to_disk(corpus / f"{split}.spacy")
    for name, config in (("fast", "recommended"), ("faster", "tagger_ner")):
        arm_config(Arm(config, STEPS)).to_disk(here / f"{name}.cfg", interpolate=False)
    return here


GRID = ["grid", "--corpus", "corpus/small=en", "--seeds", "2"]
GRID += ["--arm", "fast.cfg", "--arm", "faster.cfg"]
RUN = ["run", "faster.cfg", "corpus/small", "--lang", "en", "--no-test"]


def ran(*args: str) -> str:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    return result.output


def test_grid_is_interrupted_and_goes_on(project: Path) -> None:
    command = [sys.executable, "-m", "experiments", *GRID]
    first = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until((OWN / "runs.csv").is_file)
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    done = read_rows(OWN)
    assert 1 <= len(done) < 4
    output = ran(*GRID, "--workers", "2")
    assert f"{len(done)} are read from" in output and "0 are left" in output
    rows = read_rows(OWN)
    assert [row for row in rows if row in done] == done  # not trained again
    assert [(row["arm"], row["seed"]) for row in rows] == [
        (arm, seed) for arm in ("fast", "faster") for seed in "01"
    ]
    assert all(float(row["test_f"]) >= 0 and row["date"] and row["cpu"] for row in rows)
    runs = Runs.read(OWN)
    found = runs.difference(Cell("small", "fast", "test_f"), Cell("small", "faster", "test_f"))
    assert found is not None and found.n == 2 and found.over_sentences
    assert ran(*GRID, "--list") == ""
    assert not (project / "results").exists()  # of the project


def test_test_is_scored_later_with_the_same_model_and_its_counts_are_kept(project: Path) -> None:
    run = Run(Path("corpus/small"), "faster.cfg", lang="en")
    assert missing([run], test=False) == [run]
    train_and_score(run, test=False)
    (row,) = read_rows(OWN)
    assert row["dev_f"] and not row["test_f"]
    assert missing([run], test=False) == [] and missing([run], test=True) == [run]
    scored = train_and_score(run)
    (later,) = read_rows(OWN)
    assert later["test_f"] and later["date"] == row["date"]
    assert missing([run], test=True) == []
    counts = read_counts(OWN)
    assert {key.split("/")[1] for key in counts} == {"dev", "test"}
    gold, (right, made_up) = counts["small/test/all/gold"], counts["small/test/all/counts"][..., 0]
    f = 2 * right.sum() / max(right.sum() + made_up.sum() + gold.sum(), 1)
    assert scored["test_f"] == pytest.approx(f)
    assert gold.sum() == 14 and len(gold) == 8
    # all entities of dev are in train
    assert counts["small/dev/seen/gold"].sum() == 7
    assert counts["small/dev/unseen/gold"].sum() == 0
    assert later["steps"] == "6" and int(later["parameters"]) > 1000 and int(later["bytes"]) > 1000


def test_results_that_are_read_are_called_read(project: Path) -> None:
    assert "Trained" in ran(*RUN)
    (first,) = read_rows(OWN)
    read = ran(*RUN)
    assert "Nothing was trained" in read and first["date"] in read and "Trained" not in read
    assert read_rows(OWN) == [first]
    assert "Trained" in ran(*RUN, "--again")
    (second,) = read_rows(OWN)
    assert second["seconds"] != first["seconds"] and second["dev_f"] == first["dev_f"]
    assert "Trained" in ran(*RUN, "--results", "results")  # only because it's asked for
    assert len(read_rows()) == 1


def test_a_run_needs_no_extra(project: Path) -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['threadpoolctl', 'pycrfsuite', 'pandas']));"
        "from experiments.__main__ import app; app()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run([*command, *RUN], capture_output=True, text=True)
    assert done.returncode == 0 and "Trained" in done.stdout, done.stderr
    (project / "results").symlink_to(ROOT / "results")
    done = subprocess.run([*command, *GRID], capture_output=True, text=True)
    assert done.returncode == 1 and "pip install threadpoolctl" in done.stdout


def test_settings_are_overridden_under_another_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Run] = []

    def train(run: Run, *, test: bool, results: Path, again: bool) -> dict[str, Any]:
        assert not test and not again
        runs.append(run)
        return {"dev_f": 0.5}

    monkeypatch.setattr("experiments.runs.train_and_score", train)
    options = [*RUN, "--training.dropout", "0.5"]
    assert CliRunner().invoke(app, options).exit_code == 1
    ran(*options, "--name", "mine")
    (run,) = runs
    assert run.key["arm"] == "mine"
    assert run_config(run)["training"]["dropout"] == 0.5


def test_crf_and_classifiers_are_runs_too(project: Path) -> None:
    pytest.importorskip("pycrfsuite")
    row = train_and_score(Run(Path("corpus/small"), "crf", lang="en"))
    assert row["test_f"] > 0.5
    docs = [Doc(doc.vocab, words=[token.text for token in doc]) for doc in make_docs()]
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(not i % 2)}
    texts = project / "corpus" / "texts"
    texts.mkdir()
    for split in ("train", "dev", "test"):
        DocBin(docs=docs, store_user_data=True).to_disk(texts / f"{split}.spacy")
    row = train_and_score(Run(texts, "textcat/bow", lang="en", name="bow", overrides=STEPS))
    assert 0 <= row["test_accuracy"] <= 1 and "test_f" not in row
    assert read_counts(OWN)["texts/test/all/gold"].tolist() == [1, 1, 1, 1]


def test_runs_are_added_by_several_processes_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import numpy; from experiments.results import *;"
        "counts = numpy.ones((3, 3), dtype='uint8');"
        "[add_run({'dataset': 'd', 'arm': sys.argv[1], 'vectors': '', 'seed': seed, 'after': '',"
        "'dev_f': 1 / 3}, {('dev', 'all'): counts}, Path(sys.argv[2])) for seed in range(5)]"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, arm, tmp_path], cwd=ROOT) for arm in "ab"
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    frame = read_runs(tmp_path)
    assert len(frame) == 10 and (frame["dev_f"] == 0.3333333333).all()
    counts = read_counts(tmp_path)
    assert counts["d/dev/all/runs"].tolist() == sorted(f"{a}//{n}" for a in "ab" for n in range(5))
    assert counts["d/dev/all/counts"].shape == (2, 3, 10)


def test_other_gold_entities_under_the_same_name_are_refused(tmp_path: Path) -> None:
    row = {"dataset": "d", "arm": "a", "vectors": "", "seed": 0, "after": ""}
    counts = numpy.ones((3, 3), dtype="uint8")
    add_run(row, {("dev", "all"): counts}, tmp_path)
    other = counts.copy()
    other[0, GOLD] = 2
    with pytest.raises(ValueError, match="another name"):
        add_run({**row, "seed": 1}, {("dev", "all"): other}, tmp_path)
    better = counts.copy()
    better[0, TRUE] = 0
    add_run(row, {("dev", "all"): better}, tmp_path)
    assert read_counts(tmp_path)["d/dev/all/counts"][TRUE].ravel().tolist() == [0, 1, 1]


def test_runs_of_another_folder_are_merged_with_their_counts(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    row = {"dataset": "d", "arm": "a", "vectors": "", "seed": 0, "after": "", "dev_f": 0.1}
    first = numpy.array([[1, 0, 1], [0, 2, 3]], dtype="uint8")
    second = numpy.array([[0, 1, 1], [3, 0, 3]], dtype="uint8")
    add_run(row, {("dev", "all"): first}, ours)
    add_run(row, {("dev", "all"): second}, theirs)
    add_run({**row, "seed": 10}, {("dev", "all"): first, ("test", "seen"): second}, theirs)
    add_run({**row, "after": "pruned"}, {}, theirs)
    assert merge_runs(theirs, ours) == 2
    assert merge_runs(theirs, ours) == 0
    counts = read_counts(ours)
    assert counts["d/dev/all/runs"].tolist() == ["a//0", "a//10"]
    assert counts["d/dev/all/counts"][:, :, 0].T.tolist() == first[:, :2].tolist()
    assert counts["d/test/seen/counts"][:, :, 0].T.tolist() == second[:, :2].tolist()
    assert [(row["seed"], row["after"]) for row in read_rows(ours)] == [
        ("0", ""), ("0", "pruned"), ("10", "")
    ]  # fmt: skip
    assert (ours / "runs.csv").read_bytes() == (theirs / "runs.csv").read_bytes()
