"""Commands of the group `vectors` that take several tables: align, merge."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Optional

import numpy
import typer

from ..vectors import align as aligning
from ..vectors import merge as merging
from ..vectors.affine import AffineMap
from ..vectors.files import text_words, write_table
from ..vectors.held_out import is_held_out, number_vectors
from ..vectors.lookup import BATCH, progress, stream_of, views_of
from ..vectors.pairs import alike_vectors, pair_vectors, read_pairs
from ..vectors.table import VectorTable, chunks, need_words
from ..vectors.text import is_text
from ._messages import msg
from ._show import show_table
from ._vectors import (
    FORCE,
    LANG,
    OUT,
    check_unused,
    failing,
    opened,
    say_written,
    write_mapped,
)

AlignMethod = Enum("AlignMethod", {name: name for name in aligning.METHODS}, type=str)  # type: ignore[misc]
MergeMethod = Enum("MergeMethod", {name: name for name in merging.METHODS}, type=str)  # type: ignore[misc]
# The least pairs of which some are held out, and translated by the map of the others.
_LEAST = 50
# The most words that are translated, and that they may be translated to.
_MOST_TRIED, _MOST_CANDIDATES = 1_000, 20_000


def align_cli(
    ctx: typer.Context,
    source: str = typer.Argument(..., metavar="IN", help="Table to map"),
    target: str = typer.Argument(..., metavar="TARGET", help="Table whose space IN is mapped into"),
    output: Path = OUT,
    method: AlignMethod = typer.Option("procrustes", "--method", "-m", help="How the map is found"),
    dictionary: Optional[Path] = typer.Option(
        None,
        "--dictionary",
        help="Pairs, a word of IN and one of TARGET a line. Default: words written alike in both",
    ),
    ridge: float = typer.Option(1e-3, "--ridge", min=0, help="Of cca: added to the variances"),
    no_centre: bool = typer.Option(
        False, "--no-centre", help="Of procrustes: leave the means of both tables as they are"
    ),
    refine: int = typer.Option(
        0, "--refine", min=0, help="Rounds in which mutual neighbours by CSLS are the pairs"
    ),
    frequent: int = typer.Option(
        10_000, "--frequent", min=1, help="Rows of each table that --refine looks at"
    ),
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Map a table into the space of another one, such as that of another language.

    DOCS: python -m pydoc spacy_multihash.vectors.align
    """

    def fit(Y: numpy.ndarray, X: numpy.ndarray) -> AffineMap:
        if method.value == "cca":
            return aligning.cca(Y, X, ridge=ridge)
        return aligning.procrustes(Y, X, centre=not no_centre)

    with failing("align the vectors"):
        unused = "no_centre" if method.value == "cca" else "ridge"
        check_unused(ctx, [unused], f"with --method {method.value}")
        if not refine:
            check_unused(ctx, ["frequent"], "without --refine")
    with (
        failing("align the vectors"),
        opened([source, target], output, lang=lang, force=force, inputs=[dictionary]) as (
            table,
            other,
        ),
    ):
        if dictionary is None:
            Y, X = alike_vectors(table, other, show_progress=True)
        else:
            Y, X = pair_vectors(table, other, read_pairs(dictionary))
        function = fit(Y, X)
        rows = [_frequent(one, frequent) for one in (table, other)] if refine else []
        found = []
        for _ in range(refine):
            ours, theirs = aligning.mutual_pairs(function(rows[0]), rows[1])
            if not len(ours):
                raise ValueError("No words are each other's nearest. Leave --refine out.")
            function = fit(rows[0][ours], rows[1][theirs])
            found.append(len(ours))
        accuracy = _accuracy(Y, X, fit)
        write_mapped(output, table, function)
        for number in found:
            msg.text(f"Mutual neighbours: {number:,} pairs")
        if not accuracy:
            msg.text(f"Pairs: {len(Y):,}, too few to hold some out")
            return
        title = "Translations of pairs that were held out"
        header = ("nearest by", "right %", "pairs", "candidates")
        show_table(f"{title}, before refinement" if refine else title, header, accuracy)


