"""`python -m spacy multihash apply`: what a pipeline finds in a large corpus."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Optional

import typer

from ..apply.manifest import Output, check_output
from ..apply.run import Plan, Result, apply_on
from ..apply.shard import ENDINGS, Application, Applied, Shard, is_done
from ..cluster.source import folder_of
from ..cluster.workers import open_workers
from ..corpus.shards import ending_of, split_shards
from ._messages import echo, msg
from ._pipelines import check_folders_apart, check_inputs_stay
from ._util import check_folder, check_folder_output, import_code, load_pipeline
from ._workers import DASK, WORKERS, source_of

# Of files without a shard, in a message.
MOST_NAMES = 5


class Prepared(NamedTuple):
    """What was checked before the work.

    plan: What is to be done.
    output: Where, and what of former work is there.
    left_out: The number of files of the corpus that are no shards, by their endings.
    """

    plan: Plan
    output: Output
    left_out: Mapping[str, int]


def apply_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    shards: Path = typer.Argument(
        ..., help="Folder of .spacy, .jsonl, .txt and .gz files, or one such file"
    ),
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
        prepared = prepare(
            model, shards, output, format, batch_size=batch_size, force=force, code=code
        )
        _warn(prepared)
        result = apply(prepared, workers, dask)
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
) -> Prepared:
    """Check what is given, and find the shards without output and those that changed.

    The arguments are those of the command. Nothing is written.

    Raises ValueError if there is no such pipeline, if OUTPUT was begun with another one, or if two
    shards would have the same output, and what `split_shards` raises.
    """
    shards, output = shards.resolve(), output.resolve()
    check_folders_apart(shards, output, "corpus")
    check_inputs_stay([code], output)
    check_folder_output(output, "OUTPUT", [], force=force)
    check_folder(output, "OUTPUT")
    listed, left_out = split_shards(shards)
    planned = plan_shards(shards, listed, output, format)
    source = source_of(load_pipeline, model, code)
    if not source.digest:
        load_pipeline(model)  # says what is wrong with it
    check_folders_apart(folder_of(str(source.place)), output, "pipeline")
    manifest = {
        "model": source.place,
        "digest": source.digest,
        "code": None if source.code is None else str(source.code),
        "code_digest": source.code_digest,
        "format": format,
        "shards": str(shards),
    }
    found = check_output(output, manifest, {shard.target for shard in planned}, force=force)
    todo = [shard for shard in planned if force or not is_done(shard)]
    if todo:
        source.loaded()  # before workers are opened for a pipeline that cannot be loaded
    application = Application(source, format, batch_size)
    return Prepared(Plan(application, todo, len(planned) - len(todo)), found, left_out)


def apply(prepared: Prepared, workers: Optional[int] = None, dask: Optional[str] = None) -> Result:
    """Write what a pipeline finds, on workers that are opened for it.

    workers, dask: As in `open_workers`.

    Raises what `open_workers` and `apply_on` raise.
    """
    plan = prepared.plan
    if not plan.todo:
        return Result(plan.before, [], [])
    with open_workers(workers, dask) as opened:
        prepared.output.begin()
        result = apply_on(opened, plan)
    prepared.output.tidy()
    return result


def plan_shards(shards: Path, listed: Sequence[Path], output: Path, format: str) -> list[Shard]:
    """Return each shard with the file to write for it: its name, with another ending.

    shards, output (Path): Absolute paths.
    listed (Sequence[Path]): The files of `shards`.

    Raises ValueError if two shards would have the same file.
    """
    root = shards if shards.is_dir() else shards.parent
    planned: dict[Path, Shard] = {}
    for path in listed:
        name = path.relative_to(root).as_posix().removesuffix(ending_of(path))
        shard = Shard(path, output / f"{name}{ENDINGS[format]}")
        other = planned.setdefault(shard.target, shard)
        if other is not shard:
            raise ValueError(
                f"{other.source} and {shard.source} would both be written to {shard.target}. "
                "Rename one of them."
            )
    return [*planned.values()]


def _warn(prepared: Prepared) -> None:
    """Warn of files that are no shards, and of those in OUTPUT that this command does not write."""
    output = prepared.output
    if prepared.left_out:
        kinds = sorted(prepared.left_out.items())
        msg.warn(
            f"{sum(prepared.left_out.values()):,} files of the corpus are no shards, and left out",
            ", ".join(f"{number:,} with {ending or 'no ending'}" for ending, number in kinds),
        )
    if output.orphans:
        names = [str(path) for path in output.orphans[:MOST_NAMES]]
        more = ["..."] * (len(output.orphans) > MOST_NAMES)
        msg.warn(
            f"{len(output.orphans):,} files in OUTPUT have no shard (any more)",
            "\n".join([*names, *more, "Remove them, or begin anew with --force."]),
        )
    for versions in output.others:
        names = [f"{name} {version}" for name, version in versions.items()]
        msg.warn(
            f"OUTPUT has files of other versions: {', '.join(names)}",
            "Begin anew with --force if all files must be of one.",
        )


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
