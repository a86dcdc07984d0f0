"""How good a pipeline is on texts that nobody has annotated, by its own probabilities.

If probabilities are calibrated, their sums are expected counts:

    right entities     = the sum of the probabilities of predicted entities
    true entities      = the sum of the probabilities of all spans, predicted or not
    precision          = right / predicted        recall = right / true
    F1                 = 2 right / (predicted + true)

`calibrate` saves the sums and the true counts on dev. By these, an estimate corrects two things:

- The small probabilities of spans that aren't predicted. They're too large in sum, by the factor on
  dev.
- The precision on texts that the model is less sure of. Where the log-odds of the mean probability
  are lower than on dev, those of the precision are lower by a multiple.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Optional, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from ..common.arguments import Positive, checked
from ..common.checks import is_number
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..corpus.evaluation import annotated
from ..corpus.export import Marked, Tool, record_of
from ..corpus.read import bare, items_of
from ..corpus.shards import read_bare_docs
from ..corpus.spans import match
from .probabilities import (
    Noted,
    Place,
    asking_probabilities,
    gives_probabilities,
    notes_of,
    place_of,
)

# Texts: a folder of .spacy, .jsonl, .txt and .gz files, or one of them, or texts or docs.
Texts = Union[str, Path, DocBin, Iterable[Union[str, Doc]]]
# The key in nlp.meta for what `calibrate` saves.
KEY = "spacy_multihash_calibration"
# Entities that count as exactly calibrated, beside those of dev.
PRIOR = 10
# How much further the log-odds of the precision fall, where those of the probabilities fall by 1,
# and how much that varies, as a share.
EXTENT, SPREAD = 1.25, 0.3
# The fall of the probabilities' log-odds from which texts are of another kind than dev, and the
# predicted entities that dev needs.
FAR, FEW_ON_DEV = 0.5, 20
# Less probable entities say little about where the model is unsure.
UNSURE = 0.02
# Intervals of fewer entities would say nothing.
FEWEST = 10
# Samples of texts, and the most groups of consecutive texts that they draw.
_SAMPLES, _GROUPS = 1000, 1000
_INTERVAL = (2.5, 97.5)
# The columns of counts.
_PREDICTED, _RIGHT, _TRUE, _VARIANCE = range(4)
_TINY = 1e-9


@dataclass(frozen=True)
class Expected:
    """The expected counts of entities, and the scores that follow.

    predicted (int): How many were predicted.
    right (float): How many of them are right.
    true (float): How many entities there are, predicted or not.
    precision, recall, f1 (Optional[float]): None if there's nothing to divide by.
    intervals (Mapping[str, tuple[float, float]]): The range of each score in 95 % of samples.
    """

    predicted: int
    right: float
    true: float
    precision: Optional[float]
    recall: Optional[float]
    f1: Optional[float]
    intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Estimate(Result):
    """How good a pipeline is on texts without gold entities.

    warnings (Sequence[str]): Why the estimate may be wrong. Read them first.
    texts, tokens (int): How many there are.
    confidence, confidence_on_dev (Optional[float]): The mean probability of predicted entities,
        here and on dev. None if unknown.
    overall (Expected): The expected counts and scores of all entities.
    labels (Mapping[str, Expected]): The same for each label.
    """

    warnings: Sequence[str]
    texts: int
    tokens: int
    confidence: Optional[float]
    confidence_on_dev: Optional[float]
    overall: Expected
    labels: Mapping[str, Expected]

    @property
    def precision(self) -> Optional[float]:
        """The expected share of predicted entities that are right."""
        return self.overall.precision

    @property
    def recall(self) -> Optional[float]:
        """The expected share of true entities that are predicted."""
        return self.overall.recall

    @property
    def f1(self) -> Optional[float]:
        """The expected F1."""
        return self.overall.f1

    def cautions(self) -> Iterator[str]:
        """Why the estimate may be wrong."""
        yield from self.warnings

    def tables(self) -> Iterator[Table]:
        """A row for all entities, and for each label."""
        rows = [
            (label, one.predicted, round(one.true), *(_cell(one, name) for name in _SCORES))
            for label, one in {"all": self.overall, **self.labels}.items()
        ]
        header = ("", "predicted", "true", "precision %", "recall %", "F1 %")
        title = f"Expected scores on {self.texts:,} texts, {self.tokens:,} tokens"
        yield Table(title, header, rows)

    def notes(self) -> Iterator[str]:
        """What the columns are."""
        yield (
            "True is how many entities the texts should have. In brackets: 95 % intervals, by "
            "samples of the texts and of what dev leaves open."
        )


_SCORES = ("precision", "recall", "f1")


def _cell(one: Expected, name: str) -> str:
    score: Optional[float] = getattr(one, name)
    if score is None:
        return "-"
    if max(one.predicted, one.true) < FEWEST or name not in one.intervals:
        return f"{100 * score:.1f}"
    low, high = one.intervals[name]
    return f"{100 * score:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


class Counted:
    """The expected counts of D texts for K labels, text by text.

    tokens (int): How many tokens there are.
    unknown (int): Predicted entities without a probability.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        """Begin without texts."""
        self.labels = labels
        self.tokens, self.unknown = 0, 0
        self._counts: list[numpy.ndarray] = []

    @property
    def counts(self) -> numpy.ndarray:
        """Predicted, right and true entities, and the variance of right: (D, K, 4) float64."""
        return numpy.array(self._counts).reshape(-1, len(self.labels), 4)

    def sums(self) -> tuple[int, float, float]:
        """Return the numbers of predicted, right and true entities in all texts."""
        predicted, right, true, _ = self.counts.sum(axis=(0, 1)).tolist()
        return int(predicted), right, true

    @property
    def confidence(self) -> Optional[float]:
        """The mean probability of predicted entities."""
        predicted, right, _ = self.sums()
        return right / predicted if predicted else None

    def add(self, doc: Doc, noted: Noted) -> None:
        """Add a doc that was annotated while probabilities were asked for."""
        counts, unknown = count_doc(noted, doc, self.labels)
        self._counts.append(counts)
        self.tokens, self.unknown = self.tokens + len(doc), self.unknown + unknown


