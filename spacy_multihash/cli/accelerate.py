"""`python -m spacy multihash accelerate`: put our layers and components into a trained pipeline."""

from pathlib import Path
from typing import Optional

import typer

from ..common.outputs import check_file_output
from ..pipelines.accelerate import accelerate
from ._util import AS_JSON, CODE, MODEL, NAME, PROGRESS, command, show, wrote


@command("Cannot accelerate the pipeline", needs={"report": ["data"], "seconds": ["data"]})
def accelerate_cli(
    model: str = MODEL,
    output: Path = typer.Argument(..., help="Folder to write", file_okay=False),
    keep_ner: bool = typer.Option(False, "--keep-ner", help="Keep spaCy's ner"),
    keep_parser: bool = typer.Option(False, "--keep-parser", help="Keep spaCy's parser"),
    data: Optional[Path] = typer.Option(
        None,
        help="Texts to measure the gain on: a .txt (a text on each line), .jsonl or .spacy file, "
        "or a folder",
    ),
    report: Optional[Path] = typer.Option(
        None, help="HTML page to write, with the gain on DATA, to show to colleagues"
    ),
    seconds: float = typer.Option(20.0, min=0, help="How long to measure the speed on DATA"),
    name: Optional[str] = NAME,
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Make a trained pipeline faster.

    Our layers replace spaCy's MultiHashEmbed, MaxoutWindowEncoder and HashEmbedCNN in all
    components, even if disabled. batch_ner replaces spaCy's ner, and batch_parser its parser. They
    have the same weights, so predictions stay the same. spacy.load loads the new pipeline wherever
    this package is installed.

    --data measures how much faster it is on these texts, in turns with the former pipeline. It also
    compares all that both annotate.
    """
    check_file_output(report, "--report", model, data, output, code, force=force)
    done = accelerate(
        model,
        output,
        keep_ner=keep_ner,
        keep_parser=keep_parser,
        texts=data,
        seconds=seconds,
        name=name,
        code=code,
        force=force,
        progress=PROGRESS,
    )
    show(done, as_json=as_json, page=report)
    wrote("the pipeline", output, as_json=as_json)
