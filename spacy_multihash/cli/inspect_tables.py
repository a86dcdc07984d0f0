"""`python -m spacy multihash inspect-tables`: the size of tables, and how a corpus fills them."""

from pathlib import Path
from typing import Optional

import typer

from ..common.outputs import check_file_output
from ..inspection.tables import inspect_tables
from ._util import AS_JSON, CODE, MODEL, PROGRESS, command, show


@command("Cannot inspect the tables", needs={"force": ["output"]})
def inspect_tables_cli(
    model: str = MODEL,
    data: Optional[Path] = typer.Option(
        None, help="Corpus to count values in: a file, or a folder of shards"
    ),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace the page if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Show the size of a pipeline's embedding tables, and how full they are.

    With --data, you see how the distinct values of a corpus fill each table: its load factor
    (values times hashes, divided by rows), and the values that share all their rows with another
    value. --output draws both.
    """
    check_file_output(output, "--output", model, data, code, force=force)
    done = inspect_tables(model, data, progress=PROGRESS)
    show(done, as_json=as_json, page=output)
