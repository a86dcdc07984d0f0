"""`python -m spacy multihash importance`: what weighted hash embeddings find important."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Optional, Union

import typer
from spacy.language import Language

from ..embed.find import EmbeddingTable, embedding_name
from ..inspection.importance import (
    EmbeddingImportance,
    Ranking,
    SymbolImportance,
    find_trained,
    rank_symbols,
)
from ..scale.source import source_of
from ._shards import Shards, ShardSymbols
from ._util import (
    DASK,
    WORKERS,
    import_code,
    load_pipeline,
    msg,
    open_workers,
    print_json,
    show_collisions,
    show_table,
)

# Letters of a label's score, such as -0.00123.
_SCORE = 9


class SortBy(str, Enum):
    """What symbols can be sorted by."""

    importance = "importance"
    norm = "norm"


def importance_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    data: Path = typer.Option(..., help="Corpus of symbols: a file, or a folder of shards"),
    component: Optional[str] = typer.Option(None, help="Component to look into. Default: all"),
    top: int = typer.Option(10, help="How many symbols to show from either end"),
    min_freq: int = typer.Option(5, help="How often a symbol must occur in the corpus"),
    share: float = typer.Option(
        1.0, help="A symbol is important if its importance is at least this share of the mean"
    ),
    sort: SortBy = typer.Option(
        SortBy.importance, help="Sort by importance, or by the norm of vectors"
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Show the most and the least important tokens or n-grams.

    Those of each MultiWeightedHashEmbed and TextCatHashEmbed of a pipeline. The importance of a
    symbol is the mean absolute value of its importance parameters. Its scale depends on the
    component vectors, so the norm of the whole vector is shown as well. Symbols that share a row of
    parameters have the same importance. Rare symbols are left out: they hardly move from their
    initial importance, which is near 0.

    DOCS: python -m pydoc spacy_multihash.inspection.rows
    """
    import_code(code)
    try:
        ranking = Ranking(sort.value, top, min_freq, share)
        found = importance(
            model, data, ranking, component=component, workers=workers, dask=dask, code=code
        )
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot show the importance", str(error))
    if as_json:
        print_json([asdict(embedding) for embedding in found])
    else:
        _show(found, ranking)


def importance(
    model: Union[str, Path],
    data: Path,
    ranking: Ranking,
    *,
    component: Optional[str] = None,
    workers: Optional[int] = None,
    dask: Optional[str] = None,
    code: Optional[Path] = None,
) -> list[EmbeddingImportance]:
    """List the most and the least important symbols of a corpus.

    model (Union[str, Path]): Name of a package, or path of a pipeline.
    data (Path): The corpus: a shard, such as a .spacy file, or a folder of them.
    ranking (Ranking): Which symbols are listed.
    component (Optional[str]): Name of the component to look into. None for all.
    workers, dask: As for `open_workers`. They count the shards of a folder.
    code (Optional[Path]): Python file that other processes import. This one has done so.

    Raises ValueError, ImportError or OSError if something cannot be read, or has nothing to show.
    """
    source = source_of(load_pipeline, model, code)
    nlp, shards = source.loaded(), Shards.of(data)
    with open_workers(workers, dask) as pool:
        symbols = ShardSymbols(pool, shards, source, partial(_find_components, component))
        return rank_symbols(nlp, symbols, ranking, component=component)


def _find_components(component: Optional[str], nlp: Language) -> list[EmbeddingTable]:
    return [embedding.components for embedding in find_trained(nlp, component)]


