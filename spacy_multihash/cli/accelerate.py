"""`python -m spacy multihash accelerate`: put our layers and components into a trained pipeline."""

from pathlib import Path
from typing import Optional

import typer

from ..pipelines.accelerate import accelerate
from ._util import AS_JSON, CODE, MODEL, command, show, wrote


@command("Cannot accelerate the pipeline")
def accelerate_cli(
    model: str = MODEL,
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    keep_ner: bool = typer.Option(False, "--keep-ner", help="Keep spaCy's ner"),
    keep_parser: bool = typer.Option(False, "--keep-parser", help="Keep spaCy's parser"),
    data: Optional[Path] = typer.Option(
        None, help="Corpus to measure the gain on: a .spacy file, or a folder"
    ),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Make a trained pipeline faster.

    Our layers replace spaCy's MultiHashEmbed, MaxoutWindowEncoder and HashEmbedCNN in all
    components, even if disabled. batch_ner replaces spaCy's ner, and batch_parser its parser. They
    have the same weights. Predictions stay the same. spacy.load loads the new pipeline wherever
    this package is installed.
    --data measures how much faster it is on your texts, and compares what both pipelines annotate.
    """
    done = accelerate(
        model, output, keep_ner=keep_ner, keep_parser=keep_parser, texts=data, force=force
    )
    show(done, as_json=as_json)
    wrote("the pipeline", output, as_json=as_json)
