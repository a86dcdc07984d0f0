"""`python -m spacy multihash apply`: what a pipeline finds in a large corpus."""

import errno
import sys
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, Optional

import typer
from tqdm import tqdm

from ..cluster.workers import ItemError, Workers, open_workers
from ..corpus.shards import ending_of, list_shards
from ._apply_shard import ENDINGS, Application, Applied, Shard, apply_shard
from ._manifest import check_manifest, digest_of, remove_outputs, write_manifest
from ._messages import echo, msg
from ._pipelines import check_apart, check_folders_apart, check_inputs_stay
from ._util import check_folder_output, check_parent, import_code, load_pipeline

# A full disk: no other shard could be written either.
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Result(NamedTuple):
    """What came of a corpus.

    before: The number of shards that were done before.
    done: What each shard gave that was done now.
    errors: Those of the shards that failed.
    """

    before: int
    done: list[Applied]
    errors: list[ItemError]


def apply_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    shards: Path = typer.Argument(..., help="Folder of .spacy, .jsonl, .txt and .txt.gz files"),
    output: Path = typer.Argument(..., help="Folder to write, with a file for each shard"),
    format: Literal["spacy", "jsonl"] = typer.Option(
        "spacy", "--format", help="What to write: .spacy files, or JSON lines of entities"
    ),
    workers: Optional[int] = typer.Option(
        None, "--workers", min=1, help="Number of processes, with a thread each. Default: 1"
    ),
    dask: Optional[str] = typer.Option(
        None, "--dask", help="Address of a Dask scheduler, whose workers are used"
    ),
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
            model,
            shards,
            output,
            format=format,
            workers=workers,
            dask=dask,
            batch_size=batch_size,
            force=force,
            code=code,
        )
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot apply the pipeline", str(error))
    _show(result, output)


def apply(
    model: str,
    shards: Path,
    output: Path,
    *,
    format: Literal["spacy", "jsonl"] = "spacy",
    workers: Optional[int] = None,
    dask: Optional[str] = None,
    batch_size: Optional[int] = None,
    force: bool = False,
    code: Optional[Path] = None,
) -> Result:
    """Write what a pipeline finds in each shard that has no output yet, or is newer than it.

    The arguments are those of the command.

    Raises ValueError if there is no such pipeline, if OUTPUT was begun with another one, or if two
    shards would have the same output; what `list_shards` and `open_workers` raise; and OSError if
    the disk is full.
    """
    shards, output = shards.resolve(), output.resolve()
    check_folders_apart(shards, output, "corpus")
    check_inputs_stay([code], output)
    check_folder_output(output, "OUTPUT", [], force=force)
    check_parent(output, "OUTPUT")
    planned = plan_shards(shards, output, format)
    application = _prepare(model, output, format, batch_size, code)
    manifest = {
        "model": application.model,
        "digest": application.digest,
        "format": format,
        "shards": str(shards),
    }
    if force:
        remove_outputs(
            shard.target for one in ENDINGS for shard in plan_shards(shards, output, one)
        )
    else:
        check_manifest(output, manifest)
    write_manifest(output, manifest)
    todo = [shard for shard in planned if not _is_done(shard)]
    before = len(planned) - len(todo)
    if not todo:
        return Result(before, [], [])
    with open_workers(workers, dask) as opened:
        return _apply(application, todo, before, opened)


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


def _prepare(
    model: str, output: Path, format: str, batch_size: Optional[int], code: Optional[Path]
) -> Application:
    """Check that the pipeline can be loaded, and describe what is done, for any process."""
    nlp = load_pipeline(model)
    check_apart(nlp, output)
    place = str(Path(model).resolve()) if Path(model).exists() else model
    return Application(
        place, digest_of(Path(nlp.path)), code and code.resolve(), format, batch_size
    )


def _is_done(shard: Shard) -> bool:
    try:
        return shard.target.stat().st_mtime >= shard.source.stat().st_mtime
    except FileNotFoundError:
        return False


def _apply(application: Application, todo: list[Shard], before: int, workers: Workers) -> Result:
    result = Result(before, [], [])
    with tqdm(total=before + len(todo), initial=before, unit=" shards", disable=None) as bar:

        def note(error: ItemError) -> None:
            if isinstance(error.cause, OSError) and error.cause.errno in _FULL:
                raise OSError(
                    f"{error}. {len(result.done):,} shards were written. Make room, and start the "
                    "command again: it goes on there."
                ) from error
            result.errors.append(error)
            bar.write(str(error), file=sys.stderr)
            bar.update()

        for _, applied in workers.imap(
            partial(apply_shard, application),
            todo,
            names=[str(shard.source) for shard in todo],
            on_error=note,
        ):
            result.done.append(applied)
            bar.update()
    return result


def _show(result: Result, output: Path) -> None:
    """Say what was written, and exit with an error if any shard failed."""
    found = Applied(*map(sum, zip(Applied(0, 0, 0), *result.done, strict=True)))
    if result.before:
        msg.info(f"{result.before:,} shards were done before")
    if result.done:
        msg.good(
            f"Wrote {len(result.done):,} shards to {output}: {found.docs:,} docs, "
            f"{found.tokens:,} tokens, {found.entities:,} entities"
        )
    if result.errors:
        names = "".join(f"\n{error.name}" for error in result.errors)
        echo(f"\nShards that failed:{names}", err=True)
        msg.fail(
            f"{len(result.errors):,} shards failed",
            "Mend them, and start the command again: it does those that have no output.",
        )
