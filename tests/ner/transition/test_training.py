"""Updates of batch_ner beside those of spaCy's ner: what examples teach, gradients, pipelines."""

import random
from dataclasses import replace
from typing import Any, NamedTuple
from unittest import mock

import numpy
import pytest
import spacy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_equal
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import SGD, Optimizer, fix_random_seed

from spacy_multihash.ner.transition import training
from spacy_multihash.ner.transition.costs import outside_costs
from spacy_multihash.ner.transition.rules import ANY_LABEL, NO_LABEL, read_actions
from spacy_multihash.ner.transition.states import Parts, features_of, tokens_of
from spacy_multihash.ner.transition.training import (
    cut,
    draw_length,
    has_gold,
    parts_with_gold,
    prepare,
)
from tests.helpers.spacy_pipelines import CNN, LISTENER, TOK2VEC
from tests.helpers.tagger_ner import TEXTS, entities_of, examples_of, gold
from tests.helpers.transition import Case, recognizer
from tests.helpers.transition_training import (
    LABELS,
    SETUP,
    VOCAB,
    WRONG,
    Outcome,
    States,
    assert_same_gradients,
    examples,
    gradients,
    ours,
    plain_example,
    setups,
    theirs,
    true_gradients,
    update,
    update_both,
    without_state_dropout,
)
from tests.helpers.weights import all_weights

