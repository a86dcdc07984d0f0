"""Which symbols a trained weighted hash embedding finds important. Nothing is printed."""

from dataclasses import dataclass, field
from typing import Literal, Optional, cast

import numpy
from spacy.language import Language
from thinc.api import to_numpy
from thinc.types import Ints1d

from ..common.checks import check_number, check_whole
from ..common.nodes import SOFTMAX
from ..tables.find import (
    EmbeddingTable,
    WeightedEmbedding,
    component_models,
    find_weighted,
    linear_output,
    may_be_weighted,
    rows_of,
)
from ..tables.tables import Table
from .symbols import DocReader, DocSymbols

SortBy = Literal["importance", "norm"]

# Training has hardly changed an importance below this. Where it starts near zero, its standard
# deviation is a tenth of this.
NEAR_ZERO = 0.005
_BATCH = 2**14  # symbols to embed at once


@dataclass(frozen=True)
class SymbolImportance:
    """How important a symbol is.

    text (str): The symbol, or the symbols of an n-gram's tokens with blanks between them.
    parameters (list[float]): Its k importance parameters.
    importance (float): The mean absolute value of its parameters. It depends on the scale of the
        components: with half of it, and components twice as long, vectors are the same.
    norm (float): The Euclidean norm of its vector, the weighted components put together.
    sharing (int): How many other symbols of the corpus have the same row of importance parameters.
    labels (dict[str, float]): If a text classifier is linear, what the n-gram adds to the score of
        each label, before the softmax or the logistic function. If the model averages the vectors
        of n-grams, that is divided by their number. If labels exclude each other, only differences
        between them matter, so the mean over all labels is subtracted. Empty for other models.
    """

    text: str
    freq: int
    parameters: list[float]
    importance: float
    norm: float
    sharing: int
    labels: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class EmbeddingImportance:
    """The importance of symbols in an embedding.

    attr (str): The attribute, or its n-grams.
    seed (int): Hash seed of the component vectors.
    num_sharing (int): The symbols that share their row of importance parameters.
    num_frequent (int): The symbols that occur at least min_freq times. All other fields below only
        count these.
    num_near_zero (int): The frequent symbols whose importance is below 0.005. If it started near
        zero, training has hardly changed it.
    num_important (int): The important symbols, |T_imp| of the paper. Their importance is at least
        the given share of the mean.
    largest, smallest (list[SymbolImportance]): The symbols with the largest and the smallest
        importance, or norm. In ties, the most frequent symbol comes first.
    """

    component: str
    attr: str
    seed: int
    num_symbols: int
    num_sharing: int
    num_frequent: int
    mean_importance: float
    num_near_zero: int
    num_important: int
    largest: list[SymbolImportance]
    smallest: list[SymbolImportance]


@dataclass(frozen=True)
class Ranking:
    """Which symbols are listed, and which are important.

    sort (str): Whether to sort symbols by "importance", or by the "norm" of their vectors.
    top (int): How many to list from either end, top >= 1.
    min_freq (int): How often a symbol must occur, min_freq >= 1. Rare symbols hardly move from
        their initial importance, which is near 0 by default.
    share (float): A symbol is important if its importance is at least this share of the mean.

    Raises ValueError if a number is out of range.
    """

    sort: SortBy = "importance"
    top: int = 10
    min_freq: int = 5
    share: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        where, advice = "Ranking of symbols", "Change it, or"
        check_whole(where, "top", self.top, 1, advice=f"{advice} --top.")
        check_whole(where, "min_freq", self.min_freq, 1, advice=f"{advice} --min-freq.")
        check_number(where, "share", self.share, 0, advice=f"{advice} --share.")


def symbol_importance(
    nlp: Language,
    make_docs: DocReader,
    ranking: Ranking = Ranking(),  # noqa: B008 (it is frozen)
    *,
    component: Optional[str] = None,
) -> list[EmbeddingImportance]:
    """List the symbols of a corpus with the largest and the smallest importance parameters.

    For each weighted hash embedding of a pipeline, as in Table 4 of Svenstrup et al. 2017.

    nlp (Language): The trained pipeline.
    make_docs (DocReader): Reads the docs of the corpus from the start, with the pipeline's vocab.
        It's called once to count, and again to write n-grams as texts.
    ranking (Ranking): Which symbols are listed.
    component (Optional[str]): Name of the component. None for all.
    RETURNS (list[EmbeddingImportance]): An item for each embedding.

    Raises ValueError if there is no such component, no weighted hash embedding with trained
    importance, or no symbol that is frequent enough.
    """
    embeddings = find_trained(nlp, component)
    symbols = DocSymbols(make_docs, nlp.vocab)
    counts = symbols.count(embedding.components for embedding in embeddings)
    return [_rank(nlp, each, symbols, counts[each.components], ranking) for each in embeddings]


