"""Run code where this package isn't installed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.paths import ROOT

# No entry point of ours, and no module.
WITHOUT_PACKAGE = """
import importlib.metadata as metadata, json, sys

ours = [*metadata.distribution("spacy-multihash").entry_points]
kept = metadata.EntryPoints(
    p for d in metadata.distributions() for p in d.entry_points if p not in ours
)
metadata.entry_points = lambda **names: kept.select(**names)

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "spacy_multihash":
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Missing())
import spacy
"""
PREDICT = """
from tests.helpers.spacy_pipelines import predictions
print(json.dumps([predictions(spacy.load(path)) for path in sys.argv[1:]]))
"""


def run(code: str, *args: Any) -> subprocess.CompletedProcess[str]:
    """Run code without the package, in the folder of the project."""
    command = [sys.executable, "-c", WITHOUT_PACKAGE + code, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def predict(*paths: Path) -> list[Any]:
    """Load pipelines without the package, and return the predictions of each."""
    done = run(PREDICT, *paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
