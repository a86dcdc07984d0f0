"""`python -m spacy multihash vectors evaluate`: compare tables of vectors."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Optional

import typer
from spacy.vocab import Vocab
from tqdm import tqdm

from ..corpus.read import read_docs
from ..vectors.lookup import stream_of
from ..vectors.neighbours import Neighbours, neighbours
from ..vectors.principal import moments
from ..vectors.probes import OUTSIDE, Probe, Tokens, probe
from ..vectors.scale import z_norm
from ..vectors.similarity import Similarity, read_scores, similarity
from ..vectors.table import VectorTable
from ._messages import msg
from ._show import show_table, visible
from ._util import print_json
from ._vectors import check_unused, failing, opened, read_words


def evaluate_vectors_cli(
    ctx: typer.Context,
    sources: list[str] = typer.Argument(..., metavar="IN...", help="Tables to compare"),
    pairs: Optional[Path] = typer.Option(
        None, "--pairs", help="Word similarity: two words and a number a line"
    ),
    train: Optional[Path] = typer.Option(
        None, "--train", help="Probes: corpus with entities to train on (.spacy file or folder)"
    ),
    test: Optional[Path] = typer.Option(None, "--test", help="Probes: corpus to score on"),
    width: Optional[int] = typer.Option(
        None, "--width", "-w", min=1, help="Probes: columns. Default: those of the narrowest table"
    ),
    seeds: int = typer.Option(5, "--seeds", min=2, help="Probes: number of seeds"),
    words: Optional[Path] = typer.Option(
        None,
        "--words",
        help="Neighbours: words, one a line, the most frequent first, or a corpus. A floret table "
        "needs it for --pairs too",
    ),
    of_band: int = typer.Option(5, "--of-band", min=1, help="Neighbours: words of a band"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
) -> None:
    """Compare tables of vectors: by word similarity, by probes, and by neighbours.

    --pairs, --train with --test, and --words choose what is done; at least one is needed.

    DOCS: python -m pydoc spacy_multihash.vectors.probes
    """
    with failing("evaluate the vectors"):
        if (train is None) != (test is None):
            raise ValueError("--train and --test belong together. Give both, or none.")
        if pairs is None and train is None and words is None:
            raise ValueError("Nothing to do. Give --pairs, --train and --test, or --words.")
        if train is None:
            check_unused(ctx, ("width", "seeds"), "without --train and --test")
        if words is None:
            check_unused(ctx, ("of_band",), "without --words")
        scored = read_scores(pairs) if pairs else []
        corpora = [read_tokens(path) for path in (train, test) if path is not None]
        listed = _by_frequency(words) if words else None
        with opened(sources, None, force=False) as tables:
            equal = width or min(table.width for table in tables)
            _check_width(tables, equal)
            found: dict[str, Any] = {}
            for table in tables:
                part: dict[str, Any] = {}
                if pairs is not None:
                    some = listed if table.floret is not None else None
                    scale = z_norm(moments(stream_of(table, some, show_progress=True)))
                    part["similarity"] = similarity(table, scored, scale)
                if corpora:
                    runs = probe(table, corpora[0], corpora[1], width=equal, seeds=seeds)
                    part["probes"] = list(tqdm(runs, desc=table.name, total=4, leave=False))
                if listed is not None:
                    part["neighbours"] = list(neighbours(table, listed, of_band=of_band))
                found[table.name] = part
    if as_json:
        print_json({name: _as_json(part) for name, part in found.items()})
        return
    _show(found, "similarity", _show_similarity)
    _show(found, "probes", lambda probes: _show_probes(probes, equal))
    _show(found, "neighbours", _show_neighbours)


def read_tokens(path: Path) -> Tokens:
    """Count how often each word of a corpus has each label of an entity, "O" outside of them.

    Tokens whose annotation is missing are left out.

    Raises what `read_docs` raises.
    """
    tokens = (token for doc in read_docs(path, Vocab()) for token in doc if token.ent_iob)
    return Counter((token.text, token.ent_type_ or OUTSIDE) for token in tokens)


def _by_frequency(path: Path) -> list[str]:
    """Read the words of a corpus, the most frequent first, or those of a file as they stand."""
    if path.is_dir() or path.suffix == ".spacy":
        counts = Counter(token.text for doc in read_docs(path, Vocab()) for token in doc)
        return sorted(counts, key=lambda word: (-counts[word], word))
    return read_words(path) or []


def _check_width(tables: list[VectorTable], width: int) -> None:
    for table in tables:
        if width > table.width:
            raise ValueError(
                f"--width must be at most {table.width}, the width of {table.name}, was: {width}. "
                "Give a smaller one, or leave the table out."
            )


def _as_json(part: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [asdict(one) for one in value] if isinstance(value, list) else asdict(value)
        for name, value in part.items()
    }


def _show(found: dict[str, Any], name: str, show: Callable[[dict[str, Any]], None]) -> None:
    parts = {table: part[name] for table, part in found.items() if name in part}
    if parts:
        show(parts)


def _show_similarity(parts: dict[str, Similarity]) -> None:
    rows = [
        (
            table,
            f"{one.pairs:,}",
            f"{one.found:,}",
            "-" if one.spearman is None else f"{one.spearman:.3f}",
            "-" if one.normalized is None else f"{one.normalized:.3f}",
        )
        for table, one in parts.items()
    ]
    header = ("table", "pairs", "found", "Spearman", "z-normed")
    show_table("Word similarity", header, rows)
    msg.text("Spearman: rank correlation of cosines and scores, over the pairs that are found.")


def _show_probes(parts: dict[str, list[Probe]], width: int) -> None:
    rows = [
        (
            table,
            one.classifier,
            "yes" if one.normalized else "no",
            f"{100 * mean(one.accuracy):.2f}",
            f"{100 * stdev(one.accuracy):.2f}",
            f"{100 * mean(one.f1):.2f}",
            f"{100 * stdev(one.f1):.2f}",
        )
        for table, probes in parts.items()
        for one in probes
    ]
    header = ("table", "classifier", "z-normed", "accuracy", "sd", "F1", "sd")
    show_table(f"Entity tags from vectors of width {width}", header, rows, aligns="lll")
    msg.text("F1: of the tokens in entities. Mean and standard deviation are over seeds.")


def _show_neighbours(parts: dict[str, list[Neighbours]]) -> None:
    for table, found in parts.items():
        rows = [
            (
                one.band,
                visible(one.word),
                ", ".join(f"{visible(w)} {c:.2f}" for w, c in one.nearest),
            )
            for one in found
        ]
        show_table(f"Neighbours in {table}", ("ranks", "word", "nearest"), rows, aligns="lll")
