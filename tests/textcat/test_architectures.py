"""Text classifiers: the model against a loop, and in whole pipelines."""

import pickle
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mmh3
import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.cli.train import train as train_cli
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import (
    Config,
    Model,
    NumpyOps,
    Ops,
    fix_random_seed,
    set_current_ops,
    set_dropout_rate,
    to_numpy,
)
from thinc.config import ConfigValidationError

from spacy_multihash.compute.hashing import hash_ngrams
from spacy_multihash.layers import Symbols, default_seeds, importance_seed
from spacy_multihash.textcat.architectures import (
    build_textcat_ensemble_v1,
    build_textcat_hash_embed_v1,
)
from tests.helpers.gradients import check_param_gradients
from tests.helpers.paths import ROOT

CORPUS = {
    "SPORT": [
        "The team won the final by two goals .",
        "She scored a goal in the last minute .",
        "The coach praised his players after the match .",
        "Our striker missed a penalty again .",
        "The runner broke the world record .",
        "They lost the match and the cup .",
        "A new coach will train the team .",
        "The referee stopped the game .",
        "He won the race by a second .",
        "The players trained in the rain .",
        "Fans cheered as the striker scored .",
        "The final ended without a goal .",
    ],
    "FOOD": [
        "Stir the soup and add some salt .",
        "Bake the bread until it is brown .",
        "She fried onions with garlic and butter .",
        "The cake needs more sugar .",
        "Add the garlic to the hot oil .",
        "This soup tastes of fresh tomatoes .",
        "We ate bread with butter and cheese .",
        "Boil the rice and drain it .",
        "The cook served fish with lemon .",
        "Mix flour , sugar and eggs .",
        "Fresh cheese and tomatoes make a salad .",
        "Cut the onions and fry them in oil .",
    ],
    "MONEY": [
        "The bank raised its interest rate .",
        "Shares of the company fell by five percent .",
        "Investors sold their bonds .",
        "The profit of the bank doubled .",
        "He paid taxes on his income .",
        "The company borrowed a million dollars .",
        "Oil prices and shares rose .",
        "The fund invests in bonds and shares .",
        "Inflation cut the profit of investors .",
        "A loan at a low interest rate .",
        "The company reported its income .",
        "Banks lend money to investors .",
    ],
    "WEATHER": [
        "Heavy rain and wind are expected .",
        "The storm brought snow to the north .",
        "It will be sunny and warm tomorrow .",
        "Clouds cover the coast this morning .",
        "Temperatures fall below zero at night .",
        "Strong wind will blow from the west .",
        "Snow and ice made the roads white .",
        "A warm front brings clouds and rain .",
        "The sky is clear and sunny .",
        "Thunder and lightning struck the coast .",
        "Fog covers the valley at night .",
        "Tomorrow the storm moves north .",
    ],
}
LABELS = list(CORPUS)
# Four texts of the corpus, then one of unknown words, one token, no token, and white space.
TEXTS = [CORPUS[label][0] for label in LABELS] + ["Zoë 's 7th 😀 naïve co-op", "goal", "", "  "]

SMALL = {"rows": 200, "width": 12}
HIDDEN = {**SMALL, "hidden": [16, 8]}
VARIANTS: dict[str, dict[str, Any]] = {
    "linear": SMALL,
    "mean": {**SMALL, "reduce": "mean", "ngram_orders": [1]},
    "hidden": HIDDEN,
    "input dropout": {**SMALL, "input_dropout": [4, 10], "attr": "NORM"},
    "side by side": {**SMALL, "aggregate": "concatenate", "append_importance": True},
    "hashing trick": {**SMALL, "num_hashes": 1, "train_importance": False},
}


def architecture(exclusive: bool, **settings: Any) -> dict[str, Any]:
    name = "spacy-multihash.TextCatHashEmbed.v1"
    return {"@architectures": name, "exclusive_classes": exclusive, **settings}


def ensemble(exclusive: bool = True) -> dict[str, Any]:
    return {
        "@architectures": "spacy-multihash.TextCatEnsemble.v1",
        "*": {
            "first": architecture(exclusive, seed=1, **SMALL),
            "second": architecture(exclusive, seed=2, **HIDDEN),
            "bow": {
                "@architectures": "spacy.TextCatBOW.v3",
                "exclusive_classes": exclusive,
                "ngram_size": 1,
                "no_output_layer": False,
                "length": 1024,
            },
        },
    }


