"""batch_ner in pipelines that are trained, beside spaCy's own ner."""

import random
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.training import Example
from thinc.api import SGD, Model, Optimizer, fix_random_seed

from tests.helpers.spacy_pipelines import CNN, LISTENER, TOK2VEC
from tests.helpers.tagger_ner import TEXTS, entities_of, examples_of, gold
from tests.helpers.transition_training import (
    Setup,
    Stepwise,
    assert_same_gradients,
    gradients,
    ours,
    recognizer,
    seeded,
    without_state_dropout,
)

AS_SPACY = {"state_dropout": 0.0, "spacy_gradient": True}
FACTORIES = {"ner": {}, "batch_ner": AS_SPACY}


def blank(factory: str, *, listens: bool = False, **config: Any) -> Language:
    """Build a pipeline of a recognizer, and a tok2vec if it listens."""
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
    """Train a pipeline, and return its losses."""
    batch = examples_of(nlp)
    adam = nlp.initialize(lambda: batch)
    adam.learn_rate = 0.01
    found = []
    random.seed(0)
    for _ in range(steps):
        losses = nlp.update(examples_of(nlp), sgd=sgd or adam, **options)
        found.append(float(losses["ner"]))
    return found


def recognizer_of(nlp: Language) -> EntityRecognizer:
    pipe = nlp.get_pipe("ner")
    assert isinstance(pipe, EntityRecognizer)
    return pipe


def weights_of(model: Model) -> list[numpy.ndarray]:
    return [node.get_param(n).copy() for node in model.walk() for n in node.param_names]


def all_weights(nlp: Language) -> list[numpy.ndarray]:
    return [w for _, pipe in nlp.pipeline for w in weights_of(pipe.model)]  # type: ignore[attr-defined]


def assert_same_weights(one: list[numpy.ndarray], other: list[numpy.ndarray]) -> None:
    for found, expected in zip(one, other, strict=True):
        assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("cut_size", [0, 3, 100])
def test_learns_a_few_sentences(cut_size: int) -> None:
    nlp = blank("batch_ner", update_with_oracle_cut_size=cut_size)
    losses = fit(nlp, steps=60, drop=0.1)
    assert losses[-1] < 0.1 * losses[0]
    assert entities_of(nlp.pipe(TEXTS[:4])) == gold()


def test_same_seed_gives_the_same_weights() -> None:
    one, other = blank("batch_ner"), blank("batch_ner")
    for nlp in (one, other):
        fix_random_seed(0)
        fit(nlp, steps=5, drop=0.2)
    for found, expected in zip(all_weights(one), all_weights(other), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("listens", [False, True])
def test_weights_become_those_of_spacys_ner(listens: bool) -> None:
    found = []
    with without_state_dropout():
        for factory, config in FACTORIES.items():
            nlp = blank(factory, listens=listens, **config)
            fit(nlp, steps=0)
            before = all_weights(nlp)
            sgd = SGD(0.01, L2=0.0, grad_clip=0.0)
            found.append((fit(nlp, sgd, steps=20), all_weights(nlp)))
    (losses, weights), (our_losses, our_weights) = found
    assert our_losses == pytest.approx(losses, rel=1e-3)
    assert_same_weights(our_weights, weights)
    # Each of them moved further than they may differ
    moved = [abs(a - b).max() for a, b in zip(before, weights, strict=True)]
    assert min(moved) > 1e-3


def test_learns_from_frozen_vectors_of_another_component() -> None:
    nlp = blank("batch_ner", listens=True)
    fit(nlp, steps=0)
    vectors = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    before = weights_of(vectors)
    sgd = nlp.create_optimizer()
    sgd.learn_rate = 0.02
    for _ in range(60):
        nlp.update(examples_of(nlp), sgd=sgd, exclude=["tok2vec"], annotates=["tok2vec"])
    for one, other in zip(before, weights_of(vectors), strict=True):
        assert_array_equal(one, other)
    assert entities_of(nlp.pipe(TEXTS[:4])) == gold()


def test_rehearsal_is_spacys() -> None:
    found = []
    with without_state_dropout():
        for factory, config in FACTORIES.items():
            nlp = blank(factory, **config)
            sgd = SGD(0.01, L2=0.0, grad_clip=0.0)
            fit(nlp, sgd, steps=5)
            nlp.resume_training(sgd=sgd)
            nlp.update(examples_of(nlp), sgd=sgd)
            losses = nlp.rehearse(examples_of(nlp), sgd=sgd)
            found.append((losses, weights_of(recognizer_of(nlp).model)))
    (losses, weights), (our_losses, our_weights) = found
    assert losses["ner"] > 0
    assert our_losses == pytest.approx(losses, rel=1e-3)
    assert_same_weights(our_weights, weights)


@pytest.mark.parametrize("update_prob", [0.0, 0.5, 1.0])
def test_updates_with_a_beam_are_spacys(update_prob: float) -> None:
    setup = Setup(cut_size=5)
    config = {"beam_width": 2, "beam_update_prob": update_prob}
    components = ours(setup, **config), recognizer(Stepwise, setup, **config)
    found = []
    for component in components:
        examples = examples_of(spacy.blank("en", vocab=component.vocab))
        component.add_label("PER")
        component.add_label("GPE")
        losses: dict[str, float] = {}
        with seeded(0), without_state_dropout():
            for _ in range(4):
                component.update(examples, losses=losses)
        found.append((losses, gradients(component.model)))
        docs = [example.predicted for example in examples]
        component.set_annotations(docs, component.predict(docs))
        assert all(doc.has_annotation("ENT_IOB") for doc in docs)
    (our_losses, our_gradients), (expected, expected_gradients) = found
    assert our_losses == pytest.approx(expected, rel=1e-4)
    assert_same_gradients(our_gradients, expected_gradients)


class Objective:
    """What stands for a multitask objective: it keeps what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], float]] = []

    def update(self, examples: list[Example], **options: Any) -> None:
        assert options.keys() == {"drop", "sgd"}
        self.calls.append(([example.text for example in examples], options["drop"]))


def test_multitask_objectives_are_updated_as_by_spacys_ner() -> None:
    found = []
    for component in (ours(Setup()), recognizer(Stepwise, Setup())):
        objective = Objective()
        component.add_multitask_objective(objective)
        examples = examples_of(spacy.blank("en", vocab=component.vocab))
        component.update(examples, drop=0.25)
        component.update([], drop=0.5)
        found.append(objective.calls)
    assert found[0] == found[1]
    assert [drop for _, drop in found[0]] == [0.25, 0.5]


def test_losses_of_other_components_stay_and_ours_are_added_up() -> None:
    component = ours(Setup(labels=("GPE", "PER")))
    examples = examples_of(spacy.blank("en", vocab=component.vocab))
    losses = {"other": 2.0}
    assert component.update(examples, losses=losses) is losses
    once = losses["ner"]
    component.update(examples, losses=losses)
    assert losses == {"other": 2.0, "ner": pytest.approx(2 * once)}


def test_an_optimizer_changes_all_weights_and_none_changes_none() -> None:
    component = ours(Setup(labels=("GPE", "PER")))
    examples = examples_of(spacy.blank("en", vocab=component.vocab))
    before = weights_of(component.model)
    for sgd in (None, False):
        component.update(examples, sgd=sgd)
        for one, other in zip(before, weights_of(component.model), strict=True):
            assert_array_equal(one, other)
    component.update(examples, sgd=Optimizer(0.01))
    assert all((a != b).any() for a, b in zip(before, weights_of(component.model), strict=True))
    assert not any(values.any() for values in gradients(component.model).values())
