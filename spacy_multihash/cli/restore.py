"""`python -m spacy multihash restore`: turn a pipeline into one that needs spaCy alone."""

from pathlib import Path
from typing import Optional

import typer

from ..pipelines.restore import restore
from ._util import AS_JSON, CODE, MODEL, command, show, wrote


@command("Cannot restore the pipeline")
def restore_cli(
    model: str = MODEL,
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Turn a pipeline into one that needs spaCy alone, with the same weights.

    batch_ner becomes ner, batch_parser becomes parser, and our layers become spaCy's, wherever
    spaCy's compute the same. Compressed files are unpacked. What accelerate has written gets its
    original weights back. Parts that spaCy has nothing for, such as tagger_ner, are named with the
    reason, and nothing is written.
    """
    done = restore(model, output, force=force)
    show(done, as_json=as_json)
    wrote("the pipeline", output, as_json=as_json)
