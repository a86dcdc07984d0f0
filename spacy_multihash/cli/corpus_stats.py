"""`python -m spacy multihash corpus-stats`: statistics of a corpus."""

import re
from pathlib import Path
from typing import Any, Optional

import typer

from ..common.files import write_json
from ..common.outputs import check_file_output
from ..corpus.evaluation import Matching
from ..corpus.statistics import DEFAULT_ATTRS, corpus_stats
from ..scale.pool import open_workers
from ._util import AS_JSON, CODE, PROGRESS, command, show, with_options, wrote


@command("Cannot count the corpus", needs={"force": ["output"]})
@with_options(Matching)
def corpus_stats_cli(
    train: Path = typer.Argument(
        ...,
        help="Training corpus: a .spacy, .jsonl or .txt file, or a folder of such shards",
        exists=True,
    ),
    dev: Optional[Path] = typer.Argument(
        None, help="Development corpus, a file or a folder", exists=True
    ),
    test: Optional[Path] = typer.Argument(
        None, help="Test corpus, a file or a folder", exists=True
    ),
    lang: Optional[str] = typer.Option(
        None,
        help="Language of the vocab that computes the attributes, without tables of "
        "spacy-lookups-data. Default: the language of --vectors, or xx, which has no rules of its "
        "own",
    ),
    vectors: Optional[str] = typer.Option(
        None, help="Pipeline with vectors (a package's name, or a path), or folder of a vocab"
    ),
    attrs: str = typer.Option(
        ",".join(DEFAULT_ATTRS),
        help="Attributes of words, slices and n-grams to count, such as NORM, ORTH[:2] or "
        "LOWER{3,5}, separated by commas",
    ),
    workers: Optional[int] = typer.Option(
        None,
        "--workers",
        min=1,
        help="Number of processes, with a thread each. Default: 1. For more, pip install "
        "distributed",
    ),
    dask: Optional[str] = typer.Option(
        None, "--dask", help="Address of a Dask scheduler, to use its workers"
    ),
    output: Optional[Path] = typer.Option(None, help="JSON file to write the statistics to"),
    force: bool = typer.Option(
        False, "--force", "-f", help="Replace the file of --output if it exists"
    ),
    as_json: bool = AS_JSON,
    code: Optional[Path] = CODE,
    **options: Any,  # noqa: ANN401
) -> None:
    """Count documents, entities and attributes of a corpus.

    Warns about missing annotation, annotation that isn't read, -DOCSTART- tokens, labels that
    differ only in case, and equal texts with different annotation. Also warns if sentences of DEV
    or TEST are in TRAIN, and if they have more entities of TRAIN than distant parts of TRAIN share.

    Entities of DEV and TEST are counted as seen or unseen. An entity is seen if TRAIN has an entity
    with the same text. With --vectors, words without a vector are counted too. Attributes come from
    the vocab, so NORM may differ from a tokenizer's exceptions. .txt and .jsonl files have no
    annotations.
    """
    check_file_output(output, "--output", vectors, train, dev, test, code, force=force)
    with open_workers(workers, dask) as pool:
        stats = corpus_stats(
            train,
            dev,
            test,
            lang=lang,
            vectors=vectors,
            attrs=[name.strip() for name in re.split(r",(?![^{,]*})", attrs)],  # not in LOWER{3,5}
            matching=Matching(**options),
            workers=pool,
            code=code,
            progress=PROGRESS,
        )
    if output is not None:
        write_json(output, stats.to_json())
    show(stats, as_json=as_json)
    if output is not None:
        wrote("the statistics", output, as_json=as_json)
