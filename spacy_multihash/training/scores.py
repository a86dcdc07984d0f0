"""Scores of a trained pipeline, with intervals, and its size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Optional, Union

import numpy
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..corpus.evaluation import (
    KnownEntities,
    Scores,
    annotate,
    predict,
    score,
    score_parts,
)
from ..corpus.read import text_labels
from ..corpus.spans import match
from ..corpus.splits import FOLDS
from ..corpus.statistics import Repeats

# Bootstrap samples of an interval, and how many to draw at once.
_SAMPLES, _SAMPLE_BATCH = 1000, 50
_LEVELS, _Z = (2.5, 97.5), 1.96
MIN_UNITS = 5  # regions, to draw samples of them
# How far the share of entities of new texts that are in train is from that of distant parts: the
# standard deviation of the ratio's logarithm (0.54 at 118 places of the four corpora that chose the
# method, docs/results.md).
_SHARE_DEVIATION = 0.5
Counts = tuple[int, int, int]


@dataclass(frozen=True)
class SplitScores:
    """Scores of a split.

    unit (str): The unit of bootstrap samples: "regions", "groups", "sentences", "documents" or
        "texts".
    units (int): The number of units.
    parts (Mapping[str, Scores]): "all", and for entities "seen" and "unseen" in training, with the
        other part masked. Scores by label are in "all".
    interval (Optional[tuple[float, float]]): Contains the F1 of all in 95 % of samples, or the F1
        to expect on new texts if it's known.
    expected (Optional[Scores]): The scores to expect on new texts, as `expected_scores` or
        `score_folds` makes them.
    folds (int): The folds of cross-validation that `expected` and the interval are of, or 0.
    counts (Sequence[Counts]): Right, spurious and missed entities or labels of each unit.
    """

    unit: str
    units: int
    parts: Mapping[str, Scores]
    interval: Optional[tuple[float, float]]
    expected: Optional[Scores] = None
    counts: Sequence[Counts] = ()
    folds: int = 0

    @property
    def best(self) -> Scores:
        """The scores to expect on new texts if they're known, or else the measured scores."""
        return self.expected or self.parts["all"]


def score_entities(
    nlp: Language,
    examples: Sequence[Example],
    known: KnownEntities,
    *,
    regions: Sequence[int] = (),
    by: Optional[str] = None,
    repeats: Optional[Repeats] = None,
) -> SplitScores:
    """Annotate docs with a pipeline, and score the entities as `score_predicted` does."""
    predict(nlp, examples)
    return score_predicted(examples, known, regions=regions, by=by, repeats=repeats)


def score_predicted(
    examples: Sequence[Example],
    known: KnownEntities,
    *,
    regions: Sequence[int] = (),
    by: Optional[str] = None,
    repeats: Optional[Repeats] = None,
) -> SplitScores:
    """Score predicted entities.

    regions (Sequence[int]): The region of each doc. The interval then draws regions, if there are
        enough, because entities of neighbouring sentences are right or wrong together.
    by (Optional[str]): What made the regions. If it's "words", they are groups of docs that share
        names, and the order of train tells nothing: the scores are as measured.
    repeats (Optional[Repeats]): The repeats in train, to expect scores on new texts.
    """
    of_docs = [count_sentences(example, known) for example in examples]
    parts = {"all": score(examples), **score_parts(examples, known)}
    unit = "documents" if sum(map(len, of_docs)) == len(examples) else "sentences"
    counts = numpy.concatenate([*of_docs, numpy.zeros((0, 2, 3), dtype="int64")])  # (U, 2, 3)
    if len(set(regions)) >= MIN_UNITS:
        unit = "groups" if by == "words" else "regions"
        counts = _of_regions(numpy.array([of_doc.sum(axis=0) for of_doc in of_docs]), regions)
    has_parts = counts[..., [0, 2]].sum((0, 2)).all()
    of_units = [tuple(row) for row in counts.sum(axis=1).tolist()]
    if unit == "groups" and has_parts:
        interval = expected_scores(counts, _measured_shares(counts))[1]
        return SplitScores(unit, len(counts), parts, interval, counts=of_units)
    if repeats is None or repeats.distant_share is None or not has_parts:
        return SplitScores(unit, len(counts), parts, f1_interval(of_units), counts=of_units)
    scores, interval = expected_scores(counts, numpy.array(repeats.distant))
    return SplitScores(unit, len(counts), parts, interval, scores, of_units)


def score_folds(
    of_test: SplitScores, counts: Sequence[Sequence[Sequence[int]]], regions: Sequence[int]
) -> SplitScores:
    """Replace the scores to expect on new texts by those of cross-validation, and their interval.

    Each text is in test once, away from its neighbours in train, so that many more entities are
    scored than those of one test set. That needs no weights: the share of its entities in train is
    about that of new texts. The interval draws regions, and allows for another share.

    counts (Sequence[Sequence[Sequence[int]]]): Right, spurious and missed entities of each doc,
        (N, 2, 3): first those that aren't in train.
    regions (Sequence[int]): The region of each doc.
    """
    units = _of_regions(numpy.array(counts), regions)
    scores, interval = expected_scores(units, _measured_shares(units))
    return replace(of_test, expected=scores, interval=interval, folds=FOLDS)


