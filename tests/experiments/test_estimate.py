"""Scores on new texts: that of fit, those without gold, and texts that are chosen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments import annotate, estimate, new_texts
from experiments.annotate import Round, draw_annotate, gain_of, render_annotate
from experiments.corpora.convert import DatasetSpec
from experiments.estimate import (
    OTHERS,
    Place,
    Row,
    add_rows,
    choose_extents,
    draw_estimate,
    places,
    read_rows,
    read_texts,
    render_estimate,
)
from experiments.new_texts import (
    CHOSEN_ON,
    ORDER,
    PLACES,
    RESULTS,
    RUNS,
    SHOWN_ON,
    SIZES,
    SPLITS,
    cut_place,
    read_corpus,
    read_results,
    render_new_texts,
    run_all,
    split_place,
    todo,
)
from spacy_multihash import estimate as estimate_command
from tests.helpers.paths import ROOT
from tests.helpers.recognizers import trained

# The score of fit beside F1 on corpora's own test sets


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of 400 sentences for all names."""
    sentence = "met O\nAnna{0} B-PER\nin O\nRome B-LOC\nnear O\nBob{1} B-PER\n"
    text = "\n".join(sentence.format(i, i // 40) for i in range(400))
    (tmp_path / "all.conll").write_text(text)
    files = dict.fromkeys(("train", "test"), "all.conll")
    monkeypatch.setattr(new_texts, "DATASETS", dict.fromkeys(CHOSEN_ON, DatasetSpec("xx", files)))
    read_corpus.cache_clear()
    return tmp_path


def test_places_are_at_equal_distances_and_split_in_two_ways(corpus: Path) -> None:
    docs, test = read_corpus("gum", corpus)
    assert len(docs) == len(test) == 400
    starts = [docs.index(cut_place(docs, 310, place)[0]) for place in range(PLACES)]
    assert starts == list(range(0, 100, 10)) and sorted(ORDER) == list(range(PLACES))
    sizes = {
        name: [len(part) for part in split_place(docs[:300], name).docs.values()] for name in SPLITS
    }
    assert sizes["random"] == [240, 30, 30]
    assert sizes["regions"] == sizes["folds"] == pytest.approx([225, 30, 45], abs=3)


def test_runs_are_added_once(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycrfsuite", reason="the extra crf")
    monkeypatch.setattr(new_texts, "SHOWN_ON", ())
    results = corpus / RESULTS
    keys = [*todo(results, "crf", (300,))]
    assert len(keys) == len(set(keys)) == PLACES * len(CHOSEN_ON) * len(RUNS)
    monkeypatch.setattr(new_texts, "ORDER", (0,))
    monkeypatch.setattr(new_texts, "CHOSEN_ON", ("gum",))
    assert run_all(corpus, results, "crf", (300,), 1) == 2
    assert run_all(corpus, results, "crf", (300,), 1) == 0
    rows = read_results(results)
    assert [row.split for row in rows] == list(SPLITS)
    assert all(0 < row.low <= row.f <= row.high <= 1 and row.own_f > 0.5 for row in rows)
    assert "| gum |" in render_new_texts(corpus)


def test_committed_runs_are_whole() -> None:
    rows = read_results(ROOT / "results" / RESULTS)
    keys = {(row.learner, row.split, row.corpus, row.size, row.place) for row in rows}
    assert len(keys) == len(rows) > 0
    for row in rows:
        assert row.corpus in (*CHOSEN_ON, *SHOWN_ON)
        assert row.size in SIZES and row.place < PLACES and row.split in SPLITS
        assert 0 <= row.low <= row.high <= 1


# Estimates without gold beside the truth, and the simulated choice of texts to annotate


LETTERS = "inviwv"


def untrained(_lang: str, _split: Any, _pipeline: str = "ner", **_settings: int) -> Any:
    return trained("tagger_ner")


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A corpus of 240 sentences for all names, and pipelines that need no training."""
    sentence = "Anna B-PER\nmet O\nBob{0} B-PER\nin O\nRome B-GPE\n"
    text = "\n".join(sentence.format(i) for i in range(240))
    (tmp_path / "all.conll").write_text(text)
    (tmp_path / "genres.txt").write_text(f"train {LETTERS * 40}\ntest {LETTERS * 40}\n")
    spec = DatasetSpec("en", dict.fromkeys(("train", "test"), "all.conll"))
    names = {name.partition("-")[0] if name.startswith("gum") else name for name in OTHERS}
    monkeypatch.setattr(new_texts, "DATASETS", dict.fromkeys(names, spec))
    monkeypatch.setattr(estimate, "DATASETS", dict.fromkeys(names, spec))
    monkeypatch.setattr(estimate, "_GENRES", tmp_path / "genres.txt")
    monkeypatch.setattr(estimate, "train_pipeline", untrained)
    monkeypatch.setattr(annotate, "train_pipeline", untrained)
    for cached in (read_corpus, read_texts, estimate._load):
        cached.cache_clear()
    yield tmp_path
    for cached in (read_corpus, read_texts, estimate._load):
        cached.cache_clear()


def test_places_are_trained_once_and_small_ones_first() -> None:
    every = list(places())
    assert len(every) == len(set(every)) and every[0].size == 300
    folders = {place.folder for place in every}
    assert len(folders) == len(every)


def test_sentences_of_a_genre_are_those_of_its_letter(assets: Path) -> None:
    train, test = read_texts("gum-voyage", assets)
    assert len(train) == len(test) == 80
    assert [doc[2].text for doc in train[:4]] == ["Bob2", "Bob5", "Bob8", "Bob11"]


def test_rows_are_added_once(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "places", lambda: iter([Place("gum-news", 0, 0)]))
    results = assets / estimate.RESULTS
    numbers = [estimate.run_all(assets, assets / "models", results, 9.0) for _ in range(2)]
    assert numbers == [4, 0]
    rows = read_rows(results)
    assert {row.texts for row in rows} == set(estimate.OF_GENRES)
    assert all(
        0 < row.expected().f <= 1 and row.low <= row.expected().f <= row.high for row in rows
    )
    (own,) = (row for row in rows if row.texts == "gum-news")
    assert own.sentences == 40 and 0 < own.truth.f <= 1 and own.dev_predicted > 0


def test_a_row_says_what_the_command_says(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("gum-news", 0, 0)
    folder = estimate.train_place(place, assets, assets / "models")
    row = estimate.estimate_place(place, "gum-news", assets, assets / "models")
    _, docs = read_texts("gum-news", assets)
    found = estimate_command(folder / "model", docs)
    assert row.expected() == pytest.approx((found.precision, found.recall, found.f1), abs=1e-3)
    assert row.has_warning == bool(found.warnings)


def row_of(corpus: str, texts: str, right: int, expected_right: float, size: int = 300) -> Row:
    """100 predicted and 100 gold entities, where 80 of 100 were right on dev, as expected."""
    dev = (100, 80, 100, 80.0, 100.0)
    here = (100, right, 100, expected_right, 100.0)
    return Row(corpus, size, 4, "tagger_ner", texts, 9, *here, *dev, 0.4, 0.6, 0.9)


def test_tables_have_the_mean_errors(tmp_path: Path) -> None:
    rows = [row_of("anem", "anem", right, 80.0) for right in (75, 95)]
    rows.append(row_of("conll-es", "masakhaner-hau", 40, 60.0))
    add_rows(tmp_path / estimate.RESULTS, rows)
    assert read_rows(tmp_path / estimate.RESULTS) == rows
    by_kind, by_warning, chosen, each = render_estimate(tmp_path).split("\n\n")
    own = (
        "| 2 | 10.0 (−5.0) | 10.0 (−5.0) | 10.0 (−5.0) | 10.0 (−5.0) | 10.0 (−5.0) | 10.0 (−5.0) |"
    )
    assert f"| own test set, 300 sentences {own} 10.0 (+5.0) | 0 of 2 | 0 of 2 |" in by_kind
    cells = " | 20.0 (+20.0) | 20.0 (+20.0) | 50.0 (+50.0) | 1 of 1 | 1 of 1 |"
    (other,) = (line for line in by_kind.splitlines() if "another language and source" in line)
    assert other.endswith(cells)
    assert "| warning: another kind of texts | 1 |" in by_warning
    assert "80.0 / 75.0" in each and "| anem |" in chosen
    assert draw_estimate(tmp_path) == draw_estimate(tmp_path)


def test_the_extent_is_chosen_on_other_families() -> None:
    rows = [row_of("conll-es", "x", 40, 60.0), row_of("conll-nl", "x", 40, 60.0)]
    chosen = choose_extents([*rows, row_of("anem", "x", 60, 60.0)])
    assert chosen["conll"] == 0 and chosen["anem"] > 0


def test_annotation_goes_in_rounds(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CORPORA": ("gum",), "SEEDS": 1, "START": 50, "EACH": 20}.items():
        monkeypatch.setattr(annotate, name, value)
    results = assets / annotate.RESULTS
    assert [annotate.run_all(assets, results, 9.0) for _ in range(2)] == [2, 0]
    rows = read_rows(results, Round)
    assert [row.sentences for row in rows] == [50, 70, 90, 110, 130, 150] * 2
    assert [row.tokens for row in rows] == [5 * row.sentences for row in rows]
    assert "| gum | chosen | 1 |" in render_annotate(assets)
    assert "| gum | +0.0 (+0.0 to +0.0) |" in render_annotate(assets)
    assert draw_annotate(assets).startswith(b"<?xml")


def test_choices_are_compared_where_they_cost_the_same() -> None:
    rows = [
        Round("gum", how, 0, n, 0.1 * n, 50 * n, size * n, 0)
        for how, size in (("chosen", 200), ("random", 100))
        for n in range(6)
    ]
    assert gain_of(rows, "gum", 0, "sentences") == pytest.approx(0)
    assert gain_of(rows, "gum", 0, "tokens") == pytest.approx(-0.125, abs=0.002)
