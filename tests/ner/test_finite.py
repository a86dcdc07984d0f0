"""Weights that are not finite, NaN or infinite, are told of, and do not just find no entities."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from spacy.language import Language

from tests.helpers.tagger_ner import CRF, DECODERS, TEXTS, examples_of, pipe_of, randomized

pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning")
NAN_E, INF_G = ("table_embed", "E", numpy.nan), ("maxout_norm", "G", numpy.inf)
NAN_B, LARGE_W = ("linear", "b", numpy.nan), ("linear", "W", 3e38)
NAN_T, INF_T = (("token_tagger", "transitions", value) for value in (numpy.nan, numpy.inf))


def spoilt(decoder: str, *weights: tuple[str, str, float]) -> Language:
    model, name = DECODERS[decoder]
    nlp = randomized(model, decoder=name)
    for layer, param, value in weights:
        node = next(node for node in pipe_of(nlp).model.walk() if node.name == layer)
        node.get_param(param)[...] = value
    return nlp


def find(nlp: Language) -> Any:
    return list(nlp.pipe(TEXTS))


def update(nlp: Language) -> Any:
    return nlp.update(examples_of(nlp))


NOT_FINITE = '"tagger_ner": the scores of tags are not finite.* lower learn_rate'
REFUSED: list[tuple[Callable[[Language], Any], str, tuple, str]] = [
    *((find, decoder, (w,), NOT_FINITE) for decoder in DECODERS for w in (NAN_E, INF_G, NAN_B)),
    *((find, "crf", (w,), NOT_FINITE) for w in (NAN_T, INF_T)),
    (lambda nlp: pipe_of(nlp).score_spans(nlp(TEXTS[0])), "greedy, of a crf", (INF_T,), NOT_FINITE),
    (find, "greedy", (LARGE_W, ("layernorm", "G", 3e38)), NOT_FINITE),
    *((update, decoder, (INF_G,), "E910.*'tagger_ner'") for decoder in ("constrained", "crf")),
]


@pytest.mark.parametrize(("do", "decoder", "weights", "message"), REFUSED)
def test_weights_that_are_not_finite_raise(
    do: Callable[[Language], Any], decoder: str, weights: tuple, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        do(spoilt(decoder, *weights))


def test_transitions_may_be_forbidden_and_those_that_are_not_read_may_be_anything() -> None:
    nlp = randomized(CRF)
    pipe_of(nlp).model.get_param("transitions")[1] = -numpy.inf
    assert [doc.text for doc in nlp.pipe(TEXTS)] == TEXTS
    assert [doc.text for doc in spoilt("greedy, of a crf", NAN_T).pipe(TEXTS)] == TEXTS


def test_docs_without_tokens_are_not_asked_for_scores() -> None:
    assert list(spoilt("greedy", NAN_B)("").ents) == []
