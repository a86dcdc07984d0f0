"""A tok2vec that is none, and one that nobody listens to."""

from collections.abc import Callable
from typing import Any

import pytest
import spacy
from spacy import registry
from spacy.language import Language
from thinc.api import Model

from spacy_multihash.layers import token_tagger
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


def gives(found: Callable[[Any], Any]) -> Model:
    return Model("mine", lambda model, docs, is_train: (found(docs), lambda dY: []))


@pytest.mark.parametrize(
    ("found", "came"),
    [
        (lambda docs: gives_array(len(docs)), r"ndarray of shape \(1, 4\)"),
        (lambda docs: 3, "int of shape unknown"),
        (lambda docs: [gives_array(len(docs))], r"shapes \[\(1, 4\)\] for docs of \[7\] tokens"),
        (lambda docs: [], r"shapes \[\] for docs of \[7\] tokens"),
        (lambda docs: ["no array"], r"shapes \[\(\)\] for docs of"),
    ],
)
def test_a_model_without_vectors_of_tokens_is_refused(found: Any, came: str) -> None:
    nlp = blank()
    tagger = token_tagger(gives(found), Model("out", len), every_pass=True, transitions=False)
    tagger.set_dim("nO", 9)
    match = rf"expected of model\.tok2vec, 'mine', a list with an array .*, was: .*{came}"
    with pytest.raises(ValueError, match=match):
        tagger.initialize(X=[eg.predicted for eg in examples_of(nlp)])


def gives_array(rows: int) -> Any:
    return Model("any", len).ops.alloc2f(rows, 4)


def with_tok2vec(model: dict[str, Any], *, after: bool = False) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner", config={"model": model})
    order = {"last": True} if after else {"first": True}
    nlp.add_pipe("tok2vec", config={"model": tok2vec(MAXOUT)}, **order)
    return nlp


@pytest.mark.parametrize(("model", "after"), [(tagger(), False), (tagger(), True)])
def test_a_tok2vec_that_nobody_listens_to_is_warned_of(model: dict[str, Any], after: bool) -> None:
    nlp = with_tok2vec(model, after=after)
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
