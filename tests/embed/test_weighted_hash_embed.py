"""MultiWeightedHashEmbed: what it shares with MultiHashEmbed, and how it differs from it."""

import pickle
from functools import partial
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, NumpyOps, Ops, fix_random_seed, set_current_ops, to_numpy, uniform_init

from spacy_multihash import (
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    count_symbols,
    make_tables,
    set_tables,
)
from tests.helpers.gradients import check_param_gradients

ATTRS = ["NORM", "PREFIX", "SHAPE"]
ROWS = [40, 20, 10]
TABLES = ("table_embed", "weighted_table_embed")
TEXTS = ["Anna met Anna in Rome .", "", "One", "The shares of Xerox Corp. rose 12 % in 1998 ."]
SIZES: dict[str, Any] = {
    "width": 8,
    "attrs": ATTRS,
    "rows": ROWS,
    "include_static_vectors": False,
}
CONFIG = {"@architectures": "spacy-multihash.MultiWeightedHashEmbed.v1", **SIZES}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "mean": {"aggregate": "mean"},
    "side by side": {"aggregate": "concatenate", "num_hashes": [1, 2, 6]},
    "appended": {"append_importance": True},
    "dependent": {"independent": False},
    "few importance rows": {"importance_rows": [5, 4, 3]},
    "fixed": {"train_importance": False},
    "fixed, side by side": {"train_importance": False, "aggregate": "concatenate"},
}


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def build(**settings: Any) -> Model:
    return build_multi_weighted_hash_embed_v1(**(SIZES | settings))


def ones(ops: Ops, shape: tuple[int, ...]) -> Any:
    return ops.alloc_f(shape) + 1


def tables_of_importance(model: Model) -> list[Model]:
    """List the nodes that hold the importance parameters, P of the paper."""
    embeds = [node for node in model.walk() if node.name == "weighted_embed"]
    return [embed.layers[1].layers[1] for embed in embeds]


def randomize(model: Model) -> Model:
    """Give all parameters other values than the initial ones."""
    for node in model.walk():
        for name in node.param_names:
            values = numpy.random.normal(size=node.get_param(name).shape).astype("float32")
            node.set_param(name, model.ops.asarray(values))
    return model


def train(model: Model, docs: list[Doc]) -> None:
    vectors, backprop = model.begin_update(docs)
    backprop([each.copy() for each in vectors])


@pytest.mark.parametrize("train_importance", [True, False])
@pytest.mark.parametrize("num_hashes", [1, 2, [1, 2, 3]])
def test_importance_of_1_is_multi_hash_embed(
    num_hashes: Any, train_importance: bool, docs: list[Doc]
) -> None:
    fix_random_seed(3)
    importance = {"importance_init": ones} if train_importance else {"train_importance": False}
    model = build(num_hashes=num_hashes, **importance).initialize(X=docs)
    fix_random_seed(3)
    plain = build_multi_hash_embed_v1(8, ATTRS, ROWS, False, num_hashes).initialize(X=docs)
    for vectors, expected in zip(model.predict(docs), plain.predict(docs), strict=True):
        assert_allclose(vectors, expected, atol=1e-5)
    for each in (model, plain):
        train(each, docs)
    tables = [
        [node.get_grad("E") for node in each.walk() if node.name in TABLES]
        for each in (model, plain)
    ]
    of_components = [grad for grad in tables[0] if grad.shape[1] == 8]
    for grad, expected_grad in zip(of_components, tables[1], strict=True):
        assert_allclose(grad, expected_grad, rtol=1e-3, atol=1e-4)


def test_importance_has_ten_rows_for_each_component_vector(docs: list[Doc]) -> None:
    model = build().initialize(X=docs)
    shapes = [table.get_param("E").shape for table in tables_of_importance(model)]
    assert shapes == [(400, 2), (200, 2), (100, 2)]