def count_doc(noted: Noted, doc: Doc, labels: Sequence[str]) -> tuple[numpy.ndarray, int]:
    """Return the expected counts of a doc, (K, 4), and its entities without a probability."""
    counts, unknown = numpy.zeros((len(labels), 4)), 0
    rows = {label: row for row, label in enumerate(labels)}
    for ent in doc.ents:
        p = noted.probabilities.get(place_of(ent))
        if p is None or ent.label_ not in rows:
            unknown += 1
        else:
            counts[rows[ent.label_]] += (1, p, 0, p * (1 - p))
    for label in rows.keys() & noted.expected.keys():
        counts[rows[label], _TRUE] += noted.expected[label]
    # Rounding, and components that set entities later, don't make fewer true than right
    counts[:, _TRUE] = numpy.maximum(counts[:, _TRUE], counts[:, _RIGHT])
    return counts, unknown


def labels_of(nlp: Language) -> list[str]:
    """List the labels of the recognizers that give probabilities. Raises ValueError if none do."""
    names = [name for name, pipe in nlp.pipeline if gives_probabilities(pipe)]
    if not names:
        raise ValueError(
            "No component of the pipeline gives probabilities of entities: it has "
            f"{', '.join(nlp.pipe_names) or 'none'}. batch_ner without a beam and tagger_ner do. "
            "accelerate makes a batch_ner of spaCy's ner, and calibrate corrects its probabilities."
        )
    pipes: list[Any] = [nlp.get_pipe(name) for name in names]
    labels = list(dict.fromkeys(label for pipe in pipes for label in pipe.labels))
    if not labels:
        raise ValueError(f"{' and '.join(names)} have no labels. Train the pipeline first.")
    return labels


