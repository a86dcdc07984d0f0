"""batch_parser: spaCy's parses, whatever the model, the docs and the batches are."""

import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.pipeline import DependencyParser
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from spacy_multihash import BatchDependencyParser, set_threads
from spacy_multihash.compute.dispatch import NONE, available_kernels
from spacy_multihash.parse.component import Parses
from tests.helpers.kernels import using_kernels
from tests.helpers.parsers import (
    VOCAB,
    Case,
    assert_equal_parses,
    make_docs,
    make_pair,
    make_parser,
    problems,
    tokens_of,
)
from tests.helpers.sections import listener, spacys
from tests.helpers.weights import params, randomize

COMPILED = [name for name in available_kernels() if name != NONE]
compiled = pytest.mark.skipif(not COMPILED, reason="there are no compiled kernels")


@pytest.mark.usefixtures("each_kernels")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=problems(), size=st.integers(2, 9))
def test_parses_are_spacys(problem: tuple[Case, list[Doc]], size: int) -> None:
    case, docs = problem
    assert_equal_parses(*make_pair(case, VOCAB), docs, size)


@compiled
@pytest.mark.parametrize(
    "case",
    [
        Case(),
        Case(extra_state_tokens=True, maxout_pieces=3, hidden_width=30),
        Case(use_upper=False, maxout_pieces=1),
        Case(learn_tokens=True, later=("new",)),
        Case(labels=[f"l{i}" for i in range(150)]),
        Case(scale=0.0),
        Case(nan_piece=True),
        Case(nan_piece=True, maxout_pieces=3),
    ],
    ids=["8 features", "13", "no upper", "subtok", "150 labels", "ties", "NaN", "NaN of 3"],
)
@pytest.mark.parametrize("starts", [(), (0.02, 0.3), (0.0, 1.0)])
def test_long_docs_are_parsed_as_spacy_does(case: Case, starts: tuple) -> None:
    spacys, ours = make_pair(case, VOCAB)
    docs = make_docs(VOCAB, [1500, 0, 700, 1], case.seed, starts)
    assert isinstance(ours.predict(docs), Parses)
    assert_equal_parses(spacys, ours, docs)


@compiled
def test_doc_of_20000_tokens() -> None:
    spacys, ours = make_pair(Case(seed=3), VOCAB)
    assert_equal_parses(spacys, ours, make_docs(VOCAB, [20_000], 0, (0.0, 0.1)))


def test_a_single_doc_and_docs_without_tokens() -> None:
    spacys, ours = make_pair(Case(), VOCAB)
    assert_equal_parses(spacys, ours, make_docs(VOCAB, [0, 0, 0], 0))
    (doc,) = make_docs(VOCAB, [9], 0)
    expected = tokens_of([spacys(doc.copy())])
    assert tokens_of([ours(doc.copy())]) == expected
    ours.set_annotations(doc, ours.predict(doc))
    assert tokens_of([doc]) == expected


def test_decorated_labels_are_split() -> None:
    case = Case(labels=("prep||dobj", "dobj"), seed=1)
    spacys, ours = make_pair(case, VOCAB)
    docs = make_docs(VOCAB, [30] * 9, 1)
    assert_equal_parses(spacys, ours, docs)
    labels = {token.dep_ for doc in ours.pipe(docs) for token in doc}
    assert "prep" in labels and "prep||dobj" not in labels


# Batches and threads


@compiled
def test_parse_does_not_depend_on_batches_and_threads() -> None:
    ours = make_parser(BatchDependencyParser, Case(hidden_width=24), VOCAB)
    docs = make_docs(VOCAB, [n % 50 for n in range(200)], 5)
    expected = tokens_of([ours(doc.copy()) for doc in docs])
    former = set_threads(3)
    try:
        for size in (3, 1000):
            found = list(ours.pipe([doc.copy() for doc in docs], batch_size=size))
            assert tokens_of(found) == expected
    finally:
        set_threads(former)
    with ThreadPoolExecutor(4) as pool:
        assert tokens_of(list(pool.map(ours, [doc.copy() for doc in docs]))) == expected


def others(parser: Any) -> dict[tuple[int, str], numpy.ndarray]:
    """Draw other weights, as `use_params` takes them."""
    drawn = params(randomize(parser.model.copy(), scale=1.0))
    nodes = zip(params(parser.model), drawn, strict=True)
    return {(node.id, name): other.get_param(name) for (node, name), (other, _) in nodes}


@compiled
def test_changed_weights_and_labels_are_used_at_once() -> None:
    spacys, ours = make_pair(Case(), VOCAB)
    docs = make_docs(VOCAB, [5, 17, 40], 2)

    def check(before: list) -> list:
        assert_equal_parses(spacys, ours, docs)
        found = tokens_of(list(ours.pipe([doc.copy() for doc in docs])))
        assert found != before
        return found

    found = check([])
    for each in (spacys, ours):  # in place
        each.model.get_ref("upper").get_param("W")[...] *= -1
    found = check(found)
    for each in (spacys, ours):
        each.model.get_ref("lower").set_param("W", -each.model.get_ref("lower").get_param("W"))
    found = check(found)
    with spacys.model.use_params(others(spacys)), ours.model.use_params(others(ours)):
        check(found)
    assert tokens_of(list(ours.pipe([doc.copy() for doc in docs]))) == found
    for each in (spacys, ours):
        each.add_label("new")
        each.model.attrs["unseen_classes"].clear()
        each.model.get_ref("upper").get_param("b")[-2:] = 50
    found = check(found)
    other = make_parser(DependencyParser, Case(later=("new",), seed=85), VOCAB)
    for each in (spacys, ours):
        each.from_bytes(other.to_bytes())
    check(found)


