"""Why a pipeline predicts an entity or a text's label: its log-odds when features are unknown.

The effect of a token's feature is how far the log-odds, log(p / (1 - p)), fall if an unknown value
replaces its value. The effect of a token is how far they fall if all its features are unknown. In
hashed tables, unknown values share rows with other values, so several are tried, and their log-odds
averaged. Probabilities themselves would saturate: from 0.9999 to 0.99 is a long way, and from 0.5
to 0.4901 a short one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, Optional, Union, cast

import numpy
from spacy.language import Language
from spacy.pipeline import TextCategorizer
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.training.batchers import minibatch_by_words
from thinc.api import to_numpy

from ..common.arguments import Count, Positive, checked
from ..common.checks import check_choice, check_text
from ..common.load import loaded
from ..common.nodes import EXTRACT_NGRAMS, find_nodes
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..embed.unique_tokens import Column
from ..ner.calibration import find_recognizer
from ..ner.entities import annotate_before, tempered_spans, upstream_of
from ..tables.find import hashes_symbols
from .unknown import UnknownSymbols, features_of

Key = tuple[int, int, str]
# Docs (D,), the entities of each -> factor of the temperature -> the probabilities of all entities,
# (E,) float64.
Ask = Callable[[Sequence[Doc], Sequence[Sequence[Key]]], Callable[[float], numpy.ndarray]]
# A doc, the tokens whose values are unknown, and the entities to ask about.
Variant = tuple[Doc, Mapping[Column, numpy.ndarray], Sequence[Key]]
# How far from an entity, and how many entities of a text, are looked at.
WINDOW, MAX_ENTITIES = 3, 20
# Tokens to ask about at once, unless one doc has more.
_TOKENS = 20_000
# A smaller difference of log-odds is too small for a share.
_SMALL = 0.01
# Limit of log-odds. float64 hardly tells more extreme probabilities from 0 or 1.
MAX_LOG_ODDS = 36.0
# Log-odds have some exact digits up to this limit. If they're beyond it, scores are divided by the
# least of these factors, so that they aren't.
EXACT_LOG_ODDS = 28.0
FACTORS = (1.0, 4.0, 16.0, 64.0)
# How many unknown values to try if tables are hashed.
_DRAWS = 4
# How many tokens a page shows on either side.
TOKENS_AROUND = 300
_TITLE = 40  # characters of a text in a title


class Explained(NamedTuple):
    """A component to explain."""

    ask: Ask
    features: Mapping[str, Column]  # the attribute of each feature, or its own name
    draws: int  # how many unknown values to try


class TokenEffects(NamedTuple):
    """The effects on a token of an explanation.

    word (str): The token, or its repr if it's blank or not printable.
    is_own (bool): Whether it's a token of the entity.
    values (Sequence[float]): By feature, and of all features at once.
    space (str): What follows the token in the text.
    """

    word: str
    is_own: bool
    values: Sequence[float]
    space: str


@dataclass(frozen=True)
class Explanation:
    """What the probability of an entity, or of a text's label, depends on, in log-odds.

    by_feature (tuple[tuple[float, ...], ...]): (T, A), how far the log-odds fall if a feature of a
        token is unknown.
    by_token (tuple[float, ...]): (T,), how far they fall if all features of a token are unknown.
    together (float): How far they fall if all features of all T tokens are unknown.
    completeness (Optional[float]): The sum over tokens, each unknown by itself, as a share of
        `together`. 1 if tokens count independently of each other. None if `together` is next to 0.
    """

    text: str
    label: str
    start: int
    end: int
    predicted: bool  # whether the pipeline predicts it
    probability: float
    log_odds: float
    features: tuple[str, ...]  # (A,)
    tokens: tuple[int, ...]  # (T,), around the entity and in it
    words: tuple[str, ...]  # (T,), their texts
    texts: tuple[str, ...] = field(repr=False)  # of all tokens of the doc, with whitespace
    by_feature: tuple[tuple[float, ...], ...]
    by_token: tuple[float, ...]
    together: float
    completeness: Optional[float]
    factor: float = 1.0  # what scores were divided by, since the probability was next to 0 or 1
    is_exact: bool = True  # whether log-odds are still too near to the limit

    @property
    def title(self) -> str:
        """The entity and its label."""
        return f"{shorten(visible(self.text), _TITLE, placeholder=' ...')}, {self.label}"

    @property
    def about(self) -> str:
        """How much of the fall of log-odds the tokens explain by themselves."""
        verb = "rise" if signed(self.together, 2).startswith("-") else "fall"
        share = "" if self.completeness is None else f", {self.completeness:.0%} of it"
        text = (
            f"With all of these unknown, the log-odds {verb} by {abs(self.together):.2f}. The "
            f"tokens, unknown one at a time, add up to {signed(sum(self.by_token), 2)}{share}."
        )
        return " ".join(filter(None, [text, about_factor(self.factor, self.is_exact)]))

    @property
    def effects(self) -> Iterator[TokenEffects]:
        """The effects of each token."""
        columns = (self.tokens, self.words, self.by_feature, self.by_token)
        for token, word, by_feature, of_token in zip(*columns, strict=True):
            is_own, space = self.start <= token < self.end, self.texts[token].removeprefix(word)
            yield TokenEffects(visible(word), is_own, [*by_feature, of_token], space)

    @property
    def table(self) -> Table:
        """The effects of all tokens and features."""
        rows = [
            (f"[{e.word}]" if e.is_own else e.word, *(signed(value, 2) for value in e.values))
            for e in self.effects
        ]
        suffix = "" if self.predicted else ", not predicted"
        title = f"{self.title}: {self.probability:.3f}{suffix}"
        return Table(title, ("token", *self.features, "all"), rows)

    def strength(self, value: float) -> float:
        """How strong a page colours an effect: at most 0.6, for the number farthest from 0."""
        return 0.6 * abs(value) / self._largest

    @cached_property
    def _largest(self) -> float:
        numbers = [*self.by_token, *(value for row in self.by_feature for value in row)]
        return max(map(abs, numbers), default=0.0) or 1.0

    def around(self) -> tuple[str, str]:
        """The text before and behind the explained tokens."""
        first, behind = self.tokens[0], self.tokens[-1] + 1
        before = "".join(self.texts[max(first - TOKENS_AROUND, 0) : first])
        after = "".join(self.texts[behind:][:TOKENS_AROUND])
        if first > TOKENS_AROUND:
            before = f"… {before}"
        return before, f"{after}…" if len(self.texts) > behind + TOKENS_AROUND else after


@dataclass(frozen=True, eq=False)
class Explanations(Result):
    """What made a pipeline predict the entities, or the labels, of a text.

    left_out (int): How many more entities the text has than were explained.

    Its page has the text, coloured by the numbers.
    """

    template, heading = "explain.html", "What made the model predict this?"

    explanations: Sequence[Explanation]
    left_out: int = 0

    def tables(self) -> Iterable[Table]:
        """A table for each entity: tokens by features."""
        return [explanation.table for explanation in self.explanations]

    def notes(self) -> Iterable[str]:
        """How much the tokens explain, and what the numbers mean."""
        if not self.explanations:
            yield "Nothing was predicted. Name an entity to explain: spans (--span TEXT=LABEL)."
            return
        for explanation in self.explanations:
            yield f"{explanation.title}: {explanation.about}"
        if self.left_out:
            number = len(self.explanations)
            yield (
                f"Only the first {number:,} of {number + self.left_out:,} entities are explained. "
                "Raise max_entities (--max-entities) to explain more."
            )
        yield (
            "Numbers are by how much the log-odds fall if the feature of the token is unknown. The "
            "entity's own tokens are in brackets."
        )


def about_factor(factor: float, is_exact: bool) -> str:  # noqa: FBT001
    """Say what was done about probabilities next to 0 or 1, or ""."""
    if not is_exact:
        return (
            "The model is too sure to tell effects apart: its probabilities are 0 or 1 in floating "
            "point. Calibrate it, or train it with more dropout or fewer steps."
        )
    if factor == 1:
        return ""
    return (
        "The model is so sure that its probabilities are next to 0 or 1. So its scores were "
        f"divided by {factor:.0f} (a temperature), and log-odds are smaller. Calibrate it to see "
        "its own."
    )


def signed(value: float, digits: int) -> str:
    """Format a number with its sign, or without sign if it's rounded to 0."""
    return f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def visible(word: str) -> str:
    """Return a word as it is, or its repr if it's blank or not printable."""
    return word if word.strip() and word.isprintable() else repr(word)


