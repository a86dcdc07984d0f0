"""Tests that ship with spaCy pass with our layers, batch_ner and batch_parser in their place."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.our_parts import EXCEPTIONS
from tests.helpers.paths import ROOT

TIMEOUT = 1200  # in seconds, for a machine that others share
# Those that build, train and save models with our parts.
MODULES = """
doc.test_add_entities parser.test_add_label parser.test_arc_eager_oracle parser.test_ner
parser.test_neural_parser parser.test_nn_beam parser.test_parse parser.test_preset_sbd
parser.test_space_attachment pipeline.test_initialize pipeline.test_models pipeline.test_tagger
pipeline.test_tok2vec serialize.test_serialize_pipeline test_models training.test_pretraining
training.test_rehearse
""".split()
LEAST = {
    **{"passed": 131, "recognizers": 61, "predictions_of_recognizers": 41, "parsers": 21},
    **{"predictions_of_parsers": 21, "MultiHashEmbed": 101, "MaxoutWindowEncoder": 141},
}


@pytest.mark.skipif(find_spec("spacy.tests") is None, reason="spaCy is here without its tests")
def test_spacys_own_tests_pass_with_our_parts(tmp_path: Path) -> None:
    config = tmp_path / "pytest.ini"
    config.write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-W", "ignore"]
    command += ["-c", str(config), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    command += ["-p", "tests.helpers.our_parts"]
    command += ["--pyargs", *(f"spacy.tests.{name}" for name in MODULES)]
    # Neither the options of the run that this test belongs to nor its conftest.py are for them.
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    numbers = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", done.stdout)}
    assert {what: min(numbers[what], least) for what, least in LEAST.items()} == LEAST
    assert numbers["exceptions"] == len(EXCEPTIONS)