def count_docs(examples: Sequence[Example], known: KnownEntities) -> list[list[list[int]]]:
    """Count right, spurious and missed entities of each doc, as `score_folds` takes them."""
    return [count_sentences(example, known).sum(axis=0).tolist() for example in examples]


def _of_regions(counts: numpy.ndarray, regions: Sequence[int]) -> numpy.ndarray:
    """Sum the counts of docs by region: (N, 2, 3) -> (U, 2, 3)."""
    names, places = numpy.unique(regions, return_inverse=True)
    of_regions = numpy.zeros((len(names), 2, 3), dtype="int64")
    numpy.add.at(of_regions, places, counts)
    return of_regions


def _measured_shares(counts: numpy.ndarray) -> numpy.ndarray:
    """Return the gold entities of each unit that are in train, and all: (U, 2, 3) -> (U, 2)."""
    gold = counts[..., 0] + counts[..., 2]
    return numpy.stack([gold[:, 1], gold.sum(axis=1)], axis=1)


def expected_scores(
    counts: numpy.ndarray, distant: numpy.ndarray
) -> tuple[Scores, Optional[tuple[float, float]]]:
    """Expect scores on new texts, which share fewer entities with train than neighbours do.

    As many entities of new texts are in train as of its distant parts. So the entities in train and
    the other entities, right, spurious and missed, are weighted to get that share (importance
    weighting, Shimodaira 2000). Samples of the interval draw units, parts of train, and what
    that share may be elsewhere.

    counts (numpy.ndarray): Right, spurious and missed entities of each unit, (U, 2, 3): first those
        that aren't in train.
    distant (numpy.ndarray): The entities of each part of train that distant parts have as well, and
        all of its entities, (P, 2).
    RETURNS (tuple[Scores, Optional[tuple[float, float]]]): The scores, and the interval of F1.
    """
    share = distant[:, 0].sum() / distant[:, 1].sum()
    total = counts.sum(axis=0)
    right, spurious, missed = _weighted(total, share)
    f1 = float(_f1(right, spurious, missed))
    scores = Scores(
        int(total[:, [0, 2]].sum()),
        float(right / max(right + spurious, 1e-9)),
        float(right / max(right + missed, 1e-9)),
        f1,
    )
    generator = numpy.random.default_rng(0)
    drawn, parts = (
        generator.multinomial(number, numpy.full(number, 1 / number), _SAMPLES)
        for number in (len(counts), len(distant))
    )
    seen, mentions = (parts @ distant).T
    shares = seen / numpy.maximum(mentions, 1)
    shares = shares * numpy.exp(generator.normal(0, _SHARE_DEVIATION, _SAMPLES))
    samples = _f1(*_weighted(numpy.tensordot(drawn, counts, 1), numpy.minimum(shares, 1)).T)
    return scores, _interval(f1, samples, len(counts))


def _weighted(counts: numpy.ndarray, share: numpy.ndarray) -> numpy.ndarray:
    """Weight counts so that `share` of the gold entities is in train: (..., 2, 3) -> (..., 3)."""
    gold = counts[..., 0] + counts[..., 2]  # (..., 2)
    wanted = numpy.stack([1 - share, share], axis=-1) * gold.sum(axis=-1, keepdims=True)
    weights = wanted / numpy.maximum(gold, 1)
    return (counts * weights[..., None]).sum(axis=-2)


def _f1(right: numpy.ndarray, spurious: numpy.ndarray, missed: numpy.ndarray) -> numpy.ndarray:
    return 2 * right / numpy.maximum(2 * right + spurious + missed, 1e-9)


def count_sentences(example: Example, known: KnownEntities) -> numpy.ndarray:
    """Count right, spurious and missed entities of each sentence of a gold doc.

    A doc without sentences counts as one. Entities belong to the sentence where they begin.

    RETURNS (numpy.ndarray): The counts of entities that aren't in train, and that are: (S, 2, 3).
    """
    doc = example.reference
    has_sentences = doc.has_annotation("SENT_START")
    sentences = [sent.start for sent in doc.sents] if has_sentences else [0]
    counts = numpy.zeros((len(sentences), 2, 3), dtype="int64")
    for kind, gold, predicted in match(doc, example.predicted):
        sides = [(gold, 0)] if kind == "right" else [(predicted, 1), (gold, 2)]
        for entity, column in sides:
            if entity is not None:
                place = numpy.searchsorted(sentences, entity.start, side="right") - 1
                is_seen = known.has_seen(Span(doc, *entity.key))
                counts[place, int(is_seen), column] += 1
    return counts


def score_texts(nlp: Language, examples: Sequence[Example]) -> SplitScores:
    """Annotate docs with a pipeline, and score the labels of texts."""
    counts, labels = [], dict[str, PRFScore]()
    for _, gold, found in _predict_labels(nlp, examples):
        counts.append((len(gold & found), len(found - gold), len(gold - found)))
        for label in gold | found:
            labels.setdefault(label, PRFScore()).score_set(found & {label}, gold & {label})
    per_label = {label: _scores(labels[label]) for label in sorted(labels)}
    total = sum(labels.values(), PRFScore())
    return SplitScores(
        "texts",
        len(counts),
        {"all": _scores(total, per_label)},
        f1_interval(counts),
        counts=counts,
    )


