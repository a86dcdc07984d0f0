"""Trials of candidates: trained, kept, and gone on with."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config

from spacy_multihash.inspection import trials
from spacy_multihash.inspection.halving import Round
from spacy_multihash.inspection.trials import Trials, digest_inputs, run_trials
from tests.helpers.corpora import HASH, make_docs, small_config, write_corpus

ROUNDS = [Round(3, 2, 2), Round(2, 1, 4)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.spacy", make_docs(2))


@pytest.fixture
def run(corpus: Path, tmp_path: Path) -> Callable[..., Trials]:
    """Run the trials of three candidates, of which two have another dropout."""
    of_fixture = corpus

    def run(corpus: Path = of_fixture, **others: Any) -> Trials:
        configs = {name: small_config(corpus, HASH) for name in ("base", "one", "two")}
        configs["one"]["training"]["dropout"] = 0.2
        configs["two"]["training"]["dropout"] = others.pop("dropout", 0.3)
        for config in configs.values():
            config["training"]["batcher"]["size"] = others.get("sizes", 100)
        others.pop("sizes", None)
        options = {"seconds": 60.0, "on_steps": lambda steps, label: None} | others
        digest = digest_inputs(corpus, corpus, None)
        return run_trials(configs, "base", ROUNDS, corpus, tmp_path / "t", digest=digest, **options)

    return run


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Take the dropout for the score, and list the scores and documents that are trained on."""
    calls: list[tuple[str, int]] = []

    def scores(nlp: Any, steps: int) -> Any:
        dropout = nlp.config["training"]["dropout"]
        path = nlp.config.interpolate()["corpora"]["train"]["path"]
        calls.append((dropout, len(DocBin().from_disk(path))))
        yield from [None] * (steps - 1)
        yield dropout

    monkeypatch.setattr(trials, "_scores_of_steps", scores)
    monkeypatch.setattr(trials, "init_nlp", lambda config: SimpleNamespace(config=config))
    return calls


def test_candidates_are_trained_with_the_loop_of_spacy(run: Callable[..., Trials]) -> None:
    steps: list[tuple[int, str]] = []
    found = run(on_steps=lambda *step: steps.append(step))
    assert [len(scores) for scores in found.scores] == [3, 2]
    assert all(0 <= score <= 1 for scores in found.scores for score in scores.values())
    assert steps[:3] == [(1, "round 1, base"), (1, "round 1, base"), (1, "round 1, one")]
    assert len(steps) == 3 * 2 + 2 * 4
    assert (found.kept, found.outdated, found.left_out) == (0, [], [])


def test_the_better_half_goes_on_with_all_of_the_corpus(
    run: Callable[..., Trials], trained: list[tuple[str, int]]
) -> None:
    found = run()
    assert found.scores == [{"base": 0.1, "one": 0.2, "two": 0.3}, {"base": 0.1, "two": 0.3}]
    assert trained == [(0.1, 4), (0.2, 4), (0.3, 4), (0.1, 8), (0.3, 8)]


def test_an_interrupted_call_is_gone_on_with(
    run: Callable[..., Trials], trained: list[tuple[str, int]], corpus: Path, tmp_path: Path
) -> None:
    def interrupt(steps: int, label: str) -> None:
        if label == "round 1, two":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(on_steps=interrupt)
    part = f"train-2-{digest_inputs(corpus, corpus, None)[:16]}.spacy"
    names = ["round1-base.json", "round1-one.json", part]
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == names
    (tmp_path / "t" / "round1-one.json").write_text("{")  # damaged
    trained.clear()
    steps: list[tuple[int, str]] = []
    found = run(on_steps=lambda *step: steps.append(step))
    assert [dropout for dropout, _ in trained] == [0.2, 0.3, 0.1, 0.3]
    assert (found.kept, found.outdated) == (1, ["round1-one.json"])
    assert steps[0] == (2, "")
    trained.clear()
    assert run().kept == 5 and trained == []


def test_changes_of_corpus_and_candidates_are_noticed(
    run: Callable[..., Trials], trained: list[tuple[str, int]], corpus: Path
) -> None:
    run()
    trained.clear()
    assert run(dropout=0.4).outdated == ["round1-two.json", "round2-two.json"]
    assert [dropout for dropout, _ in trained] == [0.4, 0.4]
    write_corpus(corpus, make_docs(3))
    found = run(dropout=0.4)
    assert (found.kept, len(found.outdated)) == (0, 5)


