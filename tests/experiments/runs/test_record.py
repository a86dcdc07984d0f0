"""What a run says of itself: each thing that may decide its scores, and what has changed since."""

import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy
import pytest
import spacy
import srsly
from spacy.vocab import Vocab

from experiments.arms.tasks import HASH_EMBED
from experiments.runs import after, one, record
from experiments.runs.grid import Run
from experiments.runs.record import (
    CODE,
    EVALUATING,
    changed_modules,
    commit,
    evaluation_code,
    made_digests,
    make_record,
    module_digest,
    read_sources,
    vectors_digest,
    write_code,
)
from tests.helpers.paths import ROOT
from tests.helpers.vectors import random_vectors, write_pipeline

RUN = Run("wnut17", HASH_EMBED)
MODULE = "spacy_multihash.embed.hash_rows"


@pytest.fixture(autouse=True)
def _corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RUN.corpus("train").parent.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        RUN.corpus(split).write_text(split)


def keep(modules: list[str]) -> str:
    return write_code(modules, {module: module_digest(module) for module in modules})


def git(*arguments: str) -> str:
    person = ["-c", "user.name=Anna", "-c", "user.email=anna@example.com"]
    command = ["git", *person, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_record_names_machine_date_code_and_corpus() -> None:
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    made = make_record(read_sources(RUN))
    assert made["cpu"] == record.cpu_name() != ""
    assert made["threads"] >= 1
    assert before <= datetime.fromisoformat(made["date"]) <= before + timedelta(minutes=1)
    assert MODULE in record.srsly.read_json(CODE / f"{made['code']}.json")
    assert changed_modules(made) == []
    assert len(set(made["corpus"].values())) == 3
    RUN.corpus("dev").write_text("other")
    again = make_record(read_sources(RUN))
    assert {s for s in made["corpus"] if made["corpus"][s] != again["corpus"][s]} == {"dev"}


def test_record_names_the_cpus_of_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = [{"num_threads": 2, "architecture": name} for name in ("Zen", "Haswell", "Zen")]
    monkeypatch.setattr(record, "threadpool_info", lambda: [*pools, {"num_threads": 1}])
    made = make_record(read_sources(RUN))
    assert (made["blas"], made["threads"]) == ("Haswell, Zen", 2)


def test_what_is_edited_while_a_run_goes_on_is_not_what_was_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = read_sources(RUN)
    RUN.corpus("train").write_text("edited")

    def edited(module: str) -> str | None:
        return "edited" if module in (MODULE, one.__name__) else module_digest(module)

    monkeypatch.setattr(record, "module_digest", edited)
    made = make_record(sources)
    assert changed_modules(made) == [MODULE]
    assert made["corpus"]["train"] == record.digest(b"train")
    made["evaluation"] = evaluation_code(made["code"], sources)
    assert changed_modules(made) == [MODULE, one.__name__]


def test_all_modules_of_a_run_are_among_the_sources() -> None:
    names = read_sources(RUN).code
    assert set(record._loaded_modules()) <= set(names)
    assert None not in names.values()


def test_all_rooms_but_those_that_decide_no_scores_are_among_the_sources() -> None:
    rooms = {path.parent.name for path in (ROOT / "spacy_multihash").glob("*/__init__.py")}
    assert rooms - set(record.ROOMS) == {"apply", "cli", "cluster", "inspection"}
    # what is there besides orders runs, reads and writes their files, or compares them
    others = """
        calibration candidates compare_ner english files grid halve machine make_vectors plan pool
        recommended record run show standings state vector_files
    """.split()
    found = {path.stem for path in (ROOT / "experiments/runs").glob("[!_]*.py")}
    assert found - {name.split(".")[-1] for name in record.EXPERIMENTS} == set(others)


def test_a_missing_corpus_is_named_with_the_command_that_makes_it() -> None:
    RUN.corpus("dev").unlink()
    message = r"no file corpus/wnut17/dev\.spacy\. Make the corpus: python -m spacy project run "
    with pytest.raises(FileNotFoundError, match=message):
        read_sources(RUN)


def test_record_lists_no_code_that_decides_no_scores() -> None:
    made = make_record(read_sources(RUN))
    listed = record.srsly.read_json(CODE / f"{made['code']}.json")
    assert not [name for name in listed if ".cli." in name or ".inspection." in name]
    assert "experiments.runs.training" in listed


def test_code_of_evaluations_is_kept_apart_from_that_of_the_training() -> None:
    made = make_record(read_sources(RUN))
    evaluation = evaluation_code(made["code"], read_sources(RUN))
    names = (made["code"], evaluation)
    trained, evaluated = (set(srsly.read_json(CODE / f"{name}.json")) for name in names)
    assert not trained & EVALUATING
    assert {after.__name__, one.__name__} <= EVALUATING <= evaluated
    assert not trained & evaluated
    assert changed_modules({**made, "evaluation": evaluation}) == []


def test_a_change_after_training_is_one_of_the_run_and_none_of_its_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = {"code": keep([MODULE])}
    run = {**training, "evaluation": keep(["experiments.runs.scores"])}
    scores = "experiments.runs.scores"

    def changed(module: str) -> str | None:
        return "other" if module == scores else module_digest(module)

    monkeypatch.setattr(record, "module_digest", changed)
    assert changed_modules(training) == []
    assert changed_modules(run) == [scores]


def test_digest_of_what_was_made_tells_words_and_vectors_apart() -> None:
    digests = set()
    for words, seed in ((["a", "b"], 0), (["a", "c"], 0), (["a", "b"], 1)):
        folder = Path(f"{seed}-{''.join(words)}", "table")
        folder.parent.mkdir()
        write_pipeline(folder, random_vectors(2, seed=seed), words)
        digests.add(made_digests([folder])["table"])
    Path("pretrained.bin").write_bytes(b"1")
    assert len(digests) == 3
    assert list(made_digests([folder, Path("pretrained.bin")])) == ["table", "pretrained.bin"]


def test_a_changed_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"code": keep([MODULE, "spacy_multihash.common.checks"])}
    assert changed_modules(kept) == []

    def changed(module: str) -> str | None:
        return "other" if module == MODULE else module_digest(module)

    monkeypatch.setattr(record, "module_digest", changed)
    assert changed_modules(kept) == [MODULE]