def test_importance_begins_near_zero(docs: list[Doc]) -> None:
    for table in tables_of_importance(build(rows=[400] * 3).initialize(X=docs)):
        importance: Any = table.get_param("E")
        assert importance.std() == pytest.approx(0.0005, rel=0.1)
        assert abs(importance.mean()) < 0.0001


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_gradients_equal_central_differences(settings: dict[str, Any], docs: list[Doc]) -> None:
    # Vectors are large, so that no difference passes from one maxout piece to another.
    large = partial(uniform_init, lo=-1.0, hi=1.0)
    importance: dict[str, Any] = {"importance_init": ones, "importance_rows": [4, 3, 2]}
    if "train_importance" in settings:
        importance = {}  # it is fixed
    model = build(embed_init=large, rows=[5, 4, 3], width=6, **settings | importance)
    model.initialize(X=docs)
    check_param_gradients(
        model,
        docs,
        lambda Y: numpy.vstack(Y),
        eps=1e-3,
        atol=1e-2,
        wrap=lambda d: numpy.split(d, numpy.cumsum([len(doc) for doc in docs])[:-1]),
    )


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_batch_equals_one_by_one(settings: dict[str, Any], docs: list[Doc]) -> None:
    model = randomize(build(**settings).initialize(X=docs))
    for doc, vectors in zip(docs, model.predict(docs), strict=True):
        assert_allclose(model.predict([doc])[0], vectors, atol=1e-5)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_predictions_survive_saving_and_pickling(settings: dict[str, Any], docs: list[Doc]) -> None:
    trained = randomize(build(**settings).initialize(X=docs))
    loaded = randomize(build(**settings).initialize(X=docs)).from_bytes(trained.to_bytes())
    pickled = pickle.loads(pickle.dumps(trained))
    predictions = [model.predict(docs) for model in (trained, loaded, pickled)]
    for vectors, one, other in zip(*predictions, strict=True):
        assert_array_equal(one, vectors)
        assert_array_equal(other, vectors)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_predictions_and_gradients_do_not_depend_on_the_device(
    settings: dict[str, Any], ops: Ops, docs: list[Doc]
) -> None:
    model = build(**settings).initialize(X=docs)
    set_current_ops(NumpyOps())
    on_cpu = build(**settings).from_bytes(model.to_bytes())
    vectors, backprop = model.begin_update(docs)
    expected, backprop_on_cpu = on_cpu.begin_update(docs)
    for one, other in zip(vectors, expected, strict=True):
        assert_allclose(to_numpy(one), other, atol=1e-5)
    # Of equal gradients the normalization leaves nothing but rounding
    rng = numpy.random.default_rng(0)
    d_vectors = [rng.normal(size=each.shape).astype("float32") for each in expected]
    backprop([ops.asarray(each) for each in d_vectors])
    backprop_on_cpu(d_vectors)
    for node, other_node in zip(model.walk(), on_cpu.walk(), strict=True):
        for name in node.param_names:
            grad, expected_grad = to_numpy(node.get_grad(name)), other_node.get_grad(name)
            assert_allclose(grad, expected_grad, rtol=1e-3, atol=1e-4)


def test_all_docs_may_be_empty(docs: list[Doc]) -> None:
    model = build().initialize(X=docs)
    vectors, backprop = model.begin_update([docs[1]])
    assert vectors[0].shape == (0, 8)
    backprop(vectors)


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"importance_rows": [400, 200, 99]}, "importance_rows"),
        ({"seeds": [1, 2, 3]}, "seeds"),
        ({"rows": [40, 20, 11], "importance_rows": [400, 200, 100]}, "rows"),
        ({"importance_by": "lookup"}, "importance_rows_by"),
        ({"independent": False}, "independent"),
    ],
)
def test_weights_of_other_settings_are_refused_before_any_is_taken(
    settings: dict[str, Any], setting: str, docs: list[Doc]
) -> None:
    trained = build().initialize(X=docs)
    other = build(**settings)
    with pytest.raises(ValueError, match=f"'multi_weighted_hash_embed': .* with {setting} = "):
        other.from_bytes(trained.to_bytes())
    assert not any(node.has_param(name) for node in other.walk() for name in node.param_names)


@pytest.mark.parametrize("independent", [True, False])
def test_looked_up_importance_belongs_to_one_symbol(independent: bool, docs: list[Doc]) -> None:
    model = build(importance_by="lookup", independent=independent)
    names = {"NORM": spacy.attrs.NORM, "PREFIX": spacy.attrs.PREFIX, "SHAPE": spacy.attrs.SHAPE}
    tables = make_tables(count_symbols(docs, names), min_freq=2)
    set_tables(model, tables)
    model.initialize(X=docs)
    rows = [table.get_param("E").shape for table in tables_of_importance(model)]
    assert rows == [(len(table) + 1, 2) for table in tables.tables.values()]
    train(model, docs)
    changed = numpy.flatnonzero(tables_of_importance(model)[0].get_grad("E").any(axis=1))
    assert changed.tolist() == list(range(rows[0][0]))  # unknown, and each that occurs twice
    loaded = build(importance_by="lookup", independent=independent).from_bytes(model.to_bytes())
    for vectors, expected in zip(loaded.predict(docs), model.predict(docs), strict=True):
        assert_array_equal(vectors, expected)


