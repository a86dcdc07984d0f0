"""batch_ner in pipelines that are trained, beside spaCy's own ner."""

import random
from typing import Any
from unittest import mock

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from thinc.api import SGD, Optimizer, fix_random_seed

from tests.helpers.spacy_pipelines import CNN, LISTENER, TOK2VEC
from tests.helpers.tagger_ner import TEXTS, entities_of, examples_of, gold
from tests.helpers.transition import Case
from tests.helpers.transition_training import (
    SETUP,
    assert_same_gradients,
    gradients,
    ours,
    theirs,
    without_state_dropout,
)
from tests.helpers.weights import all_weights

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
    for values, others in zip(*weights, strict=True):
        assert_array_equal(values, others)
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
