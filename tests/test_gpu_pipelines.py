"""Pipelines of each kind train and predict on a GPU, and move between the GPU and the CPU."""

from pathlib import Path

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from thinc.api import Config, NumpyOps, Ops, set_current_ops, to_numpy
from typer.testing import CliRunner

from spacy_multihash.cli.group import multihash_cli
from tests.data.make_pipelines import SPANS_KEY, TEXTS, config_of, gold
from tests.helpers.paths import ROOT

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
