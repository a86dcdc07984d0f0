"""Runs the notebooks and keeps their outputs: python -m tests.helpers.notebooks."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.helpers.paths import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def execute(path: Path) -> nbformat.NotebookNode:
    """Run a notebook from its folder, and return it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        coalesce_streams=True,  # of a progress bar, only its end stays
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(execute(path), path)
