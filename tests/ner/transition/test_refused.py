"""What batch_ner is given wrongly is refused, with what to do."""

from typing import Any

import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.training import Example
from thinc.api import ConfigValidationError

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.spacy_pipelines import CNN
from tests.helpers.transition import Case, Token, both, make_docs, recognizer


def tiny() -> BatchEntityRecognizer:
    _, ours = both(Case(favours={"B": 2.0, "U": 2.0}))
    return ours


@pytest.mark.parametrize("temperature", [1e-300, 5e-324])
def test_lowest_temperatures_make_it_sure_and_warn_of_nothing(temperature: float) -> None:
    ours = recognizer(BatchEntityRecognizer, Case(later=("A",), favours={"B": 2.0, "U": 2.0}))
    assert isinstance(ours, BatchEntityRecognizer)
    docs = make_docs(ours.vocab, [[Token()] * 6])
    found = ours.score_spans(docs)
    assert found.keys
    assert_allclose(found.probabilities(temperature), 1.0)


def test_one_doc_may_be_asked_about_and_a_span_is_refused() -> None:
    ours = tiny()
    (doc,) = make_docs(ours.vocab, [[Token()] * 4])
    assert ours.score_spans(doc).keys == ours.score_spans([doc]).keys != []
    for one in (doc[0:2], [doc[0:2]]):
        with pytest.raises(TypeError, match=r"expected docs, was given a Span\..* span\.as_doc"):
            ours.score_spans(one)


def test_keys_of_other_docs_are_refused() -> None:
    ours = tiny()
    docs = make_docs(ours.vocab, [[Token()] * 4] * 2)
    with pytest.raises(ValueError, match="entities of 2 docs, a list for each, was given 1 lists"):
        ours.score_spans(docs, [[(0, 1, "A")]])


def test_keys_are_checked_in_docs_without_tokens_too() -> None:
    ours = tiny()
    docs = make_docs(ours.vocab, [[]])
    assert ours.score_spans(docs, [[]]).keys == []
    with pytest.raises(ValueError, match="There is no label 'Z'"):
        ours.score_spans(docs, [[(0, 1, "Z")]])
    with pytest.raises(ValueError, match=r"a doc with 0 tokens, was \[0, 1\)"):
        ours.score_spans(docs, [[(0, 1, "A")]])


def test_predictions_of_other_docs_are_refused() -> None:
    ours = tiny()
    ours.spans_key = "found"
    docs = make_docs(ours.vocab, [[Token()] * 4, [Token()] * 4])
    prediction = ours.predict(docs)
    few = make_docs(ours.vocab, [[Token()] * 4])
    longer = make_docs(ours.vocab, [[Token()] * 9])
    others = make_docs(ours.vocab, [[Token()] * 3, [Token()] * 5])
    for key in (None, "found"):
        ours.spans_key = key
        for given, found in (
            (few, "2 of them, found 1"),
            (longer, "2 of them, found 1"),
            ([*docs, *few], "2 of them, found 3"),
            (others, "4 tokens in doc 0, found 3"),
        ):
            with pytest.raises(ValueError, match=rf"Expected {found}\. Give set_annotations the"):
                ours.set_annotations(given, prediction)
            assert not any(doc.has_annotation("ENT_IOB") for doc in given)


def test_predictions_of_docs_without_tokens_fit_no_others() -> None:
    ours = tiny()
    for key in (None, "found"):
        ours.spans_key = key
        (empty,) = docs = make_docs(ours.vocab, [[]])
        prediction = ours.predict(empty)
        (full,) = make_docs(ours.vocab, [[Token()] * 4])
        for others in (full, [empty, full], [empty, empty]):
            with pytest.raises(ValueError, match=r"Expected (0 tokens in doc 0|1 of them), found"):
                ours.set_annotations(others, prediction)
        assert not full.has_annotation("ENT_IOB")
        ours.set_annotations(docs, prediction)
        assert [*empty.spans] == [*filter(None, [key])]


def test_one_doc_may_be_set() -> None:
    ours = tiny()
    one, same = make_docs(ours.vocab, [[Token()] * 4] * 2)
    ours.set_annotations(one, ours.predict(one))
    ours.set_annotations([same], ours.predict([same]))
    assert [ent.text for ent in one.ents] == [ent.text for ent in same.ents] != []


@pytest.mark.parametrize(("more", "features"), [(False, 8), (True, 13)])
def test_states_of_a_parser_are_refused(more: bool, features: int) -> None:
    nlp = spacy.blank("en")
    config = nlp.get_factory_meta("batch_ner").default_config or {}
    model = {**config["model"], "state_type": "parser", "extra_state_tokens": more}
    expected = (
        rf'Component "entities": expected a model that scores states by 3 or 6 tokens, was one '
        rf'with {features}\. Set state_type to "ner" in \[components\.entities\.model\]'
    )
    pipe: Any = nlp.add_pipe("batch_ner", name="entities", config={"model": model})
    doc = nlp.make_doc("Anna met Bob")
    example = Example.from_dict(doc, {"entities": [(0, 4, "PER")]})
    pipe.initialize(lambda: [example], nlp=nlp)
    with pytest.raises(ValueError, match=expected):
        nlp("Anna met Bob")
    with pytest.raises(ValueError, match=expected):
        nlp.update([example])
    pipe.cfg["beam_width"] = 2  # the beam is spaCy's own
    assert nlp("Anna met Bob").has_annotation("ENT_IOB")


@pytest.mark.parametrize("beam_width", [0, -1])
def test_no_beam_at_all_is_refused(beam_width: int) -> None:
    expected = f'"batch_ner": beam_width must be a whole number from 1 on, was: {beam_width}'
    with pytest.raises(ValueError, match=expected):
        spacy.blank("en").add_pipe("batch_ner", config={"beam_width": beam_width})


def test_no_examples_are_refused_as_spacy_does() -> None:
    for pipe in both(Case()):
        with pytest.raises(TypeError, match="E978"):
            pipe.update(None)
        assert pipe.update(example for example in ()) == {pipe.name: 0.0}


@pytest.mark.parametrize(
    "model",
    [
        {"@architectures": "spacy.Tagger.v2", "tok2vec": CNN},
        {"@architectures": "spacy-multihash.TokenTagger.v1", "tok2vec": CNN},
        {
            "@architectures": "spacy.TextCatBOW.v3",
            "exclusive_classes": True,
            "ngram_size": 1,
            "no_output_layer": False,
        },
    ],
)
def test_models_of_other_architectures_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"architecture spacy.TransitionBasedParser.v2, was given"):
        spacy.blank("en").add_pipe("batch_ner", config={"model": model})


def test_moves_of_another_type_are_refused() -> None:
    with pytest.raises(ConfigValidationError, match="moves"):
        spacy.blank("en").add_pipe("batch_ner", config={"moves": 5})
