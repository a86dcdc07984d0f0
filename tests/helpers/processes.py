"""Code in processes of their own: with this package and without it, and into streams."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

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


def run_python(code: str, *args: Any, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run code in the folder of the project, with more environment variables."""
    command, environment = [sys.executable, "-c", code, *map(str, args)], {**os.environ, **environ}
    streams: dict[str, Any] = {"capture_output": True, "text": True}
    done = subprocess.run(command, cwd=ROOT, env=environment, timeout=300, check=False, **streams)
    assert done.returncode == 0, done.stderr
    return done


def run_without_package(code: str, *paths: Path) -> list[Any]:
    """Run code that prints JSON where this package isn't installed."""
    return json.loads(run_python(WITHOUT_PACKAGE + code, *paths).stdout)


def predict_without_package(*paths: Path) -> list[Any]:
    """Load pipelines where this package isn't installed, and return the predictions of each."""
    return run_without_package(PREDICT, *paths)


# Commands that write to a link to their stdout, as /dev/stdout is one

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc has the links to streams")
into = pytest.mark.parametrize("into", ["file", "pipe"])


def run_into(command: Sequence[str], into: str, folder: Path) -> Path:
    """Run a command with a link to its stdout as the last argument, and return what got all of it.

    into (str): What the stdout is, a "file" or a "pipe".
    folder (Path): Where the link is made, "stdout", and a file for what was written, "out".
    """
    link, out = folder / "stdout", folder / "out"
    link.symlink_to("/proc/self/fd/1")
    command = [*command, str(link)]
    if into == "pipe":
        out.write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    else:
        with out.open("wb") as file_:
            subprocess.run(command, stdout=file_, check=True)
    assert link.is_symlink()
    return out
