"""`python -m spacy multihash show`: the entities of a text, and how sure a pipeline is of them."""

from os.path import isfile  # unlike Path.is_file, it takes any text
from pathlib import Path
from typing import Optional

import typer

from ..common.lines import Account, read_lines
from ..common.outputs import check_file_output, path_argument
from ..inspection.show import show as show_entities
from ._util import AS_JSON, CODE, FORCE_PAGE, MODEL, PAGE, command, show

STDIN = "-"
TEXT = typer.Argument(None, help="The text, or - for standard input")
FILE = typer.Option(None, help="UTF-8 file with the text")


@command("Cannot show the entities", needs={"force": ["output"]})
def show_cli(
    model: str = MODEL,
    text: Optional[str] = TEXT,
    file: Optional[Path] = FILE,
    output: Optional[Path] = PAGE,
    threshold: Optional[float] = typer.Option(
        None, min=0, max=1, help="Leave out entities that are less probable"
    ),
    as_json: bool = AS_JSON,
    force: bool = FORCE_PAGE,
    code: Optional[Path] = CODE,
) -> None:
    """Show the entities that a pipeline predicts in a text, with their probabilities.

    tagger_ner and batch_ner give probabilities, and spaCy's ner doesn't. --output writes a page for
    a browser. For a text classifier, the command shows the labels of the text.
    """
    check_file_output(output, "--output", model, file, code, force=force)
    shown = show_entities(model, read_text(text, file), threshold=threshold)
    show(shown, as_json=as_json, page=output)


def read_text(text: Optional[str], file: Optional[Path]) -> str:
    """Return the text that the command line gives, without whitespace around it.

    Raises ValueError if both or neither are given, or if the text is the name of a file, or isn't
    UTF-8.
    """
    if (text is None) == (file is None):
        given = "neither" if text is None else "both"
        raise ValueError(f"Expected either TEXT or --file, got {given}. Give one of them.")
    if file is not None:
        text = "\n".join(line for _, line in read_lines(Account(file)))
    elif text == STDIN:
        try:
            text = typer.get_binary_stream("stdin").read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"Expected UTF-8 as standard input. {error}") from error
    elif text is not None and isfile(text):
        shown = path_argument(Path(text))
        raise ValueError(f"{text} is a file. To read the text in it, give --file {shown}.")
    return (text or "").strip()