@checked
def explain(
    nlp: Union[Language, str, Path],
    text: str,
    *,
    spans: Sequence[str] = (),
    component: Optional[str] = None,
    window: Count = WINDOW,
    max_entities: Positive = MAX_ENTITIES,
    progress: Progress = no_progress,
) -> Explanations:
    """Explain the entities that a pipeline predicts in a text, or the text's labels.

    The recognizer reads the whole text again for each feature of each token around an entity, so
    the time grows with the length of the text times the number of entities.

        print(explain(nlp, "Anna met Bob in Rome.", spans=["Rome=ORG"]))

    nlp (Union[Language, str, Path]): The pipeline, with a batch_ner or tagger_ner, which give
        probabilities, or with a text classifier that embeds attributes of tokens.
    spans (Sequence[str]): Entities to explain instead of those predicted, as "TEXT=LABEL". For a
        text classifier, labels.
    component (Optional[str]): The component, if the pipeline has several.
    window (int): Tokens to either side of an entity to look at. A text's label depends on all.
    max_entities (int): How many entities to explain at most.

    Raises ValueError if there's no such component, and if the text doesn't contain a span.
    """
    check_text(text)
    nlp = loaded(nlp)
    name = _find_component(nlp, component)
    explained = prepare(nlp, name)
    doc = nlp.make_doc(text)
    (example,) = annotate_before(nlp, name, [Example(doc, doc)])
    doc = example.predicted
    if isinstance(nlp.get_pipe(name), TextCategorizer):
        window = len(doc)
    predicted, asked = _keys(nlp, name, doc, spans)
    keys = asked or predicted
    explanations = [
        explain_entity(explained, doc, key, predicted=key in predicted, window=window)
        for key in progress(keys[:max_entities], desc="Explaining", unit=" entities")
    ]
    return Explanations(explanations, len(keys) - len(explanations))


