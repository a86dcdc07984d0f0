"""How good a pipeline is on texts that nobody has annotated, by its own probabilities.

If probabilities are calibrated, their sums are expected counts:

    right entities     = the sum of the probabilities of predicted entities
    true entities      = the sum of the probabilities of all spans, predicted or not
    precision          = right / predicted        recall = right / true
    F1                 = 2 right / (predicted + true)

`calibrate` compares the sums with the truth on dev, and saves by how much they're off, and which
words dev has. So an estimate says how far off it may be, and whether its texts are of another kind.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..common.checks import check_whole
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..corpus.export import Marked, Tool, record_of
from ..corpus.shards import read_bare_docs
from ..corpus.spans import match
from .probabilities import Noted, Place, asking_probabilities, notes_of

# Texts: a folder of .spacy, .jsonl, .txt and .gz files, or one of them, or texts or docs.
Texts = Union[str, Path, Iterable[Union[str, Doc]]]
# The key in nlp.meta for what `calibrate` saves.
KEY = "spacy_multihash_calibration"
# Entities that count as exactly calibrated, beside those of dev.
PRIOR = 10
# Words of dev that are compared, the most frequent ones.
WORDS = 50
# The share of words from which texts are of another kind than dev.
FAR = 0.25
# Less probable entities say little about where the model is unsure.
UNSURE = 0.02
# Intervals of fewer entities would say nothing.
FEWEST = 10
# Samples of texts, and the most groups of consecutive texts that they draw.
_SAMPLES, _GROUPS = 1000, 1000
_INTERVAL = (2.5, 97.5)
# The columns of counts.
_PREDICTED, _RIGHT, _TRUE, _VARIANCE = range(4)


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


@dataclass(frozen=True)
class Estimate(Result):
    """How good a pipeline is on texts without gold entities.

    texts, tokens (int): How many there are.
    overall (Expected): The expected counts and scores of all entities.
    labels (Mapping[str, Expected]): The same for each label.
    distance (Optional[float]): The share of words that are other than in dev. None if unknown.
    warnings (Sequence[str]): Why the estimate may be wrong.
    """

    texts: int
    tokens: int
    overall: Expected
    labels: Mapping[str, Expected]
    distance: Optional[float]
    warnings: Sequence[str]

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

    def tables(self) -> Iterator[Table]:
        """A row for all entities, and for each label."""
        rows = [
            (
                label,
                f"{one.predicted:,}",
                f"{one.true:,.0f}",
                *(_cell(one, name) for name in _SCORES),
            )
            for label, one in {"all": self.overall, **self.labels}.items()
        ]
        header = ("", "predicted", "expected true", "precision %", "recall %", "F1 %")
        title = f"Expected scores on {self.texts:,} texts, {self.tokens:,} tokens"
        yield Table(title, header, rows)

    def notes(self) -> Iterator[str]:
        """What the intervals are, and why the estimate may be wrong."""
        yield "In brackets: 95 % of samples of texts, and of what calibration left over."
        yield from self.warnings


_SCORES = ("precision", "recall", "f1")


def _cell(one: Expected, name: str) -> str:
    score: Optional[float] = getattr(one, name)
    if score is None:
        return "-"
    if max(one.predicted, one.true) < FEWEST or name not in one.intervals:
        return f"{100 * score:.1f}"
    low, high = one.intervals[name]
    return f"{100 * score:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


class Counted:
    """The expected counts of D texts for K labels, text by text.

    tokens (int): How many tokens there are.
    words (Counter[str]): How often each word occurs, in lower case.
    unknown (int): Predicted entities without a probability.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        """Begin without texts."""
        self.labels = labels
        self.tokens, self.unknown, self.words = 0, 0, Counter[str]()
        self._counts: list[numpy.ndarray] = []

    @property
    def counts(self) -> numpy.ndarray:
        """Predicted, right and true entities, and the variance of right: (D, K, 4) float64."""
        return numpy.array(self._counts).reshape(-1, len(self.labels), 4)

    def sums(self) -> tuple[int, float, float]:
        """Return the numbers of predicted, right and true entities in all texts."""
        predicted, right, true, _ = self.counts.sum(axis=(0, 1)).tolist()
        return int(predicted), right, true

    def add(self, doc: Doc, noted: Noted) -> None:
        """Add a doc that was annotated while probabilities were asked for."""
        counts, unknown = count_doc(noted, doc, self.labels)
        self._counts.append(counts)
        self.tokens, self.unknown = self.tokens + len(doc), self.unknown + unknown
        self.words.update(count_words([doc]))


