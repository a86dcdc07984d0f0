"""The layer token_tagger: its scores, and its gradients."""

from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose
from spacy.attrs import ORTH
from spacy.ml.models.tok2vec import build_Tok2Vec_model
from thinc.api import Linear, Model, Ops, chain, set_dropout_rate, to_numpy, with_array

from spacy_multihash.common.types import DocLike
from spacy_multihash.layers import IteratedDilatedEncoder, MaxoutWindowEncoder, token_tagger
from tests.helpers.encoders import numbered_weights, reference_passes
from tests.helpers.fake_docs import FakeDoc
from tests.helpers.weights import check_param_gradients, randomize

SYMBOLS, WIDTH, TAGS, REPEATS = 6, 4, 5, 3
LENGTHS = [3, 0, 1, 7]


def make_docs(lengths: list[int], seed: int = 0) -> list[DocLike]:
    """Make docs of numbered symbols."""
    rng = numpy.random.default_rng(seed)
    return [FakeDoc({ORTH: rng.integers(1, SYMBOLS, length)}) for length in lengths]


def symbols_of(docs: list[DocLike]) -> list[list[int]]:
    return [doc.to_array(ORTH).tolist() for doc in docs]


def embed_symbols() -> Model:
    """Docs -> the row of a table for each token, (len(doc), WIDTH) float32."""

    def forward(model: Model, docs: list[DocLike], is_train: bool) -> Any:
        E = model.get_param("E")

        def backprop(dXs: list[Any]) -> list[DocLike]:
            dE = numpy.zeros(E.shape, dtype="float32")
            for symbols, dX in zip(symbols_of(docs), dXs, strict=True):
                numpy.add.at(dE, symbols, to_numpy(dX))
            model.inc_grad("E", model.ops.asarray(dE))
            return []

        return [E[model.ops.asarray1i(symbols)] for symbols in symbols_of(docs)], backprop

    table = numpy.zeros((SYMBOLS, WIDTH), dtype="float32")
    model: Model = Model("embed_symbols", forward, params={"E": None})
    model.set_param("E", model.ops.asarray(table))
    return model


def dilated(**options: bool) -> Model:
    return IteratedDilatedEncoder(
        WIDTH, dilations=[1, 2], repeats=REPEATS, window_size=1, **options
    )


def windows() -> Model:
    return MaxoutWindowEncoder(WIDTH, window_size=1, nP=2, depth=2)


def build(encode: Model, *, every_pass: bool = True, transitions: bool = False) -> Model:
    model = token_tagger(
        build_Tok2Vec_model(embed_symbols(), encode),
        Linear(),
        every_pass=every_pass,
        transitions=transitions,
    )
    model.set_dim("nO", TAGS)
    model.initialize(X=make_docs([4]))
    return randomize(model)


def affine(model: Model, vectors: numpy.ndarray) -> numpy.ndarray:
    """Score each token's vector, tag by tag: (N, W) -> (N, nO) float64."""
    output = model.get_ref("output_layer")
    W, b = (to_numpy(output.get_param(name)).astype("float64") for name in "Wb")
    return numpy.array(
        [[float(row @ vector) + bias for row, bias in zip(W, b, strict=True)] for vector in vectors]
    ).reshape(-1, len(b))


ENCODERS = pytest.mark.parametrize("encode", [dilated, windows])


def test_training_scores_the_tokens_after_every_pass(ops: Ops) -> None:
    model = build(dilated())
    docs = make_docs(LENGTHS)
    scores, _ = model.begin_update(docs)
    assert scores.shape == (REPEATS, sum(LENGTHS), TAGS)
    encode = model.get_ref("tok2vec").get_ref("encode")
    E = to_numpy(model.get_ref("tok2vec").get_ref("embed").get_param("E"))
    passes = [
        reference_passes(encode, numbered_weights(encode), E[symbols])
        for symbols in symbols_of(docs)
    ]
    for number in range(REPEATS):
        vectors = numpy.concatenate([each[number] for each in passes])
        assert_allclose(to_numpy(scores[number]), affine(model, vectors), atol=1e-4)


@ENCODERS
@pytest.mark.parametrize("every_pass", [False, True])
def test_predictions_are_the_last_scores_of_training_without_dropout(
    encode: Any, every_pass: bool
) -> None:
    model = build(encode(), every_pass=every_pass)
    docs = make_docs(LENGTHS)
    scores, _ = model.begin_update(docs)
    assert len(scores) == (REPEATS if every_pass and encode is dilated else 1)
    predicted = model.predict(docs)
    assert len(predicted) == 1
    assert_allclose(predicted[0], scores[-1], atol=1e-5)


@pytest.mark.parametrize("more", [False, True])
def test_passes_are_asked_for_only_where_the_encoder_is_known_and_last(more: bool) -> None:
    tok2vec = chain(embed_symbols(), dilated())  # without the refs of spacy.Tok2Vec.v2
    tok2vec.set_dim("nO", WIDTH)
    if more:
        whole = build_Tok2Vec_model(embed_symbols(), dilated())
        tok2vec = chain(*whole.layers, with_array(Linear(WIDTH, WIDTH)))
        for name in ("embed", "encode"):
            tok2vec.set_ref(name, whole.get_ref(name))
    model = token_tagger(tok2vec, Linear(), every_pass=True, transitions=False)
    model.set_dim("nO", TAGS)
    model.initialize(X=make_docs([4]))
    randomize(model)
    scores, _ = model.begin_update(make_docs(LENGTHS))
    assert len(scores) == 1
    vectors = numpy.concatenate(tok2vec.predict(make_docs(LENGTHS)))
    assert_allclose(scores[0], affine(model, vectors), atol=1e-4)


@pytest.mark.parametrize(
    ("encode", "every_pass"),
    [
        (dilated(), False),
        (dilated(share=False), True),
        (dilated(residual=True, normalize=True), True),
        (windows(), True),
    ],
)
def test_gradients_equal_central_differences(encode: Model, every_pass: bool) -> None:
    built = build(encode, every_pass=every_pass)
    # All passes, in prediction too
    model: Model = Model("trains", lambda model, X, is_train: built(X, True), layers=[built])
    docs = make_docs([3, 0, 4])
    check_param_gradients(model, docs, lambda scores: scores, eps=1e-3, atol=1e-2)


@ENCODERS
@pytest.mark.parametrize("every_pass", [False, True])
@pytest.mark.parametrize("lengths", [[], [0, 0]])
def test_no_tokens_are_legal(ops: Ops, encode: Any, every_pass: bool, lengths: list[int]) -> None:
    model = build(encode(), every_pass=every_pass)
    set_dropout_rate(model, 0.5)
    docs = make_docs(lengths)
    assert model.predict(docs).shape == (1, 0, TAGS)
    scores, backprop = model.begin_update(docs)
    assert scores.shape == (REPEATS if every_pass and encode is dilated else 1, 0, TAGS)
    assert backprop(scores) == []
