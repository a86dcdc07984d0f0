"""Pipelines that can't work say so: with a tok2vec that doesn't run, or weights that are NaN."""

from pathlib import Path

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from thinc.api import Adam

from spacy_multihash import accelerate
from spacy_multihash.common.load import load_pipeline
from tests.helpers.sections import listener

GOLD = {"entities": [(0, 4, "PER")], "heads": [1, 1, 1], "deps": ["nsubj", "ROOT", "dobj"]}


def listening(factory: str) -> Language:
    """A pipeline of a tok2vec, and of a component that listens to it."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    pipe = nlp.add_pipe(factory, "listener", config={"model": {"tok2vec": listener(96, "*")}})
    pipe.add_label("PER" if "ner" in factory else "dobj")  # type: ignore[attr-defined]
    nlp.initialize(lambda: [example(nlp)])
    return nlp


def example(nlp: Language) -> Example:
    return Example.from_dict(nlp.make_doc("Anna met Bob"), GOLD)


@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner", "batch_parser"])
def test_component_says_that_its_tok2vec_did_not_run(factory: str) -> None:
    nlp = listening(factory)
    nlp("Anna met Bob")
    list(nlp.pipe(["", "Anna"]))
    with nlp.select_pipes(disable=["tok2vec"]):
        nlp("")
        with pytest.warns(UserWarning, match='"listener" listens to a tok2vec'):
            nlp("Anna met Bob")
    other = spacy.blank("en", vocab=nlp.vocab)
    other.add_pipe("listener", source=nlp)
    with pytest.warns(UserWarning, match="replace_listeners"):
        list(other.pipe(["Anna met Bob"]))


def test_component_with_a_beam_says_so_too() -> None:
    nlp = listening("batch_ner")
    nlp.get_pipe("listener").cfg["beam_width"] = 2  # type: ignore[attr-defined]
    with nlp.select_pipes(disable=["tok2vec"]):
        with pytest.warns(UserWarning, match='"listener" listens to a tok2vec'):
            nlp("Anna met Bob")


def test_component_with_a_tok2vec_of_its_own_says_nothing() -> None:
    nlp = listening("batch_ner")
    nlp.replace_listeners("tok2vec", "listener", ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    nlp("Anna met Bob")
    accelerate(nlp)


@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner", "batch_parser", "ner"])
@pytest.mark.parametrize("damage", ["missing", "disabled", "behind", "nan", "inf"])
@pytest.mark.parametrize("way", ["loading", "accelerate"])
def test_loading_and_accelerating_name_what_cannot_work(
    factory: str, damage: str, way: str, tmp_path: Path
) -> None:
    nlp = listening(factory)
    if damage == "missing":
        nlp.remove_pipe("tok2vec")
    elif damage == "disabled":
        nlp.disable_pipe("tok2vec")
    elif damage == "behind":
        nlp._components = nlp._components[::-1]  # spaCy has no function for it
    else:
        model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
        node = next(node for node in model.walk() if node.has_param("E"))
        node.get_param("E")[0] = float(damage)
    is_number = damage in ("nan", "inf")
    expected = '"tok2vec": the weights E .* NaN' if is_number else '"listener" listens to'
    with pytest.warns(UserWarning, match=expected):
        if way == "accelerate":
            accelerate(nlp)
        else:
            nlp.to_disk(tmp_path / "pipeline")
            load_pipeline(tmp_path / "pipeline")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of the overflow
@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner", "batch_parser"])
def test_update_with_a_loss_that_is_not_a_number_is_refused(factory: str) -> None:
    nlp = listening(factory)
    model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    for node in model.walk():
        if node.has_param("E"):
            node.get_param("E")[:] = numpy.nan
    with pytest.raises(ValueError, match="listener"):
        nlp.update([example(nlp)], sgd=Adam())
