import json
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from pytest import approx
from spacy.tokens import Doc, DocBin

from benchmarks import textcat
from benchmarks.common.text import read_text, take_batches, take_docs
from tests.helpers.figures import is_png, legend_of, points_of, saved_figures, ticks_of


@pytest.fixture
def topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "topics"
    folder.mkdir()
    vocab = spacy.blank("en").vocab
    docs = []
    for word, label in [("ball", "sport"), ("star", "science")] * 6:
        doc = Doc(vocab, words=[word, "of", "today"])
        doc.cats = {name: float(name == label) for name in ("science", "sport")}
        docs.append(doc)
    DocBin(docs=docs, attrs=[]).to_disk(folder / "dev.spacy")
    monkeypatch.setattr(textcat, "open_corpus", lambda: nullcontext(("tiny", folder)))
    return folder


@pytest.mark.usefixtures("topics")
def test_textcat_times_all_models_in_training_and_prediction(tmp_path: Path) -> None:
    output = tmp_path / "textcat.json"
    with saved_figures() as figures:
        textcat.textcat_cli(True, 2, output, None, False)
    first = output.read_text("utf8")
    data = json.loads(first)
    assert data["text"]["name"] == "tiny, dev" and data["settings"]["docs"] == 8
    assert list(data["results"]) == [textcat.UPDATE, textcat.PREDICT, textcat.ALONE]
    for record in data["results"].values():
        assert record["words"] == [24, 24]
        base = numpy.array(record["times_ms"][textcat.BASE])
        for arm in textcat.ARMS:
            times = numpy.array(record["times_ms"][arm])
            median = pytest.approx(numpy.median(times / base), rel=1e-2)
            assert record["ratio"][arm]["median"] == median
            per_second = pytest.approx(numpy.median(24_000 / times), rel=1e-2)
            assert record["words_per_second"][arm] == per_second
        # tables, and a linear layer to two labels
        assert record["parameters"][textcat.BASE] == 1000 * 20 + 10_000 * 2 + 20 * 2 + 2
        assert record["parameters"]["hashing_trick"] == 1000 * 20 + 20 * 2 + 2
    if find_spec("matplotlib"):
        assert is_png(tmp_path / "textcat.png")
        check_classifiers(figures[0], data["results"])
    textcat.textcat_cli(True, 2, output, None, False)
    assert output.read_text("utf8") == first


def check_classifiers(figure: Any, records: dict[str, Any]) -> None:
    (ax,) = figure.axes
    assert figure.get_suptitle() == "Time of text classifiers in training and in prediction"
    xlabel = "time divided by that of hash_embed (logarithmic scale; above 1: slower)"
    assert (ax.get_xlabel(), ax.get_xscale()) == (xlabel, "log")
    parameters = records[textcat.UPDATE]["parameters"]
    assert ticks_of(ax.yaxis) == [
        f"{arm}\n{parameters[arm] / 1e6:.2g} M parameters" for arm in textcat.ARMS
    ]
    assert legend_of(figure) == list(records)
    expected = [(arm, record["ratio"][arm]) for record in records.values() for arm in textcat.ARMS]
    notes = [text.get_text() for text in ax.texts]
    for (arm, values), (point,), note in zip(expected, points_of(ax), notes, strict=True):
        low, median, high = (values[key] for key in ("low", "median", "high"))
        assert textcat.ARMS[round(point.y)] == arm
        assert (point.x, *point[2:]) == approx((median, low, high))
        assert note == f"{median:.2f}"


def test_textcat_trains_each_model_as_its_config_says(topics: Path) -> None:
    docs = read_text(topics / "dev.spacy", "tiny", "en").docs
    size, number = textcat.QUICK.docs, textcat.QUICK.batches
    batches = take_batches(docs, lambda rest: take_docs(rest, size), number)
    for arm in ("hash_embed", "bow"):
        nlp = textcat.build(arm, topics, batches[0], textcat.QUICK)
        update = textcat.update_step(nlp, batches)(0)
        classify = textcat.predict_step(nlp, batches)(0)
        before = numpy.array(classify())
        update()
        assert not numpy.allclose(before, numpy.array(classify()))
        assert update.keywords["drop"] == (0.1 if arm == "bow" else 0.0)  # type: ignore[attr-defined]
        assert update.keywords["sgd"].L2 == (0.01 if arm == "bow" else 0.0)  # type: ignore[attr-defined]


def test_textcat_makes_topics_where_no_corpus_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textcat, "AG_NEWS", tmp_path)
    with textcat.open_corpus() as (name, folder):
        text = read_text(folder / "dev.spacy", name, "en")
        assert (folder / "train.spacy").is_file()
    assert text.name.startswith("generated topics") and len(text.docs) == 300
    assert not folder.exists()
