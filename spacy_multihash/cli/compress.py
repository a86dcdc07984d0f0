"""`python -m spacy multihash compress`: make the files of a trained pipeline small."""

from pathlib import Path
from typing import Optional

import typer

from ..compute.quantization import Precision
from ..pipelines.compress import compress
from ._util import AS_JSON, CODE, MODEL, NAME, PROGRESS, command, show, wrote


@command("Cannot compress the pipeline")
def compress_cli(
    model: str = MODEL,
    output: Path = typer.Argument(..., help="Folder to write", file_okay=False),
    vectors: Precision = typer.Option("int8", help="Precision of static vectors"),
    tables: Precision = typer.Option("int8", help="Precision of embedding tables"),
    weights: Precision = typer.Option("float16", help="Precision of all other weights"),
    keep_strings: bool = typer.Option(
        False, "--keep-strings", help="Keep strings that no component needs"
    ),
    data: Optional[Path] = typer.Option(
        None,
        help="Corpus to compare predictions on: a .spacy, .jsonl or .txt file, or a folder",
    ),
    name: Optional[str] = NAME,
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Make the files of a trained pipeline small.

    Vectors and tables are saved as int8 with a scale per row, weights as float16. spacy.load makes
    them float32 wherever this package is installed. Strings that no component needs, and rows of
    vectors that no word has, are left out. The command also loads both pipelines in new processes,
    to measure time and memory. --data compares their predictions.
    """
    done = compress(
        model,
        output,
        vectors=vectors,
        tables=tables,
        weights=weights,
        keep_strings=keep_strings,
        data=data,
        code=code,
        name=name,
        force=force,
        progress=PROGRESS,
    )
    show(done, as_json=as_json)
    wrote("the pipeline", output, as_json=as_json)
