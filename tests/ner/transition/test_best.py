"""The most probable sequence of actions, among all, gone through one by one."""

from collections import defaultdict
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.ner.transition.best import find_best
from spacy_multihash.ner.transition.probabilities import log_masses, outside_probabilities
from spacy_multihash.ner.transition.states import find_entities
from tests.helpers.action_sequences import (
    Entity,
    Words,
    all_endings,
    as_tuples,
    batch_of,
    make_doc,
    recognizer,
)
from tests.ner.transition.test_lattice import DOCS, RECOGNIZERS, long_batch, some_words

EVERYTHING = 1e-99


def best_of(
    ner: BatchEntityRecognizer, known: list, least: float = EVERYTHING, temperature: float = 1.0
) -> tuple[Entity, ...]:
    batch = batch_of(ner, known)
    entities = find_best(batch, temperature, least)
    return as_tuples(entities, batch.actions.labels)


def assert_most_probable(
    ner: BatchEntityRecognizer, words: Words, temperature: float = 1.0
) -> None:
    doc = make_doc(ner, words)
    of_entities: dict[tuple[Entity, ...], float] = defaultdict(float)
    for ending in all_endings(ner, doc, temperature):
        # Sequences with the same entities differ where they are given up
        key = tuple(sorted(ending.entities))
        of_entities[key] = max(of_entities[key], ending.probability)
    found = best_of(ner, [doc], temperature=temperature)
    assert of_entities[found] == pytest.approx(max(of_entities.values()), rel=1e-4)


@given(some_words(), st.integers(0, 99), st.sampled_from([0.5, 1.0, 3.0]))
@settings(deadline=None, max_examples=60)
def test_no_sequence_of_any_doc_is_more_probable(
    words: Words, seed: int, temperature: float
) -> None:
    assert_most_probable(RECOGNIZERS[seed % len(RECOGNIZERS)], words, temperature)


def test_the_best_sequence_depends_on_the_temperature_and_the_greedy_one_does_not() -> None:
    ner = recognizer("AB", seed=12)
    docs = [make_doc(ner, Words(f"{a}{b}{c}de")) for a in "abc" for b in "abc" for c in "abc"]
    batch = batch_of(ner, docs)
    hot, cold = (find_best(batch, temperature) for temperature in (9.0, 0.01))
    greedy = find_entities(batch)
    assert as_tuples(hot, "AB") != as_tuples(cold, "AB") == as_tuples(greedy, "AB")


@pytest.mark.parametrize("least", [EVERYTHING, 1e-6, 0.5])
def test_no_sequence_is_less_probable_than_the_greedy_one(least: float) -> None:
    ner, batch = long_batch(600, 3.0)
    greedy = find_entities(batch)
    assert (greedy.ends - greedy.starts).max() > 20
    best = find_best(batch, least=least)
    assert log_probability(batch, best) >= log_probability(batch, greedy) - 1e-6


def log_probability(batch: Any, entities: Any) -> float:
    """Add up the logs of all actions, those of O with those of entities."""
    covered = numpy.zeros(len(batch.X) + 1, dtype=int)
    numpy.add.at(covered, entities.starts, 1)
    numpy.add.at(covered, entities.ends, -1)
    (free,) = numpy.nonzero(covered.cumsum()[:-1] == 0)
    P = outside_probabilities(batch, numpy.arange(len(batch.X)), 1.0)
    stays = [batch.actions.O, batch.actions.blocked]
    return numpy.log(P[free][:, stays].sum(axis=1)).sum() + log_masses(batch, entities).sum()


def test_docs_of_a_batch_do_not_matter_to_each_other() -> None:
    ner = recognizer("AB", seed=7)
    known = [Words(""), DOCS["I without B"], Words(""), Words("bca"), DOCS["an entity"], Words("")]
    docs = [make_doc(ner, words) for words in known]
    begin, found = 0, []
    for doc in filter(len, docs):
        found += [(s + begin, e + begin, label) for s, e, label in best_of(ner, [doc])]
        begin += len(doc)
    assert found
    assert best_of(ner, docs) == tuple(found)


def test_of_equal_actions_and_ways_the_first_is_taken_as_greedy_does() -> None:
    ner = recognizer("BA", scale=0.0)
    docs = [make_doc(ner, Words(words)) for words in ("a", "ab", "a ")]
    # p(U) = p(O) for one token; p(B) = 1/5 > p(O) p(O) = 1/5 * 1/3 for two; with whitespace they
    # are equal, as nothing but O is valid there
    best = best_of(ner, docs)
    assert best == as_tuples(find_entities(batch_of(ner, docs)), "BA")
    assert best == ((0, 1, "B"), (1, 3, "B"), (3, 5, "B"))
