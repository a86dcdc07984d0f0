"""Estimates without gold beside the truth, and the simulated choice of texts to annotate."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments import annotate, estimate, new_texts
from experiments.annotate import Round, draw_annotate, render_annotate
from experiments.corpora.convert import DatasetSpec
from experiments.estimate import (
    OTHERS,
    Place,
    Row,
    add_rows,
    draw_estimate,
    places,
    read_rows,
    read_texts,
    render_estimate,
)
from experiments.new_texts import read_corpus
from tests.helpers.recognizers import trained

LETTERS = "inviwv"


def untrained(_lang: str, _split: Any, **_settings: int) -> Any:
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
    assert all(0 < row.expected_f <= 1 and row.low <= row.expected_f <= row.high for row in rows)
    (own,) = (row for row in rows if row.texts == "gum-news")
    assert own.sentences == 40 and 0 < own.f <= 1


def test_tables_have_the_mean_errors(tmp_path: Path) -> None:
    guess = {"expected_p": 0.5, "expected_r": 0.5, "expected_f": 0.5, "low": 0.4, "high": 0.6}
    raw = {"raw_p": 0.7, "raw_r": 0.7, "raw_f": 0.7, "held_f": 0.8, "distance": 0.5}
    rows = [Row("anem", 300, 4, "anem", 9, f, f, f, **guess, **raw) for f in (0.45, 0.65)]
    add_rows(tmp_path / estimate.RESULTS, rows)
    assert read_rows(tmp_path / estimate.RESULTS) == rows
    summary, each = render_estimate(tmp_path).split("\n\n")
    cells = "| 2 | 10.0 (−5.0) | 10.0 (−5.0) | 10.0 (−5.0) | 15.0 (+15.0) | 25.0 (+25.0) |"
    assert f"| own test set, 300 sentences {cells} 1 of 2 | 2 of 2 |" in summary
    assert "50.0 / 65.0" in each
    assert draw_estimate(tmp_path) == draw_estimate(tmp_path)


def test_annotation_goes_in_rounds(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CORPORA": ("gum",), "SEEDS": 1, "START": 50, "EACH": 20}.items():
        monkeypatch.setattr(annotate, name, value)
    results = assets / annotate.RESULTS
    assert [annotate.run_all(assets, results, 9.0) for _ in range(2)] == [2, 0]
    rows = read_rows(results, Round)
    assert [row.sentences for row in rows] == [50, 70, 90, 110, 130, 150] * 2
    assert [row.tokens for row in rows] == [5 * row.sentences for row in rows]
    assert "| gum | chosen | 1 |" in render_annotate(assets)
    assert draw_annotate(assets).startswith(b"<?xml")