def count_doc(noted: Noted, doc: Doc, labels: Sequence[str]) -> tuple[numpy.ndarray, int]:
    """Return the expected counts of a doc, (K, 4), and its entities without a probability."""
    counts, unknown = numpy.zeros((len(labels), 4)), 0
    rows = {label: row for row, label in enumerate(labels)}
    for ent in doc.ents:
        p = noted.probabilities.get((ent.start_char, ent.end_char, ent.label_))
        if p is None or ent.label_ not in rows:
            unknown += 1
        else:
            counts[rows[ent.label_]] += (1, p, 0, p * (1 - p))
    for label, true in noted.expected.items():
        counts[rows[label], _TRUE] += true
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
    return list(dict.fromkeys(label for pipe in pipes for label in pipe.labels))


def gives_probabilities(pipe: object) -> bool:
    """Return whether a component is a batch_ner without a beam, or a tagger_ner."""
    return hasattr(pipe, "score_spans") and getattr(pipe, "cfg", {}).get("beam_width", 1) == 1


# What calibration leaves over


def left_over(nlp: Language, name: str, examples: Sequence[Example]) -> dict[str, Any]:
    """Compare the expected counts on dev with the truth, for `nlp.meta`.

    name (str): The component that was calibrated.

    Texts with missing annotation are left out.
    """
    known = [eg for eg in examples if all(token.ent_iob for token in eg.reference)]
    counted, docs = Counted(labels_of(nlp)), []
    with asking_probabilities(nlp):
        for doc in nlp.pipe(bare(eg.predicted) for eg in known):
            counted.add(doc, notes_of(doc))
            docs.append(doc)
    truth = numpy.zeros((len(docs), 2))
    labels = set(counted.labels)
    for i, (example, doc) in enumerate(zip(known, docs, strict=True)):
        matches = match(example.reference, doc)
        truth[i, 0] = sum(kind == "right" for kind, _, _ in matches)
        truth[i, 1] = sum(gold is not None and gold.label in labels for _, gold, _ in matches)
    expected = counted.counts.sum(axis=1)[:, [_RIGHT, _TRUE]]
    draws = numpy.array([_log_factors(truth, expected, weights) for weights in _weights(len(docs))])
    covariance = numpy.cov(draws.T) if len(docs) > 1 else numpy.zeros((2, 2))
    # A sample of few entities, all of them right, would seem certain
    right, missed = _split(truth.sum(axis=0)) + PRIOR
    least = [(counted.counts[..., _VARIANCE].sum() + PRIOR / 4) / right**2, 1 / missed]
    numpy.fill_diagonal(covariance, numpy.maximum(covariance.diagonal(), least))
    factors = _log_factors(truth, expected, numpy.ones(len(docs)))
    return {
        "component": name,
        "texts": len(docs),
        "right": float(truth[:, 0].sum()),
        "expected_right": float(expected[:, 0].sum()),
        "true": float(truth[:, 1].sum()),
        "expected_true": float(expected[:, 1].sum()),
        "log_factors": factors.tolist(),
        "covariance": covariance.tolist(),
        **_words_of(docs),
    }


def _split(counts: numpy.ndarray) -> numpy.ndarray:
    """Split (right, true) entities into right and missed ones."""
    return numpy.array([counts[0], counts[1] - counts[0]])


def _log_factors(
    truth: numpy.ndarray, expected: numpy.ndarray, weights: numpy.ndarray
) -> numpy.ndarray:
    """Return the logarithms of true by expected counts, of right and missed entities: (2,)."""
    true, sums = _split(weights @ truth), _split(weights @ expected)
    return numpy.log((true + PRIOR) / (sums + PRIOR))


