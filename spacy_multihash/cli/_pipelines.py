"""Pipelines that commands write: a directory that appears when all of it is written."""

from pathlib import Path

from spacy.language import Language

from ..common.files import recover_folder, replacing_folder
from ._util import check_parent


def check_pipeline_output(output: Path, *, force: bool) -> None:
    """Refuse a directory to write before the work, if it is there already.

    If a command was killed while it replaced the directory, the former one is put back first.

    force (bool): Whether a directory that is not empty is replaced.

    Raises ValueError.
    """
    target = output.resolve()
    recover_folder(target)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{output} exists, and is not an empty directory. Give another OUTPUT.")
    if target.exists() and not force and any(target.iterdir()):
        raise ValueError(
            f"{output} exists, and is not an empty directory. Give another OUTPUT, or --force to "
            "replace it."
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
