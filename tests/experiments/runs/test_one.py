"""One run of the experiments, on a tiny corpus."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from thinc.api import Config

from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs import grid, one, record, training
from experiments.runs.counts import name_counts, unpack
from experiments.runs.files import is_done, read_result, results_path
from experiments.runs.grid import Run
from experiments.runs.record import CODE, TEST_EVALUATION
from experiments.runs.scores import Tagger, make_tagger
from spacy_multihash.cli.evaluate import evaluate
from spacy_multihash.corpus.entities import Matching
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.paths import ROOT

RUN = Run("wnut17", HASH_EMBED)
SETTINGS: dict[str, Any] = {"dropout": 0.1}
BASE_CONFIG = grid.run_config


def small_run_config(run: Run) -> Config:
    config = BASE_CONFIG(run)
    config["components"]["tok2vec"]["model"]["encode"].update(width=8, depth=1)
    config["training"].update(max_steps=20, eval_frequency=10, **SETTINGS)
    return config


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module in (grid, one):
        monkeypatch.setattr(module, "run_config", small_run_config)
    folder = tmp_path / "corpus" / "wnut17"
    folder.mkdir(parents=True)
    for split, docs in {
        "train": 10 * make_docs()[1:2],
        "dev": make_docs(),
        "test": make_docs()[1:2],
    }.items():
        write_corpus(folder / f"{split}.spacy", docs)


def forbid_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(training, "spacy_train", fail)


def test_result_holds_the_scores_of_the_best_model() -> None:
    result = one.run_one(RUN)
    assert result == read_result(results_path(RUN))
    for split in ("dev", "test"):
        corpus = RUN.corpus(split)
        scores = evaluate(
            RUN.folder / "model-best", corpus, RUN.corpus("train"), matching=Matching()
        )
        parts = {"all": scores.overall, **scores.masked}
        assert result[split] == {
            name: {key: pytest.approx(getattr(part, key)) for key in "prf"}
            for name, part in parts.items()
        }
    assert {key: result[key] for key in ("dataset", "arm", "vectors", "seed", "steps")} == {
        "dataset": "wnut17",
        "arm": HASH_EMBED,
        "vectors": "no-vectors",
        "seed": 0,
        "steps": 20,
    }
    assert result["best_step"] in (0, 10, 20)
    assert result["train_seconds"] >= 0.5 * result["train_cpu_seconds"] > 0
    assert result["model_bytes"] > 4 * result["parameters"] > 0
    assert not (RUN.folder / "model-last").exists()


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a training that took 7 CPU seconds, and a tagger that takes 2 a split, in their place.

    Both are on the wall clock ten times as long. The pipeline finds Bob, and no one else.
    """
    clock = {"cpu": 0.0, "wall": 0.0}

    def take(seconds: float) -> None:
        clock.update(cpu=clock["cpu"] + seconds, wall=clock["wall"] + 10 * seconds)

    def train(config: Path, output: Path) -> None:
        take(7.0)
        nlp = spacy.blank("en")
        ruler: Any = nlp.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": "PER", "pattern": "Bob"}])
        for name in ("model-best", "model-last"):
            nlp.to_disk(output / name)
        scores = {10: 0.25, 20: 0.75, 30: 0.5}
        lines = [{"step": step, "score": score} for step, score in scores.items()]
        srsly.write_jsonl(output / "log.jsonl", lines)

    def make_slow_tagger(run: Run, nlp: Language) -> Tagger:
        tagger = make_tagger(run, nlp)

        def tag(examples: Any) -> None:
            tagger(examples)
            take(2.0)

        return tag

    time = {"process_time": lambda: clock["cpu"], "perf_counter": lambda: clock["wall"]}
    for module in (one, training):
        monkeypatch.setattr(module, "time", SimpleNamespace(**time))
    monkeypatch.setattr(training, "spacy_train", train)
    monkeypatch.setattr(one, "make_tagger", make_slow_tagger)


@pytest.mark.usefixtures("stand_ins")
def test_each_split_is_scored_on_its_own_docs() -> None:
    result = one.run_one(RUN)
    # Bob is 2 of the 7 entities of dev, and 1 of the 2 of test.
    for split, recall in (("dev", 2 / 7), ("test", 1 / 2)):
        scores = result[split]["all"]
        assert (scores["p"], scores["r"]) == (1.0, pytest.approx(recall)), split


@pytest.mark.usefixtures("stand_ins")
def test_the_best_step_is_that_of_the_highest_score() -> None:
    result = one.run_one(RUN)
    assert (result["best_step"], result["steps"]) == (20, 30)