def _show(embeddings: Sequence[EmbeddingImportance], ranking: Ranking) -> None:
    """Print tables of all embeddings, and of the symbols of each."""
    show_table(
        "Embeddings",
        ("embedding", "seed", "symbols", "in shared rows", "frequent", "mean", "important"),
        [_summary(embedding) for embedding in embeddings],
    )
    msg.text(
        f"Frequent: symbols that occur {ranking.min_freq} times or more. Mean: their mean "
        f"importance. Important: frequent symbols of at least {ranking.share:g} times the mean."
    )
    show_table(
        "Rows that it has, and a rule of thumb for this corpus",
        ("embedding", "rows", "advised", "importance rows", "advised"),
        [_rows(embedding) for embedding in embeddings],
    )
    msg.text(
        "Advised: two frequent symbols for each row of components, and ten rows of importance for "
        "each frequent symbol. Rare ones count little: their importance stays small."
    )
    for embedding in embeddings:
        _warn_of_few_updates(embedding)
    show_collisions("Important symbols in collision", [found.collisions for found in embeddings])
    for embedding in embeddings:
        for end, symbols in (("Largest", embedding.largest), ("Smallest", embedding.smallest)):
            show_table(
                f"{end} {ranking.sort}: {_name(embedding)}, seed {embedding.seed}",
                ("symbol", "frequency", "importance", "norm", "parameters", "others in its row"),
                [_symbol(symbol) for symbol in symbols],
            )
            _show_labels(f"Labels of the {end.lower()}: {_name(embedding)}", symbols)


def _show_labels(title: str, symbols: Sequence[SymbolImportance]) -> None:
    """Print for which labels n-grams speak: all labels, or if they are too many, the extremes."""
    names = list(symbols[0].labels)
    if not names:
        return
    explanation = "Above 0: the n-gram speaks for the label. Below 0: against it."
    if sum(max(len(name), _SCORE) + 2 for name in names) <= 70:
        rows = [(_text(s), *(f"{s.labels[name]:+.3g}" for name in names)) for s in symbols]
        show_table(title, ("symbol", *names), rows)
    else:
        ranked = [(s, sorted(names, key=s.labels.__getitem__)) for s in symbols]
        rows = [(_text(s), *_score(s, order[-1]), *_score(s, order[0])) for s, order in ranked]
        show_table(title, ("symbol", "for", "score", "against", "score"), rows, aligns="llrlr")
        explanation += f" Shown are 2 of {len(names)} labels. See all with --json."
    msg.text(explanation)


def _score(symbol: SymbolImportance, label: str) -> tuple[str, str]:
    return label, f"{symbol.labels[label]:+.3g}"


def _summary(embedding: EmbeddingImportance) -> tuple[str, ...]:
    counts = (embedding.num_symbols, embedding.num_sharing, embedding.num_frequent)
    texts = (str(embedding.seed), *(f"{count:,}" for count in counts))
    mean, important = f"{embedding.mean_importance:.3g}", f"{embedding.num_important:,}"
    return (_name(embedding), *texts, mean, important)


def _rows(embedding: EmbeddingImportance) -> tuple[str, ...]:
    rows = embedding.rows
    advised = f"{rows.advised_importance:,}"
    numbers = (f"{number:,}" for number in (rows.rows, rows.advised, rows.importance_rows))
    return (_name(embedding), *numbers, advised)


def _warn_of_few_updates(found: EmbeddingImportance) -> None:
    if 2 * found.num_near_zero > found.num_frequent:
        msg.warn(
            f"{_name(found)}: the importance of {found.num_near_zero:,} of {found.num_frequent:,} "
            "frequent symbols is near zero. It grows by the learning rate or less in an update. If "
            "the model had only a few hundred updates, train it for longer."
        )


def _symbol(symbol: SymbolImportance) -> tuple[str, ...]:
    parameters = " ".join(f"{value:.3g}" for value in symbol.parameters)
    values = (f"{symbol.freq:,}", f"{symbol.importance:.3g}", f"{symbol.norm:.3g}", parameters)
    return (_text(symbol), *values, f"{symbol.sharing:,}")


def _text(symbol: SymbolImportance) -> str:
    return repr(symbol.text)


def _name(found: EmbeddingImportance) -> str:
    return embedding_name(found.component, found.attr)
