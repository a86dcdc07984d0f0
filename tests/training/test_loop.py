"""spaCy's training, with the best model kept."""

from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import spacy
from numpy.testing import assert_equal
from spacy.cli.init_config import init_config as spacys_config
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_as_spacy
from spacy.util import load_config
from thinc.api import Config

from spacy_multihash import init_config
from spacy_multihash.training.loop import History, train
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.weights import all_weights


def small_config(kind: Any, corpus: Path, max_steps: int = 24) -> Config:
    """A config of few steps, over several epochs."""
    if kind == "spacy":
        config = spacys_config(lang="en", pipeline=["ner"], silent=True)
        config["components"]["tok2vec"]["model"]["embed"]["rows"] = [100] * 4
    else:
        config = init_config(kind, "en").config
    config["paths"].update(train=str(corpus), dev=str(corpus))
    config["training"].update(max_steps=max_steps, eval_frequency=6, patience=0)
    config["training"]["batcher"]["size"] = 60
    return config


def write_docs(folder: Path) -> Path:
    docs = make_docs(5)
    for doc in docs:
        doc.cats = {"PLACE": float(len(doc) > 4), "NONE": float(len(doc) <= 4)}
    return write_corpus(folder / "corpus.spacy", docs)


@pytest.mark.parametrize("kind", ["ner", "textcat", "spacy"])
def test_model_is_that_of_spacy_train(tmp_path: Path, kind: str) -> None:
    config = small_config(kind, write_docs(tmp_path))
    if kind == "textcat":
        config["components"]["textcat"]["model"]["length"] = 512
    (tmp_path / "spacy").mkdir()
    train_as_spacy(init_nlp(config), tmp_path / "spacy", stdout=StringIO())
    history = train(config, tmp_path / "ours")
    ours, theirs = (spacy.load(tmp_path / name) for name in ("ours", "spacy/model-best"))
    assert_equal(all_weights(ours), all_weights(theirs))
    expected = load_config(tmp_path / "spacy" / "model-best" / "config.cfg")
    assert load_config(tmp_path / "ours" / "config.cfg") == expected
    assert [step for step, _ in history.curve] == [0, 6, 12, 18, 24] and history.step == 24


class Interrupted:
    """Progress of training that's interrupted at a step, and keeps what it was told."""

    def __init__(self, step: int) -> None:
        self.step, self.told, self.total = step, list[str](), None
        self.items: Iterable[Any] = ()

    def __call__(self, iterable: Iterable[Any], /, **settings: Any) -> Any:
        if settings["desc"] != "Training":
            return iterable
        self.items, self.total = iterable, settings["total"]
        return self

    def __iter__(self) -> Iterator[Any]:
        for i, item in enumerate(self.items):
            if i == self.step:
                raise KeyboardInterrupt
            yield item

    def set_postfix_str(self, text: str) -> None:
        self.told.append(text)


def test_interrupted_training_keeps_the_best_model(tmp_path: Path) -> None:
    config = small_config("ner", write_docs(tmp_path), max_steps=200)
    progress = Interrupted(100)
    history = train(config, tmp_path / "model", progress)
    assert history.interrupted and history.step == 99 and progress.total == 200
    step, score = history.best
    assert 0 < step <= 96 and score == max(of_step for _, of_step in history.curve)
    f = spacy.load(tmp_path / "model").meta["performance"]["ents_f"]
    assert f == pytest.approx(score)
    assert len(progress.told) == len(history.curve)
    assert f"best {100 * score:.1f} at {step}" in progress.told[-1]


def test_interruption_before_anything_is_better_is_raised(tmp_path: Path) -> None:
    config = small_config("ner", write_docs(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "model", Interrupted(3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of the overflow
@pytest.mark.parametrize("kind", ["ner", "batch_ner", "textcat", "spacy"])
def test_loss_that_is_not_a_number_is_an_error_with_the_component(
    tmp_path: Path, kind: str
) -> None:
    config = small_config(kind, write_docs(tmp_path), max_steps=100)
    config["training"]["optimizer"].update(learn_rate=1e30, grad_clip=0.0)
    name = {"ner": "tagger_ner", "batch_ner": "ner", "spacy": "tok2vec"}.get(kind, kind)
    with pytest.raises(ValueError, match=f"(NaN|not finite).*{name}|{name}.*(NaN|not finite)"):
        train(config, tmp_path / "model")


def test_best_is_the_last_of_equals() -> None:
    assert History(400, [(0, 0.1), (200, 0.5), (300, 0.2), (400, 0.5)]).best == (400, 0.5)