def find_trained(nlp: Language, component: Optional[str] = None) -> list[WeightedEmbedding]:
    """Find the weighted hash embeddings with trained importance, of one component or of all.

    Raises ValueError if there are none, or no such component.
    """
    if component is not None and component not in nlp.component_names:
        raise ValueError(
            f"There is no component '{component}' in the pipeline. It has: {nlp.component_names}. "
            "Name one that holds a weighted hash embedding, or none for all."
        )
    names = nlp.component_names if component is None else [component]
    found = [part for part in find_weighted(nlp) if part.components.component in names]
    trained = [embedding for embedding in found if embedding.importance is not None]
    if trained:
        return trained
    models = [model for name, model in component_models(nlp).items() if name in names]
    if any(map(may_be_weighted, models)):
        raise ValueError(
            f"The importance in {names} is fixed at 1: there is nothing to show. Train with "
            "train_importance = true in the config's embedding layer."
        )
    raise ValueError(
        f"There is no weighted hash embedding in {names}: looked for MultiWeightedHashEmbed and "
        "TextCatHashEmbed. Give a pipeline that has one, and the component that holds it."
    )


def _rank(
    nlp: Language,
    embedding: WeightedEmbedding,
    symbols: DocSymbols,
    counts: Table,
    ranking: Ranking,
) -> EmbeddingImportance:
    """Measure the symbols of an embedding, and list the first and the last."""
    table = embedding.components
    rows = rows_of(cast(EmbeddingTable, embedding.importance).layer, counts.keys)[:, 0]
    _, row, sizes = numpy.unique(rows, return_inverse=True, return_counts=True)
    sharing = sizes[row] - 1  # how many others have the symbol's row, (V,)
    is_frequent = counts.counts >= ranking.min_freq
    if not is_frequent.any():
        raise ValueError(
            f"No symbol of {table.attr} occurs {ranking.min_freq} times in the corpus: the most "
            f"frequent one occurs {counts.counts[0]} times. Lower min_freq, or give more documents."
        )
    keys, freqs = counts.keys[is_frequent], counts.counts[is_frequent]
    parameters, norms = _measure(embedding, keys)
    if not numpy.isfinite(norms).all():
        raise ValueError(
            f"{table.name} has vectors that are not finite: training has diverged. Train again, "
            "with a lower learn_rate in [training.optimizer]."
        )
    importance = numpy.abs(parameters).mean(axis=1)  # (V,)
    important = importance >= ranking.share * importance.mean()
    values = importance if ranking.sort == "importance" else norms
    ends = [numpy.argsort(by, kind="stable")[: ranking.top] for by in (-values, values)]
    listed = numpy.concatenate(ends)
    texts = symbols.texts(table, keys[listed].tolist())
    ranked = [
        SymbolImportance(
            text=text,
            freq=int(freqs[i]),
            parameters=parameters[i].tolist(),
            importance=float(importance[i]),
            norm=float(norms[i]),
            sharing=int(sharing[is_frequent][i]),
            labels=labels,
        )
        for i, text, labels in zip(
            listed, texts, _label_scores(nlp, embedding, keys[listed]), strict=True
        )
    ]
    return EmbeddingImportance(
        component=table.component,
        attr=table.attr,
        seed=table.layer.attrs["seed"].value,
        num_symbols=len(counts),
        num_sharing=int((sharing > 0).sum()),
        num_frequent=len(keys),
        mean_importance=float(importance.mean()),
        num_near_zero=int((importance < NEAR_ZERO).sum()),
        num_important=int(important.sum()),
        largest=ranked[: len(ends[0])],
        smallest=ranked[len(ends[0]) :],
    )


def _label_scores(
    nlp: Language, embedding: WeightedEmbedding, ids: numpy.ndarray
) -> list[dict[str, float]]:
    """Return the score of each symbol (T,) for each label, if the model is linear."""
    output = linear_output(nlp, embedding)
    if output is None:
        return [{} for _ in ids]
    layer = embedding.layer
    vectors = layer.predict(cast(Ints1d, layer.ops.asarray(cast(Ints1d, ids))))
    scores = to_numpy(vectors) @ to_numpy(output.get_param("W")).T  # (T, number of labels)
    if output.name == SOFTMAX:
        scores -= scores.mean(axis=1, keepdims=True)
    labels = nlp.get_pipe(embedding.components.component).labels  # type: ignore[attr-defined]
    return [dict(zip(labels, row, strict=True)) for row in scores.tolist()]


def _measure(
    embedding: WeightedEmbedding, ids: numpy.ndarray
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Embed symbols (V,): importance parameters (V, k), and norms of vectors (V,), float32."""
    _, parameters, table = embedding.layer.layers
    width = table.get_dim("nO")  # there may be parameters behind the vector
    parts = []
    for start in range(0, len(ids), _BATCH):
        chunk = cast(Ints1d, ids[start : start + _BATCH])
        batch = cast(Ints1d, embedding.layer.ops.asarray(chunk))
        vectors = to_numpy(embedding.layer.predict(batch))[:, :width]
        parts.append((to_numpy(parameters.predict(batch)), numpy.linalg.norm(vectors, axis=1)))
    weights, norms = zip(*parts, strict=True)
    return numpy.concatenate(weights), numpy.concatenate(norms)