def merge_cli(
    ctx: typer.Context,
    sources: list[str] = typer.Argument(..., metavar="IN...", help="Two or more tables"),
    output: Path = OUT,
    width: Optional[int] = typer.Option(
        None, "--width", "-w", min=1, help="Columns of the result. Required without --map"
    ),
    method: MergeMethod = typer.Option("pca", "--method", "-m", help="How columns are found"),
    map_path: Optional[Path] = typer.Option(
        None, "--map", help="Parameters of a former merge, for tables of new words"
    ),
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Make one table of several, with the words of all of them.

    DOCS: python -m pydoc spacy_multihash.vectors.merge
    """
    with failing("merge the vectors"):
        if len(sources) < 2:
            raise ValueError(
                f"Expected two or more tables to merge, was: {sources[0]}. Name the others before "
                "OUT."
            )
        if map_path is not None:
            check_unused(ctx, ("width", "method"), "with --map")
        with opened(
            sources, output, lang=lang, force=force, inputs=[map_path], keeps_words=False
        ) as tables:
            merged, look_up = views_of(tables)
            if is_text(output):
                text_words(merged)
            if map_path is not None:
                function = merging.load_merge(map_path, len(tables))
            elif width is None:
                raise ValueError("--width is missing. Give the number of columns, or --map.")
            else:
                find = merging.gcca if method.value == "gcca" else merging.concat_pca
                parts = chunks(len(merged.keys), BATCH)
                function = find(lambda: map(look_up, progress(parts, "Reading", True)), width)
            widths = [len(mean) for mean in function.means]
            if widths != [table.width for table in tables]:
                found = ", ".join(str(table.width) for table in tables)
                raise ValueError(
                    f"The tables must be of the widths {widths}, as those of the former merge, "
                    f"were: {found}. Give its tables, in their order, or others of such widths."
                )
            rows = merging.MergedRows(len(merged.keys), look_up, function)
            merged = replace(merged, data=rows)
            beside = {"map": (merging.KIND, function.arrays())}
            write_table(output, merged, beside, show_progress=True)
            say_written(output, merged, "map", taken_by="merge")


def _frequent(table: VectorTable, number: int) -> numpy.ndarray:
    """Return the vectors of a table's first words that have one, (n, width), n <= number."""
    need_words(table, "--refine", "it has no list of words to pair")
    found: list[numpy.ndarray] = []
    for X in stream_of(table)():
        found.append(X[: number - sum(map(len, found))])
        if sum(map(len, found)) == number:
            break
    return numpy.concatenate(found)


def _accuracy(
    Y: numpy.ndarray, X: numpy.ndarray, fit: Callable[[numpy.ndarray, numpy.ndarray], AffineMap]
) -> list[tuple[str, str, str, str]]:
    """Tell of how many held-out words the translation is the nearest neighbour, in rows to show.

    None are held out if there are few pairs, or if the others would be too few to find a map.
    """
    apart = is_held_out(number_vectors(Y))
    if len(Y) < _LEAST or not apart.any() or not aligning.has_enough(Y[~apart]):
        return []
    function = fit(Y[~apart], X[~apart])
    held_out = numpy.flatnonzero(apart)[:_MOST_TRIED]
    mapped, right = function(Y[held_out]), X[held_out]
    rest = numpy.delete(X, held_out, axis=0)[: _MOST_CANDIDATES - len(held_out)]
    candidates = numpy.unique(numpy.concatenate([right, rest]), axis=0)
    nearest = {
        "cosine": aligning.cosine_nearest(mapped, candidates),
        "CSLS": aligning.csls_nearest(mapped, candidates)[0],
    }
    shares = {
        name: (candidates[found] == right).all(axis=1).mean() for name, found in nearest.items()
    }
    return [
        (name, f"{100 * share:.1f}", f"{len(held_out):,}", f"{len(candidates):,}")
        for name, share in shares.items()
    ]
