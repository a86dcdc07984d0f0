"""Pipelines as installed packages."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def installed(pipeline: Path, name: str, folder: Path) -> Iterator[Path]:
    """Let a folder of a pipeline be that of an installed package, which is named after it.

    pipeline (Path): The folder, which is moved.
    name (str): The name of the package, with underscores. It begins with the language.
    folder (Path): Where packages are put.
    """
    package = folder / name
    lang, title = name.split("_")
    meta = (pipeline / "meta.json").read_text("utf8")
    data = package / f"{lang}_pipeline-0.0.0"
    package.mkdir(parents=True)
    shutil.move(pipeline, data)
    (package / "__init__.py").touch()
    (package / "meta.json").write_text(meta, "utf8")
    info = folder / f"{name}-0.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {lang}-{title}\nVersion: 0.0.0\n", "utf8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield data
        sys.modules.pop(name, None)
