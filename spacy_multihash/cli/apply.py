"""`python -m spacy multihash apply`: apply a pipeline to a large corpus in shards."""

from pathlib import Path
from typing import Literal, Optional

import typer

from ..common.load import load_pipeline
from ..common.outputs import check_apart, check_writable
from ..corpus.shards import list_shards
from ..scale.apply import ERRORS, Application, Applied, Result, is_done
from ..scale.source import folder_of, source_of
from ._util import CODE, DASK, MODEL, WORKERS, failing, import_code, msg, open_workers


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
        corpus, folder = shards.resolve(), output.resolve()
        check_apart(folder, corpus, code)
        check_writable(folder, "OUTPUT")
        files, ignored = list_shards(corpus)
        source = source_of(load_pipeline, model, code)
        if not source.digest:
            load_pipeline(model)  # raises a clear error
        check_apart(folder, folder_of(str(source.place)))
        application = Application(source, corpus, folder, format, batch_size, max_length)
        planned = application.plan(files)
        replaced = application.check_output(force=force)
        todo = [shard for shard in planned if force or not is_done(shard)]
        if ignored:
            kinds = sorted(ignored.items())
            msg.warn(
                f"{sum(ignored.values()):,} files of the corpus are ignored, because their "
                "suffixes aren't those of shards",
                ", ".join(f"{number:,} with {suffix or 'none'}" for suffix, number in kinds),
            )
        result = Result(len(planned) - len(todo), [], [])
        if todo:
            source.loaded()  # to fail at once if it can't be loaded
            with open_workers(workers, dask) as pool:
                for path in replaced:
                    path.unlink(missing_ok=True)
                result = application.run(pool, todo, before=result.before)
    _show(result, output)


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
