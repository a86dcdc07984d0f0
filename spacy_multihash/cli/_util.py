"""What the commands share: spaCy's own command line, pipelines to load and JSON files to write.

No other module imports the private module of spaCy's command line.
"""

from pathlib import Path
from typing import Any, Union

import spacy
import typer
from spacy.cli._util import app, import_code, parse_config_overrides, show_validation_error
from spacy.language import Language
from wasabi import msg

from ..common.files import write_json

HELP = """Multi hash and multi lookup embeddings.

DOCS: README.md and docs/ of spacy-multihash
"""

__all__ = [
    "import_code",
    "load_pipeline",
    "make_group",
    "parse_config_overrides",
    "save_json",
    "show_validation_error",
]


def make_group() -> typer.Typer:
    """Add the group `multihash` to spaCy's commands."""
    group = typer.Typer(name="multihash", help=HELP, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(group)
    # A group of one command would be taken for the command itself.
    group.callback()(_group)
    return group


def load_pipeline(
    model: Union[str, Path], *, expected: str = "a package's name, or a pipeline's folder"
) -> Language:
    """Load a trained pipeline.

    model (Union[str, Path]): Name of a package, or path of a pipeline.
    expected (str): What the command takes, for the message.

    Raises ValueError if there is none.
    """
    if Path(model).is_file():
        raise ValueError(
            f"{model} is a file, and no trained pipeline. Expected {expected}. Train a pipeline "
            "with: python -m spacy train CONFIG --output FOLDER"
        )
    try:
        return spacy.load(model)
    except OSError as error:
        raise ValueError(
            f"There is no pipeline '{model}'. Expected {expected}. spaCy says: {error}"
        ) from error


def save_json(path: Path, value: Any, *, quiet: bool) -> None:  # noqa: ANN401 (any JSON)
    """Write a JSON file, and say so unless quiet. If it cannot be written, say why, and exit."""
    try:
        write_json(path, value)
    except OSError as error:
        msg.fail(f"Cannot write {path}", str(error), exits=1)
    if not quiet:
        msg.good(f"Wrote {path}")


def _group() -> None:
    pass
