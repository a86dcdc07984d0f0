"""The component batch_ner is spaCy's ner in files, configs and pipelines."""

import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_equal
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import load_model_from_config

from spacy_multihash.common.removed import REMOVED
from spacy_multihash.ner.settings import BatchSettings
from tests.helpers.spacy_pipelines import CNN, TEXTS, gold, make, ner
from tests.helpers.tagger_ner import randomize
from tests.helpers.transition import annotations

KINDS = ["ner", "batch_ner"]


def randomized(factory: str) -> Language:
    nlp = make({"ner": {**ner(CNN), "factory": factory}})
    nlp.initialize(lambda: gold(nlp))
    nlp.update(gold(nlp))  # which sets the rate of dropout, as predictions of spaCy's ner do
    randomize(pipe_of(nlp).model)
    return nlp


def as_other(nlp: Language) -> Language:
    """Build the same pipeline with the other component: one word of the config is another."""
    config = nlp.config.copy()
    settings = config["components"]["ner"]
    if settings["factory"] == "ner":
        settings["factory"] = "batch_ner"
    else:
        settings["factory"] = "ner"
        for name in (*BatchSettings.__dataclass_fields__, *REMOVED["batch_ner"]):
            settings.pop(name, None)
        for name in ("beam_width", "beam_density", "beam_update_prob"):
            settings.pop(name)
    return load_model_from_config(config, auto_fill=True)


def found(nlp: Language) -> list[numpy.ndarray]:
    return annotations(list(nlp.pipe(TEXTS)))


def pipe_of(nlp: Language) -> Any:
    return nlp.get_pipe("ner")


def test_default_settings_are_those_of_ner_and_ours() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("ner", "theirs")
    nlp.add_pipe("batch_ner", "ours")
    ours, theirs = (nlp.config["components"][name] for name in ("ours", "theirs"))
    of_beams = {"beam_width": 1, "beam_density": 0.0, "beam_update_prob": 0.0}
    added = {**of_beams, **vars(BatchSettings()), **REMOVED["batch_ner"], "factory": "batch_ner"}
    assert ours == {**theirs, **added}


@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner"])
@pytest.mark.parametrize("way", ["renamed", "sourced"])
def test_errors_name_the_component_as_it_is_called_now(factory: str, way: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, "former")
    if way == "renamed":
        nlp.rename_pipe("former", "now")
    else:
        source, nlp = nlp, spacy.blank("en")
        nlp.add_pipe("former", "now", source=source)
    pipe: Any = nlp.get_pipe("now")
    with pytest.raises(ValueError, match=r'temperature must be .*Component "now"'):
        pipe.temperature = 0


@pytest.mark.parametrize("factory", KINDS)
def test_files_of_one_are_files_of_the_other(factory: str, tmp_path: Path) -> None:
    nlp = randomized(factory)
    expected = found(nlp)
    assert sum((values[:, 0] == 3).sum() for values in expected) >= 3
    other = as_other(nlp)
    assert type(pipe_of(other)) is not type(pipe_of(nlp))

    nlp.to_disk(tmp_path / "nlp")
    assert_equal(found(other.from_disk(tmp_path / "nlp")), expected)
    assert_equal(found(as_other(nlp).from_bytes(nlp.to_bytes())), expected)
    of_pipe = as_other(nlp)
    pipe_of(of_pipe).from_disk(tmp_path / "nlp" / "ner", exclude=["vocab"])
    assert_equal(found(of_pipe), expected)
    pickled: Any = pickle.loads(pickle.dumps(nlp))
    assert_equal(found(pickled), expected)
    assert pipe_of(other).to_bytes(exclude=["vocab"]) == pipe_of(nlp).to_bytes(exclude=["vocab"])


@pytest.mark.parametrize(("factory", "beam"), [("ner", 1), ("batch_ner", 1), ("batch_ner", 4)])
def test_labels_of_docs_outlive_their_memory_zone(factory: str, beam: int) -> None:
    @Language.component("sets_label_of_text")
    def set_label(doc: Doc) -> Doc:
        spans = [Span(doc, t.i, t.i + 1, label=t.text) for t in doc if t.text.isupper()]
        doc.set_ents(spans, default="missing")
        return doc

    nlp = randomized(factory)
    pipe_of(nlp).cfg["beam_width"] = beam
    nlp.add_pipe("sets_label_of_text", first=True)
    for text in ("call PHONE now", "call me now", "", "mail EMAIL", "", "Anna lives PHONE"):
        with nlp.memory_zone():
            labels = {ent.label_ for ent in nlp(text).ents}
        assert labels >= {word for word in text.split() if word.isupper()}
