"""Scores of a trained pipeline, with intervals, and its size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.evaluation import KnownEntities, Scores, annotate, predict, score, score_parts
from ..corpus.read import text_labels
from ..inspection.errors import entities_of

# Bootstrap samples of an interval, and how many to draw at once.
_SAMPLES, _SAMPLE_BATCH = 1000, 50
_LEVELS = (2.5, 97.5)
Counts = tuple[int, int, int]


@dataclass(frozen=True)
class SplitScores:
    """Scores of a split.

    unit (str): The unit of bootstrap samples: "sentences", "documents" or "texts".
    units (int): The number of units.
    parts (Mapping[str, Scores]): "all", and for entities "seen" and "unseen" in training, with the
        other part masked. Scores by label are in "all".
    interval (Optional[tuple[float, float]]): Contains the F1 of all in 95 % of samples.
    """

    unit: str
    units: int
    parts: Mapping[str, Scores]
    interval: Optional[tuple[float, float]]


def score_entities(nlp: Language, examples: Sequence[Example], known: KnownEntities) -> SplitScores:
    """Annotate docs with a pipeline, and score the entities."""
    predict(nlp, examples)
    counts = [counts for example in examples for counts in count_sentences(example)]
    unit = "documents" if len(counts) == len(examples) else "sentences"
    parts = {"all": score(examples), **score_parts(examples, known)}
    return SplitScores(unit, len(counts), parts, f1_interval(counts))


def count_sentences(example: Example) -> list[Counts]:
    """Count right, spurious and missed entities of each sentence of a gold doc.

    A doc without sentences counts as one. Entities belong to the sentence where they begin.
    """
    doc = example.reference
    has_sentences = doc.has_annotation("SENT_START")
    sentences = [sent.start for sent in doc.sents] if has_sentences else [0]
    gold, found = ({(e.start, e.end, e.label) for e in part} for part in entities_of(example))
    counts = numpy.zeros((len(sentences), 3), dtype="int64")
    for column, entities in enumerate((gold & found, found - gold, gold - found)):
        for start, _, _ in entities:
            counts[numpy.searchsorted(sentences, start, side="right") - 1, column] += 1
    return [tuple(row) for row in counts.tolist()]


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
        "texts", len(counts), {"all": _scores(total, per_label)}, f1_interval(counts)
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
        yield doc, text_labels(example.reference.cats), found


def has_exclusive_labels(cats: Iterable[Mapping[str, float]]) -> bool:
    """Return whether each text has one label."""
    return all(len(text_labels(of_text)) == 1 for of_text in cats)


def _scores(prf: PRFScore, per_label: Optional[Mapping[str, Scores]] = None) -> Scores:
    gold = prf.tp + prf.fn
    return Scores(gold, prf.precision, prf.recall, prf.fscore, per_label or {})


def f1_interval(counts: Sequence[Counts]) -> Optional[tuple[float, float]]:
    """Return the range of F1 in 95 % of bootstrap samples of units (Efron 1979).

    None if the range is a single value, as for a perfect score.

    counts (Sequence[Counts]): Right, spurious and missed entities of each unit.
    """
    array, number = numpy.array(counts), len(counts)  # (U, 3)
    generator = numpy.random.default_rng(0)
    f1 = []
    for _ in range(_SAMPLES // _SAMPLE_BATCH):
        drawn = generator.multinomial(number, numpy.full(number, 1 / number), _SAMPLE_BATCH)
        right, spurious, missed = (drawn @ array).T
        f1.append(2 * right / numpy.maximum(2 * right + spurious + missed, 1))
    low, high = numpy.percentile(numpy.concatenate(f1), _LEVELS).tolist()
    return (low, high) if low < high else None
