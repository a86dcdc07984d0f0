from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from spacy.ml.models.tok2vec import (
    MaxoutWindowEncoder,
    MishWindowEncoder,
    MultiHashEmbed,
    build_hash_embed_cnn_tok2vec,
    build_Tok2Vec_model,
)
from spacy.tokens import Doc
from spacy.util import registry
from spacy.vectors import Vectors
from thinc.api import Model, Softmax, chain, fix_random_seed, set_dropout_rate, with_array

from spacy_multihash import (
    build_maxout_window_encoder_v1,
    build_multi_hash_embed_v1,
    embed_from_spacy,
    embed_to_spacy,
    encoder_from_spacy,
    encoder_to_spacy,
)
from spacy_multihash.embed.architectures import build_meta_vectors_v1
from tests.helpers.arrays import assert_all_close, random_vectors
from tests.helpers.weights import params, weights_of

VOCAB = spacy.blank("en").vocab
TEXTS = ["Anna met Anna in Rome .", "", "The shares of Xerox Corp. rose 12 % in 1998 ."]
ATTRS = ["NORM", "SHAPE", "SPACY"]


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def assert_equal_predictions(one: Model, other: Model, docs: list[Doc]) -> None:
    assert_all_close(one.predict(docs), other.predict(docs), atol=1e-5)


@pytest.mark.parametrize("at_once", [True, False])
def test_weights_give_the_same_predictions_both_ways_and_are_copies(
    at_once: bool, docs: list[Doc]
) -> None:
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False)
    ours = embed_from_spacy(initialized(theirs, docs) if at_once else theirs)
    if not at_once:
        initialized(theirs, docs), initialized(ours, docs)
    assert_equal_predictions(ours, theirs, docs)
    back = embed_to_spacy(ours)
    assert_equal_predictions(back, theirs, docs)
    assert [node.name for node in back.walk()] == [node.name for node in theirs.walk()]
    assert_equal(weights_of(back), weights_of(theirs))
    before = theirs.to_bytes()
    for node, name in params(embed_from_spacy(theirs)):
        numpy.asarray(node.get_param(name)).fill(0)
    assert theirs.to_bytes() == before


def initialized(model: Model, X: list[Any]) -> Model:
    fix_random_seed(1)
    return model.initialize(X=X)


def trained_vectors(model: Model, docs: list[Doc]) -> numpy.ndarray:
    fix_random_seed(3)
    return numpy.vstack(model.begin_update(docs)[0])


def test_training_drops_what_spacy_drops(docs: list[Doc]) -> None:
    docs = [doc for doc in docs if len(doc)]
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False).initialize(X=docs)
    expected = trained_vectors(set_dropout_rate(theirs, 0.3), docs)  # the rate is copied
    assert_allclose(trained_vectors(embed_from_spacy(theirs), docs), expected, atol=1e-5)


@pytest.mark.parametrize("table_dropout", [True, False])
def test_layer_goes_back_to_spacy_with_the_dropout_of_tables_and_without(
    table_dropout: bool, docs: list[Doc]
) -> None:
    docs = [doc for doc in docs if len(doc)]
    settings = {"seeds": [8, 9, 10], "table_dropout": table_dropout}
    ours = build_multi_hash_embed_v1(8, ATTRS, [50, 20, 2], False, **settings).initialize(X=docs)
    theirs = embed_to_spacy(set_dropout_rate(ours, 0.3))
    assert_equal_predictions(theirs, ours, docs)
    same = numpy.allclose(trained_vectors(theirs, docs), trained_vectors(ours, docs), atol=1e-5)
    assert same == table_dropout


def test_encoder_weights_go_both_ways() -> None:
    X = [numpy.random.default_rng(0).normal(size=(5, 8)).astype("float32")]
    theirs = MaxoutWindowEncoder(8, 2, 3, 4).initialize(X=X)
    ours = encoder_from_spacy(theirs)
    assert_allclose(ours.predict(X)[0], theirs.predict(X)[0], atol=1e-5)
    assert_array_equal(encoder_to_spacy(ours).predict(X)[0], theirs.predict(X)[0])


def legacy() -> Model:
    VOCAB.vectors = Vectors(strings=VOCAB.strings, data=random_vectors(2, 5), keys=["Anna", "Rome"])
    return registry.get("architectures", "spacy.MultiHashEmbed.v1")(8, ATTRS, [50, 20, 2], True)


def reseeded() -> Model:
    model = MultiHashEmbed(8, ATTRS, [50, 20, 2], False)
    next(node for node in model.walk() if node.name == "hashembed").attrs["seed"] = 99
    return model


def ours(**settings: Any) -> Model:
    return build_multi_hash_embed_v1(8, ATTRS, [50, 20, 2], False, **settings)


SEEDS: dict[str, Any] = {"seeds": [8, 9, 10]}
CNN: dict[str, Any] = {"width": 8, "depth": 1, "embed_size": 50, "window_size": 1}
CNN |= {"maxout_pieces": 3, "subword_features": True, "pretrained_vectors": None}
OURS_ENCODER = build_maxout_window_encoder_v1(8, 1, 3, 2)
WHOLES = [
    build_Tok2Vec_model(ours(**SEEDS), OURS_ENCODER),
    chain(ours(**SEEDS), with_array(Softmax(2, 8))),
]
META = build_meta_vectors_v1(8, {"vocab": None})
CUT = build_multi_hash_embed_v1(8, ["NORM", "ORTH[:1]"], [50, 20], False, seeds=[8, 9])
OTHERS = [build_hash_embed_cnn_tok2vec(**CNN), legacy(), reseeded()]
HASHES = "has 4 hashes, but .* has num_hashes"
THEIRS = r"Expected .* spacy.MultiHashEmbed.v2.*get_ref"
ENCODER = "Expected the model of a spacy.MaxoutWindowEncoder"
REFUSED: list[tuple[Any, Any, str]] = [
    (embed_to_spacy, ours(num_hashes=3, **SEEDS), HASHES),
    *((embed_to_spacy, whole, r"a MultiHashEmbed.v1, got .*get_ref") for whole in WHOLES),
    (embed_to_spacy, ours(**SEEDS, vectors=META), "has a MetaVectors of several tables"),
    (embed_to_spacy, CUT, "with PREFIX in the place of ORTH"),
    *((embed_from_spacy, other, THEIRS) for other in OTHERS),
    (encoder_from_spacy, OURS_ENCODER, ENCODER),
    (encoder_from_spacy, MishWindowEncoder(8, 1, 2), ENCODER),
    (encoder_to_spacy, MaxoutWindowEncoder(8, 1, 3, 2), "of a MaxoutWindowEncoder.v1, got"),
]


@pytest.mark.parametrize(("convert", "given", "message"), REFUSED)
def test_refusals(convert: Any, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(given)
    if given in OTHERS:
        with pytest.raises(ValueError, match=message):
            convert(given.initialize(X=[Doc(VOCAB, words=["Anna", "met"])]))
