from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.ml.models.tok2vec import (
    CharacterEmbed,
    MaxoutWindowEncoder,
    MishWindowEncoder,
    MultiHashEmbed,
    build_hash_embed_cnn_tok2vec,
    build_Tok2Vec_model,
)
from spacy.tokens import Doc
from spacy.util import registry
from spacy.vectors import Vectors
from thinc.api import SGD, Model, Softmax, chain, fix_random_seed, set_dropout_rate, with_array

from spacy_multihash import (
    build_maxout_window_encoder_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    embed_from_spacy,
    embed_to_spacy,
    encoder_from_spacy,
    encoder_to_spacy,
)
from tests.helpers.maxout import random_vectors

TEXTS = ["Anna met Anna in Rome .", "", "The shares of Xerox Corp. rose 12 % in 1998 ."]
ATTRS = ["NORM", "SHAPE", "SPACY"]


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def assert_equal_predictions(one: Model, other: Model, docs: list[Doc]) -> None:
    for vectors, others in zip(one.predict(docs), other.predict(docs), strict=True):
        assert_allclose(vectors, others, atol=1e-5)


def assert_same_layer(one: Model, other: Model, docs: list[Doc]) -> None:
    assert_equal_predictions(one, other, docs)
    for node, other_node in zip(one.walk(), other.walk(), strict=True):
        assert node.name == other_node.name
        for name in other_node.param_names:
            assert_array_equal(node.get_param(name), other_node.get_param(name))


def test_weights_of_spacy_give_the_same_predictions(docs: list[Doc]) -> None:
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False).initialize(X=docs)
    assert_equal_predictions(embed_from_spacy(theirs), theirs, docs)


def test_weights_go_back_to_spacy(docs: list[Doc]) -> None:
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False).initialize(X=docs)
    assert_same_layer(embed_to_spacy(embed_from_spacy(theirs)), theirs, docs)


def test_converted_weights_are_copies(docs: list[Doc]) -> None:
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False).initialize(X=docs)
    before = theirs.to_bytes()
    for node in embed_from_spacy(theirs).walk():
        for name in node.param_names:
            numpy.asarray(node.get_param(name)).fill(0)
    assert theirs.to_bytes() == before


def initialized(model: Model, X: list[Any]) -> Model:
    fix_random_seed(1)
    return model.initialize(X=X)


def test_uninitialized_layer_is_converted_and_initialized_later(docs: list[Doc]) -> None:
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False)
    ours = initialized(embed_from_spacy(theirs), docs)
    assert_equal_predictions(ours, initialized(theirs, docs), docs)


def test_converted_layer_can_be_trained_and_saved(docs: list[Doc]) -> None:
    ours = embed_from_spacy(MultiHashEmbed(8, ATTRS, [50, 20, 2], False).initialize(X=docs))
    before = ours.predict(docs)
    vectors, backprop = ours.begin_update(docs)
    backprop(vectors)  # the gradient of half their squares, which sum to less after a step
    ours.finish_update(SGD(0.01))
    assert sum((v**2).sum() for v in ours.predict(docs)) < sum((v**2).sum() for v in before)
    fresh = build_multi_hash_embed_v1(8, ATTRS, [50, 20, 2], False, seeds=[8, 9, 10])
    assert_equal_predictions(fresh.from_bytes(ours.to_bytes()), ours, docs)


def trained_vectors(model: Model, docs: list[Doc]) -> numpy.ndarray:
    fix_random_seed(3)
    return numpy.vstack(set_dropout_rate(model, 0.3).begin_update(docs)[0])


def test_training_drops_what_spacy_drops(docs: list[Doc]) -> None:
    docs = [doc for doc in docs if len(doc)]
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 2], False).initialize(X=docs)
    expected = trained_vectors(theirs, docs)
    assert_allclose(trained_vectors(embed_from_spacy(theirs), docs), expected, atol=1e-5)


@pytest.mark.parametrize("table_dropout", [True, False])
def test_layer_goes_back_to_spacy_with_the_dropout_of_tables_and_without(
    table_dropout: bool, docs: list[Doc]
) -> None:
    docs = [doc for doc in docs if len(doc)]
    settings = {"seeds": [8, 9, 10], "table_dropout": table_dropout}
    ours = build_multi_hash_embed_v1(8, ATTRS, [50, 20, 2], False, **settings).initialize(X=docs)
    theirs = embed_to_spacy(ours)
    assert_equal_predictions(theirs, ours, docs)
    same = numpy.allclose(trained_vectors(theirs, docs), trained_vectors(ours, docs), atol=1e-5)
    assert same == table_dropout