def _keys(nlp: Language, name: str, doc: Doc, spans: Sequence[str]) -> tuple[list[Key], list[Key]]:
    """Find the entities, or the text's labels, that a component predicts, and those asked for."""
    pipe: Any = nlp.get_pipe(name)
    labels = tuple(pipe.labels)  # before a recognizer meets entities of rules
    annotated = nlp(doc.text)
    if isinstance(pipe, TextCategorizer):
        for label in spans:
            check_choice("explain", "spans", label, labels, advice="Give labels of the component.")
        scores = [(score, label) for label, score in annotated.cats.items() if label in labels]
        best = [label for score, label in scores if score >= 0.5] or [max(scores)[1]]
        of_text, of_spans = ([(0, len(doc), label) for label in some] for some in (best, spans))
        return of_text, of_spans
    predicted: list[Key] = []
    for ent in annotated.ents:  # later components may have changed the tokens
        span = doc.char_span(ent.start_char, ent.end_char)
        if span is not None and ent.label_ in labels:
            predicted.append((span.start, span.end, ent.label_))
    return predicted, [key for span in spans for key in _find_span(doc, span)]


def _find_component(nlp: Language, component: Optional[str]) -> str:
    """Find the recognizer, or the text classifier of a pipeline without a recognizer."""
    classifiers = [name for name, pipe in nlp.pipeline if isinstance(pipe, TextCategorizer)]
    if component in classifiers:
        return cast(str, component)
    gives_entities = any(hasattr(pipe, "score_spans") for _, pipe in nlp.pipeline)
    if component is None and classifiers and not gives_entities:
        return classifiers[0]
    return find_recognizer(nlp, component)


def _find_span(doc: Doc, wanted: str) -> list[Key]:
    """Find all places of a TEXT=LABEL in a doc."""
    text, equals, label = wanted.rpartition("=")
    if not (equals and text and label):
        raise ValueError(f"A span must be TEXT=LABEL, such as 'New York=GPE', got {wanted}")
    spans: list[Optional[Span]] = []
    start = doc.text.find(text)
    while start >= 0:
        spans.append(doc.char_span(start, start + len(text), label=label))
        start = doc.text.find(text, start + 1)
    keys = [(span.start, span.end, label) for span in spans if span is not None]
    if not keys:
        why = "stands within a token" if spans else "is not in the text"
        raise ValueError(f"Span {wanted}: {text!r} {why}. Give whole tokens of the text.")
    return keys


def log_odds(probabilities: numpy.ndarray) -> numpy.ndarray:
    """Turn probabilities (E,) into log-odds (E,) float64, from -MAX_LOG_ODDS to MAX_LOG_ODDS."""
    probabilities = numpy.asarray(probabilities, dtype="float64").clip(0, 1)  # rounded above 1
    with numpy.errstate(divide="ignore"):
        odds = numpy.log(probabilities) - numpy.log1p(-probabilities)
    return odds.clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)


