"""`python -m spacy multihash apply`: apply a pipeline to a large corpus in shards."""

import sys
from pathlib import Path
from typing import Literal, Optional

import typer

from ..scale.apply import apply
from ._util import CODE, DASK, MODEL, PROGRESS, WORKERS, command, show


@command("Cannot apply the pipeline")
def apply_cli(
    model: str = MODEL,
    shards: Path = typer.Argument(
        ..., help="Folder of .spacy, .jsonl, .txt and .gz files, or a single file"
    ),
    output: Path = typer.Argument(..., help="Folder to write, with a file for each shard"),
    format: Literal["spacy", "jsonl"] = typer.Option(
        "spacy", help="What to write: .spacy files, or JSON lines of entities"
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    batch_size: Optional[int] = typer.Option(
        None, min=1, help="Docs per batch. Default: the pipeline's own"
    ),
    max_length: Optional[int] = typer.Option(
        None,
        min=1,
        help="Skip texts with more characters than this. Default: the pipeline's own limit",
    ),
    force: bool = typer.Option(
        False, "--force", "-f", help="Do all shards again, even if OUTPUT has other settings"
    ),
    code: Optional[Path] = CODE,
) -> None:
    """Apply a pipeline to a large corpus, in a folder of shards.

    Each shard gives a file in OUTPUT, written whole or not at all. After an interruption, run the
    same command again to do the rest. A shard that fails is tried again, and the others go on.
    Texts that can't be read are skipped, and listed in an .errors file next to the shard's output.
    """
    done = apply(
        model,
        shards,
        output,
        format=format,
        workers=workers,
        dask=dask,
        batch_size=batch_size,
        max_length=max_length,
        code=code,
        force=force,
        progress=PROGRESS,
    )
    show(done)
    if done.failed:
        sys.exit(1)
