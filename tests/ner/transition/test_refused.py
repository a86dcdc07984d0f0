"""What batch_ner is given wrongly is refused, with what to do."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import ConfigValidationError

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.spacy_pipelines import CNN
from tests.helpers.transition import Case, Token, make_docs, recognizer

pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning")
CASE = Case(favours={"B": 2.0, "U": 2.0})


def tiny(lengths: tuple[int, ...] = (4, 4)) -> tuple[BatchEntityRecognizer, list[Doc]]:
    ours = recognizer(BatchEntityRecognizer, CASE)
    return ours, make_docs(ours.vocab, [[Token()] * length for length in lengths])


def score(keys: Any, lengths: tuple[int, ...] = (4, 4)) -> None:
    ours, docs = tiny(lengths)
    ours.score_spans(docs, keys)


def add(**config: Any) -> None:
    spacy.blank("en").add_pipe("batch_ner", config=config)


def ask(method: str, *, spoil: tuple[str, str, float] | None = None, **settings: Any) -> None:
    """Set a beam or other settings, spoil a parameter of a layer, and call a method."""
    ours, docs = tiny()
    ours.cfg["beam_width"] = settings.pop("beam_width", 1)
    for name, value in settings.items():
        setattr(ours, name, value)
    if spoil is not None:
        layer, param, number = spoil
        ours.model.get_ref(layer).get_param(param).reshape(-1)[-1] = number
    getattr(ours, method)(docs)


def model(name: str, **settings: Any) -> dict[str, Any]:
    return {"@architectures": name, **settings}


MODEL = r"architecture spacy.TransitionBasedParser.v2, got"
NAN_W, INF_PAD = ("lower", "W", numpy.nan), ("lower", "pad", numpy.inf)
INF_UPPER, NAN_B = ("upper", "W", numpy.inf), ("upper", "b", numpy.nan)
NOT_FINITE = r'Component "\w+": .* not finite .* no entity has .* lower learn_rate'
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: score([[(0, 1, "A")]]), "for each of 2 docs, got 1 lists"),
    (lambda: score([[(0, 1, "Z")]], (0,)), "There is no label 'Z'. Expected one of"),
    (lambda: score([[(0, 1, "A")]], (0,)), r"in its 0 tokens, got \[0, 1\)"),
    (lambda: score([[(0, 5, "A")], []]), r"in its 4 tokens, got \[0, 5\)"),
    (lambda: score([[(2, 2, "A")], []]), r"in its 4 tokens, got \[2, 2\)"),
    (lambda: add(beam_width=0), 'beam_width must be an integer of 1 or more, got 0 .*"batch_ner"'),
    (lambda: add(moves=5), "moves"),
    (lambda: add(model=model("spacy.Tagger.v2", tok2vec=CNN)), MODEL),
    (lambda: add(model=model("spacy-multihash.TokenTagger.v1", tok2vec=CNN)), MODEL),
    (lambda: tiny()[0].update(tiny()[1]), "E978.*Parser.update"),
    (lambda: ask("score_spans", beam_width=4), r"cfg\[.beam_width.\] = 1"),
    (lambda: ask("predict", beam_width=4, spans_key="found"), "needs beam_width = 1, got 4"),
    (lambda: ask("predict", spoil=NAN_W, spans_key="found"), NOT_FINITE),
    (lambda: ask("predict", spoil=INF_PAD, spans_key="found"), NOT_FINITE),
    (lambda: ask("score_spans", spoil=INF_UPPER), NOT_FINITE),
    (lambda: ask("score_spans", spoil=NAN_B), NOT_FINITE),
]


@pytest.mark.parametrize(("do", "message"), REFUSED)
def test_refusals(do: Callable[[], Any], message: str) -> None:
    with pytest.raises((ConfigValidationError, TypeError, ValueError), match=message):
        do()


def test_greedy_is_not_asked_how_probable_anything_is() -> None:
    ours, docs = tiny()
    ours.model.get_ref("upper").get_param("b")[-1] = numpy.nan
    ours.set_annotations(docs, ours.predict(docs))
    assert all(doc.has_annotation("ENT_IOB") for doc in docs)


def test_one_doc_stands_for_a_batch_and_batches_may_be_empty() -> None:
    ours, (alone, same) = tiny()
    assert ours.score_spans(alone).keys == ours.score_spans([alone]).keys != []
    ours.set_annotations(alone, ours.predict(alone))
    ours.set_annotations([same], ours.predict([same]))
    assert [ent.text for ent in alone.ents] == [ent.text for ent in same.ents] != []
    ours.spans_key, ours.candidates_above = "found", 0.5
    (empty,) = make_docs(ours.vocab, [[]])
    ours.set_annotations([empty], ours.predict(empty))
    assert [*empty.spans] == ["found"] and empty.spans["found"].attrs["left_out"] == 0
    assert not empty.spans["found"] and ours.score_spans([empty], [[]]).keys == []
    ours.set_annotations([], ours.predict([]))
    assert ours.update(example for example in ()) == {ours.name: 0.0}


@pytest.mark.parametrize(("more", "features"), [(False, 8), (True, 13)])
def test_states_of_a_parser_are_refused(more: bool, features: int) -> None:
    nlp = spacy.blank("en")
    config = nlp.get_factory_meta("batch_ner").default_config or {}
    of_parser = {**config["model"], "state_type": "parser", "extra_state_tokens": more}
    pipe: Any = nlp.add_pipe("batch_ner", name="entities", config={"model": of_parser})
    example = Example.from_dict(nlp.make_doc("Anna met Bob"), {"entities": [(0, 4, "PER")]})
    pipe.initialize(lambda: [example], nlp=nlp)
    expected = rf'"entities" .* by 3 or 6 tokens, got one with {features}.*components\.entities'
    for do in (lambda: nlp("Anna met Bob"), lambda: nlp.update([example])):
        with pytest.raises(ValueError, match=expected):
            do()
    pipe.cfg["beam_width"] = 2  # the beam is spaCy's own
    assert nlp("Anna met Bob").has_annotation("ENT_IOB")
