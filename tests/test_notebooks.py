"""The notebooks run, on the sample corpus, and keep their outputs."""

from pathlib import Path

import nbformat
import pytest

from tests.helpers.notebooks import NOTEBOOKS, execute


def kinds_of_outputs(notebook: nbformat.NotebookNode) -> list[set[str]]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [{output.output_type for output in cell.outputs} for cell in cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_keeps_its_outputs(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept = kinds_of_outputs(nbformat.read(path, as_version=4))
    assert any(kept) and not any("error" in kinds for kinds in kept)
    assert kinds_of_outputs(execute(path)) == kept
