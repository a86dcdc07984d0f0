"""Pipelines on a GPU: they train and predict there and move to the CPU, and what they launch."""

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from thinc.api import Config, NumpyOps, Ops, set_current_ops, to_numpy
from typer.testing import CliRunner

from spacy_multihash import accelerate
from spacy_multihash.cli.group import multihash_cli
from tests.data.make_pipelines import SPANS_KEY, TEXTS, config_of, gold
from tests.helpers.paths import ROOT
from tests.helpers.sections import ours

SAVED = {path.parent.name: path for path in ROOT.glob("tests/data/1.0.0/*/config.cfg")}
WRITTEN = ["ner", "batch_ner", "textcat"]


def config_for(kind: str, folder: Path) -> Config:
    """Complete the config of a saved pipeline, or one that init-config writes, with few rows."""
    path = SAVED.get(kind, folder / "config.cfg")
    if kind not in SAVED:
        CliRunner().invoke(multihash_cli, ["init-config", kind, str(path), "--lang", "xx"])
        shrink(load_config(path, interpolate=False)).to_disk(path)
    return config_of(path, folder)


def shrink(section: Config) -> Config:
    sizes = {"width": 8, "rows": 40, "importance_rows": 60, "depth": 2}
    for key, value in section.items():
        if isinstance(value, dict):
            shrink(value)
        elif key in sizes and isinstance(value, int):
            section[key] = sizes[key]
    return section


def trained(config: Config) -> Language:
    nlp = init_nlp(config)
    sgd = nlp.resume_training()
    sgd.learn_rate = 0.01
    for _ in range(3):
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in gold() * 3]
        losses = nlp.update(examples, sgd=sgd, drop=0.2)
        assert numpy.isfinite(list(losses.values())).all()
    return nlp


def assert_same_predictions(nlp: Language, other: Language, here: Ops, there: Ops) -> None:
    """Compare what a pipeline predicts; each device has its own last bits."""
    set_current_ops(there)
    others = list(other.pipe(TEXTS))
    set_current_ops(here)
    for doc, same in zip(nlp.pipe(TEXTS), others, strict=True):
        assert [str(ent) for ent in doc.ents] == [str(ent) for ent in same.ents]
        assert doc.cats == pytest.approx(same.cats, abs=1e-5)
        assert_allclose(to_numpy(doc.tensor), to_numpy(same.tensor), atol=1e-5, rtol=1e-4)
        if SPANS_KEY in doc.spans:
            spans, twins = doc.spans[SPANS_KEY], same.spans[SPANS_KEY]
            assert [str(span) for span in spans] == [str(span) for span in twins]
            assert_allclose(spans.attrs["scores"], twins.attrs["scores"], atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("trained_on", ["gpu", "cpu"])
@pytest.mark.parametrize("kind", [*SAVED, *WRITTEN])
def test_pipeline_trains_on_one_device_and_predicts_the_same_on_the_other(
    kind: str, trained_on: str, gpu: Ops, tmp_path: Path
) -> None:
    here, there = (gpu, NumpyOps()) if trained_on == "gpu" else (NumpyOps(), gpu)
    set_current_ops(here)
    nlp = trained(config_for(kind, tmp_path))
    nlp.to_disk(tmp_path / "trained")
    set_current_ops(there)
    loaded = spacy.load(tmp_path / "trained")
    assert_same_predictions(nlp, loaded, here, there)


# Launches, copies to the device and waits, whatever the size of a batch


WORDS = "Anna met Bob in Rome and the old man lives near Oslo now again today".split()
TEXTCAT = ours("TextCatHashEmbed", exclusive_classes=True, rows=100, ngram_orders=[1, 2])
# CuPy sums up long arrays in further launches.
CUMULATIVE_SUM = 4
CONFIGS = {"ner": {}, "tagger_ner": {}, "textcat": {"model": TEXTCAT}}


def make_examples(nlp: Language, number: int) -> list[Example]:
    """Make docs of 15 tokens, with entities and classes."""
    examples = []
    for i in range(number):
        words = [f"{word}{(i * k) % 7}" for k, word in enumerate(WORDS)]
        gold = Doc(nlp.vocab, words=words, ents=["B-PER", "O", "B-PER", "I-PER", *["O"] * 11])
        gold.cats = {"A": float(i % 2), "B": float(1 - i % 2)}
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    return examples


def count(work: Callable[[], object]) -> Counter[str]:
    """Count launches (products too), copies to the device and waits, when everything is warm."""
    for _ in range(2):
        work()
    with import_module("fake_cuda_meter").Meter() as meter:
        work()
    counts = meter.counts
    return Counter(launch=counts["launch"] + counts["gemm"], h2d=counts["h2d"], wait=counts["wait"])


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "predict", "update"),
    [
        ("ner", (40, 12, 3), (250, 10)),
        ("tagger_ner", (220, 20, 3), (580, 10)),
        ("textcat", (80, 5, 5), (110, 10)),
    ],
)
def test_what_a_gpu_does_for_a_batch_does_not_grow_with_its_docs(
    name: str, predict: tuple[int, int, int], update: tuple[int, int], gpu: Ops
) -> None:
    if find_spec("fake_cuda_meter") is None:
        pytest.skip("launches are counted on an emulated CUDA alone")
    nlp = spacy.blank("xx")
    nlp.add_pipe(name, config=CONFIGS[name])
    examples = make_examples(nlp, 48)
    nlp.initialize(lambda: examples)
    accelerate(nlp)
    pipe: Any = nlp.get_pipe(name)
    predicted, updated = [], []
    for number in (12, 48):
        few = examples[:number]
        docs = [example.x for example in few]
        predicted.append(count(lambda docs=docs: pipe.predict(docs)))
        updated.append(count(lambda few=few: pipe.update(few, drop=0.1, sgd=None)))
    for of_few, of_many in (predicted, updated):
        assert of_many["launch"] <= of_few["launch"] + CUMULATIVE_SUM
        assert (of_many["h2d"], of_many["wait"]) == (of_few["h2d"], of_few["wait"])
    most = Counter(dict(zip(("launch", "h2d", "wait"), predict, strict=True)))
    assert predicted[1] <= most, predicted
    assert updated[1]["launch"] <= update[0] and updated[1]["wait"] <= update[1], updated
