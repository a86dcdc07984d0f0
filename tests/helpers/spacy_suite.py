"""Tests that ship with spaCy, with our layers and our recognizer in the place of its own."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

TIMEOUT = 1200  # in seconds, for a machine that others share

needs_tests = pytest.mark.skipif(
    find_spec("spacy.tests") is None, reason="spaCy is here without its tests"
)


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