MODELS = {
    **{name: architecture(True, **settings) for name, settings in VARIANTS.items()},
    "ensemble": ensemble(),
}


def blank(model: dict[str, Any], component: str = "textcat") -> Language:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(component, name="textcat", config={"model": model})
    return nlp


def examples_of(nlp: Language, labels: list[str] = LABELS) -> list[Example]:
    return [
        Example.from_dict(nlp.make_doc(text), {"cats": {each: each == label for each in LABELS}})
        for label in labels
        for text in CORPUS[label]
    ]


def trained(
    model: dict[str, Any],
    component: str = "textcat",
    examples: Callable[[Language], list[Example]] = examples_of,
    epochs: int = 25,
) -> Language:
    nlp = blank(model, component)
    batch = examples(nlp)
    sgd = nlp.initialize(lambda: batch)
    sgd.learn_rate = 0.02
    for _ in range(epochs):
        for start in range(4):
            nlp.update(batch[start::4], sgd=sgd, drop=0.1)
    return nlp


def cats_of(nlp: Language) -> list[dict[str, float]]:
    return [nlp(text).cats for text in TEXTS]


def model_of(nlp: Language) -> Model:
    return nlp.get_pipe("textcat").model  # type: ignore[attr-defined]


def probabilities_of(nlp: Language) -> numpy.ndarray:
    return to_numpy(model_of(nlp).predict([nlp.make_doc(text) for text in TEXTS]))


def best(cats: dict[str, float]) -> str:
    return max(cats, key=cats.__getitem__)


def nodes(model: Model, name: str) -> list[Model]:
    return [node for node in model.walk() if node.name == name]


def param(node: Model, name: str) -> Any:
    return node.get_param(name)


@pytest.fixture(scope="module")
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in ("Rain , rain and sun", "", "Sun", "the sun and rain")]


def build(exclusive_classes: bool = True, **settings: Any) -> Model:
    given: dict[str, Any] = {"width": 3, "rows": 7, "importance_rows": 11, "nO": 4}
    return build_textcat_hash_embed_v1(exclusive_classes, **(given | settings))


def randomized(model: Model) -> Model:
    """Give all weights values that are large enough to change results visibly."""
    rng = numpy.random.default_rng(3)
    model.initialize()
    for node in model.walk():
        for name in node.param_names:
            values = rng.normal(size=node.get_param(name).shape).astype("float32")
            node.set_param(name, node.ops.asarray(values))
    return model


# The model against a loop


def ngrams_of(doc: Doc, orders: list[int]) -> list[int]:
    ids = [token.lower for token in doc]
    ngrams = []
    for start in range(len(ids)):
        for order in orders:
            key = numpy.array(ids[start : start + order], dtype="uint64").tobytes()
            if len(key) == 8 * order:
                hashed = mmh3.hash64(key, 0, x64arch=True, signed=False)[0]
                ngrams.append(ids[start] if order == 1 else hashed)
    return ngrams


def rows_of(ngram: int, nV: int, seed: int, k: int) -> list[int]:
    digest = mmh3.hash_bytes(ngram.to_bytes(8, "little"), seed, x64arch=True)
    return [int.from_bytes(digest[4 * i : 4 * i + 4], "little") % nV for i in range(k)]