def _words_of(docs: Sequence[Doc]) -> dict[str, Any]:
    """Return the shares of the most frequent words, and by how much they vary by chance."""
    every, one, other = (
        count_words(docs[part]) for part in (slice(None), slice(0, None, 2), slice(1, None, 2))
    )
    # The halves differ by the variance of both, and variances fall with the number of words
    noise = distance_of(_shares(one), other) ** 2 * every.total() / 4
    return {"words": _shares(every), "tokens": every.total(), "noise": noise}


def count_words(docs: Iterable[Doc]) -> Counter[str]:
    """Count words in lower case."""
    return Counter(token.lower_ for doc in docs for token in doc if not token.is_space)


def _shares(words: Counter[str]) -> dict[str, float]:
    total = words.total()
    return {word: n / total for word, n in words.most_common(WORDS)}


def _weights(number: int, seed: int = 0) -> Iterator[numpy.ndarray]:
    """Yield how often each of a number of units is in each bootstrap sample."""
    rng = numpy.random.default_rng(seed)
    for _ in range(_SAMPLES if number else 0):
        yield rng.multinomial(number, numpy.full(number, 1 / number)).astype("float64")


def bare(doc: Doc) -> Doc:
    """Return a doc with the same tokens and no annotation."""
    return Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])


# The estimate


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
    return (bare(text) if isinstance(text, Doc) else nlp.make_doc(text) for text in texts)


def saved_by_calibration(nlp: Language) -> Mapping[str, Any]:
    """Return what `calibrate` saved, or nothing."""
    saved: dict[str, Any] = nlp.meta.get(KEY, {})
    return saved if saved.get("component") in nlp.pipe_names else {}


def estimate_of(nlp: Language, counted: Counted) -> Estimate:
    """Make an estimate of expected counts. Raises ValueError without texts."""
    of_texts = counted.counts
    number = len(of_texts)
    if not number:
        raise ValueError("There are no texts to estimate scores on. Give at least one.")
    known = saved_by_calibration(nlp)
    logs = numpy.array(known.get("log_factors", [0.0, 0.0]))
    covariance = numpy.array(known.get("covariance", numpy.zeros((2, 2))))
    everything = of_texts.sum(axis=1, keepdims=True)
    counts = numpy.concatenate([everything, of_texts], axis=1)  # (D, 1 + K, 4)
    samples = _sample(counts, logs, covariance)
    of_labels = [
        _expected(counts[:, row].sum(axis=0), numpy.exp(logs), samples[:, row])
        for row in range(counts.shape[1])
    ]
    distance = None
    if known and counted.words:
        distance = distance_of(known["words"], counted.words)
        chance = known["noise"] * (1 / known["tokens"] + 1 / counted.words.total())
        distance = math.sqrt(max(distance**2 - chance, 0.0))
    return Estimate(
        texts=number,
        tokens=counted.tokens,
        overall=of_labels[0],
        labels=dict(zip(counted.labels, of_labels[1:], strict=True)),
        distance=distance,
        warnings=[*_warnings(known, counted, distance)],
    )


def expected_scores(nlp: Language, predicted: int, right: float, true: float) -> Expected:
    """Return the expected scores for sums over texts, as `estimate` does, without intervals."""
    logs = numpy.array(saved_by_calibration(nlp).get("log_factors", [0.0, 0.0]))
    counts = numpy.array([predicted, right, true, 0.0])
    return _expected(counts, numpy.exp(logs), numpy.zeros((0, 3)))


