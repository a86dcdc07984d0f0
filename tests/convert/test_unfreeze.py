"""Layers that are frozen, unfrozen from the top down, and trained at rates of their own."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
import spacy
from spacy.lang.en import English
from spacy.language import DEFAULT_CONFIG_PRETRAIN_PATH, Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config
from thinc.api import SGD, Adam, Config, Model, Optimizer, RAdam, Shim, fix_random_seed

from spacy_multihash.convert import scaled_update
from spacy_multihash.convert.model_layers import layers_of
from spacy_multihash.convert.unfreeze import make_unfreeze_v1
from tests.helpers.corpora import HASH, make_docs, small_config, write_corpus

NAME = "spacy-multihash.unfreeze.v1"
HASHES = {**HASH, "width": 8}
WINDOW = {"width": 8, "window_size": 1, "maxout_pieces": 2, "depth": 2}
OURS = {"@architectures": "spacy-multihash.MaxoutWindowEncoder.v1", **WINDOW}
THEIRS = {**OURS, "@architectures": "spacy.MaxoutWindowEncoder.v2"}
MISH = {"@architectures": "spacy.MishWindowEncoder.v2", "width": 8, "window_size": 1, "depth": 3}
DILATED = {
    "@architectures": "spacy-multihash.IteratedDilatedEncoder.v1",
    "width": 8,
    "dilations": [1, 2],
    "repeats": 2,
}
CNN = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 8,
    "depth": 2,
    "embed_size": 20,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8}
TAGGER = "spacy-multihash.TokenTagger.v1"
NGRAMS = {"exclusive_classes": True, "width": 8, "nO": 2}

Weights = dict[str, list[numpy.ndarray]]


def tok2vec(encode: dict[str, Any]) -> dict[str, Any]:
    return {"@architectures": "spacy.Tok2Vec.v2", "embed": HASHES, "encode": encode}


def parser(inside: dict[str, Any]) -> dict[str, Any]:
    sizes = {"state_type": "ner", "extra_state_tokens": False, "hidden_width": 8, "nO": 8}
    sizes |= {"maxout_pieces": 2, "use_upper": True}
    return {"@architectures": "spacy.TransitionBasedParser.v2", "tok2vec": inside, **sizes}


def make_model(config: dict[str, Any]) -> Model:
    return spacy.registry.resolve({"model": config})["model"]


DOCS = make_docs()


def make_examples() -> list[Example]:
    words = [[token.text for token in doc] for doc in DOCS]
    return [Example(Doc(doc.vocab, words=w), doc) for w, doc in zip(words, DOCS, strict=True)]


def make_pipeline(kind: str) -> Language:
    """Build a pipeline whose layers are all to be trained, with the same weights each time."""
    fix_random_seed(0)
    nlp = English(DOCS[0].vocab)
    if kind == "listener":
        nlp.add_pipe("tok2vec", config={"model": CNN})
        nlp.add_pipe("ner", config={"model": {**parser(LISTENER), "nO": None}})
    elif kind == "ner":
        nlp.add_pipe("ner", config={"model": {**parser(tok2vec(OURS)), "nO": None}})
    elif kind == "batch_ner":
        nlp.add_pipe("batch_ner", config={"model": {**parser(tok2vec(THEIRS)), "nO": None}})
    else:
        model = {"@architectures": TAGGER, "tok2vec": tok2vec(DILATED)}
        nlp.add_pipe("tagger_ner", config={"model": model})
    nlp.initialize(make_examples)
    return nlp


# Each pipeline with the component whose layers are unfrozen, and their names from the top down.
COMPONENTS = {"listener": "tok2vec", "ner": "ner", "batch_ner": "batch_ner", "tagger": "tagger_ner"}
ENCODER = {"listener": 2, "ner": 2, "batch_ner": 2, "tagger": 3}


def names_of(kind: str) -> list[str]:
    encoder = [f"encode{n}" for n in range(ENCODER[kind], 0, -1)]
    return [*([] if kind == "listener" else ["output"]), *encoder, "embed"]


def weights_of(nlp: Language, component: str) -> Weights:
    layers = layers_of(nlp.get_pipe(component).model)  # type: ignore[attr-defined]
    return {
        name: [node.get_param(p).copy() for node in nodes for p in node.param_names]
        for name, nodes in layers.items()
    }


def same(one: list[numpy.ndarray], other: list[numpy.ndarray]) -> bool:
    return all(numpy.array_equal(a, b) for a, b in zip(one, other, strict=True))


def steps(
    nlp: Language, count: int, sgd: Optimizer, callback: Optional[Callable] = None, first: int = 0
) -> None:
    """Train a pipeline as `spacy train` does, on the same batch in each step."""
    for step in range(first, first + count):
        if callback is not None:
            callback(nlp, {"step": step, "epoch": step // 10})
        fix_random_seed(1)  # spaCy's ner cuts its paths at random
        nlp.update(make_examples(), sgd=False, drop=0.0)
        for _, pipe in nlp.pipeline:
            pipe.finish_update(sgd)  # type: ignore[attr-defined]
        sgd.step_schedules()


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (CNN, ["encode2", "encode1", "embed"]),
        (tok2vec(OURS), ["encode2", "encode1", "embed"]),
        (tok2vec(THEIRS), ["encode2", "encode1", "embed"]),
        (tok2vec({**OURS, "depth": 1}), ["encode1", "embed"]),
        (tok2vec({**THEIRS, "depth": 1}), ["encode1", "embed"]),
        (tok2vec(MISH), ["encode3", "encode2", "encode1", "embed"]),
        (tok2vec(DILATED), ["encode3", "encode2", "encode1", "embed"]),
        (tok2vec({**DILATED, "normalize": True}), ["encode3", "encode2", "encode1", "embed"]),
        (parser(CNN), ["output", "encode2", "encode1", "embed"]),
        (parser(LISTENER), ["layer3", "layer2", "layer1"]),
        ({"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER, "nO": 2}, ["layer1"]),
        ({"@architectures": "spacy-multihash.TextCatHashEmbed.v1", **NGRAMS}, ["layer2", "layer1"]),
    ],
)
def test_layers_have_names_from_output_to_input(config: dict[str, Any], names: list[str]) -> None:
    model = make_model(config)
    layers = layers_of(model)
    assert list(layers) == names
    nodes = [node.id for nodes in layers.values() for node in nodes]
    assert sorted(nodes) == sorted(node.id for node in model.walk() if node.param_names)


def test_layer_of_a_dilated_encoder_has_a_convolution_and_its_normalization() -> None:
    layers = layers_of(make_model(tok2vec({**DILATED, "normalize": True})))
    for number in (1, 2, 3):
        assert [node.name for node in layers[f"encode{number}"]] == ["linear", "layernorm"]


def test_layers_of_a_model_without_parameters_are_none() -> None:
    assert layers_of(make_model(LISTENER)) == {}


@pytest.mark.parametrize("kind", COMPONENTS)
def test_layers_stay_bit_by_bit_until_they_are_unfrozen(kind: str) -> None:
    nlp, component = make_pipeline(kind), COMPONENTS[kind]
    callback = make_unfreeze_v1(component, "step", start=1, every=2)
    sgd = Adam(0.01, L2=0.1)
    before = weights_of(nlp, component)
    names = names_of(kind)
    assert list(before) == names
    for step in range(2 * len(names)):
        steps(nlp, 1, sgd, callback, step)
        after = weights_of(nlp, component)
        for place, name in enumerate(names):
            assert same(before[name], after[name]) == (step < 1 + 2 * place), (step, name)
        before = after


def test_components_that_are_not_named_train_from_the_beginning() -> None:
    nlp = make_pipeline("listener")
    before = weights_of(nlp, "ner")
    steps(nlp, 2, Adam(0.01), make_unfreeze_v1(start=5))
    assert not any(same(after, before[name]) for name, after in weights_of(nlp, "ner").items())


def test_several_components_are_unfrozen_from_their_own_tops() -> None:
    nlp = make_pipeline("listener")
    before = {name: weights_of(nlp, name) for name in ("tok2vec", "ner")}
    starts = {"encode2": 0, "layer2": 9}
    callback = make_unfreeze_v1(["tok2vec", "ner"], "step", every=9, starts=starts)
    steps(nlp, 2, Adam(0.01), callback)
    changed = [
        layer
        for name, layers in before.items()
        for layer, weights in weights_of(nlp, name).items()
        if not same(weights, layers[layer])
    ]
    assert changed == ["encode2", "layer3"]


def test_epochs_unfreeze_as_steps_do() -> None:
    nlp = make_pipeline("tagger")
    callback, sgd = make_unfreeze_v1("tagger_ner"), Adam(0.01)
    before = weights_of(nlp, "tagger_ner")
    steps(nlp, 1, sgd, callback, 9)
    after = weights_of(nlp, "tagger_ner")
    assert [name for name in after if not same(before[name], after[name])] == ["output"]
    steps(nlp, 1, sgd, callback, 10)
    after = weights_of(nlp, "tagger_ner")
    assert [name for name in after if not same(before[name], after[name])] == ["output", "encode3"]


def test_nothing_is_kept_of_a_layer_while_it_is_frozen() -> None:
    nlp, sgd = make_pipeline("tagger"), Adam(0.01)
    steps(nlp, 3, sgd, make_unfreeze_v1("tagger_ner", "step", every=100))
    layers = layers_of(nlp.get_pipe("tagger_ner").model)  # type: ignore[attr-defined]
    keys = {(node.id, name) for node in layers["output"] for name in node.param_names}
    assert sgd.averages is not None
    assert {*sgd.mom1} == {*sgd.mom2} == {*sgd.averages} == {*sgd.nr_update} == keys


@pytest.mark.parametrize("make", [lambda: Adam(0.01), lambda: SGD(0.01, grad_clip=0.0)])
@pytest.mark.parametrize("kind", ["listener", "tagger"])
def test_first_step_after_the_frost_is_that_of_a_new_training(
    make: Callable[[], Optimizer], kind: str
) -> None:
    """Neither moments nor gradients have piled up."""
    late, fresh = make_pipeline(kind), make_pipeline(kind)
    components = ["tok2vec", "ner"] if kind == "listener" else "tagger_ner"
    callback = make_unfreeze_v1(components, "step", start=3, every=0)
    steps(late, 4, make(), callback)
    steps(fresh, 1, make())
    for name in [components] if isinstance(components, str) else components:
        expected = weights_of(fresh, name)
        for layer, weights in weights_of(late, name).items():
            for one, other in zip(weights, expected[layer], strict=True):
                numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_averages_of_a_layer_begin_with_its_weights() -> None:
    nlp, sgd = make_pipeline("tagger"), Adam(0.01)
    before = weights_of(nlp, "tagger_ner")
    callback = make_unfreeze_v1("tagger_ner", "step", starts={"embed": 2}, every=0)
    steps(nlp, 3, sgd, callback)
    layers = layers_of(nlp.get_pipe("tagger_ner").model)  # type: ignore[attr-defined]
    keys = [(node.id, name) for node in layers["embed"] for name in node.param_names]
    after = weights_of(nlp, "tagger_ner")["embed"]
    assert sgd.averages is not None
    for key, old, new in zip(keys, before["embed"], after, strict=True):
        decay = 2 / 11  # thinc's for the first update
        expected = decay * old + (1 - decay) * new
        numpy.testing.assert_allclose(sgd.averages[key], expected, rtol=1e-4, atol=1e-7)
    steps(nlp, 40, sgd, callback, 3)
    for key, new in zip(keys, weights_of(nlp, "tagger_ner")["embed"], strict=True):
        assert abs(sgd.averages[key] - new).max() < 0.2


def test_pipeline_with_averages_is_that_with_frozen_weights() -> None:
    nlp, sgd = make_pipeline("tagger"), Adam(0.01)
    before = weights_of(nlp, "tagger_ner")
    steps(nlp, 2, sgd, make_unfreeze_v1("tagger_ner", "step", every=100))
    with nlp.use_params(sgd.averages):
        inside = weights_of(nlp, "tagger_ner")
    assert all(same(before[name], inside[name]) for name in names_of("tagger")[1:])


# Decay takes a share of what a step leaves, and so the square of a small number.
@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (lambda: SGD(0.01), 2e-7),
        (lambda: SGD(0.01, L2=0.5), 2e-5),
        (lambda: SGD(0.01, L2=0.5, L2_is_weight_decay=False), 2e-7),
        (lambda: Adam(0.01), 2e-7),
        (lambda: Adam(0.01, L2=0.5), 2e-5),
        (lambda: RAdam(0.01), 2e-7),
        (lambda: RAdam(0.01, L2=0.5), 2e-5),
    ],
)
@pytest.mark.parametrize("kind", ["listener", "tagger"])
def test_steps_are_scaled_by_the_factor(
    make: Callable[[], Optimizer], tolerance: float, kind: str
) -> None:
    plain, scaled, component = make_pipeline(kind), make_pipeline(kind), COMPONENTS[kind]
    for nlp in (plain, scaled):
        steps(nlp, 1, Adam(0.01))  # of ner, an output layer begins with zeros
    before = weights_of(plain, component)
    steps(plain, 1, make())
    sgd = make()
    steps(scaled, 1, sgd, make_unfreeze_v1(component, every=0, factor=0.5))
    assert sgd.learn_rate == 0.01
    whole, part = weights_of(plain, component), weights_of(scaled, component)
    for place, name in enumerate(names_of(kind)):
        assert not same(before[name], whole[name])
        for old, new, other in zip(before[name], whole[name], part[name], strict=True):
            expected = (new - old) * 0.5**place
            numpy.testing.assert_allclose(other - old, expected, atol=tolerance)


def test_moments_are_those_without_a_factor() -> None:
    plain, scaled, component = make_pipeline("tagger"), make_pipeline("tagger"), "tagger_ner"
    optimizers = [Adam(0.01), Adam(0.01)]
    steps(plain, 1, optimizers[0])
    steps(scaled, 1, optimizers[1], make_unfreeze_v1(component, every=0, factor=0.4))
    moments = [list(each.mom1.values()) + list(each.mom2.values()) for each in optimizers]
    assert len(moments[0]) > 10
    for one, other in zip(*moments, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_single_layers_have_starts_and_factors_of_their_own() -> None:
    nlp, plain = make_pipeline("tagger"), make_pipeline("tagger")
    before = weights_of(nlp, "tagger_ner")
    callback = make_unfreeze_v1(
        "tagger_ner",
        "step",
        every=0,
        factor=0.5,
        starts={"encode2": 1},
        factors={"embed": 0.1, "encode3": 0},
    )
    steps(nlp, 1, SGD(0.01), callback)
    steps(plain, 1, SGD(0.01))
    whole, part = weights_of(plain, "tagger_ner"), weights_of(nlp, "tagger_ner")
    factors = {"output": 1, "encode3": 0, "encode2": 0, "encode1": 0.5**3, "embed": 0.1}
    for name, factor in factors.items():
        for old, new, other in zip(before[name], whole[name], part[name], strict=True):
            numpy.testing.assert_allclose(other - old, (new - old) * factor, atol=2e-7)


def test_parameters_of_other_libraries_are_scaled_and_frozen() -> None:
    class Torch(Shim):
        """A shim with one parameter, updated as PyTorch's are."""

        weights = numpy.ones(2, dtype="float32")
        gradient = numpy.ones(2, dtype="float32")

        def finish_update(self, optimizer: Any) -> None:
            self.weights, self.gradient = optimizer((self.id, "w"), self.weights, self.gradient)

    nlp, shim = spacy.blank("en"), Torch(None)
    ner = nlp.add_pipe("ner")
    model: Model = Model("wrapper", lambda *_: None, shims=[shim])
    ner.model = model  # type: ignore[attr-defined]
    callback = make_unfreeze_v1("ner", "step", start=1, factors={"layer1": 0.5})
    for step, expected in enumerate((1.0, 0.75)):
        callback(nlp, {"step": step, "epoch": 0})
        shim.gradient = numpy.full(2, 0.5, dtype="float32")
        ner.finish_update(SGD(1.0, grad_clip=0.0))  # type: ignore[attr-defined]
        assert shim.weights.tolist() == [expected] * 2
        assert shim.gradient.tolist() == [0, 0]