def reference(model: Model, doc: Doc, orders: list[int], reduce: str) -> numpy.ndarray:
    """Give the scores of the labels, one n-gram and one component vector at a time."""
    E = param(nodes(model, "weighted_table_embed")[0], "E")
    P = param(nodes(model, "table_embed")[0], "E")
    seed = default_seeds(1)[0]
    pooled = numpy.zeros(E.shape[1])
    ngrams = ngrams_of(doc, orders)
    for ngram in ngrams:
        (row_of_P,) = rows_of(ngram, len(P), importance_seed(seed), 1)
        for i, row in enumerate(rows_of(ngram, len(E), seed, P.shape[1])):
            pooled += P[row_of_P, i] * E[row]
    X = pooled / max(len(ngrams), 1) if reduce == "mean" else pooled
    # Layer normalization comes before the first hidden layer, and after each.
    relus, norms = nodes(model, "relu"), nodes(model, "layernorm")
    for relu, norm in zip([None, *relus] if relus else [], norms, strict=True):
        if relu is not None:
            X = numpy.maximum(param(relu, "W") @ X + param(relu, "b"), 0)
        X = (X - X.mean()) / numpy.sqrt(X.var() + 1e-8)
        X = X * param(norm, "G") + param(norm, "b")
    output = model.get_ref("output_layer")
    return param(output, "W") @ X + param(output, "b")


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("hidden", [[], [5, 4]])
@pytest.mark.parametrize("orders", [[1], [1, 2], [2, 3], [10]])
def test_probabilities_equal_a_loop(
    exclusive: bool, reduce: str, hidden: list[int], orders: list[int], docs: list[Doc]
) -> None:
    model = build(exclusive, reduce=reduce, hidden=hidden, ngram_orders=orders)
    scores = numpy.vstack([reference(randomized(model), doc, orders, reduce) for doc in docs])
    if exclusive:
        shares = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        expected = shares / shares.sum(axis=1, keepdims=True)
    else:
        expected = 1 / (1 + numpy.exp(-scores))
    assert_allclose(model.predict(docs), expected, atol=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"reduce": "mean", "ngram_orders": [2]},
        {"hidden": [5]},
        {"aggregate": "concatenate", "append_importance": True},
        {"independent": False},
        {"input_dropout": [100, 100]},
    ],
    ids=str,
)
@pytest.mark.parametrize("exclusive", [True, False])
def test_gradients_equal_central_differences(
    exclusive: bool, settings: dict[str, Any], docs: list[Doc]
) -> None:
    model = randomized(build(exclusive, **settings))
    if exclusive:
        # Backprop takes the gradient of the scores, so that these are predicted.
        model.get_ref("output_layer").attrs["softmax_normalize"] = False
    check_param_gradients(model, docs, lambda Y: Y, eps=1e-3, atol=1e-2)


def test_gradient_is_that_of_the_cross_entropy(docs: list[Doc]) -> None:
    model = randomized(build())
    truth = numpy.eye(4, dtype="float32")
    probabilities, backprop = model.begin_update(docs)
    backprop(probabilities - truth)
    b = param(model.get_ref("output_layer"), "b")
    for label in range(4):
        losses = []
        for step in (1e-2, -1e-2):
            b[label] += step
            losses.append(-(numpy.log(model.predict(docs).astype("float64")) * truth).sum())
            b[label] -= step
        expected = (losses[0] - losses[1]) / 2e-2
        assert_allclose(model.get_ref("output_layer").get_grad("b")[label], expected, atol=1e-3)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_docs_without_ngrams_go_there_and_back(
    ops: Ops, exclusive: bool, settings: dict[str, Any], docs: list[Doc]
) -> None:
    model = build_textcat_hash_embed_v1(exclusive, nO=3, **{**settings, "ngram_orders": [10]})
    for batch in (docs, docs[1:2], []):
        model.initialize(X=batch)
        probabilities, backprop = model.begin_update(batch)
        assert probabilities.shape == (len(batch), 3)
        expected = 1 / 3 if exclusive else 1 / 2
        assert_allclose(to_numpy(probabilities), expected, atol=1e-6)
        assert backprop(ops.xp.ones_like(probabilities)) == []
        assert all(ops.xp.isfinite(n.get_grad(p)).all() for n in model.walk() for p in n.grad_names)


def test_batch_equals_one_by_one(docs: list[Doc]) -> None:
    model = randomized(build(hidden=[5]))
    for doc, probabilities in zip(docs, model.predict(docs), strict=True):
        assert_allclose(model.predict([doc])[0], probabilities, atol=1e-6)


def test_gradient_that_is_passed_in_is_not_written_to(docs: list[Doc]) -> None:
    models = (build(), build(False, hidden=[5]), build_textcat_ensemble_v1(build(), build(seed=1)))
    for model in models:
        probabilities, backprop = randomized(model).begin_update(docs)
        d_probabilities = numpy.ones_like(probabilities)
        backprop(d_probabilities)
        assert (d_probabilities == 1).all()


@pytest.mark.parametrize("kind", ["linear", "hidden"])
def test_predictions_and_gradients_do_not_depend_on_the_device(
    kind: str, ops: Ops, docs: list[Doc]
) -> None:
    model = randomized(build_textcat_hash_embed_v1(False, nO=4, **VARIANTS[kind]))
    set_current_ops(NumpyOps())
    on_cpu = build_textcat_hash_embed_v1(False, nO=4, **VARIANTS[kind])
    on_cpu.from_bytes(model.to_bytes())
    probabilities, backprop = model.begin_update(docs)
    expected, backprop_on_cpu = on_cpu.begin_update(docs)
    assert_allclose(to_numpy(probabilities), expected, atol=1e-4)
    backprop(ops.xp.ones_like(probabilities))
    backprop_on_cpu(numpy.ones_like(expected))
    for node, other in zip(model.walk(), on_cpu.walk(), strict=True):
        for name in node.param_names:
            grad, expected_grad = to_numpy(node.get_grad(name)), other.get_grad(name)
            assert_allclose(grad, expected_grad, rtol=1e-3, atol=1e-3)