def corrected(counts: numpy.ndarray, factors: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
    """Correct expected counts, (..., 4), by what was left over: predicted, right and true.

    factors (..., 2): Of right and missed entities.
    """
    predicted = counts[..., _PREDICTED]
    right = numpy.minimum(counts[..., _RIGHT] * factors[..., 0], predicted)
    missed = (counts[..., _TRUE] - counts[..., _RIGHT]) * factors[..., 1]
    return predicted, right, right + missed


def _sample(
    counts: numpy.ndarray, log_factors: numpy.ndarray, covariance: numpy.ndarray
) -> numpy.ndarray:
    """Sample precision, recall and F1: (samples, 1 + K, 3), NaN where there's nothing.

    Each sample draws groups of texts, what calibration left over, and how many entities are right
    by chance.
    """
    D, rows = counts.shape[:2]
    starts = numpy.unique(numpy.linspace(0, D, min(D, _GROUPS) + 1).astype("int64")[:-1])
    groups = numpy.add.reduceat(counts, starts, axis=0)
    rng = numpy.random.default_rng(1)
    logs = rng.multivariate_normal(log_factors, covariance, size=_SAMPLES)
    drawn = numpy.array(
        [numpy.tensordot(weights, groups, axes=1) for weights in _weights(len(groups))]
    )
    predicted, right, true = corrected(drawn, numpy.exp(logs)[:, None])
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


def _expected(counts: numpy.ndarray, factors: numpy.ndarray, samples: numpy.ndarray) -> Expected:
    predicted, right, true = corrected(counts, factors)
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

    @property
    def entities(self) -> list[Marked]:
        """The predicted entities with their probabilities."""
        places = [(ent.start_char, ent.end_char, ent.label_) for ent in self.doc.ents]
        return [Marked(*place, self.probabilities.get(place)) for place in places]

    def gains(self) -> dict[tuple[str, ...], float]:
        """Return how uncertain the words of possible entities are, at most 1/4 each."""
        found: dict[tuple[str, ...], float] = {}
        for (start, end, _), p in self.probabilities.items():
            words = tuple(self.doc.text[start:end].lower().split())
            found[words] = found.get(words, 0.0) + p * (1 - p)
        return found


def next_texts(
    nlp: Union[Language, str, Path],
    texts: Texts,
    number: int,
    *,
    progress: Progress = no_progress,
) -> list[Candidate]:
    """Choose the texts to annotate next: uncertain ones, unlike each other.

    The gain of a text is the variance of its possible entities, less for words that a chosen text
    has already, and by the square root of its length. Texts of the same words are chosen once.

    nlp, texts: As in `estimate`.
    number (int): How many texts to choose.

    Raises ValueError if no component gives probabilities, or if there are no texts.
    """
    check_whole("estimate", "next", number, 1)
    nlp = loaded(nlp)
    labels_of(nlp)
    docs = progress(read_texts(nlp, texts), desc="Predicting", unit=" texts")
    some: dict[str, Candidate] = {}
    factor = math.exp(saved_by_calibration(nlp).get("log_factors", [0.0, 0.0])[1])
    with asking_probabilities(nlp, candidates_above=UNSURE):
        for doc in nlp.pipe(docs):
            noted = notes_of(doc)
            predicted, right = len(doc.ents), 0.0
            for ent in doc.ents:
                place = (ent.start_char, ent.end_char, ent.label_)
                right += noted.probabilities.get(place, 1.0)
            missed = factor * max(sum(noted.expected.values()) - right, 0.0)
            mistakes = predicted - right + missed
            some.setdefault(doc.text, Candidate(doc, noted.probabilities, mistakes))
    if not some:
        raise ValueError("There are no texts to choose from. Give at least one.")
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


def distance_of(of_dev: Mapping[str, float], words: Counter[str]) -> float:
    """Return the share of words that are other than in dev, 0 to 1.

    It's the total variation distance of the frequencies of the most frequent words of dev, and of
    all other words together.
    """
    total = words.total() or 1
    here = {word: words[word] / total for word in of_dev}
    others = abs(sum(of_dev.values()) - sum(here.values()))
    return (sum(abs(share - here[word]) for word, share in of_dev.items()) + others) / 2


def _warnings(
    known: Mapping[str, Any], counted: Counted, distance: Optional[float]
) -> Iterator[str]:
    predicted, _, true = counted.sums()
    if max(predicted, true) < FEWEST:
        yield f"The texts have too few entities to tell: {true:.0f} are expected. Give more texts."
    if not known:
        yield (
            "The pipeline doesn't say how well it's calibrated. Most models are too sure, and then "
            "the estimate is too high. Calibrate it on dev first:\n"
            "    python -m spacy multihash calibrate MODEL DEV CALIBRATED"
        )
    if distance is not None and distance > FAR:
        yield (
            f"Don't trust this estimate: the texts are of another kind than dev. {distance:.0%} of "
            "their words are other ones. Annotate some of them, and evaluate."
        )
    if counted.unknown:
        yield (
            f"{counted.unknown:,} predicted entities have no probability, such as those of an "
            "entity_ruler. They don't count."
        )