def test_calls_that_share_a_folder_train_on_their_own_corpora(
    run: Callable[..., Trials], trained: list[tuple[str, int]], tmp_path: Path
) -> None:
    def run_another(steps: int, label: str) -> None:
        if label == "round 1, base" and not other.exists():
            run(write_corpus(other, make_docs(6)))

    other = tmp_path / "other.spacy"
    run(on_steps=run_another)
    sizes = [size for _, size in trained]
    assert sizes == [4, *[12] * 3, *[24] * 2, 4, 4, 8, 8]


def test_trials_that_do_not_fit_are_left_out(
    run: Callable[..., Trials],
    trained: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(trials.time, "monotonic", lambda: now[0])

    def pass_time(steps: int, label: str) -> None:
        now[0] += 10 * steps if label else 0.0

    # 20 seconds for each trial of round 1, of which the third is not begun.
    found = run(seconds=50.0, on_steps=pass_time)
    assert found.left_out == ["two"] and found.complete == []
    assert found.scores == [{"base": 0.1, "one": 0.2}]
    # Round 2 takes 40 seconds a trial.
    found = run(seconds=70.0, on_steps=pass_time)
    assert found.kept == 2 and found.left_out == ["two"]
    assert [*map(len, found.scores)] == [3, 1] and [*map(len, found.complete)] == [3]
    # One that takes longer than expected is given up.
    trained.clear()
    found = run(seconds=45.0, on_steps=lambda steps, label: pass_time(2 * steps, label))
    assert found.kept == 4 and found.left_out == ["two"] and trained == [(0.3, 8)]
    assert found.trained == 0
    # The first one of a call always starts, whatever is expected.
    found = run(seconds=29.0, on_steps=pass_time)
    assert found.left_out == ["two"] and trained == [(0.3, 8)] * 2
    found = run(seconds=29.0, on_steps=lambda steps, label: pass_time(0, label))
    assert (found.left_out, found.trained, trained) == ([], 1, [(0.3, 8)] * 3)


@pytest.mark.parametrize(("seconds", "count"), [(119, 3), (239, 3), (241, 4), (389, 4), (391, 5)])
def test_batches_that_grow_are_expected_to_take_more_time(
    run: Callable[..., Trials],
    trained: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    count: int,
) -> None:
    """A word takes 0.1 s: trials take 30 s in round 1, and 150 in round 2."""
    now, done = [0.0], [0]
    monkeypatch.setattr(trials.time, "monotonic", lambda: now[0])
    sizes = {"@schedules": "compounding.v1", "start": 100, "stop": 1000, "compound": 2.0}

    def pass_time(steps: int, label: str) -> None:
        now[0] += 10 * 2 ** done[0]
        done[0] = (done[0] + 1) % (2 if label.startswith("round 1") else 4)

    found = run(seconds=seconds, on_steps=pass_time, sizes=sizes)
    assert len(trained) == found.trained == count


def test_digests_are_of_what_corpora_hold(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "folder").mkdir()
    other = write_corpus(tmp_path / "folder" / "other.spacy", make_docs(2))
    other.write_bytes(corpus.read_bytes())
    same = digest_inputs(corpus, other, None)
    assert same == digest_inputs(other, tmp_path / "folder", None)
    vectors = spacy.blank("en").vocab.vectors
    write_corpus(other, make_docs(3))
    digests = {same, digest_inputs(corpus, other, None), digest_inputs(other, corpus, None)}
    assert len({*digests, digest_inputs(corpus, corpus, vectors)}) == 4


def test_configs_name_files_but_digests_do_not(run: Callable[..., Trials], corpus: Path) -> None:
    config: Config = small_config(corpus, HASH)
    moved = small_config(corpus.with_name("moved.spacy"), HASH)
    digest = trials._digest
    assert digest(config, ROUNDS[0], "") == digest(moved, ROUNDS[0], "")
    assert digest(config, ROUNDS[0], "") != digest(config, ROUNDS[1], "")
