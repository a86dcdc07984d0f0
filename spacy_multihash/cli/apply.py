"""`python -m spacy multihash apply`: what a pipeline finds in a large corpus."""

from pathlib import Path
from typing import Literal, Optional

import typer
from spacy.util import is_package

from ..apply.manifest import check_manifest, digest_of, remove_outputs, write_manifest
from ..apply.run import Plan, Result, apply_on
from ..apply.shard import ENDINGS, Application, Applied, Shard
from ..cluster.workers import open_workers
from ..corpus.shards import ending_of, list_shards
from ._messages import echo, msg
from ._pipelines import check_apart, check_folders_apart, check_inputs_stay
from ._util import check_folder_output, check_parent, import_code, load_pipeline
from ._workers import DASK, WORKERS


def apply_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    shards: Path = typer.Argument(..., help="Folder of .spacy, .jsonl, .txt and .txt.gz files"),
    output: Path = typer.Argument(..., help="Folder to write, with a file for each shard"),
    format: Literal["spacy", "jsonl"] = typer.Option(
        "spacy", "--format", help="What to write: .spacy files, or JSON lines of entities"
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    batch_size: Optional[int] = typer.Option(
        None, "--batch-size", min=1, help="Docs that the pipeline takes at once. Default: its own"
    ),
    force: bool = typer.Option(
        False, "--force", "-f", help="Do all shards again, whatever OUTPUT was begun with"
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Apply a pipeline to a large corpus, in a folder of shards.

    Each shard gives a file in OUTPUT, written whole or not at all. The same command again goes on
    where the former one stopped. A shard that fails is done again on another worker, and the
    others go on.

    DOCS: python -m pydoc spacy_multihash.cli.apply
    """
    import_code(code)
    try:
        result = apply(
            prepare(model, shards, output, format, batch_size=batch_size, force=force, code=code),
            workers,
            dask,
        )
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot apply the pipeline", str(error))
    _show(result, output)


def prepare(
    model: str,
    shards: Path,
    output: Path,
    format: Literal["spacy", "jsonl"] = "spacy",
    *,
    batch_size: Optional[int] = None,
    force: bool = False,
    code: Optional[Path] = None,
) -> Plan:
    """Check what is given, find the shards without output and those that are newer, and begin.

    The arguments are those of the command.

    Raises ValueError if there is no such pipeline, if OUTPUT was begun with another one, or if two
    shards would have the same output, and what `list_shards` raises.
    """
    shards, output = shards.resolve(), output.resolve()
    check_folders_apart(shards, output, "corpus")
    check_inputs_stay([code], output)
    check_folder_output(output, "OUTPUT", [], force=force)
    check_parent(output, "OUTPUT")
    planned = plan_shards(shards, output, format)
    application = _describe(model, output, format, batch_size, code)
    manifest = {
        "model": application.model,
        "digest": application.digest,
        "format": format,
        "shards": str(shards),
    }
    if force:
        endings = ENDINGS.values()
        remove_outputs(one.target.with_suffix(ending) for one in planned for ending in endings)
    else:
        check_manifest(output, manifest)
    write_manifest(output, manifest)
    todo = [shard for shard in planned if not _is_done(shard)]
    return Plan(application, todo, len(planned) - len(todo))


def apply(plan: Plan, workers: Optional[int] = None, dask: Optional[str] = None) -> Result:
    """Write what a pipeline finds, on workers that are opened for it.

    workers, dask: As in `open_workers`.

    Raises what `open_workers` and `apply_on` raise.
    """
    if not plan.todo:
        return Result(plan.before, [], [])
    with open_workers(workers, dask) as opened:
        return apply_on(opened, plan)


def plan_shards(shards: Path, output: Path, format: str) -> list[Shard]:
    """List the shards of a folder, with the file to write for each: its name, with another ending.

    shards, output (Path): Absolute paths.

    Raises what `list_shards` raises, and ValueError if two shards would have the same file.
    """
    root = shards if shards.is_dir() else shards.parent
    planned: dict[Path, Shard] = {}
    for path in list_shards(shards):
        name = path.relative_to(root).as_posix().removesuffix(ending_of(path))
        shard = Shard(path, output / f"{name}{ENDINGS[format]}")
        other = planned.setdefault(shard.target, shard)
        if other is not shard:
            raise ValueError(
                f"{other.source} and {shard.source} would both be written to {shard.target}. "
                "Rename one of them."
            )
    return [*planned.values()]


def _describe(
    model: str, output: Path, format: str, batch_size: Optional[int], code: Optional[Path]
) -> Application:
    """Check that the pipeline can be loaded, and describe what is done, for any process."""
    nlp = load_pipeline(model)
    check_apart(nlp, output)
    place = model if is_package(model) else str(Path(model).resolve())
    return Application(
        place, digest_of(Path(nlp.path)), code and code.resolve(), format, batch_size
    )


def _is_done(shard: Shard) -> bool:
    try:
        return shard.target.stat().st_mtime >= shard.source.stat().st_mtime
    except FileNotFoundError:
        return False


def _show(result: Result, output: Path) -> None:
    """Say what was written, and exit with an error if any shard failed."""
    found = Applied(*map(sum, zip(Applied(0, 0, 0), *result.done, strict=True)))
    total = f"{result.before + len(result.done) + len(result.errors):,} shards"
    if result.before:
        msg.info(f"{result.before:,} of {total} were done before")
    if result.done:
        msg.good(
            f"Wrote {len(result.done):,} of {total} to {output}: {found.docs:,} docs, "
            f"{found.tokens:,} tokens, {found.entities:,} entities"
        )
    if result.errors:
        names = "".join(f"\n{error.name}" for error in result.errors)
        echo(f"\nShards that failed:{names}", err=True)
        msg.fail(
            f"{len(result.errors):,} of {total} failed",
            "Mend them, and start the command again: it does those that have no output.",
        )
