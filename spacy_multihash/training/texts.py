"""Scores and mistakes of a text classifier."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.evaluation import annotate, scores_of
from ..corpus.intervals import f1_interval
from ..corpus.read import known_labels, text_labels
from ..inspection.errors import SURE
from ..inspection.mistakes import Confusion
from ..ner.calibration import Bin, reliability
from .scores import SplitScores


def score_texts(nlp: Language, examples: Sequence[Example]) -> SplitScores:
    """Annotate docs with a pipeline, and score the labels of texts."""
    counts, labels = [], dict[str, PRFScore]()
    for _, gold, predicted in _predict_labels(nlp, examples):
        counts.append((len(gold & predicted), len(predicted - gold), len(gold - predicted)))
        for label in gold | predicted:
            labels.setdefault(label, PRFScore()).score_set(predicted & {label}, gold & {label})
    per_label = {label: scores_of(labels[label]) for label in sorted(labels)}
    total = sum(labels.values(), PRFScore())
    parts = {"all": scores_of(total, per_label)}
    return SplitScores("texts", len(counts), parts, f1_interval(counts), counts=counts)


class TextMistake(NamedTuple):
    """A text with wrong labels, and the confidence in the most confident wrong label."""

    confidence: float
    gold: Sequence[str]
    predicted: Sequence[str]
    text: str


@dataclass(frozen=True)
class TextMistakes:
    """The mistakes of a text classifier on a corpus.

    mistakes (Sequence[TextMistake]): The most confident mistakes first.
    gold, predicted (int): The numbers of labels.
    confusion (Confusion): The counts of gold and predicted
        labels of texts that have one of each.
    bins (Sequence[Bin]): The share of predicted labels that is right, by their scores.
    """

    mistakes: Sequence[TextMistake]
    gold: int
    predicted: int
    confusion: Confusion
    bins: Sequence[Bin]

    @property
    def suspects(self) -> list[TextMistake]:
        """The mistakes that the model is sure of, whose annotation may be wrong."""
        return [mistake for mistake in self.mistakes if mistake.confidence >= SURE]


def text_mistakes(nlp: Language, examples: Sequence[Example]) -> TextMistakes:
    """List the texts with wrong labels, and count which labels are confused."""
    mistakes, judged = list[TextMistake](), list[tuple[float, bool]]()
    confusion, total = Counter[tuple[str | None, str | None]](), 0
    for doc, gold, predicted in _predict_labels(nlp, examples):
        total += len(gold)
        judged += [(doc.cats[label], label in gold) for label in predicted]
        if len(gold) == len(predicted) == 1:
            confusion[min(gold), min(predicted)] += 1
        if gold != predicted:
            spurious = [doc.cats[label] for label in predicted - gold]
            missed = [1 - doc.cats.get(label, 0.0) for label in gold - predicted]
            sure = max(spurious or missed)
            mistakes.append(TextMistake(sure, sorted(gold), sorted(predicted), doc.text))
    mistakes.sort(key=lambda mistake: -mistake.confidence)
    bins = reliability(*numpy.array(judged).T) if judged else []
    return TextMistakes(mistakes, total, len(judged), confusion, bins)


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
        doc, gold = example.predicted, example.reference.cats
        predicted = text_labels(doc.cats)
        if is_exclusive and doc.cats:
            predicted = {max(doc.cats, key=doc.cats.__getitem__)}
        elif not is_exclusive:  # labels without gold annotation are neither right nor wrong
            predicted &= known_labels(gold).keys()
        yield doc, text_labels(gold), predicted


def has_exclusive_labels(cats: Iterable[Mapping[str, float]]) -> bool:
    """Return whether each text has one label."""
    return all(len(text_labels(of_text)) == 1 for of_text in cats)