@pytest.mark.usefixtures("stand_ins")
def test_cpu_seconds_of_training_are_not_those_of_the_clock() -> None:
    result = one.run_one(RUN)
    assert (result["train_cpu_seconds"], result["train_seconds"]) == (7.0, 70.0)


@pytest.mark.usefixtures("stand_ins")
def test_words_a_second_are_those_of_test_in_cpu_time() -> None:
    assert one.run_one(RUN)["words_per_second"] == len(make_docs()[1]) / 2


@pytest.fixture
def candidate(stand_ins: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A candidate for a recipe."""
    for module in (grid, one):
        monkeypatch.setattr(module, "run_config", BASE_CONFIG)
    return Run("wnut17", "recipe-slices")


def test_a_candidate_is_scored_on_dev_alone(candidate: Run) -> None:
    result = invoke_command(one.run_one_cli, candidate.name)
    assert result.exit_code == 0, result.output
    assert "F1 0.4444 on dev" in said(result) and "on test" not in said(result)
    written = read_result(results_path(candidate))
    assert "dev" in written and "test" not in written
    assert set(written["counts"]) == {"dev", "dev, seen", "dev, unseen"}
    assert written["words_per_second"] == sum(map(len, make_docs())) / 2
    assert not any("test" in str(path) for path in candidate.folder.rglob("*"))


def test_a_candidate_is_scored_on_test_by_its_model(
    candidate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = one.run_one(candidate)
    forbid_training(monkeypatch)
    after = one.score_test(candidate)
    assert after == read_result(results_path(candidate)) == one.run_one(candidate)
    assert after["test"]["all"]["r"] == 1 / 2
    assert set(after["counts"]) == {*before["counts"], "test", "test, seen", "test, unseen"}
    code = after["record"].pop(TEST_EVALUATION)
    assert "experiments.runs.one" in srsly.read_json(CODE / f"{code}.json")
    others = set(after) - {"test", "counts"}
    assert {key: after[key] for key in others} == {key: before[key] for key in others}
    shutil.rmtree(candidate.folder)
    assert one.score_test(candidate)["test"] == after["test"]  # once


def test_a_candidate_that_is_trained_anew_is_scored_on_test_again(candidate: Run) -> None:
    one.run_one(candidate)
    before = one.score_test(candidate)
    srsly.write_json(results_path(candidate), {**before, "record": None})
    shutil.rmtree(candidate.folder)
    after = one.run_one(candidate, renew=True)
    assert after["test"] == before["test"] and after["counts"] == before["counts"]
    assert after["words_per_second"] == before["words_per_second"]  # of dev
    assert TEST_EVALUATION not in after["record"]


def test_test_is_not_scored_by_another_model(candidate: Run) -> None:
    one.run_one(candidate)
    marker = candidate.folder / "training.json"
    training = srsly.read_json(marker)
    training["record"]["date"] = "2000-01-01"
    srsly.write_json(marker, training)
    with pytest.raises(FileNotFoundError, match="of another training, or gone. Delete these resul"):
        one.score_test(candidate)
    shutil.rmtree(candidate.folder / "model-best")
    with pytest.raises(FileNotFoundError, match="Expected training/wnut17/recipe-slices/.*to be t"):
        one.score_test(candidate)


@pytest.mark.usefixtures("stand_ins")
def test_a_training_whose_model_is_gone_begins_anew() -> None:
    one.run_one(RUN)
    results_path(RUN).unlink()
    shutil.rmtree(RUN.folder / "model-best")
    assert one.run_one(RUN)["steps"] == 30


def test_a_run_with_results_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    result = one.run_one(RUN)
    shutil.rmtree(RUN.folder)
    forbid_training(monkeypatch)
    assert is_done(RUN)
    assert one.run_one(RUN) == result


def test_results_without_a_record_are_made_again_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("wnut17", CRF)
    result = one.run_one(run)
    older = {key: value for key, value in result.items() if key != "record"}
    srsly.write_json(results_path(run), older)
    assert one.run_one(run) == older
    assert one.run_one(run, renew=True)["record"]["code"] == result["record"]["code"]
    with monkeypatch.context() as patched:
        patched.setattr(one, "_run", None)  # not called: the results are of the present code
        assert "record" in one.run_one(run, renew=True)
    srsly.write_json(results_path(run), older)
    monkeypatch.setattr(one, "train_crf", lambda docs, path: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        one.run_one(run, renew=True)
    assert read_result(results_path(run)) == older  # until there are new ones


def test_a_trained_run_without_results_is_only_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    result = one.run_one(RUN)
    results_path(RUN).unlink()
    forbid_training(monkeypatch)
    again = one.run_one(RUN)
    assert {**again, "words_per_second": 0} == {**result, "words_per_second": 0}


def test_result_says_what_it_is_of_and_counts_the_entities_of_each_sentence() -> None:
    result = one.run_one(RUN)
    found = result["record"]
    assert set(found) == {
        *("cpu", "blas", "threads", "commit", "date", "code", "corpus"),
        *("vectors", "made", "evaluation"),
    }
    assert (found["vectors"], found["made"]) == (None, {})
    parts = [(split, part) for split in ("dev", "test") for part in ("all", "seen", "unseen")]
    assert set(result["counts"]) == {name_counts(*names) for names in parts}
    scored = [names for names in parts if result[names[0]][names[1]]["f"] is not None]
    assert len(scored) > 2
    for split, part in scored:
        found, made_up, missed = unpack(result["counts"][name_counts(split, part)]).sum(0).tolist()
        f1 = 2 * found / (2 * found + made_up + missed)
        assert result[split][part]["f"] == pytest.approx(f1)


def test_a_training_by_other_code_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    one.run_one(RUN)
    results_path(RUN).unlink()
    forbid_training(monkeypatch)
    monkeypatch.setattr(training, "changed_modules", lambda record: ["a.module"])
    with pytest.raises(AssertionError, match="trained again"):
        one.run_one(RUN)


def test_a_training_on_another_corpus_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = one.run_one(RUN)
    write_corpus(RUN.corpus("train"), 10 * make_docs()[:1])
    assert one.run_one(RUN) == before  # unless it is asked for
    with monkeypatch.context() as patch:
        forbid_training(patch)
        with pytest.raises(AssertionError, match="trained again"):
            one.run_one(RUN, renew=True)
    after = one.run_one(RUN, renew=True)
    assert after["record"]["corpus"]["train"] != before["record"]["corpus"]["train"]


@pytest.mark.usefixtures("stand_ins")
def test_best_step_is_the_last_of_equally_good_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    train = training.spacy_train

    def train_with_tie(config: Path, output: Path) -> None:
        train(config, output)
        lines = [{"step": step, "score": score} for step, score in ((10, 0.5), (20, 0.5), (30, 0))]
        srsly.write_jsonl(output / "log.jsonl", lines)

    monkeypatch.setattr(training, "spacy_train", train_with_tie)
    assert one.run_one(RUN)["best_step"] == 20


def test_a_training_is_kept_where_code_has_changed_that_runs_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = one.run_one(RUN)
    forbid_training(monkeypatch)
    known = record.module_digest

    def changed(module: str) -> str | None:
        return "other" if module == "experiments.runs.scores" else known(module)

    monkeypatch.setattr(record, "module_digest", changed)
    assert one.run_one(RUN) == before
    after = one.run_one(RUN, renew=True)
    assert after["dev"] == before["dev"]
    assert after["record"]["code"] == before["record"]["code"]
    assert after["record"]["evaluation"] != before["record"]["evaluation"]
    assert one.run_one(RUN, renew=True) == after


def test_what_evaluates_is_not_loaded_before_the_training() -> None:
    code = (
        "import sys, experiments.runs.one; "
        "print([name for name in sys.modules if name.endswith(('.after', '.extend', '.ridge'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"


def test_a_training_without_a_record_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    one.run_one(RUN)
    results_path(RUN).unlink()
    marker = RUN.folder / "training.json"
    training = srsly.read_json(marker)
    del training["record"]
    srsly.write_json(marker, training)
    forbid_training(monkeypatch)
    with pytest.raises(AssertionError, match="trained again"):
        one.run_one(RUN)


def test_an_interrupted_training_begins_anew() -> None:
    RUN.folder.mkdir(parents=True)
    (RUN.folder / "log.jsonl").write_text("half")
    (RUN.folder / "model-best").mkdir()
    assert one.run_one(RUN)["steps"] == 20


def test_results_of_another_config_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = one.run_one(RUN)
    monkeypatch.setitem(SETTINGS, "dropout", 0.2)
    assert not is_done(RUN)
    after = one.run_one(RUN)
    assert before["config_hash"] != after["config_hash"]


def test_crf_is_run_by_the_same_command() -> None:
    run = Run("wnut17", CRF)
    result = one.run_one(run)
    assert is_done(run)
    assert (result["steps"], result["best_step"]) == (None, None)
    assert 0 < result["dev"]["seen"]["f"] <= 1
    assert result["model_bytes"] == (run.folder / "model.crfsuite").stat().st_size


def test_crf_is_trained_on_the_training_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    trained_on: list[str] = []
    train = one.train_crf

    def watched(docs: Iterable[Doc], path: Path) -> Any:
        docs = list(docs)
        trained_on.extend(doc.text for doc in docs)
        return train(docs, path)

    monkeypatch.setattr(one, "train_crf", watched)
    result = one.run_one(Run("wnut17", CRF))
    assert trained_on == [doc.text for doc in 10 * make_docs()[1:2]]
    assert set(result["versions"]) >= {"python", "spacy", "numpy", "python-crfsuite"}


def test_cpu_seconds_of_a_crf_are_not_those_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for clock, between in (("process_time", 2.5), ("perf_counter", 7.0)):
        monkeypatch.setattr(f"experiments.runs.crf.{clock}", count(0.0, between).__next__)
    result = one.run_one(Run("wnut17", CRF))
    assert (result["train_cpu_seconds"], result["train_seconds"]) == (2.5, 7.0)


def test_a_part_without_entities_has_no_scores() -> None:
    write_corpus(RUN.corpus("train"), make_docs(10))
    result = one.run_one(RUN)
    assert result["dev"]["unseen"] == {"p": None, "r": None, "f": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "data', r"seed0\.json holds no JSON .*Delete it and run it again"),
        (
            '{"format": 2}',
            r"seed0\.json holds results in format 2, but this version reads format 1",
        ),
        ("[1]", r"seed0\.json holds results in format None"),
    ],
)
def test_a_damaged_result_is_named(text: str, message: str) -> None:
    path = results_path(RUN)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        one.run_one(RUN)
    assert path.read_text() == text


def test_missing_corpus_is_named() -> None:
    RUN.corpus("train").unlink()
    with pytest.raises(FileNotFoundError, match=r"train\.spacy"):
        one.run_one(Run("wnut17", CRF))


def test_a_run_that_another_process_is_at_is_refused_and_left() -> None:
    RUN.folder.mkdir(parents=True)
    (RUN.folder / "model-best").mkdir()
    with one.locked(RUN):
        with pytest.raises(ValueError, match=r"Another process works on the run .*seed0\.lock"):
            one.run_one(RUN)
    assert (RUN.folder / "model-best").is_dir()


def test_command_says_what_came_out(capsys: pytest.CaptureFixture[str]) -> None:
    one.run_one_cli(Run("wnut17", CRF).name)
    assert "wnut17/crf/no-vectors/seed0: F1 " in capsys.readouterr().out
    with pytest.raises(SystemExit, match="1"):
        one.run_one_cli("wnut17/none/no-vectors/seed0")
    assert "Unknown arm 'none'" in capsys.readouterr().out


TOPICS_RUN = Run("topics", "hash_embed")


@pytest.fixture
def topics() -> None:
    """Write a tiny corpus whose first words tell the label."""
    nlp = spacy.blank("en")
    docs = []
    for word, label in [("ball", "sport"), ("goal", "sport"), ("star", "science")] * 4:
        doc = nlp(f"{word} of today")
        doc.cats = {name: float(name == label) for name in ("science", "sport")}
        docs.append(doc)
    TOPICS_RUN.corpus("train").parent.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        DocBin(docs=docs, attrs=[]).to_disk(TOPICS_RUN.corpus(split))


@pytest.fixture
def small_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    def small(run: Run) -> Config:
        config = BASE_CONFIG(run)
        config["components"]["textcat"]["model"].update(rows=50, importance_rows=500)
        config["training"].update(max_steps=20, eval_frequency=5)
        config["training"]["optimizer"]["learn_rate"] = 0.1
        return config

    for module in (grid, one):
        monkeypatch.setattr(module, "run_config", small)


def test_a_corpus_of_another_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("ag-news", "hash_embed")
    shutil.copytree(RUN.corpus("train").parent, run.corpus("train").parent)
    forbid_training(monkeypatch)
    message = "train.spacy has 10 docs, but the results of ag-news are of 44,830. Move results/runs"
    with pytest.raises(ValueError, match=message):
        one.run_one(run)


@pytest.mark.usefixtures("topics", "small_classifier")
def test_a_classifier_is_run_by_the_same_command(capsys: pytest.CaptureFixture[str]) -> None:
    result = one.run_one(TOPICS_RUN)
    assert is_done(TOPICS_RUN)
    for split in ("dev", "test"):
        assert result[split] == {"all": {"accuracy": 1.0, "macro_f": 1.0}}
    assert result["parameters"] == 50 * 20 + 500 * 2 + 20 * 2 + 2
    assert not [name for name in result if name.endswith("words_per_second")]
    assert result["model_bytes"] > 4 * result["parameters"]
    one.run_one_cli(TOPICS_RUN.name)
    assert "accuracy 1.0000 on dev, 1.0000" in " ".join(capsys.readouterr().out.split())
