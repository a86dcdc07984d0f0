"""spaCy's ner, parser and attribute_ruler in a pipeline, replaced by ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.pipeline import AttributeRuler, DependencyParser, EntityRecognizer
from thinc.api import Maxout, Model, NumpyOps, chain, noop, with_array

from spacy_multihash import (
    Acceleration,
    BatchDependencyParser,
    BatchEntityRecognizer,
    IndexedAttributeRuler,
    accelerate,
)
from spacy_multihash.compute.ops import KernelOps, use_kernel_ops
from spacy_multihash.pipelines.weights import is_same
from tests.helpers.spacy_pipelines import (
    CNN,
    LISTENER,
    TEXTS,
    TOK2VEC,
    build,
    gold,
    make,
    ner,
    predictions,
    tagger,
    with_listener,
)
from tests.helpers.tagger_ner import randomize

Settings = dict[str, Any]
OURS = {"ner": BatchEntityRecognizer, "parser": BatchDependencyParser}


def component(kind: str, tok2vec: Settings = CNN, **settings: Any) -> Settings:
    """A ner or a parser. Settings of its model have a name with "model_" in front."""
    ours = {key.removeprefix("model_"): settings[key] for key in settings if "model_" in key}
    model = {**ner(tok2vec)["model"], "state_type": kind, **ours}
    own = {key: value for key, value in settings.items() if "model_" not in key}
    frequency = {"min_action_freq": 1} if kind == "parser" else {}
    return {"factory": kind, "model": model, **frequency, **own}


def drawn(components: Settings) -> Language:
    """A pipeline whose components have such weights that they predict all kinds of things."""
    nlp = build(components)
    for _, pipe in nlp.components:
        if isinstance(pipe, DependencyParser):
            for label in ("nsubj", "dobj", "dep"):
                pipe.add_label(label)
            pipe.model.attrs["unseen_classes"].clear()
        if isinstance(pipe, (EntityRecognizer, DependencyParser)):
            randomize(pipe.model)
    return nlp


def left(done: Acceleration) -> list[tuple[str, str, str]]:
    return [(e.component, e.name, e.reason) for e in done.left if e.path == "factory"]


def replaced(done: Acceleration) -> list[tuple[str, str, str]]:
    return [(e.component, e.before, e.after) for e in done.replaced if e.path == "factory"]


def pipe(nlp: Language, name: str) -> Any:
    return dict(nlp.components)[name]


V1 = "TransitionBasedParser.v1"


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tok2vec": LISTENER},
        {"model_use_upper": False},
        {"model_extra_state_tokens": True, "model_maxout_pieces": 3},
        {"model_@architectures": f"spacy.{V1}"},
        {"model_@architectures": f"spacy-legacy.{V1}"},
        {"update_with_oracle_cut_size": 7},
        {"factory": "beam", "beam_width": 1},
    ],
    ids=["own", "listener", "no upper", "more tokens", "v1", "legacy", "settings", "beam of 1"],
)
def test_predictions_stay_and_so_do_the_settings(
    kind: str, settings: Settings, tmp_path: Path
) -> None:
    if "factory" in settings:
        settings = {**settings, "factory": f"beam_{kind}"}
    components = {"it": component(kind, **settings), "ner": component("ner")}
    nlp = drawn(with_listener(**components) if "tok2vec" in settings else components)
    expected, config = predictions(nlp), nlp.config.copy()["components"]["it"]
    assert len({str(prediction) for prediction in expected}) > 5
    old = pipe(nlp, "it")
    done = accelerate(nlp)
    assert left(done) == []
    of_it = ("it", config["factory"], f"batch_{kind}")
    assert replaced(done) == [of_it, ("ner", "ner", "batch_ner")]
    new = pipe(nlp, "it")
    assert new.model is old.model and new.labels == old.labels
    assert (new.moves, new.cfg, new.scorer) == (old.moves, old.cfg, old.scorer)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for pipeline in (nlp, loaded):
        assert predictions(pipeline) == expected
        assert type(pipe(pipeline, "it")) is OURS[kind]
        now = pipeline.config["components"]["it"]
        kept = set(config) - {"factory", "model"}
        assert {key: now[key] for key in kept} == {key: config[key] for key in kept}
        assert pipe(pipeline, "it").cfg["beam_width"] == 1
    again = accelerate(loaded)
    assert ("it", "factory", f"batch_{kind}", "") in again.already
    assert replaced(again) == left(again) == []
    if "tok2vec" in settings:
        docs = loaded.pipe(TEXTS, n_process=2, batch_size=2)
        assert [[t.dep_ for t in doc] for doc in docs] == [
            [token[2] for token in tokens] for tokens, _ in expected
        ]


@pytest.mark.parametrize("use_upper", [True, False])
def test_layers_and_rehearsal_are_those_of_before(use_upper: bool) -> None:
    # Without upper, spaCy's constructor replaces lower by another layer with the same weights.
    nlp = build({"ner": component("ner", model_use_upper=use_upper)})
    nlp.resume_training()
    old = pipe(nlp, "ner")
    lower = old.model.get_ref("lower")
    accelerate(nlp)
    new = pipe(nlp, "ner")
    assert new.model.get_ref("lower") is lower
    assert new._rehearsal_model is old._rehearsal_model is not None
    assert new._multitasks is old._multitasks
    assert nlp.rehearse(gold(nlp), losses={})["ner"] >= 0
    assert nlp.meta["labels"]["ner"] == list(old.labels)


@pytest.mark.parametrize("kind", OURS)
def test_component_stays_if_it_is_to_be_kept(kind: str) -> None:
    nlp = build({"it": component(kind), "tagger": tagger(TOK2VEC)})
    old, config = pipe(nlp, "it"), nlp.config.copy()["components"]["it"]
    done = accelerate(nlp, **{f"keep_{kind}": True})
    assert pipe(nlp, "it") is old and replaced(done) == left(done) == []
    assert nlp.config["components"]["it"]["factory"] == config["factory"]
    assert len(done.replaced) == 3
    assert replaced(accelerate(nlp)) == [("it", kind, f"batch_{kind}")]
    with pytest.raises(ValueError, match=f"no {kind} of spaCy's to keep"):
        accelerate(nlp, **{f"keep_{kind}": True})


def test_place_and_disabled_components_stay(tmp_path: Path) -> None:
    ruler = {"factory": "attribute_ruler", "validate": True}
    nlp = build({"ner": ner(CNN), "ruler": ruler, "second": ner(CNN)})
    rules = pipe(nlp, "ruler")
    rules.add([[{"LOWER": "anna"}]], {"LEMMA": "A."})
    rules.scorer = lambda examples, **settings: {}
    nlp.rename_pipe("second", "other")
    nlp.disable_pipe("other")
    expected = predictions(nlp)
    assert expected[0][0][0][3] == "A."
    names = ("attribute_ruler", "indexed_attribute_ruler")
    assert {("other", "ner", "batch_ner"), ("ruler", *names)} <= {*replaced(accelerate(nlp))}
    assert pipe(nlp, "ruler").scorer is rules.scorer
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        assert pipeline.component_names == ["ner", "ruler", "other"]
        assert pipeline.disabled == ["other"]
        assert predictions(pipeline) == expected
        assert type(pipe(pipeline, "ruler")) is IndexedAttributeRuler
        assert pipe(pipeline, "ruler").validate
        pipeline.enable_pipe("other")
        assert predictions(pipeline)


def test_source_in_memory_keeps_its_ner_and_its_entities() -> None:
    source = drawn({"ner": ner(CNN)})
    expected = predictions(source)
    target = spacy.blank("en")
    target.add_pipe("ner", source=source)
    accelerate(target)
    assert type(pipe(source, "ner")) is EntityRecognizer
    assert predictions(source) == predictions(target) == expected


def test_listeners_and_the_analysis_of_pipes_know_the_new_component() -> None:
    nlp = drawn(with_listener(ner=ner(LISTENER)))
    accelerate(nlp)
    tok2vec = pipe(nlp, "tok2vec")
    assert tok2vec.listening_components == ["tagger", "ner"]
    analysis: Any = nlp.analyze_pipes()
    summary = analysis["summary"]["ner"]
    assert {"doc.ents", "doc.spans"} <= set(summary["assigns"])
    assert "ents_f" in summary["scores"]
    assert nlp.config["training"]["score_weights"]["ents_f"] == pytest.approx(0.5)
    expected = predictions(nlp)
    nlp.replace_listeners("tok2vec", "ner", ["model.tok2vec"])
    assert tok2vec.listening_components == ["tagger"]
    assert predictions(nlp) == expected


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize(
    "settings", [{}, {"maxout_pieces": 1}, {"use_upper": False}, {"hidden_width": 13}]
)
def test_spacys_parser_predicts_the_same_with_our_products(settings: Settings) -> None:
    model = {f"model_{name}": value for name, value in settings.items()}
    nlp = drawn({"it": component("parser", **model)})
    expected = predictions(nlp)
    use_kernel_ops(pipe(nlp, "it").model)
    assert predictions(nlp) == expected
    rng = numpy.random.default_rng(0)
    table = rng.normal(size=(7, 5)).astype("float32")
    rows = rng.integers(0, 7, size=(9, 3)).astype("int32")
    sums = (ops.gather_add(table, rows) for ops in (KernelOps(), NumpyOps()))  # C calls it, too
    numpy.testing.assert_array_equal(*sums)


# What is left


class OwnNER(EntityRecognizer):
    """A recognizer of somebody else."""


class OwnRuler(AttributeRuler):
    """A ruler of somebody else."""


@Language.factory("spacy_multihash_tests_own_ner")
def make_own_ner(nlp: Language, name: str, model: Model) -> OwnNER:
    return OwnNER(nlp.vocab, model, name)


@Language.factory("spacy_multihash_tests_own_ruler")
def make_own_ruler(nlp: Language, name: str) -> OwnRuler:
    return OwnRuler(nlp.vocab)


@Language.factory("spacy_multihash_tests_other_factory")
def make_other(nlp: Language, name: str, model: Model, sure: bool = True) -> EntityRecognizer:
    return EntityRecognizer(nlp.vocab, model, name)


@spacy.registry.architectures("spacy_multihash_tests.Parser.v1")
def build_parser(width: int) -> Model:
    parser = {**ner({**CNN, "width": width})["model"], "nO": None}
    return spacy.registry.resolve({"parser": parser})["parser"]


@spacy.registry.architectures("spacy_multihash_tests.Unsized.v1")
def build_unsized(tok2vec: Model) -> Model:
    return chain(with_array(Maxout()), tok2vec)


OTHER_MODEL = {"@architectures": "spacy_multihash_tests.Parser.v1", "width": 8}


@pytest.mark.filterwarnings(r"ignore:\[W036\]")  # spaCy's, of a ruler without patterns
@pytest.mark.parametrize(
    ("components", "expected"),
    [
        (component("ner", factory="beam_ner", beam_width=4), "with beam_width = 4, batch_ner"),
        (component("parser", factory="beam_parser", beam_width=4), "beam_width = 4, batch_parser"),
        (component("ner", factory="spacy_multihash_tests_own_ner"), f"it is a {__name__}.OwnNER"),
        ({"factory": "spacy_multihash_tests_own_ruler"}, "not spaCy's AttributeRuler"),
        (component("ner", factory="spacy_multihash_tests_other_factory"), "its factory is another"),
        ({"factory": "ner", "model": OTHER_MODEL}, "its model is not a spacy.TransitionBasedPars"),
        (component("ner", model_state_type="parser"), "by 8 tokens, and batch_ner by 3 or 6"),
        (component("parser", model_state_type="ner"), "by 3 tokens, and batch_parser by 8 or 13"),
    ],
)
def test_component_is_left_with_the_reason(
    components: Settings, expected: str, tmp_path: Path
) -> None:
    nlp = build({"it": components})
    old, predicted = pipe(nlp, "it"), predictions(nlp)
    ((_, factory, reason),) = left(accelerate(nlp))
    assert factory == components["factory"] and expected in reason
    assert pipe(nlp, "it") is old
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        assert pipeline.config["components"]["it"]["factory"] == factory
        assert predictions(pipeline) == predicted


def test_layers_beside_one_without_sizes_are_replaced() -> None:
    tok2vec = {"@architectures": "spacy_multihash_tests.Unsized.v1", "tok2vec": CNN}
    nlp = make({"it": tagger(tok2vec)})
    assert [section.path for section in accelerate(nlp).replaced] == ["model.tok2vec.tok2vec"]


def other_upper(model: Model) -> None:
    upper = model.get_ref("upper")
    wrapped = chain(upper, noop())
    model.layers[-1] = wrapped
    model.set_ref("upper", wrapped)


def other_sizes(model: Model) -> None:
    model.get_ref("lower")._dims["nP"] = 3


@pytest.mark.parametrize("change", [other_upper, other_sizes])
def test_model_that_code_has_changed_is_left(change: Callable[[Model], None]) -> None:
    nlp = build({"ner": ner(CNN)})
    change(pipe(nlp, "ner").model)
    assert left(accelerate(nlp)) == [("ner", "ner", "its model is not built as the config says")]


WRONG = (numpy.ones(2), numpy.array(7), [numpy.ones(2)], "x", {}, None)


def test_attrs_of_another_type_are_left(tmp_path: Path) -> None:
    drawn({"ner": component("ner", TOK2VEC)}).to_disk(tmp_path)
    path, tried = tmp_path / "ner" / "model", set[str]()
    data = path.read_bytes()
    for number, attrs in enumerate(srsly.msgpack_loads(data)["attrs"]):
        for attr in attrs.keys() - tried:
            tried.add(attr)
            message = srsly.msgpack_loads(data)
            message["attrs"][number][attr] = srsly.msgpack_dumps(numpy.ones(2))
            path.write_bytes(srsly.msgpack_dumps(message))
            done = accelerate(spacy.load(tmp_path))
            assert bool(done.left) == (attr not in ("dropout_rate", "receptive_field")), attr
    assert tried >= {"columns", "dropout_rate", "has_upper", "pad", "seed", "window_size"}


@pytest.mark.parametrize("expected", [3, True, 0.5, "a", ["a"]])
def test_attrs_are_compared_whatever_they_are(expected: Any) -> None:
    assert is_same(expected, expected)
    assert not any(is_same(value, expected) for value in WRONG)


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("key", ["beam_width", "beam_density", "learn_tokens"])
def test_component_with_a_wrong_setting_in_cfg_is_left(kind: str, key: str) -> None:
    for value in WRONG:
        nlp = drawn({kind: component(kind)})
        pipe(nlp, kind).cfg[key] = value
        ((_, _, reason),) = left(accelerate(nlp))
        assert key in reason
    nlp = drawn({kind: component(kind)})
    del pipe(nlp, kind).cfg[key]
    assert left(accelerate(nlp)) != []


def test_failure_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*settings: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("spacy_multihash.pipelines.change.keep_variables", fail)
    nlp = build(with_listener(ner=ner(LISTENER)))
    before, config, old = nlp.to_bytes(), nlp.config.to_str(), pipe(nlp, "ner")
    layers = list(old.model.walk())
    with pytest.raises(RuntimeError, match="out of memory"):
        accelerate(nlp)
    assert pipe(nlp, "ner") is old
    assert all(map(object.__eq__, layers, old.model.walk()))
    assert (nlp.to_bytes(), nlp.config.to_str()) == (before, config)
    assert nlp.get_pipe_meta("ner").factory == "ner"
