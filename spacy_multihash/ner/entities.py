"""Entities of docs: existing and new ones, constraints, and probabilities of any entities."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Union, cast

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, SENT_START
from spacy.language import Language
from spacy.pipeline import Tok2Vec
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.types import Ints2d

from ..corpus.contexts import pipe_with_contexts
from .biluo import Constraints, Entities, as_entities

# An entity of a doc: its tokens [start, end), and its label.
EntityKey = tuple[int, int, str]
KeysOfDocs = Sequence[Sequence[EntityKey]]
# Values of Token.ent_iob. A token without an entity type is blocked if it is IOB_BEGINS.
IOB_MISSING, IOB_INSIDE, IOB_OUTSIDE, IOB_BEGINS = 0, 1, 2, 3
# The attributes that constrain entities.
CONSTRAINING = [SENT_START, IS_SPACE, ENT_IOB]


def lengths_of(docs: Sequence[Doc]) -> numpy.ndarray:
    """Count the tokens of each doc, (B,) int64."""
    return numpy.array([*map(len, docs)], dtype="int64")


def token_attributes(
    docs: Sequence[Doc], attrs: Sequence[int]
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Read A > 1 attributes of all tokens, (N, A) uint64, and the lengths of docs, (B,) int64."""
    arrays = [doc.to_array([*attrs]) for doc in docs]
    lengths = numpy.array([*map(len, arrays)], dtype="int64")
    return arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays), lengths


def constraints_of(attrs: numpy.ndarray, lengths: numpy.ndarray) -> Constraints:
    """Find the constraints of docs, by the rules of spaCy's ner.

    No entity begins with whitespace or crosses the boundary of a sentence. Blocked tokens, and
    tokens of existing entities, get no new entity.

    attrs (N, 3) uint64: `CONSTRAINING`.
    """
    sentence_starts, spaces, iob = attrs.T
    starts = sentence_starts == 1
    starts[(lengths.cumsum() - lengths)[lengths > 0]] = True
    return Constraints(starts, spaces == 1, (iob == IOB_INSIDE) | (iob == IOB_BEGINS))


def without_entities(constraints: Constraints, docs: Sequence[Doc]) -> Constraints:
    """Allow new entities on existing entities' tokens, not on blocked tokens."""
    iob_and_type, _ = token_attributes(docs, [ENT_IOB, ENT_TYPE])
    return constraints._replace(outside=(iob_and_type == (IOB_BEGINS, 0)).all(axis=1))


def present_entities(docs: Sequence[Doc], labels: Sequence[str]) -> Entities:
    """List the existing entities of docs with these labels."""
    keys = [[key_of(ent) for ent in doc.ents if ent.label_ in labels] for doc in docs]
    return entities_at(docs, keys, labels)


def key_of(span: Span) -> EntityKey:
    """Return the key of an entity."""
    return span.start, span.end, span.label_


def entity_keys(
    docs: Sequence[Doc], entities: Entities, labels: Sequence[str]
) -> list[tuple[int, EntityKey]]:
    """Return the doc's number, and the key in the doc, for each entity of the batch."""
    if not len(entities.starts):
        return []
    ends = [*accumulate(map(len, docs))]
    keys = []
    for start, end, label in zip(*(column.tolist() for column in entities), strict=True):
        i = bisect_right(ends, start)
        begin = ends[i] - len(docs[i])
        keys.append((i, (start - begin, end - begin, labels[label])))
    return keys


