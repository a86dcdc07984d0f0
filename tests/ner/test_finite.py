"""Weights that are not finite, NaN or infinite, are told of, and do not just find no entities."""

from typing import Any

import numpy
import pytest
from spacy.language import Language

from tests.helpers.tagger_ner import CRF, DECODERS, TEXTS, examples_of, pipe_of, randomized, tagger

pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning")


def spoil(nlp: Language, layer: str, param: str, value: float, pipe: str = "tagger_ner") -> None:
    component: Any = nlp.get_pipe(pipe)
    node = next(node for node in component.model.walk() if node.name == layer)
    values = node.get_param(param).copy()
    values.reshape(-1)[:] = value
    node.set_param(param, values)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(
    ("layer", "param", "value"),
    [("table_embed", "E", numpy.nan), ("maxout_norm", "G", numpy.inf), ("linear", "b", numpy.nan)],
)
def test_weights_that_are_not_finite_are_named(
    decoder: str, layer: str, param: str, value: float
) -> None:
    model, name = DECODERS[decoder]
    nlp = randomized(model, decoder=name)
    spoil(nlp, layer, param, value)
    expected = rf'Component "tagger_ner": .* not finite.* {param} of layer \'{layer}\''
    with pytest.raises(ValueError, match=expected):
        nlp(TEXTS[0])


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_transitions_that_are_not_finite_are_named(value: float) -> None:
    nlp = randomized(CRF)
    spoil(nlp, "token_tagger", "transitions", value)
    with pytest.raises(ValueError, match="transitions of layer 'token_tagger'"):
        list(nlp.pipe(TEXTS))


@pytest.mark.parametrize(
    ("layer", "param", "value"), [("maxout_norm", "G", numpy.inf), ("linear", "b", numpy.nan)]
)
@pytest.mark.parametrize("model", [tagger(), CRF], ids=["independent", "crf"])
def test_weights_that_are_not_finite_are_named_in_training(
    model: dict[str, Any], layer: str, param: str, value: float
) -> None:
    nlp = randomized(model)
    spoil(nlp, layer, param, value)
    expected = rf"E910.*'tagger_ner'.* not finite: {param} of layer '{layer}'.* lower learn_rate"
    with pytest.raises(ValueError, match=expected):
        nlp.update(examples_of(nlp))


def test_transitions_may_be_forbidden() -> None:
    nlp = randomized(CRF)
    node = pipe_of(nlp).model
    transitions = node.get_param("transitions").copy()
    transitions[1] = -numpy.inf
    node.set_param("transitions", transitions)
    assert [doc.text for doc in nlp.pipe(TEXTS)] == TEXTS


def test_transitions_that_are_not_read_may_be_anything() -> None:
    nlp = randomized(CRF, decoder="greedy")
    spoil(nlp, "token_tagger", "transitions", numpy.nan)
    assert [doc.text for doc in nlp.pipe(TEXTS)] == TEXTS


def test_many_parameters_are_not_all_named() -> None:
    nlp = randomized(tagger())
    for node in pipe_of(nlp).model.walk():
        for param in node.param_names:
            if node.has_param(param):
                node.set_param(param, node.get_param(param) * numpy.nan)
    with pytest.raises(ValueError, match=r"W of layer 'linear'.* and \d+ more\. Load"):
        nlp(TEXTS[0])


def test_scores_that_overflow_are_told_of() -> None:
    nlp = randomized(tagger())
    spoil(nlp, "linear", "W", 3e38)
    spoil(nlp, "layernorm", "G", 3e38)
    with pytest.raises(ValueError, match="All its own parameters are finite"):
        nlp(TEXTS[0])


def test_docs_without_tokens_are_not_asked_for_scores() -> None:
    nlp = randomized(tagger())
    spoil(nlp, "linear", "b", numpy.nan)
    assert list(nlp("").ents) == []
