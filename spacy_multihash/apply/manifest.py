"""The file in a folder of output shards that says what made them, so that work can be resumed."""

import os
from collections.abc import Container, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Optional

import srsly

from ..common.files import remove_abandoned, write_json
from .shard import ENDINGS

NAME = "manifest.json"
# What may not change between the first run and one that resumes it, and what shows it to users.
_FIXED = {
    "digest": ("pipeline", "model"),
    "code_digest": ("file of --code", "code"),
    "format": ("format", "format"),
    "shards": ("folder of shards", "shards"),
}
_VERSIONS = "versions"
_ADVICE = "Give another OUTPUT, or --force to begin anew."
_NOT_OURS = "--force replaces no other folder. Give another OUTPUT, or empty it."


@dataclass(frozen=True)
class Output:
    """A folder of output shards, before the work.

    path (Path): The folder.
    manifest (Mapping[str, Any]): What is written there.
    replaced (list[Path]): Files of former work, to remove: all of them if it is begun anew.
    orphans (list[Path]): Files of former work that no shard has. They stay.
    others (list[Mapping[str, str]]): The versions, other than these, that made files that stay.
    """

    path: Path
    manifest: Mapping[str, Any]
    replaced: list[Path]
    orphans: list[Path]
    others: list[Mapping[str, str]]

    def begin(self) -> None:
        """Remove files of former work, and write the manifest."""
        for path in self.replaced:
            path.unlink(missing_ok=True)
        self.tidy()
        write_json(self.path / NAME, self.manifest)

    def tidy(self) -> None:
        """Remove what killed workers left."""
        for folder, _, _ in os.walk(self.path):
            remove_abandoned(Path(folder))


def check_output(
    output: Path, manifest: Mapping[str, Optional[str]], targets: Container[Path], *, force: bool
) -> Output:
    """Check that a folder is new, empty, or what was begun with the same pipeline and settings.

    manifest (Mapping[str, Optional[str]]): What would be written there, but for the versions:
        `digest`, `code_digest`, `format` and `shards`, and what is only said.
    targets (Container[Path]): The files to write.
    force (bool): Whether work that was begun with others is begun anew.

    Raises ValueError.
    """
    former = _read(output)
    if former is not None and not force:
        _check_same(output, former, manifest)
    written = [] if former is None else _list_written(output, former["format"])
    versions = [] if former is None or force else former[_VERSIONS]
    ours = {name: metadata.version(name) for name in ("spacy-multihash", "spacy")}
    others = [one for one in versions if one != ours]
    return Output(
        output,
        {**manifest, _VERSIONS: [*others, ours]},
        replaced=written if force else [],
        orphans=[] if force else [path for path in written if path not in targets],
        others=others,
    )


def _read(output: Path) -> Optional[dict[str, Any]]:
    """Read the manifest of a folder, None if there is nothing in it. Raises ValueError."""
    path = output / NAME
    if not path.is_file():
        remove_abandoned(output, NAME)
        if output.exists() and any(output.iterdir()):
            raise ValueError(
                f"{output} is not empty, and has no {NAME}, which would say what made its files. "
                f"{_NOT_OURS}"
            )
        return None
    try:
        found = srsly.read_json(path)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}). {_NOT_OURS}") from error
    is_ours = (
        isinstance(found, dict)
        and {*_FIXED, _VERSIONS} <= found.keys()
        and found["format"] in list(ENDINGS)
        and isinstance(found[_VERSIONS], list)
        and all(isinstance(one, dict) for one in found[_VERSIONS])
    )
    if not is_ours:
        raise ValueError(
            f"{path} must have a JSON object with {', '.join(_FIXED)} and {_VERSIONS}, as apply "
            f"writes it, was: {str(found)[:80]}. {_NOT_OURS}"
        )
    return found


def _check_same(output: Path, former: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    for key, (what, shown) in _FIXED.items():
        if former[key] != manifest[key]:
            raise ValueError(
                f"{output} was begun with another {what}: {_show(former, key, shown)}, and not "
                f"{_show(manifest, key, shown)}. {_ADVICE}"
            )


def _show(manifest: Mapping[str, Any], key: str, shown: str) -> str:
    if key == shown or not manifest[key]:
        return f"{manifest.get(shown)}"
    return f"{manifest.get(shown)} (SHA-256 {str(manifest[key])[:8]}...)"


def _list_written(output: Path, format: str) -> list[Path]:
    """List the output shards of a folder. Names that begin with a dot are not whole.

    Lists of folders say enough. To ask for each file would take minutes on a network file system.
    """
    found = []
    for where, folders, files in os.walk(output):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names = (name for name in files if not name.startswith("."))
        found += [Path(where, name) for name in names if name.endswith(ENDINGS[format])]
    return sorted(found)