# What dev tells, which calibration saves


class OnGold(NamedTuple):
    """The counts of entities on texts with gold, such as dev. Without any, nothing is corrected.

    predicted, right, true (int): How many were predicted, are right, and are in gold.
    expected_right, expected_true (float): What the probabilities expect.
    """

    predicted: int = 0
    right: int = 0
    true: int = 0
    expected_right: float = 0.0
    expected_true: float = 0.0

    @property
    def confidence(self) -> Optional[float]:
        """The mean probability of predicted entities."""
        return self.expected_right / self.predicted if self.predicted else None

    def fall(self, counts: numpy.ndarray) -> numpy.ndarray:
        """Return by how much the log-odds of the mean probability are lower than on dev, or 0.

        counts (..., 2 or more): Predicted and right entities. Few entities on dev count less.
        """
        fall = _log_odds(numpy.array(self.expected_right), numpy.array(self.predicted))
        fall = fall - _log_odds(counts[..., _RIGHT], counts[..., _PREDICTED])
        return numpy.maximum(fall, 0) * (self.predicted / (self.predicted + PRIOR))

    @property
    def log_missed(self) -> numpy.ndarray:
        """The logarithm of true by expected entities that aren't predicted."""
        expected = max(self.expected_true - self.expected_right, 0.0)
        return numpy.log((self.true - self.right + PRIOR) / (expected + PRIOR))

    @property
    def spreads(self) -> tuple[float, float]:
        """The standard errors of the log-odds of the precision, and of `log_missed`."""
        if not self.predicted:
            return 0.0, 0.0
        variance = self.right * (self.predicted - self.right) / self.predicted
        return (variance + PRIOR / 4) ** -0.5, (self.true - self.right + PRIOR) ** -0.5


def _log_odds(right: numpy.ndarray, predicted: numpy.ndarray) -> numpy.ndarray:
    """Return the log-odds of a share, with half an entity more that's right, and one that's not."""
    return numpy.log((right + 0.5) / (predicted - right + 0.5))


def count_on_gold(
    nlp: Language,
    examples: Sequence[Example],
    labels: Optional[Sequence[str]] = None,
    **settings: Any,  # noqa: ANN401
) -> tuple[OnGold, Counted]:
    """Count entities on texts with gold, true and expected. Returns the latter text by text, too.

    labels (Optional[Sequence[str]]): The labels to count. None counts all.
    **settings (Any): See `asking_probabilities`.

    Texts with missing annotation are left out.
    """
    known = [eg for eg in examples if all(token.ent_iob for token in eg.reference)]
    counted, kinds = Counted(labels or labels_of(nlp)), list[str]()
    with asking_probabilities(nlp, **settings):
        docs = annotated(nlp, [bare(eg.predicted) for eg in known])
        for example, doc in zip(known, docs, strict=True):
            counted.add(doc, notes_of(doc))
            matches = match(example.reference, doc)
            kinds += [kind for kind, gold, _ in matches if gold and gold.label in counted.labels]
    predicted, right, true = counted.sums()
    return OnGold(predicted, kinds.count("right"), len(kinds), right, true), counted


# The estimate


@checked
def estimate(
    nlp: Union[Language, str, Path], texts: Texts, *, progress: Progress = no_progress
) -> Estimate:
    """Estimate precision, recall and F1 on texts that nobody has annotated.

        print(estimate("training/model-best", "new_texts.txt"))

    The estimate is as good as the probabilities: calibrate the pipeline on dev first, as `fit`
    does. It can't know of entities that the model gives no probability at all.

    nlp (Union[Language, str, Path]): The pipeline, with a batch_ner or tagger_ner.
    texts (Texts): A folder of .spacy, .jsonl, .txt and .gz files, or a file, or texts or docs. Gold
        entities aren't looked at.

    Raises ValueError if no component gives probabilities, or if there are no texts.
    """
    nlp = loaded(nlp)
    counted = Counted(labels_of(nlp))
    docs = progress(read_texts(nlp, texts), desc="Predicting", unit=" texts")
    with asking_probabilities(nlp):
        for doc in nlp.pipe(docs):
            counted.add(doc, notes_of(doc))
    return estimate_of(nlp, counted)


