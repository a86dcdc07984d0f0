"""The file in a folder of output shards that says what made them, so that work can be resumed."""

import hashlib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

import srsly

from ..common.files import write_json

NAME = "manifest.json"
# What may not change between the first run and one that resumes it.
_FIXED = {"digest": "pipeline", "format": "format", "shards": "folder of shards"}
_ADVICE = "Give another OUTPUT, or --force to begin anew."


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of the names and the bytes of all files of a pipeline's folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def check_manifest(output: Path, manifest: Mapping[str, str]) -> None:
    """Check that a folder is new, empty, or what was begun with the same pipeline and settings.

    manifest (Mapping[str, str]): What would be written there: `digest` and `format`, `shards`, and
        what is only said.

    Raises ValueError.
    """
    if not (output / NAME).is_file():
        if output.exists() and any(output.iterdir()):
            raise ValueError(
                f"{output} is not empty, and has no {NAME}, which would say what made its files. "
                f"{_ADVICE}"
            )
        return
    former = _read(output / NAME)
    for key, what in _FIXED.items():
        if former.get(key) != manifest[key]:
            raise ValueError(
                f"{output} was begun with another {what}: {_shown(former, key)}, and not "
                f"{_shown(manifest, key)}. {_ADVICE}"
            )


def write_manifest(output: Path, manifest: Mapping[str, str]) -> None:
    """Write what makes the files of a folder, and which versions."""
    versions = {name: metadata.version(name) for name in ("spacy-multihash", "spacy")}
    write_json(output / NAME, {**manifest, **versions})


def remove_outputs(paths: Iterable[Path]) -> None:
    """Remove output shards and thus begin anew. Those that are not there are fine."""
    for path in paths:
        path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, str]:
    try:
        found = srsly.read_json(path)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}). {_ADVICE}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} must have a JSON object, was: {str(found)[:80]}. {_ADVICE}")
    return found


def _shown(manifest: Mapping[str, str], key: str) -> str:
    if key != "digest":
        return f"{manifest.get(key)}"
    return f"{manifest.get('model')} (SHA-256 {str(manifest.get(key))[:8]}...)"
