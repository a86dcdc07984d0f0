from itertools import product
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc
from thinc.api import Config, Model, fix_random_seed

from spacy_multihash import (
    Table,
    Tables,
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    embed_to_spacy,
    set_tables,
)
from spacy_multihash.embed import tucker_fusion
from spacy_multihash.layers import TuckerFusion
from tests.helpers.gradients import check_param_gradients, slopes

WIDTHS, RANKS = [3, 2, 4], [2, 1, 3]
ATTRS = ["NORM", "SHAPE"]


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    fix_random_seed(0)


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    nlp.vocab.set_vector("Anna", numpy.ones(3, dtype="float32"))
    return [nlp.make_doc(text) for text in ("Anna met Anna in Rome .", "", "One")]


def sample(n: int, widths: list[int] = WIDTHS) -> numpy.ndarray:
    return numpy.random.default_rng(0).normal(size=(n, sum(widths))).astype("float32")


def initialized(n: int = 5) -> Model:
    return TuckerFusion(2, WIDTHS, RANKS).initialize(X=sample(n))


def reference(model: Model, x: numpy.ndarray) -> numpy.ndarray:
    """Multiply the outer product of the padded views with a tensor that has all its entries."""
    views = [numpy.append(view, 1) for view in numpy.split(x, numpy.cumsum(WIDTHS)[:-1])]
    D = numpy.zeros([len(view) for view in views])
    for at in product(*(range(len(view)) for view in views)):
        D[at] = numpy.prod([view[i] for view, i in zip(views, at, strict=True)])
    padded = [
        numpy.column_stack([model.get_param(f"W_{i}"), model.get_param(f"b_{i}")]) for i in range(3)
    ]
    W = model.get_param("R").reshape(2, *RANKS).astype("float64")
    for axis, factor in enumerate(padded, start=1):
        W = numpy.moveaxis(numpy.tensordot(W, factor, axes=(axis, 0)), -1, axis)
    return numpy.array([(W_h * D).sum() for W_h in W])


def test_result_is_the_product_with_the_whole_tensor() -> None:
    model, X = initialized(), sample(5)
    expected = numpy.stack([reference(model, x.astype("float64")) for x in X])
    assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 5])
def test_gradients_of_all_parameters_are_central_differences(n: int) -> None:
    check_param_gradients(initialized(), sample(n), lambda Y: Y, eps=1e-2, atol=2e-3)


def test_gradient_of_the_input_is_that_of_the_whole_tensor() -> None:
    model, x = initialized(), sample(1)[0].astype("float64")
    C = numpy.array([0.5, -2.0])
    expected = slopes(lambda: float(reference(model, x) @ C), x)
    _, backprop = model.begin_update(x[None].astype("float32"))
    assert_allclose(backprop(C[None].astype("float32"))[0], expected, rtol=1e-4, atol=1e-5)


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[list[Any]] = []
    for most in (2**19, 12, 1):
        monkeypatch.setattr(tucker_fusion, "_CHUNK", most)
        fix_random_seed(0)
        model = initialized()
        Y, backprop = model.begin_update(sample(5))
        results.append([Y, backprop(Y), *(model.get_grad(name) for name in model.param_names)])
    for others in results[1:]:
        for other, whole in zip(others, results[0], strict=True):
            assert_allclose(other, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_results_begin_with_a_variance_of_about_one(scale: float) -> None:
    X = scale * sample(500, [16] * 4)
    variances = [
        TuckerFusion(32, [16] * 4, [4] * 4).initialize(X=X).predict(X).var() for _ in range(20)
    ]
    assert 0.5 < numpy.mean(variances) < 2


def test_an_open_width_is_that_of_the_sample() -> None:
    model = TuckerFusion(2, [3, None, 4], RANKS).initialize(X=sample(5))
    assert model.get_dim("nI_1") == 2
    assert model.get_dim("nI") == 9
    fresh = TuckerFusion(2, [3, None, 4], RANKS).from_bytes(model.to_bytes())
    assert_array_equal(fresh.predict(sample(5)), model.predict(sample(5)))


def test_rank_above_an_open_width_is_refused() -> None:
    message = "ranks must be a rank of at most 2, the width of view 1, was: 3"
    with pytest.raises(ValueError, match=message):
        TuckerFusion(2, [3, None, 4], [2, 3, 3]).initialize(X=sample(5))


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([2, 1], "a list of length 3, an entry for each of NORM, SHAPE, vectors, was: .2, 1."),
        ([2, 1, 0], "a whole number from 1 to 8, was: 0. The rank of vectors is at most its width"),
        ([9, 1, 1], "a whole number from 1 to 8, was: 9. The rank of NORM is at most its width"),
        ([2, True, 1], "a whole number from 1 to 8, was: True. The rank of SHAPE"),
        (6, "a list of length 3, .*, was: 6"),
    ],
)
def test_ranks_out_of_range_are_refused(ranks: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"'multi_hash_embed': tucker_ranks must be {message}"):
        build_multi_hash_embed_v1(8, ATTRS, [9, 9], True, tucker_ranks=ranks)