def read_texts(nlp: Language, texts: Texts) -> Iterator[Doc]:
    """Stream texts as docs without annotation. Raises the errors of `read_bare_docs`."""
    if isinstance(texts, (str, Path)):
        return read_bare_docs(texts, nlp)
    items = items_of(texts, nlp.vocab, str, Doc)
    return (bare(text) if isinstance(text, Doc) else nlp.make_doc(text) for text in items)


def saved_by_calibration(nlp: Language) -> Optional[OnGold]:
    """Return what `calibrate` saved of dev, None if it didn't."""
    saved: Any = nlp.meta.get(KEY)
    if not isinstance(saved, dict) or saved.get("component") not in nlp.pipe_names:
        return None
    counts: list[Any] = [saved.get(name) for name in OnGold._fields]
    return OnGold(*counts) if all(is_number(n) and 0 <= n < math.inf for n in counts) else None


def estimate_of(nlp: Language, counted: Counted) -> Estimate:
    """Make an estimate of expected counts. Raises ValueError without texts."""
    of_texts = counted.counts
    number = len(of_texts)
    if not number:
        raise ValueError("There are no texts to estimate scores on. Give at least one.")
    dev = saved_by_calibration(nlp) or OnGold()
    everything = of_texts.sum(axis=1, keepdims=True)
    counts = numpy.concatenate([everything, of_texts], axis=1)  # (D, 1 + K, 4)
    samples = _sample(counts, dev)
    totals = counts.sum(axis=0)
    columns = zip(*corrected(totals, EXTENT * dev.fall(totals[0]), dev.log_missed), strict=True)
    of_labels = [_expected(column, samples[:, row]) for row, column in enumerate(columns)]
    return Estimate(
        warnings=[*_warnings(nlp, counted)],
        texts=number,
        tokens=counted.tokens,
        confidence=counted.confidence,
        confidence_on_dev=dev.confidence,
        overall=of_labels[0],
        labels=dict(zip(counted.labels, of_labels[1:], strict=True)),
    )


def expected_scores(nlp: Language, predicted: int, right: float, true: float) -> Expected:
    """Return the expected scores for sums over texts, as `estimate` does, without intervals."""
    dev = saved_by_calibration(nlp) or OnGold()
    counts = numpy.array([predicted, right, true, 0.0])
    columns = corrected(counts, EXTENT * dev.fall(counts), dev.log_missed)
    return _expected(columns, numpy.zeros((0, 3)))


def corrected(
    counts: numpy.ndarray, fall: numpy.ndarray, log_missed: numpy.ndarray
) -> tuple[numpy.ndarray, ...]:
    """Correct expected counts, (..., 4), by what dev tells: predicted, right and true.

    fall (...): By how much the log-odds of the precision are lower than those of the probabilities.
    log_missed (...): The logarithm of the factor of the entities that aren't predicted.
    """
    predicted, right = counts[..., _PREDICTED], counts[..., _RIGHT]
    odds = numpy.exp(fall)
    true = right + (counts[..., _TRUE] - right) * numpy.exp(log_missed)
    right = predicted * right / numpy.maximum(right + (predicted - right) * odds, _TINY)
    return predicted, right, numpy.maximum(true, right)


