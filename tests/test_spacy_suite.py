"""Tests that ship with spaCy, with our layers in the place of its own."""

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
SELECTION = [
    "test_models",
    "parser.test_add_label",
    "parser.test_ner",
    "pipeline.test_annotates_on_update",
    "pipeline.test_initialize",
    "pipeline.test_models",
    "pipeline.test_morphologizer",
    "pipeline.test_senter",
    "pipeline.test_span_finder",
    "pipeline.test_spancat",
    "pipeline.test_tagger",
    "pipeline.test_textcat",
    "pipeline.test_tok2vec",
    "serialize.test_serialize_config",
    "serialize.test_serialize_language",
    "serialize.test_serialize_pipeline",
    "training.test_pretraining",
    "training.test_rehearse",
]
TIMEOUT = 1200  # in seconds, for a machine that others share


@pytest.mark.skipif(find_spec("spacy.tests") is None, reason="spaCy is here without its tests")
def test_spacys_own_tests_pass_with_our_layers(tmp_path: Path) -> None:
    config = tmp_path / "pytest.ini"
    config.write_text("[pytest]\n")
    tests = [f"spacy.tests.{name}" for name in SELECTION]
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-W", "ignore"]
    command += ["-c", str(config), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    command += ["-p", "tests.helpers.our_layers", "--pyargs", *tests]
    # The options of the run that this test belongs to are not for spaCy's tests.
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=TIMEOUT
    )

    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    numbers = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", done.stdout)}
    assert numbers["passed"] > 250
    assert numbers["MultiHashEmbed"] > 100
    assert numbers["MaxoutWindowEncoder"] > 100
    assert numbers["exceptions"] == len(EXCEPTIONS)