def entities_at(docs: Sequence[Doc], keys: KeysOfDocs, labels: Sequence[str]) -> Entities:
    """List entities of the batch by their keys in each doc, in their order.

    Raises ValueError for unknown labels, tokens outside a doc, and if keys and docs differ in
    length.
    """
    if len(keys) != len(docs):
        raise ValueError(
            f"Give a list of entities for each of {len(docs)} docs, got {len(keys)} lists. "
            "The list of a doc without entities is empty."
        )
    numbers = {label: number for number, label in enumerate(labels)}
    entities, begin = [], 0
    for doc, of_doc in zip(docs, keys, strict=True):
        for start, end, label in of_doc:
            if label not in numbers:
                raise ValueError(f"There is no label {label!r}. Expected one of: {list(numbers)}.")
            if not 0 <= start < end <= len(doc):
                raise ValueError(
                    f"An entity of this doc must be in its {len(doc)} tokens, got [{start}, {end})."
                )
            entities.append((begin + start, begin + end, numbers[label]))
        begin += len(doc)
    return as_entities(entities)


def spans_of(docs: Sequence[Doc], entities: Entities, labels: Sequence[str]) -> list[list[Span]]:
    """Make the spans of each doc from entities of the batch. Tokens keep the ids of links."""
    spans: list[list[Span]] = [[] for _ in docs]
    for i, (start, end, label) in entity_keys(docs, entities, labels):
        doc = docs[i]
        spans[i].append(Span(doc, start, end, label=label, kb_id=doc[start].ent_kb_id))
    return spans


def set_entities(doc: Doc, spans: list[Span]) -> None:
    """Set new entities, keep existing entities, and set all other tokens to outside."""
    if not (doc.has_annotation("ENT_IOB") or doc.has_annotation("ENT_TYPE")):
        doc.set_ents(spans)
        return
    doc.set_ents(spans, default="unmodified")
    iob = doc.to_array(ENT_IOB)
    iob[iob == IOB_MISSING] = IOB_OUTSIDE  # and nothing else of these tokens, like spaCy's ner
    doc.from_array(ENT_IOB, cast(Ints2d, iob))


# Probabilities


class SpanProbabilities(NamedTuple):
    """Probabilities of entities of D docs.

    scores: For each doc, predicted entities and candidates with their probabilities.
    left_out (D,) float64: Bounds the errors of a doc's probabilities.
    expected (D, K) float64: The expected number of entities of each label, predicted or not: the
        sum of the probabilities of all spans. Entities that a doc had before don't count.
    """

    scores: list[dict[EntityKey, float]]
    left_out: numpy.ndarray
    expected: numpy.ndarray


def span_probabilities(
    docs: Sequence[Doc],
    labels: Sequence[str],
    listed: Sequence[tuple[Entities, numpy.ndarray]] = (),
    begins: Union[numpy.ndarray, float] = 0.0,
    left_out: Union[numpy.ndarray, float] = 0.0,
) -> SpanProbabilities:
    """Sort probabilities by doc.

    listed: Entities of the batch, and their probabilities (M,).
    begins (N, K) float64: The probability that an entity of each label begins with each token.
    """
    scores: list[dict[EntityKey, float]] = [{} for _ in docs]
    for entities, probabilities in listed:
        keys = entity_keys(docs, entities, labels)
        for (i, key), probability in zip(keys, probabilities.tolist(), strict=True):
            scores[i][key] = probability
    expected = numpy.zeros((len(docs), len(labels)))
    numpy.add.at(expected, numpy.repeat(numpy.arange(len(docs)), lengths_of(docs)), begins)
    return SpanProbabilities(scores, numpy.zeros(len(docs)) + left_out, expected)


def set_span_probabilities(
    docs: Sequence[Doc], labels: Sequence[str], spans_key: str, probabilities: SpanProbabilities
) -> None:
    """Put doc.ents and the other candidates into doc.spans[spans_key], with their scores.

    Its attrs get "scores", (M,) float32, "left_out", a float, and "expected", the expected number
    of entities by label. Entities that other code set have the score NaN, or if they have another
    label than the recognizer's, are left out.
    """
    for doc, scores, left_out, expected in zip(docs, *probabilities, strict=True):
        entities = {key_of(ent): ent for ent in doc.ents if ent.label_ in labels}
        keys = sorted({**entities, **scores}, key=lambda key: key[:2])
        doc.spans[spans_key] = [
            entities.get(key) or Span(doc, key[0], key[1], label=key[2]) for key in keys
        ]
        doc.spans[spans_key].attrs.update(
            scores=numpy.array([scores.get(key, numpy.nan) for key in keys], dtype="float32"),
            left_out=float(left_out),
            expected=dict(zip(labels, expected.tolist(), strict=True)),
        )