BATCHES = st.lists(examples(), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(setups(), BATCHES, st.sampled_from([training.CHUNK, training.CHUNK, 1, 3]))
def test_update_is_spacys(case: Case, batch: list[Example], chunk: int) -> None:
    stepwise = theirs(case)
    expected = update(stepwise, batch, case.seed)
    assume(not stepwise.took_unseen)
    with mock.patch.object(training, "CHUNK", chunk):
        given = update(ours(case), batch, case.seed)
    assert given.error[:6] == expected.error[:6]
    if not expected.error:
        assert given.losses == pytest.approx(expected.losses, rel=1e-4, abs=1e-5)
        assert_same_gradients(given.gradients, expected.gradients)
        assert given.unseen == expected.unseen


def colliding_labels() -> tuple[str, str]:
    """Find labels that a set lists in the order in which they came."""
    names = [f"label {n}" for n in range(100)]
    pairs = ((one, other) for one in names for other in names if one != other)
    return next(p for p in pairs if list({p[0], p[1]}) == [*p] and list({p[1], p[0]}) == [*p[::-1]])


def test_new_labels_are_added_in_spacys_order() -> None:
    first, second = colliding_labels()
    plain = Doc(VOCAB, words=["a", "b"])
    batch = [
        Example(plain, Doc(VOCAB, words=["a", "b"], ents=[f"B-{first}", "O"])),
        Example(Doc(VOCAB, words=["a", "b"], ents=["O", f"B-{second}"]), plain.copy()),
    ]
    names = []
    for component in (ours(), theirs()):
        update(component, batch)
        moves = component.moves
        names.append([moves.get_class_name(n) for n in range(moves.n_moves)])
    assert names[0] == names[1]
    assert names[0][-1] in (f"U-{first}", f"U-{second}")


def test_entity_of_the_only_label_that_must_go_on_is_followed() -> None:
    predicted = Doc(VOCAB, words=["a"] * 4, ents=["B-A", "I-A", "I-A", "O"])
    batch = [Example(predicted, plain_example(["B-A", "I-A", "I-A", "I-A"]).reference)]
    given, expected = update_both(replace(SETUP, labels=("A",)), batch)
    assert_same_gradients(given.gradients, expected.gradients)


def test_states_whose_actions_all_cost_more_than_one_have_no_loss() -> None:
    # The entity that is there already must be taken, but is neither right nor allowed
    reference = plain_example(["O"], (0, 1, "A")).reference
    batch = [Example(Doc(VOCAB, words=["a"], ents=["B-A"]), reference)]
    for outcome in update_both(replace(SETUP, wrong_key=WRONG), batch):
        assert outcome.losses == {"ner": 0.0}
        assert not any(values.any() for values in outcome.gradients.values())


# What examples teach, and the parts that docs are cut to, against spaCy's `_init_gold_batch`


WORDS = ["Anna", "met", "Bob", "Smith", "in", "New", "York", "."]
TAGS = ["B-A", "O", "B-A", "I-A", "O", "B-B", "I-B", "O"]
KEYS = st.sampled_from([None, WRONG])
WITH_WRONG = replace(SETUP, wrong_key=WRONG)


@pytest.mark.parametrize(
    ("words", "tags"), [(WORDS, TAGS), ([*WORDS[:5], "New York", "."], [*TAGS[:5], "B-B", "O"])]
)
def test_entity_that_is_right_and_wrong_is_refused(words: list[str], tags: list[str]) -> None:
    reference = Doc(VOCAB, words=words, ents=tags)
    city = reference.ents[-1]
    for label, is_right in (("A", False), ("B", True)):
        reference.spans[WRONG] = [Span(reference, city.start, city.end, label=label)]
        batch = [Example(Doc(VOCAB, words=WORDS), reference)]
        our, spacys = update_both(WITH_WRONG, batch)
        assert ("E868" in spacys.error) == is_right
        assert ("known to be wrong, in reference.ents" in our.error) == is_right


def test_right_entity_of_tokens_that_another_has_is_not_taken_for_wrong() -> None:
    # To spaCy the whitespace is in the first entity, and there is no second one
    words, tags = ["a", "\n", "\n", "a"], ["B-A", "I-A", "B-A", "O"]
    reference = Doc(VOCAB, words=words, spaces=[False] * 4, ents=tags)
    reference.spans[WRONG] = [Span(reference, 2, 3, label="A")]
    predicted = Doc(VOCAB, words=["a", "\n\n", "a"], spaces=[False] * 3)
    our, spacys = update_both(WITH_WRONG, [Example(predicted, reference)])
    assert our.error == spacys.error == ""
    assert_same_gradients(our.gradients, spacys.gradients)


@pytest.mark.parametrize(
    ("span", "expected"),
    [((0, 1), ["U-B"]), ((0, 2), []), ((2, 4), ["B-B"]), ((2, 3), ["B-B", "U-B"])],
)
def test_first_action_of_a_wrong_entity_costs_one_more_where_it_can_be_told(
    span: tuple[int, int], expected: list[str]
) -> None:
    # For B that is where only one token is left. spaCy does not ask which entity it would be
    moves, example = ours(WITH_WRONG).moves, plain_example("OOOO", (*span, "B"), (*span, "B"))
    gold, _ = prepare([example], read_actions(moves), WRONG, 0)
    (costs,) = outside_costs(gold, numpy.array(span[:1]))
    names = [moves.get_class_name(column) for column in numpy.flatnonzero(costs == 2)]
    assert sorted(names) == expected


# Parts of docs


def cut_by_spacy(ner: EntityRecognizer, batch: list[Example], length: int) -> list[tuple]:
    """The first token of each part, and the first token and the label of its open entity."""
    states, _, _ = ner._init_gold_batch(batch, length)
    step_model = ner.model.predict([example.predicted for example in batch])
    return sorted(
        (token, token, NO_LABEL) if start < 0 else (token, start, None)
        for token, start, _ in step_model.get_token_ids(states).tolist()
    )


def cut_by_us(ner: EntityRecognizer, batch: list[Example], length: int) -> Parts:
    key, actions = ner.incorrect_spans_key, read_actions(ner.moves)
    gold, _ = prepare(batch, actions, key, 0)
    return cut(batch, length, gold, key)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(examples(), min_size=1, max_size=3), st.integers(1, 12), KEYS)
def test_parts_and_where_they_begin_are_spacys(
    batch: list[Example], length: int, key: str | None
) -> None:
    batch = [example for example in batch if len(example.predicted)]
    if not batch:
        return
    ner = recognizer(EntityRecognizer, replace(SETUP, wrong_key=key), VOCAB)
    try:
        expected = cut_by_spacy(ner, batch, length)
    except ValueError as error:
        with pytest.raises(ValueError, match="E024"):
            cut_by_us(ner, batch, length)
        assert "E024" in str(error)
        return
    parts = cut_by_us(ner, batch, length)
    rows = zip(parts.begins.tolist(), parts.starts.tolist(), parts.labels.tolist(), strict=True)
    assert sorted((b, s, x if x == NO_LABEL else None) for b, s, x in rows) == expected
    assert (parts.ends - parts.begins <= length + 1).all()
    assert all(column.dtype == "int64" for column in parts)


