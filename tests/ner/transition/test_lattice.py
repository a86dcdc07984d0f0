"""Sums over all sequences of actions, gone through one by one, and the most probable sequence."""

import tracemalloc
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.transition.probabilities import (
    Lattice,
    ScoredStates,
    build_lattice,
)
from tests.helpers.action_sequences import (
    Entity,
    Words,
    all_endings,
    as_entities,
    as_tuples,
    batch_of,
    entity_sums,
    make_doc,
    recognizer,
)
from tests.helpers.transition import favour

NONE = Entities(*numpy.zeros((3, 0), dtype="int64"))
EVERYTHING = 1e-99  # the least mass that is followed
# Scores are of single precision
CLOSE = {"rtol": 1e-4, "atol": 1e-7}


def lattice_of(ner: BatchEntityRecognizer, batch: ScoredStates, **options: Any) -> Lattice:
    return build_lattice(batch, NONE, **{"above": 1e-12, "least": EVERYTHING, **options})


def candidates(batch: ScoredStates, lattice: Lattice) -> dict[Entity, float]:
    keys = as_tuples(lattice.candidates, batch.actions.labels)
    return dict(zip(keys, lattice.candidate_probabilities.tolist(), strict=True))


def assert_as_one_by_one(
    ner: BatchEntityRecognizer, known: Words, temperature: float = 1.0
) -> None:
    doc = make_doc(ner, known)
    batch = batch_of(ner, [doc])
    endings = all_endings(ner, doc, temperature)
    assert sum(ending.probability for ending in endings) == pytest.approx(1)
    expected = entity_sums(endings)
    lattice = lattice_of(ner, batch, temperature=temperature)
    found = candidates(batch, lattice)
    assert set(found) >= {key for key, value in expected.items() if value > 1e-9}
    assert_allclose([*found.values()], [expected[key] for key in found], **CLOSE)
    begins = numpy.zeros_like(lattice.begins)
    for (start, _, label), probability in expected.items():
        begins[start, batch.actions.labels.index(label)] += probability
    assert_allclose(lattice.begins, begins, **CLOSE)
    stuck = sum(ending.probability for ending in endings if ending.stuck)
    assert lattice.left_out == pytest.approx([stuck], abs=1e-5)
    asked = as_entities(list(expected), batch.actions.labels)
    probabilities = batch.probabilities(asked, temperature)
    assert_allclose(probabilities, list(expected.values()), **CLOSE)


@st.composite
def some_words(draw: st.DrawFn) -> Words:
    length = draw(st.integers(1, 4))

    def of_length(element: st.SearchStrategy) -> list:
        return draw(st.lists(element, min_size=length, max_size=length))

    iob = of_length(st.sampled_from([0, 0, 0, 1, 2, 3]))
    types = [draw(st.sampled_from("AB")) if at in (1, 3) else "" for at in iob]
    if draw(st.booleans()):
        types = [name if draw(st.booleans()) else "" for name in types]  # 3 without a type: blocked
    words = of_length(st.sampled_from(["a", "b", "c", " "]))
    return Words(words, iob, types, of_length(st.sampled_from([-1, 0, 0, 1])))


SETTINGS = [{"use_upper": u, "extra_state_tokens": e} for e in (False, True) for u in (True, False)]
RECOGNIZERS = [recognizer("AB", seed=seed, **model) for seed, model in enumerate(SETTINGS)]


@given(some_words(), st.integers(0, 99), st.sampled_from([0.3, 1.0, 20.0]))
def test_probabilities_are_sums_for_any_docs(words: Words, seed: int, temperature: float) -> None:
    assert_as_one_by_one(RECOGNIZERS[seed % len(RECOGNIZERS)], words, temperature)


@pytest.mark.parametrize("unseen", [["B-A"], ["O"], ["I-A", "L-B"], ["I-A", "L-A", "U-B"]])
def test_actions_never_seen_have_no_probability_unless_no_other_is_valid(unseen: list[str]) -> None:
    ner = recognizer("AB", seed=6)
    names = [ner.moves.get_class_name(column) for column in range(ner.moves.n_moves)]
    ner.model.attrs["unseen_classes"] = {names.index(name) for name in unseen}
    assert_as_one_by_one(ner, Words("abca"))
    assert_as_one_by_one(ner, Words("abc", iob=[3, 1, 0], types=["A", "A", ""]))