@compiled
def test_training_is_spacys_and_later_parses_too() -> None:
    spacys, ours = make_pair(Case(), VOCAB)
    gold = Doc(VOCAB, words=["Anna", "met", "Bob"], heads=[1, 1, 1], deps=["nsubj", "ROOT", "dobj"])
    docs = make_docs(VOCAB, [3, 40], 0)
    before = tokens_of([ours(doc.copy()) for doc in docs])
    losses = []
    for each in (spacys, ours):
        numpy.random.seed(0)
        random.seed(0)
        sgd = Adam(0.01)
        for _ in range(20):
            example = Example(Doc(VOCAB, words=["Anna", "met", "Bob"]), gold)
            loss = each.update([example], sgd=sgd, losses={})
        losses.append(loss)
    assert losses[0] == losses[1]
    assert tokens_of([ours(doc.copy()) for doc in docs]) != before
    assert_equal_parses(spacys, ours, docs)


def test_component_can_be_saved_and_pickled() -> None:
    spacys, ours = make_pair(Case(), VOCAB)
    docs = make_docs(VOCAB, [12, 3], 0)
    fresh = make_parser(BatchDependencyParser, Case(seed=8), VOCAB)
    assert ours.to_bytes() == spacys.to_bytes()
    assert_equal_parses(spacys, fresh.from_bytes(ours.to_bytes()), docs)
    nlp = spacy.blank("xx")
    parser: Any = nlp.add_pipe("batch_parser")
    parser.add_label("nsubj")
    nlp.initialize()
    assert isinstance(pickle.loads(pickle.dumps(parser)), BatchDependencyParser)
    assert nlp.from_bytes(nlp.to_bytes())("Anna met Bob").has_annotation("DEP")


# spaCy's own code


@pytest.mark.parametrize("how", ["beam", "kernels", "state_type"])
def test_spacys_code_predicts_everything_else(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spacys, ours = make_pair(Case(), VOCAB)
    docs = make_docs(VOCAB, [5, 9], 0)
    if how == "beam":
        for each in (spacys, ours):
            each.cfg["beam_width"] = 3
    if how == "state_type":
        monkeypatch.setattr("spacy_multihash.parse.component.NUM_FEATURES", (13,))
    with using_kernels(NONE if how == "kernels" else available_kernels()[0]):
        assert not isinstance(ours.predict(docs), Parses)
        assert_equal_parses(spacys, ours, docs)


@compiled
def test_weights_of_other_actions_are_refused() -> None:
    ours = make_parser(BatchDependencyParser, Case(), VOCAB)
    ours.model.attrs["resize_output"](ours.model, ours.moves.n_moves + 2)
    with pytest.raises(ValueError, match="weights for 13 actions, but its labels have 11"):
        ours.predict(make_docs(VOCAB, [5], 0))


def test_factory_refuses_a_model_that_is_no_parser() -> None:
    model = spacys("Tagger.v2", nO=None, tok2vec=listener(8))
    with pytest.raises(ValueError, match="must be of the architecture"):
        spacy.blank("xx").add_pipe("batch_parser", config={"model": model})


# A trained pipeline


def with_ours(nlp: Language) -> BatchDependencyParser:
    """Make our component for the parser of a pipeline, whose model both share."""
    pipe: Any = nlp.get_pipe("parser")
    return BatchDependencyParser(nlp.vocab, pipe.model, "parser", pipe.moves)


@compiled
def test_trained_parser_parses_the_same(english: Language, shared: Any) -> None:
    text = (shared / "datasets" / "gum" / "test.conll").read_text("utf8")
    blocks = [block.splitlines() for block in text.split("\n\n") if block.strip()]
    texts = [" ".join(line.split("\t")[0] for line in block) for block in blocks[:300]]
    texts += [" ".join(texts), " ", "", "\n\n", "Go", texts[0].replace(" ", " \n ", 5)]
    tok2vec: Any = english.get_pipe("tok2vec")
    docs = list(tok2vec.pipe(map(english.make_doc, texts)))
    spacys: Any = english.get_pipe("parser")
    assert sum(map(len, docs)) > 9000
    assert_equal_parses(spacys, with_ours(english), docs)
    for doc in docs[:20]:
        doc[len(doc) // 2].is_sent_start = True
    assert_equal_parses(spacys, with_ours(english), docs[:20], size=3)


@compiled
def test_labels_outlive_a_memory_zone(english: Language) -> None:
    parser = with_ours(english)
    tok2vec: Any = english.get_pipe("tok2vec")

    def labels() -> list[str]:
        return [t.dep_ for t in parser(tok2vec(english.make_doc("Qwxyz met Ana in Rome .")))]

    with english.memory_zone():
        inside = labels()
    assert labels() == inside