# Settings


def test_rows_of_importance_are_ten_times_those_of_components() -> None:
    model = build(importance_rows=None)
    assert nodes(model, "table_embed")[0].get_dim("nV") == 70


def test_ngrams_that_a_dictionary_lacks_are_left_out(docs: list[Doc]) -> None:
    model = build(importance_by="lookup", importance_rows=None, ngram_orders=[2])
    (lookup,) = nodes(model, "lookup_rows")
    assert lookup.attrs["attr"].value == "LOWER[2]"
    known, _ = hash_ngrams(docs[3].to_array("LOWER"), numpy.array([4], "int32"), [2])
    lookup.attrs["symbols"] = Symbols.from_ordered(known)
    (table,) = nodes(model, "table_embed")
    table.set_dim("nV", 4, force=True)
    randomized(model)
    table.set_param("E", numpy.ones((4, 2), dtype="float32"))  # also row 0, of unknown n-grams
    probabilities = model.predict([docs[0], docs[1], docs[3]])
    assert_allclose(probabilities[0], probabilities[1], atol=1e-6)  # like one without any
    assert abs(probabilities[2] - probabilities[1]).max() > 0.01


def test_input_dropout_is_for_training_only(docs: list[Doc]) -> None:
    model = randomized(build(input_dropout=[1, 2]))
    whole = randomized(build())
    assert_array_equal(model.predict(docs), whole.predict(docs))
    drawn = [model.begin_update(docs[:1])[0] for _ in range(20)]
    assert len(numpy.unique(numpy.vstack(drawn), axis=0)) > 5


def test_weights_trained_with_input_dropout_fit_a_model_without(docs: list[Doc]) -> None:
    trained = randomized(build(input_dropout=[1, 2]))
    loaded = build().from_bytes(trained.to_bytes())
    assert_array_equal(loaded.predict(docs), trained.predict(docs))
    back = build(input_dropout=[1, 2]).from_bytes(loaded.to_bytes())
    drawn = [back.begin_update(docs[:1])[0] for _ in range(20)]
    assert len(numpy.unique(numpy.vstack(drawn), axis=0)) > 1


def test_dropout_of_hidden_layers_is_set_and_for_training_only(docs: list[Doc]) -> None:
    model = randomized(build(hidden=[50]))
    expected = model.predict(docs)
    set_dropout_rate(model, 0.5)
    assert_array_equal(model.predict(docs), expected)
    assert (model.begin_update(docs)[0] != expected).any()


def test_initializers_fill_the_tables() -> None:
    def fill(value: float) -> Callable:
        return lambda ops, shape: ops.alloc(shape) + value

    model = build(embed_init=fill(2), importance_init=fill(3)).initialize()
    assert (nodes(model, "weighted_table_embed")[0].get_param("E") == 2).all()
    assert (nodes(model, "table_embed")[0].get_param("E") == 3).all()


