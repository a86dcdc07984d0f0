"""Why a recognizer finds an entity: its log-odds when features are unknown.

The effect of a token's feature is how far the entity's log-odds, log(p / (1 - p)), fall if an
unknown symbol replaces its symbol. The effect of a token is how far they fall if all its features
are unknown. In hashed tables, unknown symbols share rows with other symbols, so several are tried,
and their log-odds averaged. Probabilities themselves would saturate: from 0.9999 to 0.99 is a long
way, and from 0.5 to 0.4901 a short one. Nothing is printed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Optional, cast

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.batchers import minibatch_by_words
from spacy.util import minibatch

from ..embed.unique_tokens import Column
from ..ner.spans import score_spans, upstream_of
from ..tables.find import hashes_symbols
from .unknown import UnknownSymbols, features_of

Key = tuple[int, int, str]
# Docs (D,), the entities of each -> the probabilities of all entities, (E,) float64.
Ask = Callable[[Sequence[Doc], Sequence[Sequence[Key]]], numpy.ndarray]
# A doc, the tokens whose symbols are unknown, and the entities to ask about.
Variant = tuple[Doc, Mapping[Column, numpy.ndarray], Sequence[Key]]
Where = Literal["everywhere", "in the entity"]
# Docs of a corpus to ask about at once, and their tokens, unless one doc has more.
_BATCH, _TOKENS = 128, 20_000
# A smaller difference of log-odds is too small for a share.
_SMALL = 0.01
# Limit of log-odds. float64 hardly tells more extreme probabilities from 0 or 1.
MAX_LOG_ODDS = 36.0
# How many unknown symbols to try if tables are hashed.
_DRAWS = 4
EVERYWHERE: Where = "everywhere"
IN_ENTITY: Where = "in the entity"


class Explained(NamedTuple):
    """A pipeline to explain."""

    ask: Ask  # the recognizer
    features: Mapping[str, Column]  # the attribute of each feature, or its own name
    draws: int  # how many unknown symbols to try


@dataclass(frozen=True)
class Explanation:
    """What the probability of an entity depends on, in log-odds (natural units).

    by_feature (tuple[tuple[float, ...], ...]): (T, A), how far the log-odds fall if a feature of a
        token is unknown.
    by_token (tuple[float, ...]): (T,), how far they fall if all features of a token are unknown.
    together (float): How far they fall if all features of all T tokens are unknown.
    """

    text: str
    label: str
    start: int
    end: int
    found: bool  # whether the pipeline finds it
    probability: float
    log_odds: float
    features: tuple[str, ...]  # (A,)
    tokens: tuple[int, ...]  # (T,), around the entity and in it
    words: tuple[str, ...]  # (T,), their texts
    texts: tuple[str, ...]  # of all tokens of the doc, with trailing whitespace
    by_feature: tuple[tuple[float, ...], ...]
    by_token: tuple[float, ...]
    together: float

    @property
    def completeness(self) -> Optional[float]:
        """The sum over tokens, each unknown by itself, as a share of `together`.

        1 if tokens count independently of each other. None if `together` is next to 0.
        """
        return None if abs(self.together) < _SMALL else sum(self.by_token) / self.together


@dataclass(frozen=True)
class Effect:
    """How much a feature counts for the gold entities of a corpus."""

    label: Optional[str]  # None for all labels
    feature: str
    where: Where  # where it's unknown
    mean: float  # how far their log-odds fall
    error: Optional[float]  # the standard error of the mean, None for a single entity
    entities: int


def log_odds(probabilities: numpy.ndarray) -> numpy.ndarray:
    """Turn probabilities (E,) into log-odds (E,) float64, from -MAX_LOG_ODDS to MAX_LOG_ODDS."""
    probabilities = numpy.asarray(probabilities, dtype="float64")
    with numpy.errstate(divide="ignore"):
        odds = numpy.log(probabilities) - numpy.log1p(-probabilities)
    return odds.clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)


def prepare(nlp: Language, name: str) -> Explained:
    """Find the features that a recognizer's probabilities depend on.

    name (str): The component, a batch_ner or tagger_ner.

    Raises ValueError if it doesn't embed attributes of tokens.
    """
    recognizer: Any = nlp.get_pipe(name)
    models = [*(pipe.model for pipe in upstream_of(nlp, name)), recognizer.model]
    features = {
        feature: attr for model in models for feature, attr in features_of(model, nlp.vocab).items()
    }
    if not features:
        raise ValueError(
            f'Component "{name}" embeds no attributes of tokens, and listens to no tok2vec that '
            "does. There is nothing that could be unknown to it."
        )
    draws = _DRAWS if any(map(hashes_symbols, models)) else 1
    return Explained(partial(score_spans, nlp, name), features, draws)


def explain(explained: Explained, doc: Doc, key: Key, *, found: bool, window: int) -> Explanation:
    """Explain an entity of a doc.

    The recognizer reads the whole doc for each feature of each token around the entity.

    doc (Doc): The doc, annotated by the components before the recognizer.
    found (bool): Whether the pipeline finds the entity.
    window (int): How many tokens to look at on either side.
    """
    start, end, label = key
    tokens = range(max(0, start - window), min(len(doc), end + window))
    attrs = list(explained.features.values())
    variants: list[dict[Column, numpy.ndarray]] = [{}]
    for token in tokens:
        here = numpy.array([token])
        variants += [{attr: here} for attr in attrs]
        variants.append(dict.fromkeys(attrs, here))
    variants.append(dict.fromkeys(attrs, numpy.array(tokens)))
    asked = _ask_variants(explained, [(doc, variant, [key]) for variant in variants])
    values = numpy.array([of_doc[0] for of_doc in asked])
    falls = values[0] - values[1:-1].reshape(len(tokens), len(attrs) + 1)
    return Explanation(
        text=doc[start:end].text,
        label=label,
        start=start,
        end=end,
        found=found,
        probability=float(1 / (1 + numpy.exp(-values[0]))),
        log_odds=float(values[0]),
        features=tuple(explained.features),
        tokens=tuple(tokens),
        words=tuple(doc[token].text for token in tokens),
        texts=tuple(token.text_with_ws for token in doc),
        by_feature=tuple(map(tuple, falls[:, :-1].tolist())),
        by_token=tuple(falls[:, -1].tolist()),
        together=float(values[0] - values[-1]),
    )


def explain_corpus(
    explained: Explained, examples: Iterable[tuple[Doc, Sequence[Key]]]
) -> list[Effect]:
    """Measure the effect of each feature on the entities of a corpus.

    examples (Iterable[tuple[Doc, Sequence[Key]]]): Docs, annotated by the components before the
        recognizer, and the gold entities of each.
    """
    falls: dict[Optional[str], list[numpy.ndarray]] = defaultdict(list)
    wheres = (EVERYWHERE, IN_ENTITY)
    for batch in minibatch(examples, max(1, _BATCH // (1 + 2 * len(explained.features)))):
        for (_, keys), values in zip(batch, _effects(explained, batch), strict=True):
            for (_, _, label), of_entity in zip(keys, values.T, strict=True):
                for group in (label, None):
                    falls[group].append(of_entity[0] - of_entity[1:])
    effects = []
    for label in sorted(falls, key=lambda label: (label or "all", label or "")):
        rows = falls[label]
        values = numpy.array(rows).reshape(len(rows), len(explained.features), len(wheres))
        effects += [
            Effect(label, feature, where, float(each.mean()), _error(each), len(each))
            for i, feature in enumerate(explained.features)
            for where, each in zip(wheres, values[:, i].T, strict=True)
        ]
    return effects


def _error(values: numpy.ndarray) -> Optional[float]:
    """Return the standard error of the mean of values (E,)."""
    return float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else None


def _effects(
    explained: Explained, batch: Sequence[tuple[Doc, Sequence[Key]]]
) -> Iterator[numpy.ndarray]:
    """Yield the log-odds (1 + 2 * A, E) of each doc's E entities: known, by feature and place."""
    variants: list[Variant] = []
    for doc, keys in batch:
        own = numpy.array(sorted({i for start, end, _ in keys for i in range(start, end)}), int)
        variants.append((doc, {}, keys))
        for attr in explained.features.values():
            variants += [(doc, {attr: where}, keys) for where in (numpy.arange(len(doc)), own)]
    values = _ask_variants(explained, variants)
    size = 1 + 2 * len(explained.features)
    for i in range(len(batch)):
        yield numpy.array(values[i * size : (i + 1) * size])


def _ask_variants(
    explained: Explained,
    variants: Sequence[Variant],
) -> list[numpy.ndarray]:
    """Return log-odds of entities with unknown symbols, averaged over the symbols."""
    asked: list[tuple[int, Any, Sequence[Key]]] = [
        (number, UnknownSymbols(doc, unknown, draw), keys)
        for number, (doc, unknown, keys) in enumerate(variants)
        for draw in range(explained.draws if unknown else 1)
    ]
    odds: dict[int, list[numpy.ndarray]] = defaultdict(list)
    batches = minibatch_by_words(asked, _TOKENS, tolerance=0, get_length=lambda item: len(item[1]))
    for batch in batches:
        keys = [of_doc for _, _, of_doc in batch]
        values = log_odds(explained.ask([cast(Doc, doc) for _, doc, _ in batch], keys))
        ends = numpy.cumsum([len(of_doc) for of_doc in keys])
        for (number, _, _), of_doc in zip(batch, numpy.split(values, ends[:-1]), strict=True):
            odds[number].append(of_doc)
    return [numpy.mean(odds[number], axis=0) for number in range(len(variants))]