def test_a_module_that_has_gone_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"code": keep([MODULE])}
    monkeypatch.setattr(record, "module_digest", lambda module: None)
    assert changed_modules(kept) == [MODULE]
    assert module_digest("spacy_multihash.embed.no_such_module") is None
    assert module_digest("spacy_multihash.no_such_room.module") is None


def test_the_same_code_is_kept_once() -> None:
    assert keep([MODULE, "spacy_multihash.common.checks"]) == keep(
        ["spacy_multihash.common.checks", MODULE]
    )
    assert len(list(CODE.iterdir())) == 1
    assert keep([MODULE]) != keep(["spacy_multihash.common.checks"])


def test_a_missing_list_of_code_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file .*abc\.json, which lists"):
        changed_modules({"code": "abc"})


def test_commit_tells_changed_code() -> None:
    assert commit() is None
    git("init")
    Path("experiments").mkdir()
    Path("experiments/a.py").write_text("1")
    git("add", ".")
    git("commit", "-m", "Begin")
    known = commit()
    assert known and git("rev-parse", "HEAD").startswith(known)
    Path("notes.txt").write_text("no code")
    assert commit() == known
    Path("experiments/a.py").write_text("2")
    assert commit() == f"{known}+"


def test_digest_of_vectors_tells_vectors_apart() -> None:
    vocab = spacy.blank("en").vocab
    assert vectors_digest(vocab) is None
    digests = set()
    for value in (0.0, 1.0):
        vocab = Vocab()
        vocab.set_vector("word", numpy.full(3, value, dtype="f"))
        digests.add(vectors_digest(vocab))
    assert len(digests) == 2