BAD = {
    "ngram_orders must be one or more different": {"ngram_orders": []},
    "ngram_orders must be .* from 1 to 10, was: .0, 1": {"ngram_orders": [0, 1]},
    "ngram_orders must be .* from 1 to 10, was: .11": {"ngram_orders": [11]},
    "ngram_orders must be .* different .* was: .2, 2": {"ngram_orders": [2, 2]},
    "input_dropout must be two .*numbers.* was: .4]": {"input_dropout": [4]},
    "input_dropout must be two .*numbers.* was: .9, 4": {"input_dropout": [9, 4]},
    "input_dropout must be two .*numbers.* was: .0, 4": {"input_dropout": [0, 4]},
    "of LOWER.1,2.: width must be a whole number from 1 to 2147483647, was: 0": {"width": 0},
    "of LOWER.1,2.: rows must be a whole number from 1 to 2147483647, was: -1": {"rows": -1},
    "importance_rows must be a whole number from 1 to .*, was: 0": {"importance_rows": 0},
    "importance_rows must be a whole number from 1 to .*, was: -3": {
        "importance_rows": -3,
        "importance_by": "lookup",
    },
    "TextCatHashEmbed: hidden must be a list of up to 100 whole .* from 1 to .*, was: .5, 0": {
        "hidden": [5, 0]
    },
    "width must be a whole number from 1 to .*, was: '20'": {"width": "20"},
    "rows must be a whole number from 1 to .*, was: '20'": {"rows": "20"},
    "hidden must be a list of up to 100 whole numbers from 1 to .*, was: .'10'": {"hidden": ["10"]},
    "hidden must be a list of up to 100 whole numbers from 1 to .*, was: 10": {"hidden": 10},
    "input_dropout must be two whole numbers .*, was: 4": {"input_dropout": 4},
    "ngram_orders must be one or more .*, was: 2": {"ngram_orders": 2},
    "seed must be a whole number from 0 to 4294967295, was: '1'": {"seed": "1"},
    "num_hashes must be a whole number from 1 to 16, was: '2'": {"num_hashes": "2"},
    "importance_rows must be a whole number from 1 to .*, was: '50'": {"importance_rows": "50"},
    "ngram_orders must be .*, was: .'1'": {"ngram_orders": ["1"]},
    "input_dropout must be two .*numbers.*, was: .'4', '9'": {"input_dropout": ["4", "9"]},
    "attr must be the name or id of an attribute .*, was: 'LOWR'": {"attr": "LOWR"},
    "num_hashes must be a whole number from 1 to 16": {"num_hashes": 17},
    "TextCatHashEmbed: seed must be a whole number from 0 to 4294967295, was: -1": {"seed": -1},
    "Weighted embedding of LOWER.1,2.: importance_by has no effect with train_importance = f": {
        "importance_by": "lookup",
        "train_importance": False,
    },
    "independent has no effect with train_importance = false": {
        "independent": False,
        "train_importance": False,
    },
    "importance_rows has no effect with train_importance = false": {"train_importance": False},
    "importance_rows has no effect with importance_by = .lookup": {"importance_by": "lookup"},
    "TextCatHashEmbed: nO must be a whole number from 1 to .*, was: 0. Set nO = null": {"nO": 0},
    "nO must be a whole number from 1 to .*, was: '4'": {"nO": "4"},
    "exclusive_classes must be true or false, was: 'yes'": {"exclusive_classes": "yes"},
    "TextCatHashEmbed: reduce must be one of sum, mean, was: 'max'": {"reduce": "max"},
    "aggregate must be one of sum, mean, concatenate, was: 'max'": {"aggregate": "max"},
    "hidden must be a list of up to 100 whole .*, was: .1, 1": {"hidden": [1] * 101},
    "input_dropout must be two .*numbers.*, was: .4, 2147483648": {"input_dropout": [4, 2**31]},
}


@pytest.mark.parametrize(("message", "settings"), BAD.items(), ids=BAD.keys())
def test_bad_settings_are_refused_when_building(message: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        build(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"width": "wide"},
        {"ngram_orders": "12"},
        {"hidden": 3},
        {"input_dropout": "some"},
        {"reduce": "max"},
        {"aggregate": "product"},
        {"importance_by": "chance"},
        {"typo": 1},
    ],
    ids=str,
)
def test_config_is_validated(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigValidationError, match=next(iter(settings))):
        spacy.registry.resolve({"model": architecture(True, **settings)})


def test_config_needs_no_more_than_the_kind_of_classes() -> None:
    model = spacy.registry.resolve({"model": architecture(True, rows=50)})["model"]
    assert model.attrs["multi_label"] is False
    assert nodes(model, "extract_ngrams")[0].attrs["orders"].value == [1, 2]


# The ensemble


def test_ensemble_averages_its_models(docs: list[Doc]) -> None:
    models = [randomized(build(seed=seed)) for seed in (1, 2, 3)]
    expected = numpy.mean([model.predict(docs) for model in models], axis=0)
    assert_allclose(build_textcat_ensemble_v1(*models).predict(docs), expected, atol=1e-6)


@pytest.mark.parametrize("exclusive", [True, False])
def test_models_of_an_ensemble_are_trained_as_if_alone(exclusive: bool, docs: list[Doc]) -> None:
    models = [randomized(build(exclusive, seed=seed)) for seed in (1, 2)]
    alone = [model.copy() for model in models]
    truth = numpy.eye(4, dtype="float32")
    for model in (build_textcat_ensemble_v1(*models), *alone):
        probabilities, backprop = model.begin_update(docs)
        backprop(probabilities - truth)
    for model, other in zip(models, alone, strict=True):
        for node, other_node in zip(model.walk(), other.walk(), strict=True):
            for name in node.param_names:
                assert_allclose(node.get_grad(name), other_node.get_grad(name), atol=1e-5)


