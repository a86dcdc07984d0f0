"""`python -m spacy multihash init-tables`: count a corpus, and write the tables of MultiEmbed."""

from pathlib import Path
from typing import Optional

import typer

from ..common.files import standard_stream
from ..scale.pool import open_workers
from ..tables.init import init_tables
from ._util import (
    AS_JSON,
    CODE,
    DASK,
    PROGRESS,
    WORKERS,
    command,
    parse_overrides,
    show,
    wrote,
)


@command("Cannot make the tables", needs={"workers": ["shards"], "dask": ["shards"]})
def init_tables_cli(
    ctx: typer.Context,
    config: Path = typer.Argument(
        ..., help="Config with a MultiEmbed", exists=True, dir_okay=False
    ),
    output: Path = typer.Argument(..., help="File of tables to write", dir_okay=False),
    min_freq: Optional[int] = typer.Option(
        None,
        help="Keep the values that occur at least this often. "
        "Default: from [initialize.before_init], or 10",
    ),
    max_rows: Optional[int] = typer.Option(
        None,
        help="Maximum number of rows of a table, with row 0 for unknown values. "
        "Default: from [initialize.before_init], or no limit",
    ),
    component: list[str] = typer.Option(
        [],
        help="Component with a MultiEmbed. Repeat the option for several. "
        "Default: from [initialize.before_init], or tok2vec",
    ),
    shards: Optional[Path] = typer.Option(
        None,
        help="Count this folder of .spacy, .jsonl, .txt and .gz files instead of the config's "
        "training corpus",
        exists=True,
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Write the tables of a config's MultiEmbed to a file.

    The tables are counted from the training corpus of the config. Give the file as `path` of
    spacy-multihash.init_tables.v1 in [initialize.before_init]. Settings of the config can be
    overridden, as in --paths.train corpus/part1.spacy.

    To count a large corpus in pieces, the shards of a folder, use --shards, and --workers or --dask
    to count several shards at a time. The tables are the same: rare values are left out after all
    shards are counted.
    """
    overrides = parse_overrides(ctx)
    with open_workers(workers, dask) as pool:
        done = init_tables(
            config,
            output,
            min_freq=min_freq,
            max_rows=max_rows,
            components=component,
            overrides=overrides,
            shards=shards,
            workers=pool,
            code=code,
            force=force,
            progress=PROGRESS,
        )
    if standard_stream(output) is None:  # otherwise stdout has the tables
        show(done, as_json=as_json)
        wrote("the tables", output, as_json=as_json)
