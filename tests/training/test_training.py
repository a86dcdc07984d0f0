"""Training that goes on where it was interrupted."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_array_equal
from spacy.cli.init_config import init_config as spacys_config
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_as_spacy
from spacy.util import load_config
from thinc.api import Config

from spacy_multihash.cli.init_config import init_config
from spacy_multihash.common.files import write_bytes
from spacy_multihash.training.training import History, train
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.damage import check_damage, full_disk
from tests.helpers.weights import all_weights

OPTIMIZER = {"@optimizers": "Adam.v1", "learn_rate": {"@schedules": "compounding.v1"}}
OPTIMIZER["learn_rate"] |= {"start": 0.001, "stop": 0.01, "compound": 1.01}  # type: ignore[operator]
SIZE = {"@schedules": "compounding.v1", "start": 20, "stop": 90, "compound": 1.05}


def small_config(kind: str, corpus: Path) -> Config:
    """A config of few steps, with batches and a learning rate that grow, and of several epochs."""
    if kind == "spacy":
        config = spacys_config(lang="en", pipeline=["ner"], silent=True)
        config["components"]["tok2vec"]["model"]["embed"]["rows"] = [100] * 4
    else:
        config = init_config(kind, "en")
    config["paths"].update(train=str(corpus), dev=str(corpus))
    config["training"].update(max_steps=25, eval_frequency=6, patience=0)
    config["training"]["batcher"]["size"] = SIZE
    if kind == "batch_ner":
        config["training"]["optimizer"] = OPTIMIZER
    return config


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.spacy", make_docs(5))


def assert_same(one: Path, other: Path) -> None:
    pairs = zip(all_weights(spacy.load(one)), all_weights(spacy.load(other)), strict=True)
    for weight, expected in pairs:
        assert_array_equal(weight, expected)


class Stop(Exception):
    """The interruption."""


@pytest.mark.parametrize(
    ("kind", "stops", "repeated"),
    [("ner", [11, 19], [*range(7, 12), 19]), ("batch_ner", [3], [1, 2, 3]), ("spacy", [12], [])],
)
def test_interrupted_training_gets_the_same_model(
    tmp_path: Path, corpus: Path, kind: str, stops: list[int], repeated: list[int]
) -> None:
    config = small_config(kind, corpus)
    whole = train(config, tmp_path / "whole", tmp_path / "whole.npz")
    steps: list[int] = []

    def interrupt(history: History, last: int | None) -> None:
        assert last == 25
        steps.append(history.step)
        if history.step in stops and steps.count(history.step) == 1:
            raise Stop

    for _ in stops:
        with pytest.raises(Stop):
            train(config, tmp_path / "parts", tmp_path / "parts.npz", interrupt)
    # random numbers that the interruption left behind don't matter
    numpy.random.seed(5)
    history = train(config, tmp_path / "parts", tmp_path / "parts.npz", interrupt)
    assert history.curve == whole.curve
    assert (history.step, history.best) == (whole.step, whole.best)
    assert_same(tmp_path / "parts", tmp_path / "whole")
    assert sorted({step for step in steps if steps.count(step) > 1}) == repeated


@pytest.mark.parametrize("kind", ["ner", "textcat"])
def test_model_is_that_of_spacy_train_and_is_trained_once(tmp_path: Path, kind: str) -> None:
    docs = make_docs(5)
    for doc in docs:
        doc.cats = {"PLACE": float(len(doc) > 4), "NONE": float(len(doc) <= 4)}
    config = small_config(kind, write_corpus(tmp_path / "corpus.spacy", docs))
    config["training"]["max_steps"] = 24  # of which the checkpoint is
    if kind == "textcat":
        config["components"]["textcat"]["model"]["length"] = 512
    (tmp_path / "spacy").mkdir()
    train_as_spacy(init_nlp(config), tmp_path / "spacy", stdout=StringIO())
    paths = tmp_path / "ours", tmp_path / "checkpoint.npz"
    history = train(config, *paths)
    assert_same(tmp_path / "ours", tmp_path / "spacy" / "model-best")
    expected = load_config(tmp_path / "spacy" / "model-best" / "config.cfg")
    assert load_config(tmp_path / "ours" / "config.cfg") == expected

    def no_step(history: History, last: int | None) -> None:
        raise AssertionError("training has ended")

    again = train(config, *paths, no_step)
    assert (again.step, again.curve) == (history.step, history.curve) and history.step == 24
    if kind == "ner":
        config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]["attrs"] = ["NORM"]
        with pytest.raises(ValueError, match=r"checkpoint\.npz is of another config"):
            train(config, *paths)


def test_damaged_checkpoint_is_refused_by_path(tmp_path: Path, corpus: Path) -> None:
    config, checkpoint = small_config("batch_ner", corpus), tmp_path / "parts.npz"
    config["training"]["max_steps"] = 6

    def stop(history: History, last: int | None) -> None:
        raise Stop

    with pytest.raises(Stop):
        train(config, tmp_path / "parts", checkpoint, stop)
    arrays = dict(numpy.load(checkpoint))
    data, state = checkpoint.read_bytes(), json.loads(str(arrays["state"]))

    def resumed() -> None:
        with pytest.raises(Stop):  # after the next step
            train(config, tmp_path / "parts", checkpoint, stop)

    check_damage(checkpoint, resumed, checkpoint, 12)

    def with_history(**changes: Any) -> dict[str, Any]:
        return {"state": json.dumps({**state, "history": {**state["history"], **changes}})}

    def with_numpy(place: int, value: Any) -> dict[str, Any]:
        drawn = [*state["numpy"][:place], value, *state["numpy"][place + 1 :]]
        return {"state": json.dumps({**state, "numpy": drawn})}

    far = numpy.append(arrays["random"][:-1], numpy.uint32(9999))
    for change in (
        with_history(step=10**15),
        with_history(seconds="3 s"),
        with_history(curve=[[0, "nan"]]),
        with_numpy(0, "PCG64"),
        with_numpy(1, -(10**8)),
        with_numpy(1, 625),
        with_numpy(2, 7),
        with_numpy(3, float("inf")),
        {"random": far},
        {"shuffles": numpy.stack([far])},
        {"updates0": numpy.array(-1)},
        {"state": "{}"},
        {"state": "["},
        {"shuffles": arrays["shuffles"][:, 1:]},
        {"first0": numpy.zeros(3, "float32")},
        {"weights0": numpy.zeros(3, "float32")},
        {"updates0": numpy.zeros(3)},
        {"numpy": numpy.zeros(3, "uint32")},
        {"random": numpy.zeros(3, "uint32")},
    ):
        numpy.savez(checkpoint, **arrays | change)
        with pytest.raises(ValueError, match=r"parts\.npz.*[Dd]elete it to start anew"):
            train(config, tmp_path / "parts", checkpoint, stop)
    numpy.savez_compressed(checkpoint, **arrays)
    with pytest.raises(ValueError, match=r"parts\.npz .*compressed"):
        train(config, tmp_path / "parts", checkpoint, stop)
    promised = re.compile(rb"(?<='shape': )\((\d+)(?=,\))")
    checkpoint.write_bytes(promised.sub(lambda found: b"(" + b"9" * len(found[1]), data))
    with pytest.raises(ValueError, match=r"parts\.npz"):
        train(config, tmp_path / "parts", checkpoint, stop)
    with pytest.raises(OSError, match="parts.npz"), full_disk(1000):
        write_bytes(checkpoint, data)


@pytest.mark.parametrize(
    ("patience", "max_steps", "last"), [(100, 0, 300), (100, 250, 250), (0, 0, None), (0, 9, 9)]
)
def test_training_ends_after_patience_or_the_last_step(
    patience: int, max_steps: int, last: int | None
) -> None:
    history = History(400, [(0, 0.1), (200, 0.5), (300, 0.2), (400, 0.5)])
    assert history.last_step(patience, max_steps) == last
    assert history.best == (400, 0.5)
