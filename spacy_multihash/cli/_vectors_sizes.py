"""Commands of the group `vectors` that make tables smaller: prune, quantize."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Optional

import typer

from ..common.features import TEXT_ATTRS
from ..embed.attributes import attr_id
from ..vectors.arrays import check_array, load_arrays
from ..vectors.files import write_table
from ..vectors.lookup import values_of
from ..vectors.prune import prune
from ..vectors.quantize import KINDS, METHODS, describe, make_codebooks, quantize, widen
from ._vectors import FORCE, IN, LANG, OUT, check_unused, failing, opened, read_words, say_written

Method = Enum("Method", {name: name for name in METHODS}, type=str)  # type: ignore[misc]
Attr = Enum("Attr", {name: name for name in TEXT_ATTRS}, type=str)  # type: ignore[misc]


def prune_cli(
    source: str = IN,
    output: Path = OUT,
    words: Path = typer.Option(
        ...,
        "--words",
        help="Words to keep: a file with one a line, or a corpus (.spacy file or folder)",
    ),
    first: int = typer.Option(
        0, "--first", min=0, help="Keep the first rows of IN besides, with all their words"
    ),
    attr: Optional[Attr] = typer.Option(
        None,
        "--attr",
        help="By which attribute of the words vectors are kept, such as the key_attrs of "
        "MetaVectors. Default: that of IN",
    ),
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Keep the vectors of a corpus's words.

    DOCS: python -m pydoc spacy_multihash.vectors.prune
    """
    with (
        failing("prune the vectors"),
        opened([source], output, lang=lang, force=force, inputs=[words], keeps_words=False) as (
            table,
        ),
    ):
        by = None if attr is None else attr_id(attr.value)
        values = values_of(table, read_words(words) or [], by)
        pruned = prune(table, values, first=first)
        write_table(output, pruned, show_progress=True)
        say_written(output, pruned)


def quantize_cli(
    ctx: typer.Context,
    source: str = IN,
    output: Path = typer.Argument(
        ...,
        metavar="OUT",
        help="File to write, if its name ends in .npz (the codes alone), .txt, .vec, .floret or "
        ".gz, otherwise a folder",
    ),
    method: Method = typer.Option("int8", "--method", "-m", help="What a number is kept in"),
    parts: int = typer.Option(30, "--parts", min=1, help="Of pq: parts of a vector, a byte each"),
    centroids: int = typer.Option(
        256, "--centroids", min=1, max=256, help="Of pq: centroids of each part"
    ),
    codebooks: Optional[Path] = typer.Option(
        None, "--codebooks", help="Of pq: codes of another table, whose centroids are taken"
    ),
    seed: int = typer.Option(0, "--seed", min=0, max=2**32 - 1, help="Of pq: where k-means begins"),
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Round vectors to fewer bits.

    OUT has the rounded numbers as float32, which spaCy needs, and the codes beside them. If the
    name of OUT ends in .npz, it has the codes alone. All commands of the group read them.

    DOCS: python -m pydoc spacy_multihash.vectors.quantize
    """
    with failing("quantize the vectors"):
        if method.value != "pq":
            names = ("parts", "centroids", "seed", "codebooks")
            check_unused(ctx, names, f"with --method {method.value}")
        elif codebooks is not None:
            check_unused(ctx, ("parts", "centroids", "seed"), "with --codebooks")
    with (
        failing("quantize the vectors"),
        opened([source], output, lang=lang, force=force, inputs=[codebooks], makes_codes=True) as (
            table,
        ),
    ):
        books = None
        if method.value == "pq" and codebooks is None:
            books = make_codebooks(table, parts, centroids, seed=seed, show_progress=True)
        elif method.value == "pq" and codebooks is not None:
            books = load_arrays(codebooks, {"pq": KINDS["pq"]})["codebooks"]
            check_array(codebooks, "codebooks", books, (None, None, None))
        codes = quantize(table, method.value, books)
        beside = {"codes": (method.value, {**codes, **describe(table)})}
        widened = replace(table, data=widen(codes))
        write_table(output, widened, beside, show_progress=True)
        say_written(output, widened, "codes")
