"""The score of fit beside F1 on corpora's own test sets."""

from pathlib import Path

import pytest

from experiments import new_texts
from experiments.corpora.convert import DatasetSpec
from experiments.new_texts import (
    CHOSEN_ON,
    ORDER,
    PLACES,
    RESULTS,
    RUNS,
    SHOWN_ON,
    SIZES,
    SPLITS,
    Row,
    cut_place,
    read_corpus,
    read_results,
    render_new_texts,
    run_all,
    split_place,
    todo,
)
from tests.helpers.paths import ROOT


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of 400 sentences for all names."""
    sentence = "met O\nAnna{0} B-PER\nin O\nRome B-LOC\nnear O\nBob{1} B-PER\n"
    text = "\n".join(sentence.format(i, i // 40) for i in range(400))
    (tmp_path / "all.conll").write_text(text)
    files = dict.fromkeys(("train", "test"), "all.conll")
    monkeypatch.setattr(new_texts, "DATASETS", dict.fromkeys(CHOSEN_ON, DatasetSpec("xx", files)))
    read_corpus.cache_clear()
    return tmp_path


def test_places_are_at_equal_distances_and_split_in_two_ways(assets: Path) -> None:
    docs, test = read_corpus("gum", assets)
    assert len(docs) == len(test) == 400
    starts = [docs.index(cut_place(docs, 310, place)[0]) for place in range(PLACES)]
    assert starts == list(range(0, 100, 10)) and sorted(ORDER) == list(range(PLACES))
    sizes = {
        name: [len(part) for part in split_place(docs[:300], name).docs.values()] for name in SPLITS
    }
    assert sizes["random"] == [240, 30, 30]
    assert sizes["regions"] == sizes["folds"] == pytest.approx([225, 30, 45], abs=3)


def test_runs_are_added_once(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycrfsuite", reason="the extra crf")
    monkeypatch.setattr(new_texts, "SHOWN_ON", ())
    results = assets / RESULTS
    keys = [*todo(results, "crf", (300,))]
    assert len(keys) == len(set(keys)) == PLACES * len(CHOSEN_ON) * len(RUNS)
    monkeypatch.setattr(new_texts, "ORDER", (0,))
    monkeypatch.setattr(new_texts, "CHOSEN_ON", ("gum",))
    assert run_all(assets, results, "crf", (300,), 1) == 2
    assert run_all(assets, results, "crf", (300,), 1) == 0
    rows = read_results(results)
    assert [row.split for row in rows] == list(SPLITS)
    assert all(0 < row.low <= row.f <= row.high <= 1 and row.own_f > 0.5 for row in rows)
    assert "| gum |" in render_new_texts(assets)


def test_committed_runs_are_whole() -> None:
    rows = read_results(ROOT / "results" / RESULTS)
    keys = {(row.learner, row.split, row.corpus, row.size, row.place) for row in rows}
    assert len(keys) == len(rows) > 0
    for row in rows:
        assert isinstance(row, Row) and row.corpus in (*CHOSEN_ON, *SHOWN_ON)
        assert row.size in SIZES and row.place < PLACES and row.split in SPLITS
        assert 0 <= row.low <= row.high <= 1
