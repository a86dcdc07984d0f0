"""Evaluations after a training, of tiny models."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
import spacy
from thinc.api import Config

from experiments.arms.vectors import (
    EXTENDED,
    EXTENDED_ALONE,
    NOISY,
    PRUNED,
    QUANTIZED,
    VECTOR_ARMS,
    VectorArm,
)
from experiments.runs import after, grid, one, record, training
from experiments.runs.after import evaluate_after
from experiments.runs.counts import unpack
from experiments.runs.files import is_done, results_path
from experiments.runs.grid import Run, lacks
from experiments.runs.scores import Judged
from experiments.runs.vector_files import made_path
from spacy_multihash.embed.find import find_tables
from tests.helpers.corpora import SENTENCES, make_docs, write_corpus
from tests.helpers.vectors import random_vectors, write_pipeline

BASE_CONFIG = grid.run_config
WORDS = sorted({word for words, _ in SENTENCES for word in words})


def small_run_config(run: Run) -> Config:
    config = BASE_CONFIG(run)
    model = config["components"]["tagger_ner"]["model"]["tok2vec"]
    for part in ("embed", "encode"):
        model[part]["width"] = 8
    config["training"].update(max_steps=20, eval_frequency=10)
    return config


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module in (grid, one):
        monkeypatch.setattr(module, "run_config", small_run_config)
    # the tiny corpora have no word that training never met
    none = replace(VECTOR_ARMS["vectors_none"], after=(*PRUNED, *NOISY))
    for module in (grid, after):
        monkeypatch.setattr(module, "VECTOR_ARMS", {**VECTOR_ARMS, "vectors_none": none})
    for dataset, docs in {"conll-nl": make_docs(), "conll-es": make_docs()[1:2]}.items():
        folder = tmp_path / "corpus" / dataset
        folder.mkdir(parents=True)
        # test has a sentence twice, so that it is never taken for dev
        splits = {"train": 10 * make_docs(), "dev": docs, "test": [docs[0], *docs]}
        for split, of_split in splits.items():
            write_corpus(folder / f"{split}.spacy", of_split)


def small_pipeline(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_pipeline(path, random_vectors(len(WORDS), seed=seed), WORDS, "nl")


def test_models_are_pruned_and_read_noise_after_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after, "NOISE_LEVELS", {"noise_5": 0.0, "noise_10": 1.0})
    run = Run("conll-nl", "vectors_none")
    assert not lacks(run)
    result = one.run_one(run)
    assert list(result["after"]) == ["prune_5", "prune_10", "noise_5", "noise_10"]
    # all symbols occur ten times or more, so that none is pruned; and noise of 0 is none
    for step in ("prune_5", "prune_10", "noise_5"):
        found = {split: result["after"][step][split] for split in ("dev", "test")}
        assert found == {split: result[split] for split in found}, step
    assert result["after"]["noise_10"]["dev"]["seen"]["r"] < result["dev"]["seen"]["r"]
    assert result["record"]["made"] == {}
    counts = result["counts"]
    assert len(unpack(counts["test"])) == len(unpack(counts["dev"])) + 1
    for split in ("dev", "test"):
        assert counts[f"{split} after prune_5"] == counts[split]
    for name in ("dev", "dev, seen", "dev, unseen", "test"):
        split, _, part = name.partition(", ")
        noisy = unpack(counts[", ".join(filter(None, [f"{split} after noise_5", part]))])
        assert noisy.tolist() == (3 * unpack(counts[name])).tolist()  # of three draws
    assert counts["dev after noise_10"] != counts["dev after noise_5"]


def test_scores_are_means_over_draws_of_noise_and_counts_are_sums() -> None:
    def judged(*values: Optional[float]) -> Judged:
        part: Any = dict(zip("prf", values, strict=True))
        return {"all": part}, {"all": numpy.array([[1, 2, len(values)]], dtype="<u2")}

    draws = [judged(0.1, None, 0.3), judged(0.2, None, 0.3), judged(0.6, 0.5, 0.9)]
    scores, counts = after._pool(draws)
    assert scores == {"all": {"p": pytest.approx(0.3), "r": 0.5, "f": pytest.approx(0.5)}}
    assert counts["all"].tolist() == [[3, 6, 9]]


def test_pruning_leaves_the_rows_of_frequent_symbols() -> None:
    run = Run("conll-nl", "vectors_none")
    write_corpus(run.corpus("train"), [*10 * make_docs()[:3], *make_docs()[3:]])
    one.train(run, small_run_config(run), record.read_sources(run))
    rows = []
    for step in ("prune_5", None):
        nlp = spacy.load(run.folder / "model-best")
        if step:
            after.CHANGES[step](run, nlp)
        rows.append(sum(table.weights.get_dim("nV") for table in find_tables(nlp)))
    # They like rain: three words, two prefixes and three suffixes are in no other sentence
    assert rows[1] - rows[0] == 3 + 2 + 3


@pytest.fixture
def own_vectors() -> None:
    """Write the tables of two languages."""
    small_pipeline(Path("assets/vectors/nl_e5_words"), 0)
    small_pipeline(Path("assets/vectors/es_e5_words"), 1)
    for number, name in enumerate(("other", "procrustes", "cca")):
        small_pipeline(made_path("conll-nl", name), number)


@pytest.mark.usefixtures("own_vectors")
def test_a_model_reads_another_language_with_other_vectors() -> None:
    run = Run("conll-nl", "vectors_shape")
    assert not lacks(run)
    result = one.run_one(run)
    assert list(result["after"]) == ["zero_shot_other", "zero_shot_procrustes", "zero_shot_cca"]
    assert set(result["record"]["made"]) == {"other", "procrustes", "cca"}
    # the other language's dev has one sentence
    sizes = {name: len(unpack(text)) for name, text in result["counts"].items()}
    assert (sizes["dev"], sizes["dev after zero_shot_cca"]) == (len(SENTENCES), 1)
    assert (sizes["test"], sizes["test after zero_shot_cca"]) == (len(SENTENCES) + 1, 2)
    nlp = spacy.load(run.folder / "model-best")
    own = nlp.vocab.vectors.data.copy()
    after.CHANGES["zero_shot_cca"](run, nlp)
    assert not numpy.array_equal(nlp.vocab.vectors.data, own)
    made_path("conll-nl", "cca").rename("elsewhere")
    assert lacks(run) == "what is made for conll-nl (python -m experiments make-vectors conll-nl)"


@pytest.mark.parametrize(
    ("arm", "steps"), [("vectors_own", EXTENDED), ("vectors_none", EXTENDED_ALONE)]
)
@pytest.mark.usefixtures("own_vectors")
def test_new_words_get_rows_after_training(arm: str, steps: Sequence[str]) -> None:
    run = Run("conll-nl", arm)
    write_corpus(run.corpus("train"), 10 * make_docs()[1:])
    one.train(run, small_run_config(run), record.read_sources(run))
    for step in steps:
        nlp = spacy.load(run.folder / "model-best")
        table = next(table for table in find_tables(nlp) if table.attr == "NORM")
        before = table.weights.get_dim("nV")
        after.CHANGES[step](run, nlp)
        assert table.weights.get_dim("nV") == before + 2, step  # met, in


@pytest.mark.usefixtures("own_vectors")
def test_a_run_names_the_table_that_gives_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("conll-nl", "vectors_none_kpca_rows")
    digests = []
    for seed in (0, 0, 1):
        small_pipeline(Path("assets/vectors/nl_e5_words"), seed)
        digests.append(after.made_after(run))
    assert list(digests[0]) == ["own"]
    assert digests[0] == digests[1] != digests[2]
    assert after.made_after(Run("conll-nl", "vectors_own_plain")) == {}  # as static vectors
    shutil.rmtree("assets/vectors/nl_e5_words")
    assert lacks(run).startswith("the vectors nl_e5_words")


def test_other_arms_have_nothing_after_training(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Run("conll-nl", "recipe").after == ()
    assert evaluate_after(Run("conll-nl", "recipe")) == ({}, {})
    nothing: Any = {"vectors_none": VectorArm(VECTOR_ARMS["vectors_none"].arm)}
    monkeypatch.setattr(grid, "VECTOR_ARMS", nothing)
    assert "after" not in one.run_one(Run("conll-nl", "vectors_none"))


def forbid_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(training, "spacy_train", fail)


def test_a_mended_evaluation_is_made_without_another_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run("conll-nl", "vectors_none")
    with monkeypatch.context() as broken:
        broken.setitem(after.CHANGES, "prune_10", lambda run, nlp: 1 / 0)
        with pytest.raises(ZeroDivisionError, match="division"):
            one.run_one(run)
    assert not results_path(run).exists()
    known = record.module_digest

    def mended(module: str) -> str | None:
        return "mended" if module in record.EVALUATING else known(module)

    monkeypatch.setattr(record, "module_digest", mended)
    forbid_training(monkeypatch)
    assert set(one.run_one(run)["after"]) == set(run.after)


def test_a_run_without_one_of_its_evaluations_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("conll-nl", "vectors_none")
    with monkeypatch.context() as fewer:
        arm = VECTOR_ARMS[run.arm]
        fewer.setattr(grid, "VECTOR_ARMS", {run.arm: VectorArm(arm.arm, after=("prune_5",))})
        assert list(one.run_one(run)["after"]) == ["prune_5"]
        assert is_done(run)
    assert not is_done(run)
    forbid_training(monkeypatch)
    assert list(one.run_one(run)["after"]) == [*run.after]
    assert is_done(run)


@pytest.mark.usefixtures("own_vectors")
def test_digests_of_tables_are_those_of_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("conll-nl", "vectors_other")
    table = made_path("conll-nl", "other")
    before = record.made_digests([table])
    train = training.spacy_train

    def train_while_tables_are_made(config: Path, output: Path) -> None:
        train(config, output)
        shutil.rmtree(table)
        small_pipeline(table, 9)

    with monkeypatch.context() as patched:
        patched.setattr(training, "spacy_train", train_while_tables_are_made)
        assert one.run_one(run)["record"]["made"] == before != record.made_digests([table])
    results_path(run).unlink()
    forbid_training(monkeypatch)
    with pytest.raises(AssertionError, match="trained again"):  # by the new table
        one.run_one(run)


@pytest.mark.usefixtures("own_vectors")
def test_a_trained_model_takes_rounded_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = {"vectors_own": replace(VECTOR_ARMS["vectors_own"], after=QUANTIZED)}
    for module in (grid, after):
        monkeypatch.setattr(module, "VECTOR_ARMS", arms)
    run = Run("conll-nl", "vectors_own")
    for number, name in enumerate(QUANTIZED):
        assert lacks(run).startswith("what is made for conll-nl (python -m experiments make-vec")
        small_pipeline(made_path("conll-nl", name), 5 + number)
    assert lacks(run) == ""
    result = one.run_one(run)
    assert list(result["after"]) == list(result["record"]["made"]) == list(QUANTIZED)
    for name in QUANTIZED:
        nlp = spacy.load(run.folder / "model-best")
        after.CHANGES[name](run, nlp)
        rounded = spacy.load(made_path("conll-nl", name))
        assert nlp.vocab["Rome"].vector.tolist() == rounded.vocab["Rome"].vector.tolist()