@pytest.mark.parametrize(
    "settings", [{"num_hashes": 3, "seeds": [8, 9, 10]}, {"seeds": [1, 2, 3]}, {}]
)
def test_settings_that_spacy_lacks_are_refused(settings: dict) -> None:
    ours = build_multi_hash_embed_v1(8, ATTRS, [50, 20, 2], False, **settings)
    with pytest.raises(ValueError, match="has 4 hashes and the seeds 8, 9, 10, .* has num_hashes"):
        embed_to_spacy(ours)


@pytest.mark.parametrize("initialized", [True, False])
def test_other_embeddings_of_spacy_are_refused(initialized: bool, docs: list[Doc]) -> None:
    vocab = docs[0].vocab
    vocab.vectors = Vectors(strings=vocab.strings, data=random_vectors(2, 5), keys=["Anna", "Rome"])
    embed_v1 = registry.get("architectures", "spacy.MultiHashEmbed.v1")
    whole = build_hash_embed_cnn_tok2vec(
        width=8, depth=1, embed_size=50, window_size=1, maxout_pieces=3, subword_features=True,
        pretrained_vectors=None,
    )  # fmt: skip
    others = [
        whole,
        embed_v1(8, ATTRS, [50, 20, 2], True),
        CharacterEmbed(width=8, rows=50, nM=4, nC=3, include_static_vectors=False),
    ]
    for other in others:
        if initialized:
            other.initialize(X=docs)
        with pytest.raises(ValueError, match=r"Expected .* spacy.MultiHashEmbed.v2.*get_ref"):
            embed_from_spacy(other)


@pytest.mark.parametrize(
    "encoder",
    [
        build_maxout_window_encoder_v1(8, 1, 3, 2),
        MaxoutWindowEncoder(8, 1, 3, 2),
        MishWindowEncoder(8, 1, 2),
    ],
    ids=["ours", "maxout", "mish"],
)
def test_a_whole_tok2vec_is_refused(encoder: Model) -> None:
    embed = build_multi_hash_embed_v1(8, ATTRS, [50, 20, 2], False, seeds=[8, 9, 10])
    for whole in (build_Tok2Vec_model(embed, encoder), chain(embed, with_array(Softmax(2, 8)))):
        with pytest.raises(
            ValueError, match=r"a MultiHashEmbed.v1, was given .*get_ref\(.embed.\)"
        ):
            embed_to_spacy(whole)


def test_weights_without_importance_go_to_spacy(docs: list[Doc]) -> None:
    settings = {"num_hashes": 4, "seeds": [8, 9], "train_importance": False}
    weighted = build_multi_weighted_hash_embed_v1(
        8, ["NORM", "SHAPE"], [50, 20], False, **settings
    ).initialize(X=docs)
    assert_equal_predictions(embed_to_spacy(weighted), weighted, docs)


def test_encoder_weights_go_both_ways() -> None:
    X = [numpy.random.default_rng(0).normal(size=(5, 8)).astype("float32")]
    theirs = MaxoutWindowEncoder(8, 2, 3, 4).initialize(X=X)
    ours = encoder_from_spacy(theirs)
    assert_allclose(ours.predict(X)[0], theirs.predict(X)[0], atol=1e-5)
    assert_array_equal(encoder_to_spacy(ours).predict(X)[0], theirs.predict(X)[0])


def test_another_encoder_is_refused(docs: list[Doc]) -> None:
    ours = build_maxout_window_encoder_v1(8, 1, 3, 2)
    for other in (ours, MishWindowEncoder(8, 1, 2), MultiHashEmbed(8, ATTRS, [9, 9, 9], False)):
        with pytest.raises(ValueError, match="Expected the model of a spacy.MaxoutWindowEncoder"):
            encoder_from_spacy(other)
    with pytest.raises(ValueError, match="Expected the model of a MaxoutWindowEncoder.v1, was"):
        encoder_to_spacy(MaxoutWindowEncoder(8, 1, 3, 2))


@pytest.mark.parametrize("component", ["tok2vec", "ner"])
def test_real_weights_give_the_same_predictions(component: str, english: Language) -> None:
    model = english.get_pipe(component).model  # type: ignore[attr-defined]
    (theirs,) = [node.get_ref("embed") for node in model.walk() if node.has_ref("embed")]
    docs = [english.make_doc(text) for text in [*TEXTS, "\n\n Dr. Smith   said : Hello, Łódź! "]]
    ours = embed_from_spacy(theirs)
    assert_equal_predictions(ours, theirs, docs)
    assert_same_layer(embed_to_spacy(ours), theirs, docs)


@pytest.mark.parametrize(
    "convert", [embed_from_spacy, embed_to_spacy, encoder_from_spacy, encoder_to_spacy]
)
def test_what_is_no_model_is_refused(convert: Any) -> None:
    name = convert.__name__
    with pytest.raises(TypeError, match=f"{name}: .* must be a Model, was: str. .*get_ref"):
        convert("tok2vec")
