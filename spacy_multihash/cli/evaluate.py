"""`python -m spacy multihash evaluate`: scores on seen and unseen entities."""

from pathlib import Path
from typing import Any, Optional

import spacy
import typer
from spacy.tokens import DocBin

from ..common.files import write_bytes, write_json
from ..common.load import load_pipeline
from ..common.outputs import check_file_output
from ..corpus.evaluation import Matching, evaluate
from ..corpus.read import write_corpora
from ._util import AS_JSON, CODE, GPU_ID, MODEL, PROGRESS, command, show, with_options, wrote

HTML = ".html"


@command("Cannot evaluate the pipeline", needs={"force": ["output", "masked"]})
@with_options(Matching)
def evaluate_cli(
    model: str = MODEL,
    data: Path = typer.Argument(..., help="Corpus to evaluate on: a .spacy file, or a folder"),
    train: Path = typer.Option(..., help="Corpus that the pipeline was trained on"),
    output: Optional[Path] = typer.Option(
        None,
        help="File to write: a page with gold beside predicted entities if its name ends in "
        f"{HTML}, otherwise the scores as JSON",
    ),
    as_json: bool = AS_JSON,
    masked: Optional[Path] = typer.Option(
        None, help="Folder to write the masked corpora to, seen.spacy and unseen.spacy"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace existing files"),
    gpu_id: int = GPU_ID,
    code: Optional[Path] = CODE,
    **options: Any,  # noqa: ANN401
) -> None:
    """Score an entity recognizer on seen and unseen entities.

    An entity is seen if TRAIN has an entity with the same text. When seen entities are scored, as
    in the paper, unseen entities count as missing annotation, and the other way round. Other false
    positives count in both parts.
    """
    check_file_output(output, "--output", model, data, train, code, force=force)
    for name in ("seen", "unseen") if masked else ():
        path = masked / f"{name}.spacy" if masked else None
        check_file_output(path, "--masked", model, data, train, code, force=force)
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    nlp, matching = load_pipeline(model), Matching(**options)
    done = evaluate(nlp, data, train, matching=matching, progress=PROGRESS)
    if masked is not None:
        write_corpora(
            masked, {name: DocBin(docs=docs) for name, docs in done.masked_docs().items()}
        )
    if output is not None and output.suffix == HTML:
        write_bytes(output, done.page().encode("utf8"))
    elif output is not None:
        write_json(output, done.to_json())
    show(done, as_json=as_json)
    if masked is not None:
        wrote("seen.spacy and unseen.spacy", masked, as_json=as_json)
    if output is not None:
        wrote("the scores", output, as_json=as_json)
