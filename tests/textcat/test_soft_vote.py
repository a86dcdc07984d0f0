from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.training import Example
from thinc.api import (
    HardSwishMobilenet,
    LayerNorm,
    Linear,
    Maxout,
    Model,
    Ops,
    Relu,
    chain,
    to_numpy,
)

from spacy_multihash.textcat.soft_vote import soft_vote

VOTES = numpy.array([[[0.2, 0.8], [1, 0]], [[0.6, 0.4], [1, 0]], [[0.1, 0.9], [1, 0]]], dtype="f")
MEAN = numpy.array([[0.3, 0.7], [1, 0]], dtype="f")
TRUTH = numpy.array([[0, 1], [1, 0]], dtype="f")


LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "*"}
TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": 8,
    "depth": 1,
    "embed_size": 50,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": False,
    "pretrained_vectors": None,
}
SHALLOW = {
    "@architectures": "spacy.TextCatReduce.v1",
    "exclusive_classes": True,
    "tok2vec": LISTENER,
    "use_reduce_first": False,
    "use_reduce_last": False,
    "use_reduce_max": False,
    "use_reduce_mean": True,
}
BAG = {
    "@architectures": "spacy.TextCatBOW.v3",
    "exclusive_classes": True,
    "ngram_size": 1,
    "no_output_layer": False,
    "length": 1024,
}
DEEP = {"@architectures": "spacy.TextCatEnsemble.v2", "tok2vec": LISTENER, "linear_model": BAG}


def gradients_of_tok2vec(*members: dict[str, Any]) -> list[numpy.ndarray]:
    """Train one step without the optimizer, with weights that the order does not change."""
    nlp = spacy.blank("en")
    tok2vec: Any = nlp.add_pipe("tok2vec", config={"model": TOK2VEC})
    ensemble = {"@architectures": "spacy-multihash.TextCatEnsemble.v1"}
    named = {f"model{number}": member for number, member in enumerate(members)}
    textcat: Any = nlp.add_pipe("textcat", config={"model": {**ensemble, "*": named}})
    examples = [
        Example.from_dict(nlp.make_doc(text), {"cats": {"A": float(a), "B": 1.0 - a}})
        for a, text in enumerate(["good day", "bad day"])
    ]
    nlp.initialize(lambda: examples)
    rng = numpy.random.default_rng(0)
    for model in [tok2vec.model, *sorted(textcat.model.layers, key=lambda member: member.name)]:
        for node in model.walk():
            for name in node.param_names:
                shape = node.get_param(name).shape
                node.set_param(name, rng.normal(size=shape).astype("float32"))
    nlp.update(examples, drop=0.0, sgd=None)
    nodes = tok2vec.model.walk()
    return [node.get_grad(name) for node in nodes for name in node.param_names]


def test_a_tok2vec_that_members_share_gets_the_gradients_of_all() -> None:
    one, other = gradients_of_tok2vec(SHALLOW, DEEP), gradients_of_tok2vec(DEEP, SHALLOW)
    assert any(gradient.any() for gradient in one)
    for a, b in zip(one, other, strict=True):
        assert_allclose(a, b, atol=1e-5)


class Member:
    """A classifier with fixed probabilities, which keeps the gradient that it gets."""

    def __init__(self, ops: Ops, vote: numpy.ndarray) -> None:
        self.d_vote = None
        self.model: Model = Model(
            "member", lambda model, docs, is_train: (ops.asarray(vote), self.backprop)
        )

    def backprop(self, d_vote: numpy.ndarray) -> list:
        self.d_vote = to_numpy(d_vote)
        return []


@pytest.fixture
def members(ops: Ops) -> list[Member]:
    return [Member(ops, vote) for vote in VOTES]


def vote_of(members: list[Member]) -> Model:
    return soft_vote(*[member.model for member in members])


def test_probabilities_are_averaged(members: list[Member]) -> None:
    assert_allclose(to_numpy(vote_of(members).predict([])), MEAN, atol=1e-6)


