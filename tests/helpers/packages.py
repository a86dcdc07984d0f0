"""Pipelines as installed packages."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import srsly


@contextmanager
def installed(pipeline: Path, name: str, folder: Path) -> Iterator[Path]:
    """Let a folder of a pipeline be that of an installed package, which is named after it.

    pipeline (Path): The folder, which is moved.
    name (str): The name of the package, with underscores.
    folder (Path): Where packages are put.
    """
    package = folder / name
    meta = srsly.read_json(pipeline / "meta.json")
    data = package / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    package.mkdir(parents=True)
    shutil.move(pipeline, data)
    (package / "__init__.py").touch()
    shutil.copy(data / "meta.json", package)
    info = folder / f"{name}-0.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.0.0\n", "utf8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        try:
            yield data
        finally:
            sys.modules.pop(name, None)
