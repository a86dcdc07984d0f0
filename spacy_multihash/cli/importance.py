"""`python -m spacy multihash importance`: what weighted hash embeddings find important."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Literal, Optional

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
    AS_JSON,
    CODE,
    DASK,
    MODEL,
    WORKERS,
    failing,
    import_code,
    load_pipeline,
    msg,
    open_workers,
    print_json,
    show_collisions,
    show_table,
)

# Width of a label's score, such as -0.00123.
_SCORE = 9


def importance_cli(
    model: str = MODEL,
    data: Path = typer.Option(..., help="Corpus of symbols: a file, or a folder of shards"),
    component: Optional[str] = typer.Option(None, help="Component to look into. Default: all"),
    top: int = typer.Option(10, help="How many symbols to show from either end"),
    min_freq: int = typer.Option(5, help="How often a symbol must occur in the corpus"),
    share: float = typer.Option(
        1.0, help="A symbol is important if its importance is at least this share of the mean"
    ),
    sort: Literal["importance", "norm"] = typer.Option(
        "importance", help="Sort by importance, or by the norm of vectors"
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    as_json: bool = AS_JSON,
    code: Optional[Path] = CODE,
) -> None:
    """Show the most and the least important tokens or n-grams.

    Lists the symbols of each MultiWeightedHashEmbed and TextCatHashEmbed. The importance of a
    symbol is the mean absolute value of its importance parameters. Its scale depends on the
    component vectors, so the norm of the whole vector is shown as well. Symbols that share a row of
    parameters have the same importance. Rare symbols are left out: they hardly move from their
    initial importance, which is near 0.

    DOCS: python -m pydoc spacy_multihash.inspection.rows
    """
    import_code(code)
    with failing("Cannot show the importance"):
        ranking = Ranking(sort, top, min_freq, share)
        source = source_of(load_pipeline, model, code)
        nlp, shards = source.loaded(), Shards.of(data)
        with open_workers(workers, dask) as pool:
            symbols = ShardSymbols(pool, shards, source, partial(_find_components, component))
            embeddings = rank_symbols(nlp, symbols, ranking, component=component)
    if as_json:
        print_json([asdict(embedding) for embedding in embeddings])
    else:
        _show(embeddings, ranking)


def _find_components(component: Optional[str], nlp: Language) -> list[EmbeddingTable]:
    return [embedding.components for embedding in find_trained(nlp, component)]


def _show(embeddings: Sequence[EmbeddingImportance], ranking: Ranking) -> None:
    """Print tables of all embeddings, and of the symbols of each."""
    names = [embedding_name(embedding.component, embedding.attr) for embedding in embeddings]
    summaries, rows = [], []
    for name, embedding in zip(names, embeddings, strict=True):
        counts = (embedding.num_symbols, embedding.num_sharing, embedding.num_frequent)
        summaries.append(
            (
                name,
                str(embedding.seed),
                *(f"{count:,}" for count in counts),
                f"{embedding.mean_importance:.3g}",
                f"{embedding.num_important:,}",
            )
        )
        sizes = embedding.rows
        numbers = (sizes.rows, sizes.advised, sizes.importance_rows, sizes.advised_importance)
        rows.append((name, *(f"{number:,}" for number in numbers)))
    show_table(
        "Embeddings",
        ("embedding", "seed", "symbols", "in shared rows", "frequent", "mean", "important"),
        summaries,
    )
    times = "" if ranking.share == 1 else f"{ranking.share:g} times "
    msg.text(
        f"Frequent: symbols that occur {ranking.min_freq} times or more. Mean: their mean "
        f"importance. Important: frequent symbols of at least {times}the mean."
    )
    show_table(
        "Rows that it has, and a rule of thumb for this corpus",
        ("embedding", "rows", "advised", "importance rows", "advised"),
        rows,
    )
    msg.text(
        "Advised: two frequent symbols for each row of components, and ten rows of importance for "
        "each frequent symbol. Rare ones count little: their importance stays small."
    )
    for name, embedding in zip(names, embeddings, strict=True):
        if 2 * embedding.num_near_zero > embedding.num_frequent:
            msg.warn(
                f"{name}: the importance of {embedding.num_near_zero:,} of "
                f"{embedding.num_frequent:,} frequent symbols is near zero. It grows by the "
                "learning rate or less in an update. If the model had only a few hundred updates, "
                "train it for longer."
            )
    show_collisions(
        "Important symbols in collision", [embedding.collisions for embedding in embeddings]
    )
    for name, embedding in zip(names, embeddings, strict=True):
        for end, symbols in (("Largest", embedding.largest), ("Smallest", embedding.smallest)):
            show_table(
                f"{end} {ranking.sort}: {name}, seed {embedding.seed}",
                ("symbol", "frequency", "importance", "norm", "parameters", "others in its row"),
                [_symbol(symbol) for symbol in symbols],
            )
            _show_labels(f"Labels of the {end.lower()}: {name}", symbols)


def _symbol(symbol: SymbolImportance) -> tuple[str, ...]:
    parameters = " ".join(f"{value:.3g}" for value in symbol.parameters)
    values = (f"{symbol.freq:,}", f"{symbol.importance:.3g}", f"{symbol.norm:.3g}", parameters)
    return (repr(symbol.text), *values, f"{symbol.sharing:,}")


def _show_labels(title: str, symbols: Sequence[SymbolImportance]) -> None:
    """Print the scores of n-grams by label: all labels, or the extremes if there are many."""
    names = list(symbols[0].labels)
    if not names:
        return

    def score(symbol: SymbolImportance, label: str) -> str:
        return f"{symbol.labels[label]:+.3g}"

    explanation = "Above 0: the n-gram speaks for the label. Below 0: against it."
    if sum(max(len(name), _SCORE) + 2 for name in names) <= 70:
        rows = [(repr(s.text), *(score(s, name) for name in names)) for s in symbols]
        show_table(title, ("symbol", *names), rows)
    else:
        rows = []
        for symbol in symbols:
            lowest, highest = (f(names, key=symbol.labels.__getitem__) for f in (min, max))
            scores = (score(symbol, highest), score(symbol, lowest))
            rows.append((repr(symbol.text), highest, scores[0], lowest, scores[1]))
        show_table(title, ("symbol", "for", "score", "against", "score"), rows, aligns="llrlr")
        explanation += f" Shown are 2 of {len(names)} labels. See all with --json."
    msg.text(explanation)