def long_batch(length: int, more: float) -> tuple[BatchEntityRecognizer, ScoredStates]:
    ner = recognizer("AB", scale=0.4)
    favour(ner, "I", more)
    rng = numpy.random.default_rng(0)
    words = [chr(97 + i) for i in rng.integers(26, size=length)]
    return ner, batch_of(ner, [make_doc(ner, Words(words))])


def assert_tokens_are_outside_or_in_an_entity(lattice: Lattice) -> None:
    starts, ends, _ = lattice.candidates
    N = len(lattice.outside)
    inside = numpy.zeros(N + 1)
    numpy.add.at(inside, starts + 1, lattice.candidate_probabilities)
    numpy.add.at(inside, ends, -lattice.candidate_probabilities)
    assert_allclose(lattice.outside + inside.cumsum()[:N], 1, atol=1e-6)


def test_each_token_is_outside_or_in_an_entity_across_chunks() -> None:
    ner, batch = long_batch(600, 1.0)
    lattice = lattice_of(ner, batch, above=1e-12, least=1e-12)
    lengths = lattice.candidates.ends - lattice.candidates.starts
    assert lengths.max() > 40
    assert lattice.left_out[0] < 1e-6
    assert_tokens_are_outside_or_in_an_entity(lattice)
    asked = batch.probabilities(lattice.candidates)
    assert_allclose(asked, lattice.candidate_probabilities, rtol=1e-3, atol=1e-6)


def test_less_is_left_out_by_a_lower_threshold_and_nothing_errs_by_more() -> None:
    ner = recognizer("AB", seed=8)
    favour(ner, "I", 1.0)
    docs = [make_doc(ner, Words("abcab")), make_doc(ner, Words("ccba"))]
    batch = batch_of(ner, docs)
    exact = lattice_of(ner, batch)
    entities = exact.candidates
    assert_allclose(exact.left_out, 0, atol=1e-12)
    before = numpy.ones(2)
    for least in (0.2, 0.05, 0.01, 0.001, 1e-4):
        pruned = build_lattice(batch, entities, least=least)
        error = abs(pruned.probabilities - exact.candidate_probabilities)
        of_doc = (entities.starts >= len(docs[0])).astype(int)
        assert (error <= pruned.left_out[of_doc] + 1e-6).all()
        assert (pruned.left_out <= before + 1e-6).all()
        # of the second doc, which is short, low thresholds leave out nothing
        assert (pruned.left_out[: 2 if least > 0.001 else 1] > 1e-6).all()
        before = pruned.left_out
    assert before.max() < 1e-2


def test_what_is_left_out_is_not_lost_for_later_tokens() -> None:
    ner, batch = long_batch(2000, 0.0)
    pruned = lattice_of(ner, batch, least=1e-3, above=None)
    exact = lattice_of(ner, batch, least=1e-9, above=None)
    assert pruned.left_out[0] > 0.5
    assert_allclose(pruned.outside, exact.outside, atol=0.02)


def test_entities_that_are_not_valid_have_no_probability() -> None:
    ner = recognizer("AB", seed=9)
    batch = batch_of(ner, [make_doc(ner, Words(["a", " ", "b", "c"], starts=[1, 0, 0, 1]))])
    asked = Entities(*numpy.array([[1, 2, 0], [1, 3, 1], [2, 4, 0], [0, 4, 1], [0, 3, 0]]).T)
    found = batch.probabilities(asked)
    assert_array_equal(found[:4], 0)
    assert found[4] > 0


def test_memory_does_not_grow_with_candidates() -> None:
    ner = recognizer([f"L{i}" for i in range(18)], scale=0.0)
    doc = make_doc(ner, Words(["a"] * 4_000))
    batch = batch_of(ner, [doc])
    tracemalloc.start()
    lattice = build_lattice(batch, NONE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_allclose(lattice.outside[100:-100], lattice.outside[1000], rtol=1e-9)
    assert peak < 5e6
