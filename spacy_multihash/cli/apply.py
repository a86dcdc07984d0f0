"""`python -m spacy multihash apply`: apply a pipeline to a large corpus in shards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Optional

import typer

from ..corpus.shards import list_shards
from ..scale.apply import ERRORS, Application, Applied, Result, Shard, is_done
from ..scale.source import folder_of, source_of
from ._util import (
    CODE,
    DASK,
    MODEL,
    WORKERS,
    check_apart,
    check_writable,
    failing,
    import_code,
    load_pipeline,
    msg,
    open_workers,
)


class Prepared(NamedTuple):
    """The checked arguments, and the work to do.

    todo: The shards that have no output yet, or have changed.
    before: The number of shards that are done.
    replaced: Files of earlier work to remove.
    ignored: The number of files of the corpus that aren't shards, by their suffixes.
    """

    application: Application
    todo: list[Shard]
    before: int
    replaced: list[Path]
    ignored: Mapping[str, int]


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

    DOCS: python -m pydoc spacy_multihash.cli.apply
    """
    import_code(code)
    with failing("Cannot apply the pipeline"):
        prepared = prepare(
            model,
            shards,
            output,
            format,
            batch_size=batch_size,
            max_length=max_length,
            force=force,
            code=code,
        )
        if prepared.ignored:
            kinds = sorted(prepared.ignored.items())
            msg.warn(
                f"{sum(prepared.ignored.values()):,} files of the corpus are ignored, because "
                "their suffixes aren't those of shards",
                ", ".join(f"{number:,} with {suffix or 'none'}" for suffix, number in kinds),
            )
        result = apply(prepared, workers, dask)
    _show(result, output)


def prepare(
    model: str,
    shards: Path,
    output: Path,
    format: Literal["spacy", "jsonl"] = "spacy",
    *,
    batch_size: Optional[int] = None,
    max_length: Optional[int] = None,
    force: bool = False,
    code: Optional[Path] = None,
) -> Prepared:
    """Check the arguments, and list the shards to do. Nothing is written."""
    shards, output = shards.resolve(), output.resolve()
    check_apart(output, shards, code)
    check_writable(output, "OUTPUT")
    files, ignored = list_shards(shards)
    source = source_of(load_pipeline, model, code)
    if not source.digest:
        load_pipeline(model)  # raises a clear error
    check_apart(output, folder_of(str(source.place)))
    application = Application(source, shards, output, format, batch_size, max_length)
    planned = application.plan(files)
    replaced = application.check_output(force=force)
    todo = [shard for shard in planned if force or not is_done(shard)]
    if todo:
        source.loaded()  # to fail at once if it can't be loaded
    return Prepared(application, todo, len(planned) - len(todo), replaced, ignored)


def apply(prepared: Prepared, workers: Optional[int] = None, dask: Optional[str] = None) -> Result:
    """Apply the pipeline to the shards on workers."""
    application = prepared.application
    if not prepared.todo:
        return Result(prepared.before, [], [])
    try:
        with open_workers(workers, dask) as opened:
            for path in prepared.replaced:
                path.unlink(missing_ok=True)
            return application.run(opened, prepared.todo, before=prepared.before)
    finally:
        application.tidy()


def _show(result: Result, output: Path) -> None:
    """Print what was written, and fail if shards did."""
    applied = Applied(*map(sum, zip(Applied(0, 0, 0), *result.done, strict=True)))
    total = f"{result.before + len(result.done) + len(result.errors):,} shards"
    if result.before:
        msg.info(f"{result.before:,} of {total} were done before")
    if result.done:
        msg.good(
            f"Wrote {len(result.done):,} of {total} to {output}: {applied.docs:,} docs, "
            f"{applied.tokens:,} tokens, {applied.entities:,} entities"
        )
    if applied.skipped:
        msg.warn(
            f"{applied.skipped:,} texts were skipped: {output} has their errors in {ERRORS} files"
        )
    if result.errors:
        msg.fail(
            f"{len(result.errors):,} of {total} failed",
            "\n".join(error.name for error in result.errors)
            + "\nCorrect them and start the command again: it repeats only the shards that failed.",
        )
