"""`python -m spacy multihash importance`: what weighted hash embeddings find important."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Literal, Optional

import typer

from ..common.load import load_pipeline
from ..inspection.importance import (
    EmbeddingImportance,
    Ranking,
    SymbolImportance,
    symbol_importance,
)
from ..tables.find import embedding_name
from ._shards import Shards
from ._util import AS_JSON, CODE, MODEL, failing, import_code, msg, print_json, show_table


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
    as_json: bool = AS_JSON,
    code: Optional[Path] = CODE,
) -> None:
    """Show the most and the least important tokens or n-grams.

    Lists the symbols of each MultiWeightedHashEmbed and TextCatHashEmbed. The importance of a
    symbol is the mean absolute value of its importance parameters. Its scale depends on the
    component vectors, so the norm of the whole vector is shown as well. Symbols that share a row of
    parameters have the same importance. Rare symbols are left out: they hardly move from their
    initial importance, which is near 0.

    DOCS: python -m pydoc spacy_multihash.inspection.importance
    """
    import_code(code)
    with failing("Cannot show the importance"):
        ranking = Ranking(sort, top, min_freq, share)
        nlp = load_pipeline(model)
        read = partial(Shards.of(data).model_docs, nlp)
        embeddings = symbol_importance(nlp, read, ranking, component=component)
    if as_json:
        print_json([asdict(embedding) for embedding in embeddings])
    else:
        _show(embeddings, ranking)


def _show(embeddings: Sequence[EmbeddingImportance], ranking: Ranking) -> None:
    """Print tables of all embeddings, and of the symbols of each."""
    names = [embedding_name(embedding.component, embedding.attr) for embedding in embeddings]
    summaries = []
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
    for name, embedding in zip(names, embeddings, strict=True):
        if 2 * embedding.num_near_zero > embedding.num_frequent:
            msg.warn(
                f"{name}: the importance of {embedding.num_near_zero:,} of "
                f"{embedding.num_frequent:,} frequent symbols is near zero. It grows by the "
                "learning rate or less in an update. If the model had only a few hundred updates, "
                "train it for longer."
            )
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
    """Print the scores of n-grams by label, if the model gives them."""
    names = list(symbols[0].labels)
    if not names:
        return
    rows = [
        (repr(symbol.text), *(f"{symbol.labels[name]:+.3g}" for name in names))
        for symbol in symbols
    ]
    show_table(title, ("symbol", *names), rows)
    msg.text("Above 0: the n-gram speaks for the label. Below 0: against it.")
