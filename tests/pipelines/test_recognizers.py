"""spaCy's ner in a pipeline, replaced by batch_ner."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from thinc.api import Model, chain, noop

from spacy_multihash.ner.transition.component import BatchEntityRecognizer
from spacy_multihash.pipelines.accelerate import Acceleration, accelerate
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


def recognizer(**settings: Any) -> Settings:
    """A ner of its own vectors, with settings of its model."""
    config = ner(CNN)
    return {**config, "model": {**config["model"], **settings}}


def beam(width: int) -> Settings:
    return {**ner(CNN), "factory": "beam_ner", "beam_width": width, "beam_density": 0.02}


def drawn(components: Settings) -> Language:
    """A pipeline whose recognizers have such weights that they find entities of all lengths."""
    nlp = build(components)
    for _, component in nlp.components:
        if isinstance(component, EntityRecognizer):
            randomize(component.model)
    return nlp


def left(done: Acceleration) -> list[tuple[str, str, str]]:
    """The recognizers that were left, and why."""
    return [(e.component, e.name, e.reason) for e in done.left if e.path == "factory"]


def replaced(done: Acceleration) -> list[tuple[str, str, str]]:
    return [(e.component, e.before, e.after) for e in done.replaced if e.path == "factory"]


def pipe(nlp: Language, name: str = "ner") -> Any:
    return dict(nlp.components)[name]


def entities(nlp: Language) -> int:
    return sum(len(doc.ents) for doc in nlp.pipe(TEXTS))


@pytest.fixture(scope="module")
def stored() -> bytes:
    return drawn(with_listener(ner=ner(LISTENER))).to_bytes()


@pytest.fixture
def nlp(stored: bytes) -> Language:
    return make(with_listener(ner=ner(LISTENER))).from_bytes(stored)


@pytest.mark.parametrize(
    "components",
    [
        with_listener(ner=ner(LISTENER)),
        {"ner": recognizer(use_upper=False)},
        {"ner": recognizer(extra_state_tokens=True, maxout_pieces=3)},
        {"ner": recognizer(**{"@architectures": "spacy.TransitionBasedParser.v1"})},
        {"ner": recognizer(**{"@architectures": "spacy-legacy.TransitionBasedParser.v1"})},
        {"ner": {**ner(CNN), "update_with_oracle_cut_size": 7, "incorrect_spans_key": "wrong"}},
        {"ner": beam(1)},
        {"one": ner(CNN), "two": ner(TOK2VEC)},
    ],
    ids=["listener", "no upper", "6 tokens", "v1", "legacy", "settings", "beam of 1", "two"],
)
def test_entities_stay_and_so_do_the_settings(components: Settings, tmp_path: Path) -> None:
    nlp = drawn(components)
    expected, config = predictions(nlp), nlp.config.copy()["components"]
    assert entities(nlp) > 3
    done = accelerate(nlp)
    assert left(done) == []
    names = [name for name in components if name not in ("tok2vec", "tagger")]
    factories = [components[name]["factory"] for name in names]
    assert replaced(done) == [(n, f, "batch_ner") for n, f in zip(names, factories, strict=True)]
    nlp.to_disk(tmp_path / "nlp")
    for pipeline in (nlp, spacy.load(tmp_path / "nlp")):
        assert predictions(pipeline) == expected
        assert pipeline.component_names == list(components)
        for name in names:
            assert type(pipe(pipeline, name)) is BatchEntityRecognizer
            assert pipe(pipeline, name).name == name
            new = pipeline.config["components"][name]
            assert new["factory"] == "batch_ner"
            kept = set(config[name]) - {"factory", "model"}
            assert {key: new[key] for key in kept} == {key: config[name][key] for key in kept}
            assert pipe(pipeline, name).cfg["update_with_oracle_cut_size"] == new.get(
                "update_with_oracle_cut_size"
            )


@pytest.mark.parametrize("use_upper", [True, False])
def test_model_actions_and_settings_are_those_of_before(use_upper: bool) -> None:
    # Without upper, spaCy's constructor replaces lower by another layer with the same weights.
    nlp = build({"ner": recognizer(use_upper=use_upper)})
    nlp.resume_training()
    old = pipe(nlp)
    lower = old.model.get_ref("lower")
    accelerate(nlp)
    new = pipe(nlp)
    assert new.model is old.model
    assert new.model.get_ref("lower") is lower
    assert new._rehearsal_model is old._rehearsal_model is not None
    assert new._multitasks is old._multitasks
    assert nlp.rehearse(gold(nlp), losses={})["ner"] >= 0
    assert (new.moves, new.cfg, new.scorer) == (old.moves, old.cfg, old.scorer)
    assert new.labels == old.labels
    assert nlp.meta["labels"]["ner"] == list(old.labels)


def test_ner_stays_if_it_is_to_be_kept(nlp: Language) -> None:
    old, config = pipe(nlp), nlp.config.copy()["components"]["ner"]
    done = accelerate(nlp, keep_ner=True)
    assert pipe(nlp) is old
    assert nlp.config["components"]["ner"] == config
    assert replaced(done) == left(done) == []
    assert len(done.replaced) == 2
    assert replaced(accelerate(nlp)) == [("ner", "ner", "batch_ner")]


# What the pipeline keeps of its components


def test_place_and_disabled_components_stay(tmp_path: Path) -> None:
    nlp = build({"ner": ner(CNN), "tagger": tagger(TOK2VEC), "second": ner(CNN)})
    nlp.rename_pipe("second", "other")
    nlp.disable_pipe("other")
    expected = predictions(nlp)
    paths = {(entry.component, entry.path) for entry in accelerate(nlp).replaced}
    assert {("other", "model.tok2vec"), ("other", "factory")} <= paths
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        assert pipeline.component_names == ["ner", "tagger", "other"]
        assert pipeline.disabled == ["other"]
        assert predictions(pipeline) == expected
        assert pipeline.pipe_factories["other"] == "batch_ner"
        pipeline.enable_pipe("other")
        assert predictions(pipeline)


def test_source_in_memory_keeps_its_ner_and_its_entities() -> None:
    source = drawn({"ner": ner(CNN)})
    expected = predictions(source)
    target = spacy.blank("en")
    target.add_pipe("ner", source=source)
    accelerate(target)
    assert type(pipe(source)) is EntityRecognizer
    assert predictions(source) == predictions(target) == expected


def test_listeners_and_the_analysis_of_pipes_know_the_new_component(nlp: Language) -> None:
    accelerate(nlp)
    tok2vec: Any = pipe(nlp, "tok2vec")
    assert tok2vec.listening_components == ["tagger", "ner"]
    analysis: Any = nlp.analyze_pipes()
    summary = analysis["summary"]["ner"]
    assert {"doc.ents", "doc.spans"} <= set(summary["assigns"])
    assert "ents_f" in summary["scores"]
    assert nlp.config["training"]["score_weights"]["ents_f"] == pytest.approx(0.5)
    nlp.replace_listeners("tok2vec", "ner", ["model.tok2vec"])
    assert tok2vec.listening_components == ["tagger"]
    assert entities(nlp) > 3


# What is left


class Own(EntityRecognizer):
    """A recognizer of somebody else."""


@Language.factory("spacy_multihash_tests_own_ner")
def make_own(nlp: Language, name: str, model: Model) -> Own:
    return Own(nlp.vocab, model, name)


@Language.factory("spacy_multihash_tests_other_factory")
def make_other(nlp: Language, name: str, model: Model, sure: bool = True) -> EntityRecognizer:
    return EntityRecognizer(nlp.vocab, model, name)


@spacy.registry.architectures("spacy_multihash_tests.Parser.v1")
def build_parser(width: int) -> Model:
    tok2vec = {**CNN, "width": width}
    parser = {**ner(tok2vec)["model"], "nO": None}
    return spacy.registry.resolve({"parser": parser})["parser"]


OTHER_MODEL = {
    "factory": "ner",
    "model": {"@architectures": "spacy_multihash_tests.Parser.v1", "width": 8},
}


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (beam(4), "with beam_width = 4, batch_ner predicts by spaCy's code, and is no faster"),
        (
            {**ner(CNN), "factory": "spacy_multihash_tests_own_ner"},
            f"it is a {__name__}.Own, and not spaCy's EntityRecognizer",
        ),
        (
            {**ner(CNN), "factory": "spacy_multihash_tests_other_factory"},
            "its factory is another than spaCy's ner and beam_ner",
        ),
        (OTHER_MODEL, "its model is not a spacy.TransitionBasedParser"),
        (
            recognizer(state_type="parser"),
            "it scores states by 8 tokens, and batch_ner by 3 or 6 (state_type = ner)",
        ),
    ],
    ids=["beam", "subclass", "factory", "architecture", "parser"],
)
def test_recognizer_is_left_with_the_reason(
    component: Settings, expected: str, tmp_path: Path
) -> None:
    nlp = build({"ner": component})
    old, predicted = pipe(nlp), predictions(nlp)
    done = accelerate(nlp)
    assert left(done) == [("ner", component["factory"], expected)]
    assert pipe(nlp) is old
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        assert pipeline.config["components"]["ner"]["factory"] == component["factory"]
        assert predictions(pipeline) == predicted


def other_upper(model: Model) -> None:
    upper = model.get_ref("upper")
    wrapped = chain(upper, noop())
    model.layers[-1] = wrapped
    model.set_ref("upper", wrapped)


def other_sizes(model: Model) -> None:
    model.get_ref("lower")._dims["nP"] = 3


@pytest.mark.parametrize("change", [other_upper, other_sizes])
def test_model_that_code_has_changed_is_left(
    nlp: Language, change: Callable[[Model], None]
) -> None:
    change(pipe(nlp).model)
    assert left(accelerate(nlp)) == [("ner", "ner", "its model is not built as the config says")]


def test_failure_changes_nothing(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*settings: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("spacy_multihash.pipelines.change.keep_variables", fail)
    before, config, old = nlp.to_bytes(), nlp.config.to_str(), pipe(nlp)
    layers = list(old.model.walk())
    with pytest.raises(RuntimeError, match="out of memory"):
        accelerate(nlp)
    assert pipe(nlp) is old
    assert all(map(object.__eq__, layers, old.model.walk()))
    assert (nlp.to_bytes(), nlp.config.to_str()) == (before, config)
    assert nlp.get_pipe_meta("ner").factory == "ner"