class TextMistake(NamedTuple):
    """A text with wrong labels, and the confidence in the most confident wrong label."""

    confidence: float
    gold: Sequence[str]
    found: Sequence[str]
    text: str


def text_mistakes(nlp: Language, examples: Sequence[Example]) -> list[TextMistake]:
    """List the texts with wrong labels, the most confident mistakes first."""
    mistakes = []
    for doc, gold, found in _predict_labels(nlp, examples):
        if gold != found:
            spurious = [doc.cats[label] for label in found - gold]
            missed = [1 - doc.cats.get(label, 0.0) for label in gold - found]
            mistakes.append(
                TextMistake(max(spurious or missed), sorted(gold), sorted(found), doc.text)
            )
    return sorted(mistakes, key=lambda mistake: -mistake.confidence)


def _predict_labels(
    nlp: Language, examples: Sequence[Example]
) -> Iterator[tuple[Doc, set[str], set[str]]]:
    """Yield each doc of a pipeline, its gold labels, and its predicted labels.

    Predicted labels have a score of 0.5 or more, or if each gold text has one label, the highest
    score.
    """
    annotate(nlp, examples)
    is_exclusive = has_exclusive_labels(example.reference.cats for example in examples)
    for example in examples:
        doc = example.predicted
        found = text_labels(doc.cats)
        if is_exclusive and doc.cats:
            found = {max(doc.cats, key=doc.cats.__getitem__)}
        elif not is_exclusive:  # labels without gold annotation are neither right nor wrong
            found &= example.reference.cats.keys()
        yield doc, text_labels(example.reference.cats), found


def has_exclusive_labels(cats: Iterable[Mapping[str, float]]) -> bool:
    """Return whether each text has one label."""
    return all(len(text_labels(of_text)) == 1 for of_text in cats)


def _scores(prf: PRFScore, per_label: Optional[Mapping[str, Scores]] = None) -> Scores:
    gold = prf.tp + prf.fn
    return Scores(gold, prf.precision, prf.recall, prf.fscore, per_label or {})


def f1_interval(counts: Union[numpy.ndarray, Sequence[Counts]]) -> Optional[tuple[float, float]]:
    """Return the range of F1 in 95 % of bootstrap samples of units (Efron 1979).

    It tells where the F1 of all such units would be, so that it's made wider for few units. The F1
    of another corpus as small as this one varies more. None if the range is a single value, as
    for a perfect score.

    counts (Sequence[Counts]): Right, spurious and missed entities of each unit, (U, 3).
    """
    array, number = numpy.asarray(counts), len(counts)
    generator = numpy.random.default_rng(0)
    f1 = []
    for _ in range(_SAMPLES // _SAMPLE_BATCH):
        drawn = generator.multinomial(number, numpy.full(number, 1 / number), _SAMPLE_BATCH)
        f1.append(_f1(*(drawn @ array).T))
    return _interval(float(_f1(*array.sum(axis=0))), numpy.concatenate(f1), number)


def _interval(f1: float, samples: numpy.ndarray, units: int) -> Optional[tuple[float, float]]:
    """Return the range of most samples around F1, wider if there are few units."""
    if units < 2:
        return None
    low, high = numpy.clip(_range(f1, samples, units), 0, 1).tolist()
    return (low, high) if low < high else None


def _range(value: float, samples: numpy.ndarray, units: int) -> numpy.ndarray:
    """Return the range of most samples around a value, low and high.

    The variance of samples is too small by 1 / units, and Student's distribution replaces the
    normal one (the first term of its expansion in degrees of freedom).
    """
    wider = numpy.sqrt(units / (units - 1)) * (1 + (_Z**2 + 1) / (4 * (units - 1)))
    return value + wider * (numpy.percentile(samples, _LEVELS) - value)


def difference_interval(
    ours: Sequence[Counts], theirs: Sequence[Counts]
) -> Optional[tuple[float, float]]:
    """Return the range of the difference of two F1 in 95 % of samples, each of the same units.

    None if the range is a single value, as for equal predictions.

    ours, theirs (Sequence[Counts]): As in `f1_interval`, of the same units.
    """
    both, number = numpy.array([ours, theirs]), len(ours)  # (2, U, 3)
    if number < 2:
        return None
    generator = numpy.random.default_rng(0)
    drawn = [
        generator.multinomial(number, numpy.full(number, 1 / number), _SAMPLE_BATCH)
        for _ in range(_SAMPLES // _SAMPLE_BATCH)
    ]
    one, other = _f1(*numpy.moveaxis(numpy.concatenate(drawn) @ both, -1, 0))
    measured = numpy.subtract(*_f1(*both.sum(axis=1).T))
    low, high = _range(float(measured), one - other, number).tolist()
    return (low, high) if low < high else None
