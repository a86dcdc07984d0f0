"""`python -m spacy multihash estimate`: scores on texts without gold, and what to annotate next."""

import json
from pathlib import Path
from typing import Optional

import typer

from ..common.files import write_json
from ..common.outputs import check_file_output
from ..corpus.export import Tool
from ..ner.estimate import estimate, next_texts, records
from ._util import CODE, MODEL, PROGRESS, command, show, wrote


@command(
    "Cannot estimate the scores",
    needs={"export": ["next_"], "random": ["next_"], "force": ["as_json"]},
    excludes={"next_": ["as_json"]},
)
def estimate_cli(
    model: str = MODEL,
    texts: Path = typer.Argument(
        ..., help="Texts without gold: a .txt, .jsonl or .spacy file, or a folder of them"
    ),
    as_json: Optional[Path] = typer.Option(None, "--json", help="JSON file to write"),
    next_: Optional[int] = typer.Option(
        None, "--next", min=1, help="Print this many texts to annotate next, as JSON lines"
    ),
    random: bool = typer.Option(False, "--random", help="With --next: choose texts by chance"),
    export: Tool = typer.Option("prodigy", help="The tool that --next is for"),
    force: bool = typer.Option(False, "--force", "-f", help="Replace the JSON file if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Estimate precision, recall and F1 on texts that nobody has annotated.

    The expected scores follow from the probabilities of batch_ner or tagger_ner, with intervals, in
    all and by label. Calibrate the pipeline first, as fit does: without, the estimate is too high.
    If the texts are of another kind than the dev corpus, the command says so.

    With --next, it prints the texts that are worth most to annotate, with the predicted entities:
    those with uncertain entities, unlike the others. With --random too, it prints texts chosen by
    chance, such as for a test set.
    """
    if next_ is not None:
        chosen = next_texts(model, texts, next_, random=random, progress=PROGRESS)
        for record in records(chosen, export):
            typer.echo(json.dumps(record))
        return
    check_file_output(as_json, "--json", model, texts, code, force=force)
    done = estimate(model, texts, progress=PROGRESS)
    show(done)
    if as_json is not None:
        write_json(as_json, done.to_json())
        wrote("the estimate", as_json)