def test_nothing_of_the_callback_stays_in_a_trained_pipeline() -> None:
    nlp = make_pipeline("listener")
    steps(nlp, 2, Adam(0.01), make_unfreeze_v1(["tok2vec", "ner"], every=0, factor=0.4))
    assert {type(pipe.model) for _, pipe in nlp.pipeline} == {Model}  # type: ignore[attr-defined]
    assert scaled_update._NEXT == {}


def test_pipeline_between_callback_and_update_can_be_saved_and_copied(tmp_path: Path) -> None:
    nlp = make_pipeline("tagger")
    make_unfreeze_v1("tagger_ner")(nlp, {"step": 0, "epoch": 0})
    nlp.to_disk(tmp_path / "model")
    model = nlp.get_pipe("tagger_ner").model  # type: ignore[attr-defined]
    loaded = spacy.load(tmp_path / "model").get_pipe("tagger_ner").model  # type: ignore[attr-defined]
    assert loaded.to_bytes() == model.to_bytes()
    assert type(model.copy()) is type(loaded) is Model
    nlp.update(make_examples(), sgd=Adam(0.01))
    assert type(model) is Model


@pytest.mark.parametrize("kind", ["tagger", "listener"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_between_callback_and_update_are_updated_as_others_are(
    copied: Callable[[Model], Model], kind: str
) -> None:
    nlp, component = make_pipeline(kind), COMPONENTS[kind]
    model = nlp.get_pipe(component).model  # type: ignore[attr-defined]
    make_unfreeze_v1(component, start=1)(nlp, {"step": 0, "epoch": 0})
    twin = copied(model)
    assert type(twin) is Model and type(model) is not Model
    node = next(node for node in twin.walk() if node.param_names)
    (name, *_), before = node.param_names, node.get_param(node.param_names[0]).copy()
    node.set_grad(name, numpy.ones_like(before))
    twin.finish_update(SGD(0.01, grad_clip=0.0))
    assert not numpy.array_equal(node.get_param(name), before)
    assert id(model) in scaled_update._NEXT
    scaled_update._NEXT.clear()


@pytest.mark.parametrize("config", [{}, {"model": {"learn_transitions": True}}])
@pytest.mark.parametrize("name", ["ner", "batch_ner", "tagger_ner"])
def test_new_label_in_an_update_leaves_layers_that_are_frozen(
    name: str, config: dict[str, Any]
) -> None:
    nlp = English()
    nlp.add_pipe(name, config=config if name == "tagger_ner" else {})
    old, new = (
        Example.from_dict(nlp.make_doc("Ann went to Rome"), {"entities": [entity]})
        for entity in ((0, 3, "PER"), (12, 16, "LOC"))
    )
    nlp.initialize(lambda: [old])
    nlp.update([old], sgd=Adam(0.01))  # no row is of zeros then
    before = weights_of(nlp, name)
    make_unfreeze_v1(name, start=2)(nlp, {"step": 1, "epoch": 0})
    nlp.update([new], sgd=Adam(0.01))
    after = weights_of(nlp, name)
    sizes = [sum(param.size for param in weights["output"]) for weights in (before, after)]
    assert sizes[0] < sizes[1]
    for layer, params in before.items():
        assert all(map(numpy.all, map(numpy.isin, params, after[layer]))), layer


def test_rates_of_an_update_that_failed_hold_for_the_next_one() -> None:
    nlp = make_pipeline("tagger")
    before = weights_of(nlp, "tagger_ner")
    make_unfreeze_v1("tagger_ner", start=1)(nlp, {"step": 0, "epoch": 0})
    with pytest.raises(TypeError, match=r"\[E978\]"):
        nlp.update([None], sgd=Adam(0.01))
    for is_frozen in (True, False):
        nlp.update(make_examples(), sgd=Adam(0.01))
        after = weights_of(nlp, "tagger_ner")
        assert {same(before[name], after[name]) for name in before} == {is_frozen}


def config_of(tmp_path: Path, **callback: Any) -> Config:
    path = write_corpus(tmp_path / "train.spacy", make_docs(5))
    config = small_config(path, dict[str, Any](HASH))
    config["training"].update(max_steps=6, eval_frequency=3)
    config["training"]["before_update"] = {"@callbacks": NAME, "unit": "step", **callback}
    return config


def train_quietly(config: Config, tmp_path: Path) -> Language:
    (tmp_path / "model").mkdir(exist_ok=True)
    with (tmp_path / "out.txt").open("w") as out:
        nlp, _ = train(init_nlp(config), tmp_path / "model", stdout=out, stderr=out)
    return nlp


def test_pretrained_weights_stay_until_they_are_unfrozen(tmp_path: Path) -> None:
    """As `spacy pretrain` writes them, and [initialize] init_tok2vec reads them."""
    config = config_of(tmp_path, start=1000, starts={"encode1": 4})
    other = init_nlp(small_config(tmp_path / "train.spacy", dict[str, Any](HASH)))
    for node in other.get_pipe("tok2vec").model.walk():  # type: ignore[attr-defined]
        for name in node.param_names:
            node.set_param(name, node.get_param(name) + 0.5)
    pretrained = weights_of(other, "tok2vec")
    (tmp_path / "weights.bin").write_bytes(other.get_pipe("tok2vec").model.to_bytes())  # type: ignore[attr-defined]
    config["initialize"]["init_tok2vec"] = str(tmp_path / "weights.bin")
    config["pretraining"] = load_config(DEFAULT_CONFIG_PRETRAIN_PATH)["pretraining"]
    nlp = train_quietly(config, tmp_path)
    found = weights_of(nlp, "tok2vec")
    assert same(found["embed"], pretrained["embed"])
    assert not same(found["encode1"], pretrained["encode1"])
    loaded = weights_of(spacy.load(tmp_path / "model" / "model-last"), "tok2vec")
    assert same(loaded["embed"], pretrained["embed"])


def test_sourced_components_train_on_layer_by_layer(tmp_path: Path) -> None:
    config = config_of(tmp_path, starts={"encode1": 2, "embed": 1000}, factor=0.4)
    init_nlp(config).to_disk(tmp_path / "source")
    sourced = weights_of(spacy.load(tmp_path / "source"), "tok2vec")
    for name in ("tok2vec", "ner"):
        config["components"][name] = {"source": str(tmp_path / "source")}
    found = weights_of(train_quietly(config, tmp_path), "tok2vec")
    assert same(found["embed"], sourced["embed"])
    assert not same(found["encode1"], sourced["encode1"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"component": []}, r"component must be the name of a component, .* was: \[\]"),
        ({"component": 3}, "component must be the name of a component, .* was: 3"),
        ({"unit": "batch"}, "unit must be one of epoch, step, was: 'batch'"),
        ({"start": -1}, "start must be a whole number from 0 on, was: -1"),
        ({"every": 0.5}, "every must be a whole number from 0 on, was: 0.5"),
        ({"factor": 1.1}, "factor must be a number from 0 to 1, was: 1.1"),
        ({"factor": -0.4}, "factor must be a number from 0 to 1, was: -0.4"),
        ({"starts": {"embed": "2"}}, "starts.embed must be a whole number from 0 on, was: '2'"),
        ({"factors": {"embed": 2}}, "factors.embed must be a number from 0 to 1, was: 2"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"{NAME}: {message}"):
        make_unfreeze_v1(**settings)


def first_step(nlp: Language, **settings: Any) -> None:
    make_unfreeze_v1(**settings)(nlp, {"step": 0, "epoch": 0})


def test_unknown_component_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no component 'tok2vex'; it has: tok2vec, ner"):
        first_step(make_pipeline("listener"), component="tok2vex")


@pytest.mark.parametrize("setting", ["starts", "factors"])
def test_unknown_layer_is_refused_with_those_there_are(setting: str) -> None:
    with pytest.raises(
        ValueError, match="no layer 'encode9' in 'tok2vec'; there are: encode2, encode1, embed"
    ):
        first_step(make_pipeline("listener"), **{setting: {"embed": 1, "encode9": 1}})


def test_component_without_parameters_is_refused() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler")
    with pytest.raises(ValueError, match="'entity_ruler' has no parameters to train"):
        first_step(nlp, component="entity_ruler")


def test_component_that_is_disabled_is_refused() -> None:
    nlp = make_pipeline("listener")
    nlp.disable_pipe("ner")
    with pytest.raises(ValueError, match=r"'ner' is never updated, since \[nlp\] disabled has it"):
        first_step(nlp, component="ner")
    assert type(nlp.get_pipe("ner").model) is Model  # type: ignore[attr-defined]


@pytest.mark.parametrize("frozen", [["tok2vec"], "${vars.frozen}"])
def test_component_that_is_not_updated_is_refused(frozen: Any) -> None:
    nlp = make_pipeline("listener")
    nlp.config["vars"] = {"frozen": ["tok2vec"]}
    nlp.config["training"]["frozen_components"] = frozen
    with pytest.raises(ValueError, match="'tok2vec' is never updated, since .* frozen_components"):
        first_step(nlp)
