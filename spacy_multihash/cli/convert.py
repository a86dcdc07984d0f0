"""`python -m spacy multihash convert`: convert your own corpus to .spacy files."""

from pathlib import Path
from typing import Optional

import typer

from ..corpus.convert import convert
from ..corpus.sources import Format, Reading
from ._util import AS_JSON, PROGRESS, command, show, wrote


@command("Cannot convert the corpus", needs={"seed": ["split"], "group": ["split"]})
def convert_cli(
    inputs: list[Path] = typer.Argument(
        ..., metavar="INPUT...", help="UTF-8 files, plain or .gz", exists=True, dir_okay=False
    ),
    output: Path = typer.Argument(
        ..., help="File to write, NAME.spacy, or with --split a folder for train.spacy and others"
    ),
    format: Optional[Format] = typer.Option(
        None, help="Format of INPUT. Default: by its suffix, or by its first lines"
    ),
    lang: str = typer.Option("xx", "--lang", "-l", help="Language, as in your config"),
    split: Optional[str] = typer.Option(
        None, help="Shares of train, dev and test, such as 0.8,0.1,0.1, or of train and dev"
    ),
    seed: int = typer.Option(0, help="Decides which document goes where, with --split"),
    group: Optional[str] = typer.Option(
        None,
        help="What names the document of a text, so that --split keeps its texts together: a key "
        "of JSON, a column of CSV, the number of a column or the key of comments of CoNLL. "
        "Default: keys such as doc_id, and comments such as newdoc",
    ),
    docs: Optional[str] = typer.Option(
        None,
        help="CoNLL: what becomes a doc: sentences, documents (separated by -DOCSTART- lines), or "
        "a maximum number of tokens. Default: documents if INPUT starts with a -DOCSTART- line and "
        "has several, otherwise sentences",
    ),
    labels: Optional[str] = typer.Option(
        None, help='JSON of "tokens" and "ner_tags": the tags that numbers stand for, O,B-PER,...'
    ),
    token_column: Optional[int] = typer.Option(
        None, help="CoNLL: column of tokens, from 1, or from -1 at the end. Default: 1"
    ),
    tag_column: Optional[int] = typer.Option(
        None, help="CoNLL: column of tags, from 1, or from -1 at the end. Default: -1"
    ),
    text_column: Optional[str] = typer.Option(
        None, help="CSV: name of the column of texts. Default: text"
    ),
    label_column: Optional[str] = typer.Option(
        None, help="CSV: name of the column of labels. Default: label"
    ),
    label_separator: Optional[str] = typer.Option(
        None, help="Separator between the labels of a text. Default: one label per text"
    ),
    offsets: Optional[str] = typer.Option(
        None,
        help="JSON: how offsets count: characters, utf16, inclusive (ends are the last character), "
        "newlines (\\\\r\\\\n is one character), or a number to add. Default: characters",
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    verbose: bool = typer.Option(False, "--verbose", "-V", help="Show all lines with problems"),
    as_json: bool = AS_JSON,
) -> None:
    """Convert a corpus of your own for spacy train: CoNLL, JSON lines or CSV.

    CoNLL has a token and its tag on each line; tags are IOB1, IOB2 or BILUO. Blank lines separate
    sentences. JSON lines, or a JSON array, have a "text" each. Entities are "spans", as Prodigy
    writes them, or a "label", as doccano does. Labels of texts are "cats" or "label". Hugging Face
    has "tokens" with "ner_tags". CSV has a header, a column of texts and a column of labels.

    Each line is written, left out and shown, or refused. If no entities or labels are left, nothing
    is written.
    """
    reading = Reading(
        format=format,
        docs=docs,
        labels=None if labels is None else [label.strip() for label in labels.split(",")],
        token_column=token_column,
        tag_column=tag_column,
        text_column=text_column,
        label_column=label_column,
        label_separator=label_separator,
        offsets=offsets,
        group=group,
    )
    done = convert(
        inputs,
        output,
        reading=reading,
        lang=lang,
        split=split,
        seed=seed,
        force=force,
        verbose=verbose,
        progress=PROGRESS,
    )
    show(done, as_json=as_json)
    wrote("the corpus", output, as_json=as_json)
