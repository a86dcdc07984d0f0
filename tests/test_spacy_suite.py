"""Tests that ship with spaCy, with our layers and our recognizer in the place of its own."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.our_layers import EXCEPTIONS
from tests.helpers.paths import ROOT

# Those that build, train and save models, and take a minute or so in all on one core.
OF_LAYERS = [
    "test_models",
    "pipeline.test_annotates_on_update",
    "pipeline.test_initialize",
    "pipeline.test_models",
    "pipeline.test_morphologizer",
    "pipeline.test_senter",
    "pipeline.test_span_finder",
    "pipeline.test_spancat",
    "pipeline.test_tagger",
    "pipeline.test_textcat",
    "training.test_pretraining",
]
# Those that concern ner, which has our layers here.
OF_NER = [
    "test_pickles",
    "doc.test_add_entities",
    "parser.test_add_label",
    "parser.test_ner",
    "parser.test_nn_beam",
    "pipeline.test_entity_ruler",
    "pipeline.test_tok2vec",
    "serialize.test_serialize_config",
    "serialize.test_serialize_language",
    "serialize.test_serialize_pipeline",
    "training.test_rehearse",
    "training.test_training",
]
TIMEOUT = 1200  # in seconds, for a machine that others share


needs_tests = pytest.mark.skipif(
    find_spec("spacy.tests") is None, reason="spaCy is here without its tests"
)


@needs_tests
def test_spacys_own_tests_pass_with_our_layers(tmp_path: Path) -> None:
    numbers = run_spacys_tests(["our_layers"], OF_LAYERS, tmp_path)
    assert numbers["passed"] > 150
    assert numbers["MultiHashEmbed"] > 100
    assert numbers["MaxoutWindowEncoder"] > 150
    assert numbers["exceptions"] == len(EXCEPTIONS)


@needs_tests
def test_spacys_own_tests_pass_with_batch_ner(tmp_path: Path) -> None:
    numbers = run_spacys_tests(["our_layers", "our_ner"], OF_NER, tmp_path)
    assert numbers["passed"] > 200
    assert numbers["built"] > 60
    assert numbers["predictions"] > 40
    assert numbers["MultiHashEmbed"] > 80
    assert numbers["MaxoutWindowEncoder"] > 100


def run_spacys_tests(plugins: list[str], selection: list[str], folder: Path) -> dict[str, int]:
    """Run some of spaCy's tests with plugins, and return the numbers that the run ends with."""
    config = folder / "pytest.ini"
    config.write_text("[pytest]\n")
    tests = [f"spacy.tests.{name}" for name in selection]
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-W", "ignore"]
    command += ["-c", str(config), "--rootdir", str(folder), "-p", "no:cacheprovider"]
    for plugin in plugins:
        command += ["-p", f"tests.helpers.{plugin}"]
    command += ["--pyargs", *tests]
    # Neither the options of the run that this test belongs to nor its conftest.py are for them.
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT
    )

    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    return {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", done.stdout)}
