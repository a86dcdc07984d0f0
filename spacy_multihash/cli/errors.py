"""`python -m spacy multihash errors`: the mistakes of a pipeline on a corpus."""

import json
from pathlib import Path
from typing import Optional

import typer

from ..common.files import write_bytes
from ..common.outputs import check_file_output
from ..corpus.export import Tool
from ..inspection.errors import SURE, errors
from ._util import AS_JSON, CODE, MODEL, PROGRESS, command, show


@command(
    "Cannot show the mistakes",
    needs={"explained": ["output"], "sure": ["train"], "force": ["output"]},
    excludes={"as_json": ["export"]},
)
def errors_cli(
    model: str = MODEL,
    data: Path = typer.Argument(..., help="Corpus with gold entities: a .spacy file, or a folder"),
    train: Optional[Path] = typer.Option(None, help="Corpus that the pipeline was trained on"),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    explained: int = typer.Option(
        20,
        "--explain",
        min=0,
        help="How many of the most confident mistakes the page explains",
    ),
    sure: float = typer.Option(
        SURE, min=0, max=1, help="Confidence from which the annotation may be wrong, with --train"
    ),
    export: Optional[Tool] = typer.Option(
        None, help="Print the docs with mistakes as JSON lines for a tool"
    ),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace the page if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Show the mistakes of a pipeline on a corpus, the most confident ones first.

    The page shows each mistake in its sentence, with gold and predicted entities side by side:
    missed and spurious entities, other labels, and other boundaries. batch_ner and tagger_ner
    give probabilities and explanations of the mistakes. With --train, the page marks entities as
    seen or unseen, and shows training entities with the same words or the same shape. It lists
    likely mistakes of the annotation first.

    --export prints a line for each doc with mistakes, with its gold entities. Correct them in
    Prodigy, doccano or Label Studio: convert reads the exports of all three.
    """
    check_file_output(output, "--output", model, data, train, code, force=force)
    done = errors(
        model,
        data,
        train=train,
        explained=explained if output is not None else 0,
        sure=sure,
        progress=PROGRESS,
    )
    html = "" if output is None else done.page(f"Mistakes of {model} on {data}")
    if export is None:
        show(done, as_json=as_json, page=output, html=html)
        return
    if output is not None:
        write_bytes(output, html.encode())
    for record in done.records(export):
        typer.echo(json.dumps(record))
