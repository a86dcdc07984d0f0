"""Pipelines saved by earlier versions load, and predict what they did.

tests/data/make_pipelines.py made them. If a test fails, change the code, not the saved pipeline:
users have trained pipelines too.
"""

import importlib.metadata
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from numpy.testing import assert_allclose
from thinc.api import Config

from tests.data.make_pipelines import EXACT, PREDICTIONS, describe, make_pipeline, node_names

DATA = Path(__file__).resolve().parent / "data"
FOLDERS = sorted(path.parent for path in DATA.glob(f"*/*/{PREDICTIONS}"))
# Another library of matrix products rounds otherwise, and so do batches of other sizes.
TOLERANCE = 1e-4

# The pipelines name the version of spaCy that trained them. spaCy warns where it is another one.
pytestmark = pytest.mark.filterwarnings(r"ignore:\[W095\]:UserWarning")


@pytest.fixture(params=FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


def saved(folder: Path) -> dict[str, Any]:
    return srsly.read_json(folder / PREDICTIONS)


def assert_same(predicted: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for one, other in zip(predicted, expected, strict=True):
        assert one.keys() == other.keys()
        for name in EXACT:
            assert one.get(name) == other.get(name)
        assert one["cats"] == pytest.approx(other["cats"], abs=TOLERANCE)
        for name in other.keys() - {*EXACT, "cats"}:
            assert_allclose(one[name], other[name], atol=TOLERANCE, rtol=TOLERANCE)


def test_all_architectures_and_components_are_in_saved_pipelines() -> None:
    points = importlib.metadata.distribution("spacy-multihash").entry_points
    names = [*points.select(group="spacy_architectures")]
    names += [*points.select(group="spacy_factories")]
    configs = "".join((folder / "config.cfg").read_text("utf8") for folder in FOLDERS)
    assert len(FOLDERS) >= 19
    for point in names:
        assert f'"{point.name}"' in configs, point.name


def test_saved_again_predicts_the_same_alone_and_in_a_batch(folder: Path, tmp_path: Path) -> None:
    spacy.load(folder).to_disk(tmp_path)
    nlp, docs = spacy.load(tmp_path), saved(folder)["docs"]
    assert_same([describe(nlp, nlp(doc["text"])) for doc in docs], docs)
    in_batch = [describe(nlp, doc) for doc in nlp.pipe([doc["text"] for doc in docs])]
    for doc in [*in_batch, *docs]:
        if not doc["text"]:  # alone, it gets 0 for each category from spaCy, and no scores
            doc["cats"] = {}
    assert_same(in_batch, docs)


def test_nodes_have_the_same_names(folder: Path) -> None:
    # Loading weights gives nodes the names that were saved, so that these are of built models.
    config = Config().from_disk(folder / "config.cfg", interpolate=False)
    assert node_names(config) == saved(folder)["nodes"]


def test_pipelines_can_be_made(tmp_path: Path) -> None:
    folder = tmp_path / "textcat"
    make_pipeline(DATA / "1.0.0" / "textcat" / "config.cfg", folder)
    nlp, docs = spacy.load(folder), saved(DATA / "1.0.0" / "textcat")["docs"]
    assert_same(saved(folder)["docs"], docs)
    assert_same([describe(nlp, nlp(doc["text"])) for doc in docs], docs)