@pytest.mark.parametrize("cut_size", [0, 1, 2, 5, 100])
def test_length_of_parts_is_drawn_as_spacy_does(cut_size: int) -> None:
    random.seed(0)
    lengths = [draw_length(cut_size) for _ in range(200)]
    drawn_after = random.random()
    random.seed(0)
    if not cut_size:
        assert not any(lengths) and drawn_after == random.random()
        return
    spacys = [int(random.uniform(cut_size // 2, cut_size * 2)) for _ in range(200)]
    assert lengths == [max(1, length) for length in spacys]


@given(examples(), st.integers(0, 20), st.one_of(st.just(-1), st.integers(0, 20)), KEYS)
def test_what_has_gold_entities_is_spacys(
    example: Example, start: int, end: int, key: str | None
) -> None:
    moves = ours(replace(SETUP, wrong_key=key)).moves
    if not len(example.predicted):
        assert not has_gold(example, key)
        return
    assert has_gold(example, key) == moves.has_gold(example)
    (has_any,) = parts_with_gold(example, numpy.array([start]), numpy.array([end]), key)
    assert has_any == moves.has_gold(example, start, end)


def test_part_that_ends_within_a_token_of_the_reference_stands_for_all_tokens() -> None:
    reference = Doc(VOCAB, words=["a b", "c"], ents=["", "O"])
    example = Example(Doc(VOCAB, words=["a", "b", "c"]), reference)
    starts, ends = numpy.array([(0, 1), (0, 2)]).T
    expected = [ours().moves.has_gold(example, start, end) for start, end in ((0, 1), (0, 2))]
    assert parts_with_gold(example, starts, ends, None).tolist() == expected == [True, False]


# The gradient against central differences, and a fault in spaCy's


CASES = {
    f"{features} features, {'with' if upper else 'no'} upper, {pieces} pieces": Case(
        LABELS,
        extra_state_tokens=features == 6,
        use_upper=upper,
        maxout_pieces=pieces,
        wrong_key=WRONG,
        cut_size=5,
        scale=0.7,
        favours={"B": 1.0},
    )
    for features in (3, 6)
    for upper in (True, False)
    for pieces in (1, 2)
}
of_all = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TAGS_OF_DOCS = [
    ["B-A", "I-A", "I-A", "O", "B-B", "I-B", "O", "B-C", "O", "O"],
    ["O", "B-C", "I-C", "I-C", "I-C", "I-C", "I-C", "O"],
    ["", "B-B", "", ""],
    ["O", "O", "B-A"],
]
KNOWN = [tags for tags in TAGS_OF_DOCS if "" not in tags]


def batch(tags: list[list[str]] = TAGS_OF_DOCS) -> list[Example]:
    return [plain_example(of_doc, (1, 3, "B")) for of_doc in tags]


def visited(case: Case) -> States:
    stepwise = theirs(case)
    update(stepwise, batch())
    features, costs = map(numpy.concatenate, zip(*stepwise.steps, strict=True))
    assert (features[:, 1] >= 0).sum() > 1
    least = costs.min(axis=1, keepdims=True)
    return States(features, (costs == least) & (least <= 1))


@of_all
def test_gradient_is_that_of_the_log_loss_and_spacys_takes_the_last_token_for_a_missing_one(
    case: Case,
) -> None:
    true = update(ours(case, spacy_gradient=False), batch()).gradients
    expected = true_gradients(ours(case).model, sum(map(len, TAGS_OF_DOCS)), visited(case))
    assert_same_gradients(true, expected)
    of_lower = true.pop("lower W")
    for component in (theirs(case), ours(case, spacy_gradient=True)):
        given = update(component, batch()).gradients
        away = abs(given.pop("lower W") - of_lower).max(axis=(1, 2, 3))
        assert_same_gradients(given, true)
        assert away[0] < 1e-5
        assert (away[1:] > 0.1 * abs(of_lower[0]).max()).all()


# Dropout of the hidden layer: a mask of its own for each state that an update visits

SMALL = Case(LABELS, cut_size=3, scale=0.5)
WIDE = replace(SMALL, hidden_width=64, cut_size=2, scale=0.3)


class Seen(NamedTuple):
    """What an update with dropout went through.

    tokens (V,), mask (V, nO): Of each state.
    """

    outcome: Outcome
    states: States
    tokens: numpy.ndarray
    mask: numpy.ndarray | None


def look(case: Case, *, seed: int = 0, **settings: Any) -> Seen:
    """Update a recognizer, and keep the states that it visits."""
    visits: list[tuple] = []
    gradients: list[numpy.ndarray] = []
    visit_states, log_loss_gradient = training.visit_states, training.log_loss_gradient

    def spy_visits(batch: Any, parts: Any, mask: numpy.ndarray | None) -> Any:
        states = visit_states(batch, parts, mask)
        visits.append((states, parts, mask))
        return states

    def spy_gradients(*args: Any) -> numpy.ndarray:
        gradients.append(log_loss_gradient(*args))
        return gradients[-1]

    with (
        mock.patch.object(training, "visit_states", spy_visits),
        mock.patch.object(training, "log_loss_gradient", spy_gradients),
    ):
        outcome = update(ours(case, **settings), batch(KNOWN), seed)
    ((states, parts, mask),), (d_scores,) = visits, gradients
    rows = states.labels != ANY_LABEL
    tokens = tokens_of(parts)[0][rows]
    features = features_of(tokens, states.starts[rows], 6 if case.extra_state_tokens else 3)
    # The gradient is below 0 for the right actions, and for no others
    right = States(features, d_scores < 0)
    return Seen(outcome, right, tokens, None if mask is None else mask[rows])


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_each_state_has_a_mask_of_its_own_of_the_rate_that_keeps_the_expectation(
    rate: float,
) -> None:
    seen = look(WIDE, state_dropout=rate)
    assert seen.mask is not None
    assert_allclose(numpy.unique(seen.mask), [0, 1 / (1 - rate)], rtol=1e-4)
    assert (seen.mask == 0).mean() == pytest.approx(rate, abs=0.04)
    assert len(numpy.unique(seen.mask, axis=0)) == len(seen.mask)
    # Parts overlap by a token, so that some tokens have two states
    assert len(numpy.unique(seen.tokens)) < len(seen.tokens)
    assert (seen.states.features[:, 1] >= 0).any()


def test_rate_is_that_of_the_component_also_once_it_is_set() -> None:
    component = ours(replace(WIDE, cut_size=0), state_dropout=0.25)
    for rate in (0.25, 0.75, 0.0):
        component.state_dropout = rate
        component.model.get_ref("upper").set_grad("W", numpy.zeros((14, 64), dtype="float32"))
        dW = update(component, [plain_example(["B-A"])]).gradients["upper W"]
        assert (dW == 0).all(axis=0).mean() == pytest.approx(rate, abs=0.15)


@pytest.mark.parametrize("extra_tokens", [False, True])
def test_gradient_goes_through_the_masks(extra_tokens: bool) -> None:
    case = replace(SMALL, extra_state_tokens=extra_tokens)
    seen = look(case, state_dropout=0.3, spacy_gradient=False)
    expected = true_gradients(ours(case).model, sum(map(len, KNOWN)), seen.states, seen.mask)
    assert (seen.states.features[:, 1] >= 0).any()
    assert_same_gradients(seen.outcome.gradients, expected)


# Pipelines that are trained


AS_SPACY = {"state_dropout": 0.0, "spacy_gradient": True}
FACTORIES = {"ner": {}, "batch_ner": AS_SPACY}


def blank(factory: str, *, listens: bool = False, **config: Any) -> Language:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    if listens:
        nlp.add_pipe("tok2vec", config={"model": TOK2VEC})
    model = {"tok2vec": LISTENER if listens else CNN, "hidden_width": 16}
    nlp.add_pipe(factory, name="ner", config={"model": model, **config})
    return nlp


def fit(
    nlp: Language, sgd: Optimizer | None = None, steps: int = 40, **options: Any
) -> list[float]:
    batch = examples_of(nlp)
    adam = nlp.initialize(lambda: batch)
    adam.learn_rate = 0.01
    random.seed(0)
    return [
        float(nlp.update(examples_of(nlp), sgd=sgd or adam, **options)["ner"]) for _ in range(steps)
    ]


def assert_same_weights(given: list[numpy.ndarray], expected: list[numpy.ndarray]) -> None:
    for values, others in zip(given, expected, strict=True):
        assert_allclose(values, others, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("cut_size", [0, 3, 100])
def test_learns_a_few_sentences_the_same_with_the_same_seed(cut_size: int) -> None:
    weights = []
    for _ in range(2):
        nlp = blank("batch_ner", update_with_oracle_cut_size=cut_size)
        fit(nlp, steps=3, drop=0.1)
        weights.append(all_weights(nlp))
    assert_equal(*weights)
    losses = fit(nlp, steps=60, drop=0.1)
    assert losses[-1] < 0.1 * losses[0]
    assert entities_of(nlp.pipe(TEXTS[:4])) == gold()


@pytest.mark.parametrize("listens", [False, True])
def test_weights_become_those_of_spacys_ner(listens: bool) -> None:
    outcomes = []
    with without_state_dropout():
        for factory, config in FACTORIES.items():
            nlp = blank(factory, listens=listens, **config)
            fit(nlp, steps=0)
            before = all_weights(nlp)
            sgd = SGD(0.01, L2=0.0, grad_clip=0.0)
            of_steps = fit(nlp, sgd, steps=20)
            weights = all_weights(nlp)
            nlp.resume_training(sgd=sgd)
            rehearsed = nlp.rehearse(examples_of(nlp), sgd=sgd)
            outcomes.append(([*of_steps, rehearsed["ner"]], weights, all_weights(nlp)))
    (losses, weights, after), (our_losses, our_weights, our_after) = outcomes
    assert our_losses == pytest.approx(losses, rel=1e-3)
    assert_same_weights(our_weights, weights)
    assert_same_weights(our_after, after)
    # Each of them moved further than they may differ
    moved = [abs(a - b).max() for a, b in zip(before, weights, strict=True)]
    assert min(moved) > 1e-3


@pytest.mark.parametrize("update_prob", [0.0, 0.5, 1.0])
def test_updates_with_a_beam_are_spacys(update_prob: float) -> None:
    case = Case(("A", "B", "C"), exact=True, scale=0.5, cut_size=5)
    config = {"beam_width": 2, "beam_update_prob": update_prob}
    outcomes = []
    for component in (ours(case, **config), theirs(case, **config)):
        examples = examples_of(spacy.blank("en", vocab=component.vocab))
        component.add_label("PER")
        component.add_label("GPE")
        losses: dict[str, float] = {}
        fix_random_seed(0)
        with without_state_dropout():
            for _ in range(4):
                component.update(examples, losses=losses)
        outcomes.append((losses, gradients(component.model)))
        docs = [example.predicted for example in examples]
        component.set_annotations(docs, component.predict(docs))
        assert all(doc.has_annotation("ENT_IOB") for doc in docs)
    (our_losses, our_gradients), (expected, expected_gradients) = outcomes
    assert our_losses == pytest.approx(expected, rel=1e-4)
    assert_same_gradients(our_gradients, expected_gradients)


def test_multitask_objectives_are_updated_as_by_spacys_ner() -> None:
    calls = []
    for component in (ours(SETUP), theirs(SETUP)):
        objective = mock.Mock()
        component.add_multitask_objective(objective)
        examples = examples_of(spacy.blank("en", vocab=component.vocab))
        component.update(examples, drop=0.25)
        component.update([], drop=0.5)
        calls.append([call.kwargs for call in objective.update.call_args_list])
    assert calls[0] == calls[1] == [{"drop": drop, "sgd": None} for drop in (0.25, 0.5)]
