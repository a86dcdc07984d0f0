"""Files that are written whole or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import srsly
from spacy.tokens import DocBin


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """Write a JSON file, whole or not at all."""
    write_bytes(path, (srsly.json_dumps(value, indent=2) + "\n").encode("utf8"))


def write_corpora(folder: Path, corpora: Mapping[str, DocBin]) -> None:
    """Write corpora as FOLDER/NAME.spacy: all files at once, or none.

    folder (Path): The folder, made if missing. Files of the same name are replaced.
    corpora (Mapping[str, DocBin]): The documents of each corpus, by its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Within the folder, so that the move stays on one file system and is atomic.
    with TemporaryDirectory(prefix=".staging-", dir=folder) as staging:
        for name, doc_bin in corpora.items():
            doc_bin.to_disk(Path(staging) / f"{name}.spacy")
        for name in corpora:
            os.replace(Path(staging) / f"{name}.spacy", folder / f"{name}.spacy")