def _sample(counts: numpy.ndarray, dev: OnGold) -> numpy.ndarray:
    """Sample precision, recall and F1: (samples, 1 + K, 3), NaN where there's nothing.

    Each sample draws groups of texts, how well dev tells what's corrected, and how many entities
    are right by chance.
    """
    D, rows = counts.shape[:2]
    starts = numpy.unique(numpy.linspace(0, D, min(D, _GROUPS) + 1).astype("int64")[:-1])
    groups = numpy.add.reduceat(counts, starts, axis=0)
    rng = numpy.random.default_rng(1)
    number = len(groups)
    drawn = numpy.array(
        [
            numpy.tensordot(weights.astype("float64"), groups, axes=1)
            for weights in rng.multinomial(number, numpy.full(number, 1 / number), size=_SAMPLES)
        ]
    )
    precision, varied, missing = rng.standard_normal((3, _SAMPLES))
    fall = EXTENT * dev.fall(drawn[:, 0]) * (1 + SPREAD * varied) + dev.spreads[0] * precision
    log_missed = dev.log_missed + dev.spreads[1] * missing
    predicted, right, true = corrected(drawn, fall[:, None], log_missed[:, None])
    chance = rng.standard_normal((2, _SAMPLES, rows))
    missed = true - right
    right = (right + chance[0] * numpy.sqrt(drawn[..., _VARIANCE])).clip(0, predicted)
    missed = (missed + chance[1] * numpy.sqrt(missed)).clip(0)
    return numpy.stack(_scores(predicted, right, right + missed), axis=-1)


def _scores(
    predicted: numpy.ndarray, right: numpy.ndarray, true: numpy.ndarray
) -> tuple[numpy.ndarray, ...]:
    """Return precision, recall and F1, NaN where there's nothing to divide by."""
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return right / predicted, right / true, 2 * right / (predicted + true)


def _expected(counts: tuple[numpy.ndarray, ...], samples: numpy.ndarray) -> Expected:
    predicted, right, true = counts
    scores = dict(zip(_SCORES, _scores(predicted, right, true), strict=True))
    intervals = {}
    for column, name in enumerate(_SCORES):
        values = samples[:, column]
        values = values[~numpy.isnan(values)]
        if len(values) and not math.isnan(scores[name]):
            low, high = numpy.percentile(values, _INTERVAL).tolist()
            score = float(scores[name])
            intervals[name] = (min(low, score), max(high, score))
    known = {name: None if math.isnan(s) else float(s) for name, s in scores.items()}
    return Expected(int(predicted), float(right), float(true), **known, intervals=intervals)


# What to annotate next


class Candidate(NamedTuple):
    """A text that may be annotated next.

    doc (Doc): The text with its predicted entities.
    probabilities (Mapping[Place, float]): Of entities and candidates.
    expected_mistakes (float): The expected number of wrong and of missed entities.
    """

    doc: Doc
    probabilities: Mapping[Place, float]
    expected_mistakes: float

    def __repr__(self) -> str:
        """Show the text, and how many mistakes are expected in it."""
        return f"{self.expected_mistakes:.2f} expected mistakes: {self.doc.text!r}"

    @property
    def entities(self) -> list[Marked]:
        """The predicted entities with their probabilities."""
        places = map(place_of, self.doc.ents)
        return [Marked(*place, self.probabilities.get(place)) for place in places]

    def gains(self) -> dict[tuple[str, ...], float]:
        """Return how uncertain the words of possible entities are, at most 1/4 each."""
        found: dict[tuple[str, ...], float] = {}
        for (start, end, _), p in self.probabilities.items():
            words = tuple(self.doc.text[start:end].lower().split())
            found[words] = found.get(words, 0.0) + p * (1 - p)
        return found


