"""Candidates: the entities that a recognizer finds possible, with their probabilities.

Both recognizers list them in the same way. The mass of an entity that has begun is the probability
of its tags or actions so far. It's at least the probability of each entity that it may become. So
all that begin are extended token by token, until little mass is left.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy
from spacy.tokens import Doc

from .biluo import Entities, as_entities
from .entities import Confidences, confidences_of, lengths_of, set_confidences, spans_of

# The first tokens of S entities, (S,), and their next tokens, (S,) -> the probabilities that they
# go on behind that token, and that they end with it, (S, K) each, for K labels. Both are 0 where an
# entity can do neither.
Step = Callable[[numpy.ndarray, numpy.ndarray], tuple[numpy.ndarray, numpy.ndarray]]


class Extended(NamedTuple):
    """Entities that begin with S tokens, extended by a token, for K labels.

    starts, ends (S,) int64: The tokens [start, end), with the next token.
    ending (S, K) float64: The mass of the entities that end with the next token.
    cut (S, K) float64: The mass that goes on, but is too small.
    stuck (S, K) float64: The mass that can neither go on nor end.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    ending: numpy.ndarray
    cut: numpy.ndarray
    stuck: numpy.ndarray


def extend(
    starts: numpy.ndarray, masses: numpy.ndarray, step: Step, least: float
) -> Iterator[Extended]:
    """Extend the entities that begin with some tokens while their mass is at least `least`.

    starts (S,) int64: Their first tokens.
    masses (S, K) float64: The mass of each label.
    """
    ends, masses = starts + 1, numpy.where(masses >= least, masses, 0)
    while True:
        alive = masses.any(axis=1)
        starts, ends, masses = starts[alive], ends[alive], masses[alive]
        if not len(starts):
            return
        goes_on, closes = step(starts, ends)
        after = masses * goes_on
        cut = numpy.where(after < least, after, 0)
        stuck = numpy.where((goes_on == 0) & (closes == 0), masses, 0)
        ends = ends + 1
        yield Extended(starts, ends, masses * closes, cut, stuck)
        masses = after - cut


class Listed(NamedTuple):
    """M entities [start, end) of a batch with their masses, (M,) each."""

    starts: numpy.ndarray
    ends: numpy.ndarray
    labels: numpy.ndarray
    masses: numpy.ndarray


def at_least(
    above: float, starts: numpy.ndarray, ends: numpy.ndarray, masses: numpy.ndarray
) -> Listed:
    """List the entities [start, end), (S,) each, of the labels with enough mass, (S, K)."""
    rows, labels = (masses >= above).nonzero()
    return Listed(starts[rows], ends[rows], labels, masses[rows, labels])


def in_order(listed: Sequence[Listed]) -> tuple[Entities, numpy.ndarray]:
    """Join lists of entities, by start, end and label. Returns their masses too, (M,)."""
    columns = [numpy.concatenate(column) for column in zip(*listed, strict=True)]
    order = numpy.lexsort(columns[2::-1])
    starts, ends, labels, masses = (column[order] for column in columns)
    return Entities(starts, ends, labels), masses


class SpanProbabilities(NamedTuple):
    """Probabilities of entities of a batch of D docs.

    confidences: For each doc, the probabilities of predicted entities and candidates.
    candidates (Entities): All entities that are probable enough, predicted or not, in order.
    left_out (D,) float64: Bounds the errors of a doc's probabilities.
    expected (D, K) float64: The expected number of entities of each label, predicted or not: the
        sum of the probabilities of all spans. Entities that a doc had before don't count.
    """

    confidences: list[Confidences]
    candidates: Entities
    left_out: numpy.ndarray
    expected: numpy.ndarray


def span_probabilities(
    docs: Sequence[Doc],
    labels: Sequence[str],
    predicted: tuple[Entities, numpy.ndarray],
    candidates: tuple[Entities, numpy.ndarray],
    left_out: numpy.ndarray,
    begins: numpy.ndarray,
) -> SpanProbabilities:
    """Sort the probabilities of predicted entities and of candidates by doc.

    begins (N, K) float64: The probability that an entity of each label begins with each token.
    """
    both = Entities(*map(numpy.concatenate, zip(predicted[0], candidates[0], strict=True)))
    probabilities = numpy.append(predicted[1], candidates[1])
    confidences = confidences_of(docs, both, probabilities, labels)
    expected = numpy.zeros((len(docs), len(labels)))
    numpy.add.at(expected, numpy.repeat(numpy.arange(len(docs)), lengths_of(docs)), begins)
    return SpanProbabilities(confidences, candidates[0], left_out, expected)


def no_probabilities(docs: Sequence[Doc], labels: Sequence[str]) -> SpanProbabilities:
    """Make the probabilities of docs without tokens."""
    none, zeros = as_entities([]), numpy.zeros(len(docs))
    return SpanProbabilities([{} for _ in docs], none, zeros, numpy.zeros((len(docs), len(labels))))


def set_span_probabilities(
    docs: Sequence[Doc],
    probabilities: SpanProbabilities,
    labels: Sequence[str],
    spans_key: str,
    unset: Sequence[Sequence] = (),
) -> None:
    """Put doc.ents and the other candidates into doc.spans[spans_key], with their scores.

    Its attrs get "scores", (M,) float32, "left_out", a float, and "expected", the expected number
    of entities by label.

    labels (Sequence[str]): The labels of the recognizer.
    unset (Sequence[Sequence[Span]]): For each doc, predicted entities that aren't in doc.ents.
    """
    spans = spans_of(docs, probabilities.candidates, labels)
    for i, (doc, confidences) in enumerate(zip(docs, probabilities.confidences, strict=True)):
        entities = {(ent.start, ent.end, ent.label) for ent in doc.ents}
        others = {(s.start, s.end, s.label): s for s in (*spans[i], *(unset[i] if unset else ()))}
        left = [span for key, span in others.items() if key not in entities]
        set_confidences(doc, confidences, set(labels), spans_key, left)
        attrs = doc.spans[spans_key].attrs
        attrs["left_out"] = float(probabilities.left_out[i])
        attrs["expected"] = dict(zip(labels, probabilities.expected[i].tolist(), strict=True))
