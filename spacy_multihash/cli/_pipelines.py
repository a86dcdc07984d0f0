"""Pipelines that commands write: a directory that appears when all of it is written."""

from collections.abc import Iterable
from pathlib import Path
from typing import Optional

from spacy.language import Language

from ..common.files import recover_folder, replacing_folder
from ._util import check_inputs_stay, check_parent

# What a folder has that a command may replace: a pipeline, or a vocab with vectors.
_OURS = (("meta.json", "config.cfg"), ("vectors", "strings.json"))


def check_pipeline_output(
    output: Path, *, force: bool, inputs: Iterable[Optional[Path]] = ()
) -> None:
    """Refuse a directory to write before the work, if it is there already.

    If a command was killed while it replaced the directory, the former one is put back first.

    force (bool): Whether a pipeline or a vocab that is there is replaced.
    inputs (Iterable[Optional[Path]]): What the command reads beside a pipeline. None is fine.

    Raises ValueError, also if an input is in the directory, or if force would replace a directory
    that is something else.
    """
    check_inputs_stay(inputs, output)
    target = output.resolve()
    recover_folder(target)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{output} exists, and is not an empty directory. Give another OUTPUT.")
    full = target.exists() and any(target.iterdir())
    if full and not force:
        raise ValueError(
            f"{output} exists, and is not an empty directory. Give another OUTPUT, or --force to "
            "replace it."
        )
    if full and not any(all((target / name).is_file() for name in names) for names in _OURS):
        raise ValueError(
            f"{output} is neither a pipeline (meta.json, config.cfg) nor a vocab (vectors, "
            "strings.json): --force replaces no other directory. Give another OUTPUT, or empty it."
        )
    check_parent(output, "OUTPUT")


def check_apart(nlp: Language, output: Path) -> None:
    """Refuse a directory that is the pipeline's own, inside of it, or around it.

    Raises ValueError.
    """
    check_folders_apart(Path(nlp.path), output, "pipeline")


def check_folders_apart(source: Path, output: Path, what: str) -> None:
    """Refuse a directory or file to write that is a source, inside of it, or around it.

    what (str): What the source is, for the message.

    Raises ValueError.
    """
    source, target = source.resolve(), output.resolve()
    if source == target or source in target.parents or target in source.parents:
        raise ValueError(
            f"The {what} at {source} and OUTPUT at {target} must not be the same directory, and "
            "neither may be inside of the other. Give another OUTPUT."
        )


def write_pipeline(nlp: Language, output: Path) -> None:
    """Write a pipeline. A directory that is there stays whole until the new one takes its place."""
    with replacing_folder(output.resolve()) as new:
        nlp.to_disk(new)
