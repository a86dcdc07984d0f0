"""All sequences of actions of short docs, one by one, with spaCy's own states and scores."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
from spacy.tokens import Doc

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.transition.probabilities import ScoredStates
from tests.helpers import transition
from tests.helpers.transition import Case

LOWEST = float(numpy.finfo("float32").min)
Entity = tuple[int, int, str]


class Ending(NamedTuple):
    """A sequence of actions: its probability, its entities, and whether it was given up."""

    probability: float
    entities: tuple[Entity, ...]
    stuck: bool


@dataclass(frozen=True)
class Words:
    """A doc to be: words, and what is known of them, as in `transition.Token`."""

    words: Sequence[str]
    iob: Sequence[int] = ()
    types: Sequence[str] = ()
    starts: Sequence[int] = ()


def recognizer(
    labels: Sequence[str] = "AB",
    seed: int = 0,
    scale: float = 0.7,
    *,
    settings: dict[str, Any] | None = None,
    **case: Any,
) -> BatchEntityRecognizer:
    """Build a batch_ner with random weights, to which equal words are equal."""
    built = Case(labels, seed=seed, scale=scale, hidden_width=6, by_word=True, **case)
    return transition.recognizer(BatchEntityRecognizer, built, **(settings or {}))


def make_doc(ner: BatchEntityRecognizer, known: Words) -> Doc:
    nothing = [0] * len(known.words)
    columns = (known.words, known.starts or nothing, known.iob or nothing)
    types = known.types or [""] * len(known.words)
    return transition.make_doc(ner.vocab, list(map(transition.Token, *columns, types)))


def batch_of(ner: BatchEntityRecognizer, docs: list[Doc]) -> ScoredStates:
    """Let the recognizer compute what scores are made of."""
    return ner._score(docs, ner._inputs(docs), probable=False)


def all_endings(ner: BatchEntityRecognizer, doc: Doc, temperature: float = 1.0) -> list[Ending]:
    """Go through all sequences of actions of a doc, breadth first."""
    moves = ner.moves
    names = [moves.get_class_name(column) for column in range(moves.n_moves)]
    unseen = list(ner.model.attrs["unseen_classes"])
    step = ner.model.predict([doc])
    (first,) = moves.init_batch([doc])
    endings: list[Ending] = []
    # The state, its probability, the entities so far, and the one that is open
    states: list[tuple[Any, float, tuple[Entity, ...], tuple[int, str] | None]]
    states = [(first, 1.0, (), None)]
    for token in range(len(doc)):
        if not states:
            break
        scores = numpy.asarray(step.predict([state for state, *_ in states]), dtype="float64")
        scores[:, unseen] = LOWEST
        following = []
        for (state, mass, found, is_open), of_state in zip(states, scores, strict=True):
            valid = [i for i, name in enumerate(names) if moves.is_valid(state, name)]
            if not valid:
                endings.append(Ending(mass, found, True))
                continue
            shares = numpy.exp((of_state[valid] - of_state[valid].max()) / temperature)
            for column, share in zip(valid, shares / shares.sum(), strict=True):
                if share == 0:
                    continue
                kind, _, label = names[column].partition("-")
                ents, opened = found, is_open
                if kind == "B":
                    opened = (token, label)
                elif kind == "U" and label:
                    ents = (*found, (token, token + 1, label))
                elif kind == "L":
                    assert is_open is not None
                    ents, opened = (*found, (is_open[0], token + 1, is_open[1])), None
                after = state.copy()
                moves.apply_transition(after, names[column])
                following.append((after, mass * float(share), ents, opened))
        states = following
    return endings + [Ending(mass, found, False) for _, mass, found, _ in states]


def entity_sums(endings: Sequence[Ending]) -> dict[Entity, float]:
    """Add up the probabilities of the sequences that each entity is in."""
    sums: dict[Entity, float] = defaultdict(float)
    for ending in endings:
        for entity in ending.entities:
            sums[entity] += ending.probability
    return dict(sums)


def as_entities(entities: Sequence[Entity], labels: Sequence[str]) -> Entities:
    rows = [(start, end, list(labels).index(label)) for start, end, label in entities]
    return Entities(*numpy.array(rows, dtype="int64").reshape(-1, 3).T)


def as_tuples(entities: Entities, labels: Sequence[str]) -> tuple[Entity, ...]:
    rows = zip(*(column.tolist() for column in entities), strict=True)
    return tuple((start, end, labels[label]) for start, end, label in rows)