def test_ensemble_without_models_is_refused() -> None:
    with pytest.raises(ValueError, match="needs one or more models"):
        build_textcat_ensemble_v1()


def test_ensemble_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model 1 is no model, was given: \{'first': 1\}"):
        build_textcat_ensemble_v1(build(), {"first": 1})


def bag_of_words(exclusive: bool, *, no_output_layer: bool) -> Model:
    config = {**ensemble(exclusive)["*"]["bow"], "nO": 4, "no_output_layer": no_output_layer}
    return spacy.registry.resolve({"model": config})["model"]


@pytest.mark.parametrize("exclusive", [True, False])
def test_member_without_output_layer_is_refused_when_building(exclusive: bool) -> None:
    other = bag_of_words(exclusive, no_output_layer=True)
    message = (
        r"model 1 \(.*\) ends in 'sparse_linear', and has no output layer. .*no_output_layer = f"
    )
    with pytest.raises(ValueError, match=message):
        build_textcat_ensemble_v1(build(exclusive), other)
    build_textcat_ensemble_v1(build(exclusive), bag_of_words(exclusive, no_output_layer=False))


def test_member_whose_scores_do_not_sum_to_1_is_refused_in_training(docs: list[Doc]) -> None:
    own: Model = Model("own", lambda model, docs, is_train: (numpy.full((4, 4), 0.5), lambda d: []))
    own.attrs["multi_label"] = False
    model = build_textcat_ensemble_v1(randomized(build()), own)
    with pytest.raises(
        ValueError, match=r"model 1 \('own'\) gives a document scores that sum to 2"
    ):
        model.begin_update(docs)


def test_ensemble_of_models_that_disagree_is_refused() -> None:
    with pytest.raises(ValueError, match=r"exclusive_classes = \[True, False\]"):
        build_textcat_ensemble_v1(build(True), build(False))


