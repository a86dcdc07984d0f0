"""Weights that are not finite are told of where probabilities are asked for."""

from typing import Any

import numpy
import pytest

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.transition import Case, Token, both, make_docs

pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning")
DOCS = [[Token("Anna"), Token("met"), Token("Bob")], [Token("New"), Token("York")]]
ASKING = {"spans_key": "entities", "decoder": "best"}


def spoil(pipe: Any, layer: str, param: str, value: float) -> None:
    node = pipe.model.get_ref(layer)
    values = node.get_param(param).copy()
    values.reshape(-1)[-1] = value
    node.set_param(param, values)


def spoilt(layer: str, param: str, value: float) -> BatchEntityRecognizer:
    _, ours = both(Case(favours={"B": 2.0}))
    spoil(ours, layer, param, value)
    return ours


@pytest.mark.parametrize("setting", ASKING)
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
@pytest.mark.parametrize(
    ("layer", "param"), [("lower", "W"), ("lower", "pad"), ("upper", "W"), ("upper", "b")]
)
def test_weights_that_are_not_finite_are_named(
    setting: str, value: float, layer: str, param: str
) -> None:
    ours = spoilt(layer, param, value)
    setattr(ours, setting, ASKING[setting])
    expected = rf'Component "\w+": .* not finite .* no entity has .* finite: {param} of layer'
    docs = make_docs(ours.vocab, DOCS)
    with pytest.raises(ValueError, match=expected):
        ours.predict(docs)
    with pytest.raises(ValueError, match=expected):
        ours.score_spans(docs)
    with pytest.raises(ValueError, match=expected):
        ours.score_spans(docs, [[], []])


def test_greedy_is_not_asked_how_probable_anything_is() -> None:
    ours = spoilt("upper", "b", numpy.nan)
    docs = make_docs(ours.vocab, DOCS)
    ours.set_annotations(docs, ours.predict(docs))
    assert all(doc.has_annotation("ENT_IOB") for doc in docs)
