"""Check before the work that its result can be written, and that nothing of others is lost."""

import os
import shlex
from pathlib import Path
from shutil import copy
from typing import Optional, Union

from spacy.language import Language

from .files import check_writable, recover, replacing_folder, standard_stream
from .load import source_path

_LICENSES = ("LICENSE", "LICENSES_SOURCES")
# The files of a folder that may be replaced: a pipeline, or a vocab with vectors.
_OURS = (("meta.json", "config.cfg"), ("vectors", "strings.json"))


def check_file_output(
    path: Optional[Path], name: str, *inputs: Union[str, Path, None], force: bool
) -> None:
    """Check before the work that a file can be written. None, devices and pipes pass.

    name (str): The option or argument, for the message.
    inputs (Union[str, Path, None]): Files, folders and pipelines that the command reads. The file
        must not be among them, or belong to a corpus that's read.

    Raises ValueError.
    """
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {path}.")
    if path.exists() and (not path.is_file() or standard_stream(path) is not None):
        return
    target = path.resolve()
    for source in (source_path(source).resolve() for source in inputs if source):
        if target == source or (path.suffix == ".spacy" and source in target.parents):
            raise ValueError(f"{name} can't be {path}: the command has another use for {source}.")
    if path.exists() and not force:
        raise ValueError(
            f"{path} exists. Give another {name}, or set force (--force) to replace it."
        )
    check_writable(target, name)


def check_folder_output(path: Path, *inputs: Union[str, Path, None], force: bool) -> None:
    """Check before the work that a folder OUTPUT can be written as a whole.

    `force` only replaces pipelines and vocabs. Raises ValueError.
    """
    check_apart(path, *inputs)
    recover(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if not force:
            raise ValueError(
                f"{path} exists. Give another OUTPUT, or set force (--force) to replace it."
            )
        if not any(all((path / name).is_file() for name in names) for names in _OURS):
            raise ValueError(
                f"{path} is neither a pipeline nor a vocab, and force replaces nothing else. "
                "Give another OUTPUT."
            )
    check_writable(path.resolve(), "OUTPUT")


def check_apart(output: Path, *inputs: Union[str, Path, None]) -> None:
    """Check that neither the output nor an input contains the other."""
    target = output.resolve()
    for source in (source_path(source).resolve() for source in inputs if source):
        if target == source or source in target.parents or target in source.parents:
            raise ValueError(
                f"OUTPUT at {target} and {source}, which is read, may not contain each other. Give "
                "another OUTPUT."
            )


def paths_in(*sources: object) -> list[Union[str, Path]]:
    """Return those of a function's arguments that are paths or names, and not objects."""
    return [source for source in sources if isinstance(source, (str, Path))]


def folder_size(folder: Path) -> int:
    """Return the total bytes of a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_pipeline(nlp: Language, output: Path) -> None:
    """Write a pipeline. An existing folder stays whole until the new pipeline replaces it."""
    with replacing_folder(output) as new:
        nlp.to_disk(new)
        copy_licenses(nlp, new)


def copy_licenses(nlp: Language, folder: Path) -> None:
    """Copy the licenses of a pipeline, which spaCy puts into packages but doesn't write."""
    if nlp._path is None:
        return
    for name in _LICENSES:
        if (nlp.path / name).is_file():
            copy(nlp.path / name, folder)


def spacy_command(*args: Union[str, Path]) -> str:
    """Return a command of spaCy to copy, with its arguments quoted.

    args (Union[str, Path]): Words and options. Paths may begin with a dash, as options do.
    """
    shown = [arg if isinstance(arg, str) else path_argument(arg) for arg in args]
    return shlex.join(["python", "-m", "spacy", *shown])


def path_argument(path: Path) -> str:
    """Return a path as a command takes it: not as an option, even if it begins with a dash."""
    return f".{os.sep}{path}" if str(path).startswith("-") else str(path)