def test_ensemble_warns_of_equal_hash_functions() -> None:
    with pytest.warns(UserWarning, match="models 0 and 2 have the same hash functions"):
        build_textcat_ensemble_v1(build(), build(seed=1), build(hidden=[5], ngram_orders=[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_textcat_ensemble_v1(build(), build(rows=8))


def test_ensemble_with_a_model_of_fixed_size_refuses_more_labels() -> None:
    fixed = build()
    del fixed.attrs["resize_output"]
    model = build_textcat_ensemble_v1(build(seed=1), fixed)
    pipe = spacy.blank("en").create_pipe("textcat")
    pipe.model = model  # type: ignore[attr-defined]
    pipe.cfg["labels"] = list(LABELS)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="E922"):
        pipe.add_label("FIFTH")  # type: ignore[attr-defined]


# Pipelines


@pytest.mark.parametrize("name", MODELS)
def test_training_learns_the_topics(name: str) -> None:
    nlp = trained(MODELS[name])
    for label, texts in CORPUS.items():
        assert [best(doc.cats) for doc in nlp.pipe(texts)] == [label] * len(texts)


@pytest.mark.parametrize("name", ["linear", "hidden", "input dropout", "ensemble"])
def test_same_seed_same_weights(name: str) -> None:
    one, other = (trained(MODELS[name], epochs=3) for _ in range(2))
    assert model_of(one).to_bytes() == model_of(other).to_bytes()


@pytest.mark.parametrize(
    "model", [architecture(False, **HIDDEN), ensemble(False)], ids=["hidden", "ensemble"]
)
def test_training_learns_several_labels_at_once_some_missing(model: dict[str, Any]) -> None:
    def examples(nlp: Language) -> list[Example]:
        pairs = zip(CORPUS["SPORT"], CORPUS["FOOD"], strict=True)
        both = [nlp.make_doc(f"{one} {other}") for one, other in pairs]
        cats = {"SPORT": True, "FOOD": True, "MONEY": False}  # WEATHER is missing
        return [*examples_of(nlp), *(Example.from_dict(doc, {"cats": cats}) for doc in both)]

    nlp = trained(model, "textcat_multilabel", examples, epochs=40)
    for example in examples(nlp):
        found = nlp(example.text).cats
        for label, truth in example.reference.cats.items():
            assert (found[label] > 0.5) == truth


def test_a_label_that_never_occurs_is_never_found() -> None:
    nlp = trained(MODELS["linear"], examples=lambda nlp: examples_of(nlp, LABELS[:3]))
    for label in LABELS[:3]:
        assert [best(doc.cats) for doc in nlp.pipe(CORPUS[label])] == [label] * 12
    assert max(doc.cats["WEATHER"] for doc in nlp.pipe(CORPUS["SPORT"])) < 0.1


@pytest.mark.parametrize("name", MODELS)
def test_odd_docs_are_trained_on_and_classified(name: str) -> None:
    nlp = blank(MODELS[name])
    truths: list[Any] = [{"cats": {each: each == label for each in LABELS}} for label in LABELS]
    odd = [Example.from_dict(nlp.make_doc(t), c) for t, c in zip(TEXTS[4:], truths, strict=True)]
    empty = [Example.from_dict(nlp.make_doc(""), truth) for truth in truths]
    sgd = nlp.initialize(lambda: empty)
    for batch in (odd, empty, odd[1:3], []):
        nlp.update(batch, sgd=sgd)
    assert all(numpy.isfinite(list(cats.values())).all() for cats in cats_of(nlp))


def test_pipe_equals_call() -> None:
    nlp = trained(MODELS["hidden"], epochs=3)
    for doc, cats in zip(nlp.pipe(TEXTS, batch_size=3), cats_of(nlp), strict=True):
        if len(doc):  # alone, a doc without tokens gets zeros from spaCy
            assert_allclose(list(doc.cats.values()), list(cats.values()), atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_pipeline_goes_to_bytes_and_disk_and_back(name: str, tmp_path: Path) -> None:
    nlp = trained(MODELS[name], epochs=2)
    expected = probabilities_of(nlp)
    nlp.to_disk(tmp_path)
    assert_array_equal(probabilities_of(spacy.load(tmp_path)), expected)
    others = trained(MODELS[name], epochs=1)
    assert (probabilities_of(others) != expected).any()
    assert_array_equal(probabilities_of(others.from_bytes(nlp.to_bytes())), expected)
    fresh = load_model_from_config(Config().from_str(nlp.config.to_str()))
    assert_array_equal(probabilities_of(fresh.from_bytes(nlp.to_bytes())), expected)
    assert_array_equal(probabilities_of(pickle.loads(pickle.dumps(nlp))), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 1}, "seed = 1, the weights were trained with seed = 0"),
        ({"rows": 8}, "rows = 8, .* with rows = 7"),
        ({"importance_rows": 9}, "importance_rows = 9, .* with importance_rows = 11"),
        ({"width": 5}, "width = 5, .* with width = 3"),
        ({"num_hashes": 3}, "num_hashes = 3, .* with num_hashes = 2"),
        ({"reduce": "mean"}, "reduce = 'mean', .* with reduce = 'sum'"),
        ({"aggregate": "mean"}, "aggregate = 'mean', .* with aggregate = 'sum'"),
        ({"append_importance": True}, "append_importance = True, .* append_importance = False"),
        ({"independent": False}, "independent = False, "),
        ({"hidden": [3]}, r"hidden = \[3\], .* with hidden = \[5\]"),
        ({"ngram_orders": [2]}, r"ngram_orders = \[2\], "),
        ({"attr": "ORTH"}, "attr = 'ORTH', "),
    ],
    ids=str,
)
def test_weights_of_other_settings_are_refused_by_their_names_in_the_config(
    settings: dict[str, Any], message: str
) -> None:
    other = build(**settings)
    trained = build(**({"hidden": [5]} if "hidden" in settings else {})).initialize()
    with pytest.raises(ValueError, match=f"'textcat_hash_embed' of .* with {message}"):
        other.from_bytes(trained.to_bytes())
    assert not any(node.has_param(name) for node in other.walk() for name in node.param_names)


def test_order_of_orders_is_of_no_account(docs: list[Doc]) -> None:
    model = randomized(build(ngram_orders=[1, 2]))
    other = build(ngram_orders=[2, 1]).initialize().from_bytes(model.to_bytes())
    assert_array_equal(other.predict(docs), model.predict(docs))


@pytest.mark.parametrize("kind", ["linear", "ensemble"])
def test_exclusive_classes_and_texts_of_several_labels_do_not_go_together(kind: str) -> None:
    model = architecture(True, rows=50) if kind == "linear" else ensemble(True)
    nlp = spacy.blank("en")
    nlp.add_pipe("textcat_multilabel", config={"model": model})
    cats = [{"SPORT": 1.0, "FOOD": 0.0}, {"SPORT": 1.0, "FOOD": 1.0}]
    examples = [Example.from_dict(nlp.make_doc("A good goal ."), {"cats": each}) for each in cats]
    with pytest.raises(ValueError, match="Set exclusive_classes = false in the model of textcat_m"):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize("component", ["textcat", "textcat_multilabel"])
