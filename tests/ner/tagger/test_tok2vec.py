"""A tok2vec that is none, and one that nobody listens to."""

from typing import Any

import pytest
import spacy
from spacy import registry
from spacy.language import Language

from tests.helpers.tagger_ner import (
    ITERATED,
    LISTENER,
    MAXOUT,
    blank,
    examples_of,
    pipe_of,
    tagger,
    tok2vec,
)

SPACY_WINDOWS = {**MAXOUT, "@architectures": "spacy.MaxoutWindowEncoder.v2"}


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        (ITERATED, "iterated_dilated_encoder"),
        (MAXOUT, "maxout_window_encoder"),
        (SPACY_WINDOWS, r"with_array\(residual"),
    ],
    ids=["dilated", "windows", "spaCy's"],
)
def test_an_encoder_in_the_place_of_tok2vec_is_refused(encoder: dict[str, Any], name: str) -> None:
    match = rf"expected a tok2vec, .* was given the encoder '{name}.* as its `encode`"
    with pytest.raises(ValueError, match=match):
        blank(tagger(encoder))


def with_tok2vec(model: dict[str, Any], *, after: bool = False) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner", config={"model": model})
    order = {"last": True} if after else {"first": True}
    nlp.add_pipe("tok2vec", config={"model": tok2vec(MAXOUT)}, **order)
    return nlp


@pytest.mark.parametrize("after", [False, True])
def test_a_tok2vec_that_nobody_listens_to_is_warned_of(after: bool) -> None:
    nlp = with_tok2vec(tagger(), after=after)
    match = 'no component listens to "tok2vec", .*components.tagger_ner.model.tok2vec'
    with pytest.warns(UserWarning, match=match):
        nlp.initialize(lambda: examples_of(nlp))


def test_a_tok2vec_with_a_listener_is_not_warned_of() -> None:
    nlp = with_tok2vec(tagger(LISTENER))
    nlp.initialize(lambda: examples_of(nlp))
    assert pipe_of(nlp).has_weights()
    other = with_tok2vec(tagger())
    listening = {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER}
    other.add_pipe("tagger", config={"model": listening}).add_label("X")  # type: ignore[attr-defined]
    other.initialize(lambda: examples_of(other))


def test_names_of_encoders_are_those_of_spacy() -> None:
    spacy.blank("en").add_pipe("ner")  # registers spaCy's architectures
    build = registry.architectures.get("spacy.MishWindowEncoder.v2")
    assert build(width=8, window_size=1, depth=1).name.startswith("with_array(")
