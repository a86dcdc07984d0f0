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
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import fix_random_seed

from spacy_multihash.common.removed import REMOVED
from spacy_multihash.ner.settings import BatchSettings
from tests.helpers.corpora import SENTENCES
from tests.helpers.spacy_pipelines import CNN, LISTENER, TEXTS, TOK2VEC
from tests.helpers.spacy_pipelines import ner as ner_config
from tests.helpers.transition import annotations

KINDS = ["ner", "batch_ner"]


def blank(factory: str, tok2vec: Any = CNN, **settings: Any) -> Language:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    model = ner_config(tok2vec)["model"]
    if tok2vec == LISTENER:
        nlp.add_pipe("tok2vec", config={"model": TOK2VEC})
    nlp.add_pipe(factory, "ner", config={"model": model, **settings})
    return nlp


def examples_of(nlp: Language) -> list[Example]:
    docs = [Doc(nlp.vocab, words=words, ents=ents) for words, ents in SENTENCES]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]


def trained(factory: str, tok2vec: Any = CNN, steps: int = 15, **settings: Any) -> Language:
    nlp = blank(factory, tok2vec, **settings)
    examples = examples_of(nlp)
    sgd = nlp.initialize(lambda: examples)
    sgd.learn_rate = 0.02
    for _ in range(steps):
        nlp.update(examples, sgd=sgd)
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


# Settings


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


# Files


@pytest.mark.parametrize("factory", KINDS)
def test_files_of_one_are_files_of_the_other(factory: str, tmp_path: Path) -> None:
    nlp = trained(factory)
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


# In pipelines


@pytest.mark.parametrize(("factory", "beam"), [("ner", 1), ("batch_ner", 1), ("batch_ner", 4)])
def test_labels_of_docs_outlive_their_memory_zone(factory: str, beam: int) -> None:
    @Language.component("sets_label_of_text")
    def set_label(doc: Doc) -> Doc:
        spans = [Span(doc, t.i, t.i + 1, label=t.text) for t in doc if t.text.isupper()]
        doc.set_ents(spans, default="missing")
        return doc

    nlp = trained(factory, steps=0)
    nlp.get_pipe("ner").cfg["beam_width"] = beam  # type: ignore[attr-defined]
    nlp.add_pipe("sets_label_of_text", first=True)
    for text in ("call PHONE now", "call me now", "", "mail EMAIL", "", "Anna lives PHONE"):
        with nlp.memory_zone():
            labels = {ent.label_ for ent in nlp(text).ents}
        assert labels >= {word for word in text.split() if word.isupper()}