@pytest.mark.parametrize("kind", ["linear", "hidden", "ensemble"])
def test_a_label_added_later_leaves_the_others_alone_and_is_learnt(
    component: str, kind: str
) -> None:
    exclusive = component == "textcat"
    settings = VARIANTS.get(kind, {})
    model = ensemble(exclusive) if kind == "ensemble" else architecture(exclusive, **settings)

    def first_three(nlp: Language) -> list[Example]:
        examples = examples_of(nlp, LABELS[:3])
        for example in examples:
            del example.reference.cats["WEATHER"]
        return examples

    nlp = trained(model, component, first_three)
    before = probabilities_of(nlp)
    assert nlp.get_pipe("textcat").add_label("WEATHER")  # type: ignore[attr-defined]
    after = probabilities_of(nlp)
    assert after.shape == (len(TEXTS), 4)
    assert_allclose(after[:, :3], before, atol=1e-6)
    sgd = nlp.resume_training()
    sgd.learn_rate = 0.05
    batch = examples_of(nlp)
    for _ in range(100):
        nlp.update(batch, sgd=sgd)
    for label, texts in CORPUS.items():
        assert [best(doc.cats) for doc in nlp.pipe(texts)] == [label] * 12


CONFIG = """
[paths]
train = null
dev = null

[nlp]
lang = "en"
pipeline = ["textcat"]

[components]

[components.textcat]
factory = "textcat"

[components.textcat.model]
@architectures = "spacy-multihash.TextCatEnsemble.v1"

[components.textcat.model.*.first]
@architectures = "spacy-multihash.TextCatHashEmbed.v1"
exclusive_classes = true
width = 12
rows = 200
ngram_orders = [1,2,3]
hidden = [16]
input_dropout = [4,100]
seed = 1
embed_init = {"@initializers":"uniform_init.v1","lo":-0.5,"hi":0.5}

[components.textcat.model.*.second]
@architectures = "spacy-multihash.TextCatHashEmbed.v1"
exclusive_classes = true
rows = 200
seed = 2
importance_by = "lookup"

[initialize]

[initialize.before_init]
@callbacks = "spacy-multihash.init_tables.v1"
component = "textcat"
min_freq = 2

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}

[training]
max_steps = 60
eval_frequency = 20
seed = 1

[training.optimizer]
@optimizers = "Adam.v1"
learn_rate = 0.01

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 8
"""


def test_spacy_train_makes_the_dictionary_and_trains_an_ensemble(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.spacy"
    docs = [example.reference for example in examples_of(spacy.blank("en"))]
    DocBin(docs=docs).to_disk(corpus)
    config = Config().from_str(CONFIG, interpolate=False)
    config["paths"] = {"train": str(corpus), "dev": str(corpus)}
    filled = load_model_from_config(config, auto_fill=True).config
    filled.to_disk(tmp_path / "config.cfg")
    train_cli(tmp_path / "config.cfg", tmp_path)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.meta["performance"]["cats_score"] > 0.9
    (lookup,) = nodes(model_of(nlp), "lookup_rows")
    counts = Counter(ngram for doc in docs for ngram in ngrams_of(doc, [1, 2]))
    assert len(lookup.attrs["symbols"]) == sum(count >= 2 for count in counts.values())


def test_spacy_train_learns_several_labels_at_once_by_the_config_for_them(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.spacy"
    docs = [example.reference for example in examples_of(spacy.blank("en"))]
    for doc in docs:
        doc.cats = {**doc.cats, "THE": float(any(token.lower_ == "the" for token in doc))}
    assert max(sum(doc.cats.values()) for doc in docs) == 2
    DocBin(docs=docs).to_disk(corpus)
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    small = {f"components.textcat.model.{name}": 500 for name in ("rows", "importance_rows")}
    training = {"max_steps": 60, "eval_frequency": 20, "optimizer.learn_rate": 0.05}
    overrides = {**paths, **small, **{f"training.{key}": v for key, v in training.items()}}
    train_cli(ROOT / "configs" / "textcat" / "multilabel.cfg", tmp_path, overrides=overrides)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.meta["performance"]["cats_micro_f"] > 0.9
    probabilities = probabilities_of(nlp)
    assert (abs(probabilities.sum(axis=1) - 1) > 0.1).any()