def test_input_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expects an input of shape \(N, 9\), was given .* 8\)"):
        initialized().predict(sample(3)[:, :8])


def test_core_beyond_the_memory_is_refused() -> None:
    model = TuckerFusion(1000, [10**4] * 3, [10**4] * 3)
    with pytest.raises(ValueError, match="of shape 1000 x 1000000000000, .* Take smaller ranks"):
        model.initialize()


def hashed(**settings: Any) -> Model:
    return build_multi_hash_embed_v1(8, ATTRS, [50, 20], True, **settings)


def weighted(**settings: Any) -> Model:
    return build_multi_weighted_hash_embed_v1(8, ATTRS, [50, 20], True, **settings)


def looked_up(**settings: Any) -> Model:
    model = build_multi_embed_v1(8, ATTRS, True, **settings)
    one = numpy.ones(3, dtype="uint64")
    keys = numpy.array([1, 2, 3], dtype="uint64")
    set_tables(model, Tables({name: Table(keys, one) for name in ATTRS}))
    return model


@pytest.mark.parametrize("build", [hashed, weighted, looked_up])
def test_embeddings_are_normalized_and_saved(build: Any, docs: list[Doc]) -> None:
    model = build(tucker_ranks=[4, 2, 3]).initialize(X=docs)
    vectors = numpy.vstack(model.predict(docs))
    assert_allclose(vectors.mean(axis=1), 0, atol=1e-5)
    assert_allclose(vectors.std(axis=1), 1, atol=1e-2)
    fix_random_seed(9)
    loaded = build(tucker_ranks=[4, 2, 3]).initialize(X=docs).from_bytes(model.to_bytes())
    assert_array_equal(numpy.vstack(loaded.predict(docs)), vectors)


def test_without_ranks_the_weights_are_those_of_maxout(docs: list[Doc]) -> None:
    models = []
    for settings in ({}, {"tucker_ranks": None}):
        fix_random_seed(1)
        models.append(hashed(**settings).initialize(X=docs).to_bytes())
    assert models[0] == models[1]
    assert "tucker_ranks" not in hashed().attrs


def test_weights_of_other_ranks_are_refused(docs: list[Doc]) -> None:
    saved = hashed(tucker_ranks=[4, 2, 3]).initialize(X=docs).to_bytes()
    message = r"built with tucker_ranks = \[4, 3, 3\], .* trained with tucker_ranks = \[4, 2, 3\]"
    with pytest.raises(ValueError, match=message):
        hashed(tucker_ranks=[4, 3, 3]).initialize(X=docs).from_bytes(saved)


def test_many_attributes_are_fused(docs: list[Doc]) -> None:
    names = ["NORM", "ORTH", "LOWER", "PREFIX", "SUFFIX", "SHAPE"]
    long = [Doc(docs[0].vocab, words=[str(i) for i in range(200)])]
    model = build_multi_hash_embed_v1(4, names, [50] * 6, False, tucker_ranks=[2] * 6)
    model.initialize(X=long)
    assert_allclose(model.predict(long)[0], model.begin_update(long)[0][0], atol=1e-4)


def test_spacy_has_no_such_layer(docs: list[Doc]) -> None:
    model = hashed(tucker_ranks=[4, 2, 3], seeds=[8, 9]).initialize(X=docs)
    with pytest.raises(ValueError, match=r"by maxout, but .* has tucker_ranks = \[4, 2, 3\]"):
        embed_to_spacy(model)


CONFIG = """
[nlp]
lang = "en"
pipeline = ["tok2vec","tagger_ner"]
[components]
[components.tok2vec]
factory = "tok2vec"
[components.tok2vec.model]
@architectures = "spacy.Tok2Vec.v2"
[components.tok2vec.model.embed]
@architectures = "spacy-multihash.MultiHashEmbed.v1"
width = 16
attrs = ["NORM","PREFIX","SUFFIX","SHAPE"]
rows = [100,100,100,100]
include_static_vectors = false
tucker_ranks = [4,3,3,2]
[components.tok2vec.model.encode]
@architectures = "spacy-multihash.MaxoutWindowEncoder.v1"
width = 16
window_size = 1
maxout_pieces = 3
depth = 1
[components.tagger_ner]
factory = "tagger_ner"
[components.tagger_ner.model]
@architectures = "spacy-multihash.TokenTagger.v1"
[components.tagger_ner.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 16
upstream = "*"
"""


def test_pipeline_learns_and_survives_saving(tmp_path: Path) -> None:
    nlp = spacy.util.load_model_from_config(Config().from_str(CONFIG), auto_fill=True)
    texts = [("Anna met Bob", [(0, 4, "PER"), (9, 12, "PER")]), ("Rome is big", [(0, 4, "LOC")])]
    examples = [
        spacy.training.Example.from_dict(nlp.make_doc(text), {"entities": ents})
        for text, ents in texts
    ]
    sgd = nlp.initialize(lambda: examples)
    sgd.learn_rate = 0.01
    for _ in range(30):
        nlp.update(examples, sgd=sgd)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        for text, ents in texts:
            found = [(e.start_char, e.end_char, e.label_) for e in pipeline(text).ents]
            assert found == ents