# The keys in doc.user_data for what's noted by characters. Its values are lists and dicts, since
# later components may store a doc with its user_data.
KNOWN_KEY, EXPECTED_KEY = "spacy_multihash_probabilities", "spacy_multihash_expected"


def note_probabilities(
    doc: Doc, scores: dict[EntityKey, float], expected: dict[str, float]
) -> None:
    """Note the probabilities of new entities, before they're set, and of candidates.

    expected: The expected number of entities of each label.
    """
    before, noted = set(map(key_of, doc.ents)), doc.user_data.setdefault(KNOWN_KEY, [])
    for key, score in scores.items():
        if key not in before:
            start, end, label = key
            span = doc[start:end]
            noted.append([span.start_char, span.end_char, label, score])
    sums = doc.user_data.setdefault(EXPECTED_KEY, {})
    for label, number in expected.items():
        sums[label] = sums.get(label, 0.0) + number


class SpanScores(NamedTuple):
    """E entities of docs, and their probabilities at any temperature.

    keys: For each entity, the number of its doc, its start, end and label.
    probabilities: Temperature -> (E,) float.
    """

    keys: Sequence[tuple[int, EntityKey]]
    probabilities: Callable[[float], numpy.ndarray]


def score_spans(nlp: Language, name: str, docs: Sequence[Doc], keys: KeysOfDocs) -> numpy.ndarray:
    """Compute the probabilities of entities of docs, whether a recognizer finds them or not.

    name (str): The component, a batch_ner or tagger_ner. Only the components that it listens
        to run before it.
    docs (Sequence[Doc]): Docs, or objects like docs, as annotated by the components before the
        recognizer. They get new tensors.
    keys (KeysOfDocs): The entities of each doc.

    Returns the probabilities of all entities of the first doc, then of the second, (E,) float64.
    """
    return tempered_spans(nlp, name, docs, keys)(1.0)


def tempered_spans(
    nlp: Language, name: str, docs: Sequence[Doc], keys: KeysOfDocs
) -> Callable[[float], numpy.ndarray]:
    """Return a function: factor of the component's temperature -> what `score_spans` returns."""
    recognizer: Any = nlp.get_pipe(name)
    for pipe in upstream_of(nlp, name):
        pipe.set_annotations(docs, pipe.predict(docs))
    probabilities = recognizer.score_spans(docs, keys).probabilities
    return lambda factor: probabilities(factor * recognizer.temperature)


def upstream_of(nlp: Language, name: str) -> list[Any]:
    """List the components that a recognizer listens to."""
    model: Any = nlp.get_pipe(name).model  # type: ignore[attr-defined]
    nodes = set(map(id, model.walk()))
    return [
        pipe
        for _, pipe in nlp.pipeline
        if isinstance(pipe, Tok2Vec) and any(id(listener) in nodes for listener in pipe.listeners)
    ]


def annotate_before(nlp: Language, name: str, examples: Sequence[Example]) -> list[Example]:
    """Let the components before a recognizer annotate the predicted docs, and return the examples.

    If a component fails at a doc, the pipeline's error handler may leave it out. If a component
    returns another doc, that becomes the predicted doc.

    Raises ValueError if both happen, since it's unknown which docs were left out.
    """
    with nlp.select_pipes(enable=list(nlp.pipe_names[: nlp.pipe_names.index(name)])):
        pairs = ((eg.predicted, eg) for eg in examples)
        where = f'What is before component "{name}"'
        annotated = list(pipe_with_contexts(nlp, pairs, where))
    for doc, example in annotated:
        example.predicted = doc
    return [example for _, example in annotated]
