"""`python -m spacy multihash convert`: convert your own corpus to .spacy files."""

from pathlib import Path
from typing import Any, Optional

import typer

from ..corpus.convert import convert
from ..corpus.sources import Reading
from ._util import AS_JSON, PROGRESS, command, show, with_options, wrote


@command("Cannot convert the corpus", needs={"seed": ["split"], "group": ["split"]})
@with_options(Reading)
def convert_cli(
    inputs: list[Path] = typer.Argument(
        ..., metavar="INPUT...", help="UTF-8 files, plain or .gz", exists=True, dir_okay=False
    ),
    output: Path = typer.Argument(
        ..., help="File to write, NAME.spacy, or with --split a folder for train.spacy and others"
    ),
    lang: str = typer.Option("xx", "--lang", "-l", help="Language, as in your config"),
    split: Optional[str] = typer.Option(
        None, help="Shares of train, dev and test, such as 0.8,0.1,0.1, or of train and dev"
    ),
    seed: int = typer.Option(0, help="Decides which document goes where, with --split"),
    labels: Optional[str] = typer.Option(
        None, help='JSON of "tokens" and "ner_tags": the tags that numbers stand for, O,B-PER,...'
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    verbose: bool = typer.Option(False, "--verbose", "-V", help="Show all lines with problems"),
    as_json: bool = AS_JSON,
    **options: Any,  # noqa: ANN401
) -> None:
    """Convert a corpus of your own for spacy train: CoNLL, JSON lines or CSV.

    CoNLL has a token and its tag on each line; tags are IOB1, IOB2 or BILUO. Blank lines separate
    sentences. JSON lines, or a JSON array, have a "text" each. Entities are "spans", as Prodigy
    writes them, or a "label", as doccano does. Labels of texts are "cats" or "label". Hugging Face
    has "tokens" with "ner_tags". CSV has a header, a column of texts and a column of labels.

    Each line is written, left out and shown, or refused. If no entities or labels are left, nothing
    is written.
    """
    names = None if labels is None else [label.strip() for label in labels.split(",")]
    done = convert(
        inputs,
        output,
        reading=Reading(labels=names, **options),
        lang=lang,
        split=split,
        seed=seed,
        force=force,
        verbose=verbose,
        progress=PROGRESS,
    )
    show(done, as_json=as_json)
    wrote("the corpus", output, as_json=as_json)