def test_each_member_is_told_its_own_error(ops: Ops, members: list[Member]) -> None:
    mean, backprop = vote_of(members).begin_update([])
    assert backprop(mean - ops.asarray(TRUTH)) == []
    for member, vote in zip(members, VOTES, strict=True):
        assert_allclose(member.d_vote, vote - TRUTH, atol=1e-6)


def test_where_the_truth_is_missing_no_member_is_told_anything(
    ops: Ops, members: list[Member]
) -> None:
    mean, backprop = vote_of(members).begin_update([])
    d_mean = mean - ops.asarray(TRUTH)
    d_mean[0, 1] = 0
    backprop(d_mean)
    for member, vote in zip(members, VOTES, strict=True):
        expected = vote - TRUTH
        expected[0, 1] = 0
        assert_allclose(member.d_vote, expected, atol=1e-6)


@pytest.mark.parametrize(
    "last",
    [Linear(2), Relu(2), Relu(2, dropout=0.1), HardSwishMobilenet(2), Maxout(2), LayerNorm(2)],
)
def test_member_without_output_layer_is_refused(members: list[Member], last: Model) -> None:
    with pytest.raises(ValueError, match=r"model 1 \(.*\) ends in '\w+', and has no output layer"):
        soft_vote(members[0].model, chain(members[1].model, last))


@pytest.mark.parametrize("score", [-0.2, 1.2, float("nan")])
def test_scores_that_are_no_probabilities_are_refused_in_training(
    score: float, ops: Ops, members: list[Member]
) -> None:
    other = Member(ops, numpy.array([[0.5, score]], dtype="f"))
    model = vote_of([*members, other])
    with pytest.raises(ValueError, match=r"model 3 \('member'\) gives scores from"):
        model.begin_update([])


@pytest.mark.parametrize("is_train", [True, False])
def test_member_that_is_no_classifier_is_refused(is_train: bool, members: list[Member]) -> None:
    tok2vec: Model = Model("tok2vec", lambda model, docs, is_train: ([docs], lambda d: d))
    model = soft_vote(*[member.model for member in members], tok2vec)
    with pytest.raises(ValueError, match=r"model 3 \('tok2vec'\) gives a list, an item for each"):
        model([], is_train)


def test_one_member_is_itself(ops: Ops, members: list[Member]) -> None:
    mean, backprop = vote_of(members[:1]).begin_update([])
    backprop(mean - ops.asarray(TRUTH))
    assert_allclose(members[0].d_vote, VOTES[0] - TRUTH, atol=1e-6)


def test_gradient_that_is_passed_in_is_not_written_to(ops: Ops, members: list[Member]) -> None:
    _, backprop = vote_of(members).begin_update([])
    d_mean = ops.asarray(TRUTH)
    backprop(d_mean)
    assert_array_equal(to_numpy(d_mean), TRUTH)


def test_where_the_mean_equals_a_soft_label_members_are_told_their_own_errors(ops: Ops) -> None:
    votes = numpy.array([[[0.25, 0.75]], [[0.75, 0.25]]], dtype="f")
    truth = numpy.array([[0.5, 0.5]], dtype="f")
    members = [Member(ops, vote) for vote in votes]
    mean, backprop = vote_of(members).begin_update([])
    backprop(mean - ops.asarray(truth))
    for member, vote in zip(members, votes, strict=True):
        assert_allclose(member.d_vote, vote - truth, atol=1e-6)


def test_prediction_is_the_mean_itself(ops: Ops) -> None:
    members = [Member(ops, numpy.array([[vote]], dtype="f")) for vote in (0.25, 0.75)]
    assert to_numpy(vote_of(members).predict([])).tolist() == [[0.5]]


@pytest.mark.parametrize("vote", [0.0, 1.0])
def test_where_all_agree_with_the_truth_nobody_is_told_anything(vote: float, ops: Ops) -> None:
    votes = numpy.array([[[vote]], [[vote]]], dtype="f")
    members = [Member(ops, each) for each in votes]
    mean, backprop = vote_of(members).begin_update([])
    assert mean.dtype == "float32"
    backprop(mean - ops.asarray(votes[0]))
    for member in members:
        assert_allclose(member.d_vote, [[0]], atol=1e-6)