def prepare(nlp: Language, name: str) -> Explained:
    """Find the features that a component's probabilities depend on.

    name (str): The component, a batch_ner, tagger_ner or text classifier.

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
    is_hashed = any(hashes_symbols(model) or find_nodes(model, EXTRACT_NGRAMS) for model in models)
    ask = _score_labels if isinstance(recognizer, TextCategorizer) else tempered_spans
    return Explained(partial(ask, nlp, name), features, _DRAWS if is_hashed else 1)


def _score_labels(
    nlp: Language, name: str, docs: Sequence[Doc], keys: Sequence[Sequence[Key]]
) -> Callable[[float], numpy.ndarray]:
    """Compute the probabilities of texts' labels, (E,) float64, which have no temperature."""
    classifier: Any = nlp.get_pipe(name)
    for pipe in upstream_of(nlp, name):
        pipe.set_annotations(docs, pipe.predict(docs))
    scores = to_numpy(classifier.predict(docs)).astype("float64")
    places = [
        (i, classifier.labels.index(label)) for i, of_doc in enumerate(keys) for *_, label in of_doc
    ]
    if classifier.model.attrs.get("multi_label", True):
        values = numpy.array([scores[place] for place in places])
    else:  # the other labels' scores tell probabilities next to 1 apart
        values = numpy.array([scores[i, j] / scores[i].sum() for i, j in places])
    return lambda factor: values


def explain_entity(
    explained: Explained, doc: Doc, key: Key, *, predicted: bool, window: int
) -> Explanation:
    """Explain an entity of a doc.

    The recognizer reads the whole doc for each feature of each token around the entity.

    doc (Doc): The doc, annotated by the components before the recognizer.
    predicted (bool): Whether the pipeline predicts the entity.
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
    asked = ask_variants(explained, [(doc, variant, [key]) for variant in variants])
    of_factors = numpy.array([of_doc[:, 0] for of_doc in asked]).T  # (F, 1 + variants)
    number, is_exact = choose_factor(numpy.abs(of_factors).max(axis=1))
    values = of_factors[number]
    falls = values[0] - values[1:-1].reshape(len(tokens), len(attrs) + 1)
    together = float(values[0] - values[-1])
    return Explanation(
        text=doc[start:end].text,
        label=label,
        start=start,
        end=end,
        predicted=predicted,
        probability=float(1 / (1 + numpy.exp(-of_factors[0, 0]))),
        log_odds=float(values[0]),
        features=tuple(explained.features),
        tokens=tuple(tokens),
        words=tuple(doc[token].text for token in tokens),
        texts=tuple(token.text_with_ws for token in doc),
        by_feature=tuple(map(tuple, falls[:, :-1].tolist())),
        by_token=tuple(falls[:, -1].tolist()),
        together=together,
        completeness=None if abs(together) < _SMALL else float(falls[:, -1].sum()) / together,
        factor=FACTORS[number],
        is_exact=is_exact,
    )


def choose_factor(largest: numpy.ndarray) -> tuple[int, bool]:
    """Choose the least factor at which all log-odds are exact. Returns its number, and if they are.

    largest (F,) float: The largest absolute log-odds with each factor.
    """
    exact = numpy.flatnonzero(largest < EXACT_LOG_ODDS)
    return (int(exact[0]), True) if len(exact) else (0, False)


def ask_variants(
    explained: Explained,
    variants: Sequence[Variant],
) -> list[numpy.ndarray]:
    """Return log-odds of entities with unknown symbols, (F, E), averaged over the symbols."""
    asked: list[tuple[int, Any, Sequence[Key]]] = [
        (number, UnknownSymbols(doc, unknown, draw), keys)
        for number, (doc, unknown, keys) in enumerate(variants)
        for draw in range(explained.draws if unknown else 1)
    ]
    odds: dict[int, list[numpy.ndarray]] = defaultdict(list)
    batches = minibatch_by_words(asked, _TOKENS, tolerance=0, get_length=lambda item: len(item[1]))
    for batch in batches:
        keys = [of_doc for _, _, of_doc in batch]
        probabilities = explained.ask([cast(Doc, doc) for _, doc, _ in batch], keys)
        values = numpy.stack([log_odds(probabilities(factor)) for factor in FACTORS])
        ends = numpy.cumsum([len(of_doc) for of_doc in keys])
        for (number, _, _), of_doc in zip(batch, numpy.split(values, ends[:-1], 1), strict=True):
            odds[number].append(of_doc)
    return [numpy.mean(odds[number], axis=0) for number in range(len(variants))]