def test_symbols_that_share_importance_are_one_unless_independent(docs: list[Doc]) -> None:
    settings: dict[str, Any] = {"attrs": ["ORTH"], "rows": [1000], "importance_rows": [1]}
    shared = randomize(build(**settings, independent=False).initialize(X=docs))
    apart = randomize(build(**settings).initialize(X=docs))
    vectors = shared.predict(docs)[3]
    assert_allclose(vectors, numpy.broadcast_to(vectors[0], vectors.shape), atol=1e-5)
    assert len(numpy.unique(apart.predict(docs)[3].round(4), axis=0)) > 5


def test_lookup_without_tables_is_refused(docs: list[Doc]) -> None:
    with pytest.raises(ValueError, match="'lookup_rows' of NORM has no table of symbols"):
        build(importance_by="lookup").initialize(X=docs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"importance_rows": [5, None, 5]},
            r"importance_rows must be whole numbers, or null in .* was: \[5, None, 5\]",
        ),
        ({"importance_rows": [5]}, "importance_rows must be a list of length 3, .* was: .5]"),
        (
            {"importance_rows": [5, 0, 5]},
            "of PREFIX: importance_rows must be a whole number from 1 .* was: 0",
        ),
        ({"rows": [5]}, "rows must be a list of length 3, .* was: .5]"),
        ({"rows": [40, 20, 3 * 10**8]}, "of SHAPE: importance_rows must be .*, was: 3000000000"),
        ({"rows": [40, 0, 20]}, "of PREFIX: rows must be a whole number from 1 to .*, was: 0"),
        (
            {"rows": [40, "20", 20]},
            "of PREFIX: rows must be a whole number from 1 to .*, was: '20'",
        ),
        ({"num_hashes": 17}, "num_hashes must be a whole number from 1 to 16, was: 17"),
        ({"width": 0}, "width must be a whole number from 1 to .*, was: 0"),
    ],
)
def test_bad_settings_are_refused_when_building(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**settings)


@pytest.mark.parametrize(("setting", "value"), [("aggregate", "max"), ("importance_by", "luck")])
def test_unknown_choice_is_refused_by_the_config(setting: str, value: str) -> None:
    config = {
        "model": {
            **CONFIG,
            setting: value,
        }
    }
    with pytest.raises(ValueError, match=setting):
        spacy.registry.resolve(config)


def test_initializers_are_taken_from_the_config(docs: list[Doc]) -> None:
    config = {
        "model": {
            **CONFIG,
            "embed_init": {"@initializers": "zero_init.v1"},
            "importance_init": {"@initializers": "uniform_init.v1", "lo": 2.0, "hi": 2.0},
        }
    }
    model = spacy.registry.resolve(config)["model"].initialize(X=docs)
    assert (tables_of_importance(model)[0].get_param("E") == 2).all()
    components = next(node for node in model.walk() if node.name == "weighted_table_embed")
    assert not components.get_param("E").any()


def test_pipeline_learns_two_sentences() -> None:
    nlp = spacy.blank("en")
    embed = {**CONFIG, "width": 16}
    encode = {
        "@architectures": "spacy-multihash.MaxoutWindowEncoder.v1",
        "width": 16,
        "window_size": 1,
        "maxout_pieces": 2,
        "depth": 1,
    }
    tok2vec = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    ner: Any = nlp.add_pipe("ner", config={"model": {"tok2vec": tok2vec}})
    gold = {
        "Anna lives in Rome": [(0, 4, "PER"), (14, 18, "LOC")],
        "Bob is in Oslo": [(0, 3, "PER")],
    }
    examples = [
        Example.from_dict(nlp.make_doc(text), {"entities": ents}) for text, ents in gold.items()
    ]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.L2 = 0.0  # which changes weights without any gradient
    initial = tables_of_importance(ner.model)[0].get_param("E").copy()
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    for text, ents in gold.items():
        found = [(ent.start_char, ent.end_char, ent.label_) for ent in nlp(text).ents]
        assert found == ents
    trained = tables_of_importance(ner.model)[0].get_param("E")
    assert (trained != initial).any()
