"""`python -m spacy multihash errors`: the mistakes of a pipeline on a corpus."""

import json
from pathlib import Path
from typing import Optional

import typer

from ..common.files import write_bytes
from ..common.load import load_pipeline
from ..common.outputs import check_file_output
from ..corpus.read import read_docs
from ..inspection.errors import SURE, Mistakes, find_mistakes
from ..inspection.errors_page import (
    COUNT_HEADER,
    Tool,
    confusion_rows,
    count_rows,
    json_records,
    render_errors,
)
from ._util import CODE, MODEL, failing, import_code, msg, show_table


def errors_cli(
    model: str = MODEL,
    gold: Path = typer.Argument(..., help="Corpus with gold entities: a .spacy file, or a folder"),
    train: Optional[Path] = typer.Option(None, help="Corpus that the pipeline was trained on"),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    explained: int = typer.Option(
        20, "--explain", min=0, help="How many of the most confident mistakes to explain"
    ),
    sure: float = typer.Option(
        SURE, min=0, max=1, help="Confidence from which the annotation may be wrong, with --train"
    ),
    tool: Optional[Tool] = typer.Option(
        None, "--json", help="Print the docs with mistakes as JSON lines for a tool"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace the page if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Show the mistakes of a pipeline on a corpus, the most confident ones first.

    The page shows each missed or spurious entity, and each entity with another label or other
    boundaries, in its sentence, with gold and found entities side by side. batch_ner and tagger_ner
    give probabilities and explanations of the mistakes. With --train, the page marks entities as
    seen or unseen, shows training entities with the same words or the same shape, and lists likely
    mistakes of the annotation first.

    --json prints a line for each doc with mistakes, with its gold entities, to fix them in Prodigy
    or doccano. convert reads the exports of both.

    DOCS: python -m pydoc spacy_multihash.inspection.errors
    """
    import_code(code)
    with failing("Cannot show the mistakes"):
        check_file_output(output, "--output", model, gold, train, code, force=force)
        nlp = load_pipeline(model)
        mistakes = find_mistakes(
            nlp,
            read_docs(gold, nlp.vocab),
            None if train is None else read_docs(train, nlp.vocab),
            num_explained=explained if output is not None else 0,
            sure=sure,
        )
        if output is not None:
            write_bytes(output, render_errors(mistakes, f"Mistakes of {model} on {gold}"))
    if tool is not None:
        for record in json_records(mistakes, tool):
            typer.echo(json.dumps(record))
        return
    _show(mistakes)
    if output is not None:
        msg.good(f"Wrote {output}")


def _show(mistakes: Mistakes) -> None:
    """Print how many mistakes there are of each kind, and which labels are confused."""
    show_table("Mistakes", COUNT_HEADER, count_rows(mistakes))
    header, rows = confusion_rows(mistakes)
    if mistakes.confusion:
        show_table("Labels", header, rows)
    suspects = sum(mistake.is_suspect for mistake in mistakes.mistakes)
    if suspects:
        msg.info(f"In {suspects:,} of them, the annotation may be wrong")
