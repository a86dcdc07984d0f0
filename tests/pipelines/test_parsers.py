"""spaCy's parser in a pipeline, replaced by batch_parser."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.pipeline import DependencyParser
from thinc.api import Model

from spacy_multihash import Acceleration, BatchDependencyParser, accelerate
from tests.helpers.spacy_pipelines import CNN, LISTENER, TEXTS, build, ner, predictions, tagger

Settings = dict[str, Any]


def parser(tok2vec: Settings = CNN, factory: str = "parser", **settings: Any) -> Settings:
    """A parser, with settings of its model."""
    model = {**ner(tok2vec)["model"], "state_type": "parser", **settings}
    return {"factory": factory, "model": model, "min_action_freq": 1}


def drawn(components: Settings) -> Language:
    """A pipeline whose parsers have random weights and some labels."""
    nlp, rng = build(components), numpy.random.default_rng(0)
    for _, component in nlp.components:
        if isinstance(component, DependencyParser):
            for label in ("nsubj", "dobj", "dep"):
                component.add_label(label)
            for node in component.model.walk():
                for name in node.param_names:
                    scale = 0.0 if name == "b" else 2.0  # so that states differ
                    values = rng.normal(scale=scale, size=node.get_param(name).shape)
                    node.set_param(name, values.astype("float32"))
            component.model.attrs["unseen_classes"].clear()
    return nlp


def left(done: Acceleration) -> list[tuple[str, str]]:
    return [(e.name, e.reason) for e in done.left if e.path == "factory"]


def replaced(done: Acceleration) -> list[tuple[str, str, str]]:
    return [(e.component, e.before, e.after) for e in done.replaced if e.path == "factory"]


@pytest.mark.parametrize(
    "component",
    [
        parser(),
        parser(use_upper=False),
        parser(extra_state_tokens=True, maxout_pieces=3),
        parser(**{"@architectures": "spacy.TransitionBasedParser.v1"}),
        parser(**{"@architectures": "spacy-legacy.TransitionBasedParser.v1"}),
        {**parser(), "learn_tokens": False, "update_with_oracle_cut_size": 7},
        {**parser(factory="beam_parser"), "beam_width": 1},
    ],
    ids=["8 tokens", "no upper", "13 tokens", "v1", "legacy", "settings", "beam of 1"],
)
def test_parses_stay_and_so_do_the_settings(component: Settings, tmp_path: Path) -> None:
    nlp = drawn({"parser": component})
    expected, config = predictions(nlp), nlp.config.copy()["components"]["parser"]
    old: Any = nlp.get_pipe("parser")
    assert len({token[2] for tokens, _ in expected for token in tokens}) > 1
    done = accelerate(nlp)
    assert left(done) == []
    assert replaced(done) == [("parser", component["factory"], "batch_parser")]
    new: Any = nlp.get_pipe("parser")
    assert (new.model, new.moves, new.cfg, new.scorer) == (
        old.model,
        old.moves,
        old.cfg,
        old.scorer,
    )
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        assert type(pipeline.get_pipe("parser")) is BatchDependencyParser
        assert predictions(pipeline) == expected
        settings = pipeline.config["components"]["parser"]
        kept = set(config) - {"factory", "model"}
        assert settings["factory"] == "batch_parser"
        assert {key: settings[key] for key in kept} == {key: config[key] for key in kept}
        assert "dep_las" in pipeline.config["training"]["score_weights"]
    again = accelerate(spacy.load(tmp_path))
    assert ("parser", "factory", "batch_parser", "") in again.already
    assert replaced(again) == left(again) == []


def test_parser_stays_if_it_is_to_be_kept() -> None:
    nlp = drawn({"parser": parser(), "ner": ner(CNN)})
    old = nlp.get_pipe("parser")
    assert replaced(accelerate(nlp, keep_parser=True)) == [("ner", "ner", "batch_ner")]
    assert nlp.get_pipe("parser") is old
    assert replaced(accelerate(nlp)) == [("parser", "parser", "batch_parser")]
    with pytest.raises(ValueError, match="keep_parser must be"):
        accelerate(nlp, keep_parser="no")


def test_listener_processes_and_the_rest_of_the_pipeline(tmp_path: Path) -> None:
    tok2vec = {"factory": "tok2vec", "model": {**CNN, "width": 16}}
    nlp = drawn({"tok2vec": tok2vec, "tagger": tagger(LISTENER), "parser": parser(LISTENER)})
    expected = predictions(nlp)
    accelerate(nlp)
    assert predictions(nlp) == expected
    nlp.to_disk(tmp_path)
    docs = spacy.load(tmp_path).pipe(TEXTS, n_process=2, batch_size=2)
    heads = [[(t.head.i, t.dep_, t.is_sent_start) for t in doc] for doc in docs]
    assert heads == [[token[1:3] + token[4:] for token in tokens] for tokens, _ in expected]


class Own(DependencyParser):
    """A parser of somebody else."""


@Language.factory("spacy_multihash_tests_own_parser")
def make_own(nlp: Language, name: str, model: Model, min_action_freq: int) -> Own:
    return Own(nlp.vocab, model, name)


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        ({**parser(factory="beam_parser"), "beam_width": 4}, "with beam_width = 4, batch_parser"),
        (parser(factory="spacy_multihash_tests_own_parser"), f"it is a {__name__}.Own, and not"),
        (parser(state_type="ner"), "it scores states by 3 tokens, and batch_parser by 8 or 13"),
    ],
    ids=["beam", "subclass", "ner"],
)
def test_parser_is_left_with_the_reason(component: Settings, expected: str) -> None:
    nlp = build({"parser": component})
    old = nlp.get_pipe("parser")
    ((factory, reason),) = left(accelerate(nlp))
    assert factory == component["factory"] and expected in reason
    assert nlp.get_pipe("parser") is old