@checked
def next_texts(
    nlp: Union[Language, str, Path],
    texts: Texts,
    number: Positive,
    *,
    random: bool = False,
    progress: Progress = no_progress,
) -> list[Candidate]:
    """Choose the texts to annotate next: uncertain ones, unlike each other.

    The gain of a text is the variance of its possible entities, less for words that a chosen text
    has already, and by the square root of its length. Texts of the same words are chosen once.

    nlp, texts: As in `estimate`.
    number (int): How many texts to choose.
    random (bool): Whether to choose by chance, as for a test set. The same texts each time.

    Raises ValueError if no component gives probabilities, or if there are no texts.
    """
    nlp = loaded(nlp)
    labels_of(nlp)
    docs = progress(read_texts(nlp, texts), desc="Predicting", unit=" texts")
    some: dict[str, Candidate] = {}
    factor = math.exp((saved_by_calibration(nlp) or OnGold()).log_missed)
    with asking_probabilities(nlp, candidates_above=UNSURE):
        for doc in nlp.pipe(docs):
            noted = notes_of(doc)
            predicted = len(doc.ents)
            right = sum(noted.probabilities.get(place_of(ent), 1.0) for ent in doc.ents)
            missed = factor * max(sum(noted.expected.values()) - right, 0.0)
            mistakes = predicted - right + missed
            some.setdefault(doc.text, Candidate(doc, noted.probabilities, mistakes))
    if not some:
        raise ValueError("There are no texts to choose from. Give at least one.")
    if random:
        return Random(0).sample(list(some.values()), min(number, len(some)))
    return choose(list(some.values()), number)


def choose(some: Sequence[Candidate], number: int) -> list[Candidate]:
    """Choose candidates one by one, the one with the highest gain first.

    Chosen words only make gains smaller, so the highest old gain is looked at anew until it stays
    the highest (lazy greedy; Minoux 1978).
    """
    gains = [candidate.gains() for candidate in some]
    lengths = [math.sqrt(len(candidate.doc) + 1) for candidate in some]
    met, chosen = Counter[tuple[str, ...]](), list[Candidate]()

    def gain(i: int) -> float:
        return sum(g / (1 + met[words]) for words, g in gains[i].items()) / lengths[i]

    queue = [(-gain(i), i) for i in range(len(some))]
    heapify(queue)
    while queue and len(chosen) < number:
        i = heappop(queue)[1]
        now = -gain(i)
        if queue and now > queue[0][0]:
            heappush(queue, (now, i))
            continue
        chosen.append(some[i])
        met.update(gains[i].keys())
    return chosen


def records(chosen: Iterable[Candidate], tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield the JSON of texts for an annotation tool, with the predicted entities."""
    for one in chosen:
        meta = {"expected_mistakes": round(one.expected_mistakes, 2)}
        yield record_of(one.doc, one.entities, tool, meta)


# Whether it can be trusted


def doubts(nlp: Language, predicted: int, right: float) -> Iterator[str]:
    """Yield why an estimate may be wrong, by what calibration saved.

    predicted (int), right (float): Predicted entities, and how many are expected to be right.
    """
    dev = saved_by_calibration(nlp)
    if dev is None:
        yield (
            "The pipeline doesn't say how well it's calibrated. Most models are too sure, and then "
            "the estimate is too high. Calibrate it on dev first:\n"
            "    python -m spacy multihash calibrate MODEL DEV CALIBRATED"
        )
    elif dev.predicted < FEW_ON_DEV:
        yield (
            f"Don't trust this estimate: the model was calibrated on {dev.predicted} predicted "
            "entities, which are too few to tell. Annotate more texts, and calibrate on them."
        )
    elif predicted and dev.fall(numpy.array([predicted, right])) > FAR:
        sure, on_dev = (f"{p or 0:.0%} sure" for p in (right / predicted, dev.confidence))
        yield (
            "Be careful with this estimate: the texts are of another kind than dev. The model is "
            f"{sure} of what it predicts, on dev it was {on_dev}. The scores are corrected for "
            "that, by a guess. Annotate some of the texts, and evaluate."
        )


def _warnings(nlp: Language, counted: Counted) -> Iterator[str]:
    predicted, right, true = counted.sums()
    if max(predicted, true) < FEWEST:
        yield f"The texts have too few entities to tell: {true:.0f} are expected. Give more texts."
    yield from doubts(nlp, predicted, right)
    if counted.unknown:
        yield (
            f"{counted.unknown:,} predicted entities have no probability, such as those of an "
            "entity_ruler. They don't count."
        )
