"""Static vectors that are gone, or that were copied, when a pipeline predicts."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import spacy
from spacy.attrs import ORTH
from spacy.language import Language
from spacy.training import Example
from spacy.vectors import Vectors

from spacy_multihash.common.nodes import STATIC_VECTORS, find_nodes
from spacy_multihash.inspection.unknown import UnknownSymbols
from tests.helpers.vectors import FLORET

TEXT = "Anna met Bob"
CONFIG = """
[model]
@architectures = "spacy-multihash.TokenTagger.v1"

[model.tok2vec]
@architectures = "spacy-multihash.MultiHashEmbed.v1"
width = 16
attrs = ["NORM"]
rows = [50]
include_static_vectors = true
"""


@pytest.fixture(params=["words", "floret"])
def nlp(request: pytest.FixtureRequest) -> Language:
    nlp = spacy.blank("en")
    data = numpy.random.default_rng(0).normal(size=(50, 8)).astype("float32")
    strings = nlp.vocab.strings
    if request.param == "floret":
        nlp.vocab.vectors = Vectors(strings=strings, data=data, mode="floret", **FLORET)
    else:
        nlp.vocab.vectors = Vectors(strings=strings, data=data[:3], keys=TEXT.split())
    nlp.add_pipe("tagger_ner", config=spacy.util.Config().from_str(CONFIG))
    example = Example.from_dict(nlp.make_doc(TEXT), {"entities": [(0, 4, "PER")]})
    nlp.initialize(lambda: [example])
    return nlp


def from_folder(nlp: Language, folder: Path, *, saved: list[str], loaded: list[str]) -> Language:
    nlp.to_disk(folder, exclude=saved)
    return spacy.load(folder, exclude=loaded)


def sourced(nlp: Language, folder: Path) -> Language:
    blank = spacy.blank("en")
    with pytest.warns(UserWarning, match="W113"):
        blank.add_pipe("tagger_ner", source=nlp)
    return blank


@pytest.mark.parametrize(
    "change",
    [
        sourced,
        lambda nlp, path: from_folder(nlp, path, saved=["vectors"], loaded=[]),
        lambda nlp, path: from_folder(nlp, path, saved=[], loaded=["vocab"]),
    ],
    ids=["sourced", "saved without vectors", "loaded without vocab"],
)
def test_pipeline_whose_vectors_are_gone_says_so(
    nlp: Language, change: Callable[[Language, Path], Language], tmp_path: Path
) -> None:
    changed = change(nlp, tmp_path)
    with pytest.raises(ValueError, match="reads static vectors, but the vocab of the docs has no"):
        changed(TEXT)


def test_doc_of_a_vocab_without_vectors_is_refused(nlp: Language) -> None:
    with pytest.raises(ValueError, match="make docs by the pipeline's own nlp.make_doc"):
        nlp(spacy.blank("en")(TEXT))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda nlp: pickle.loads(pickle.dumps(nlp))])
def test_copies_predict_the_same_for_words_that_they_never_met(
    nlp: Language, copied: Callable[[Language], Language]
) -> None:
    other = copied(nlp)
    text = "Zyzzyva met Flump"
    expected, actual = (
        one.get_pipe("tagger_ner").model.predict([one.make_doc(text)])  # type: ignore[attr-defined]
        for one in (nlp, other)
    )
    numpy.testing.assert_array_equal(actual[0], expected[0])
    other.update([Example.from_dict(other.make_doc(text), {"entities": [(0, 7, "PER")]})])


def test_symbols_without_a_string_have_zeros(nlp: Language) -> None:
    model = nlp.get_pipe("tagger_ner").model  # type: ignore[attr-defined]
    (layer,) = find_nodes(model, STATIC_VECTORS)
    doc = nlp.make_doc(TEXT)
    expected = layer.predict([doc]).dataXd
    found = layer.predict([UnknownSymbols(doc, {ORTH: numpy.array([1])})]).dataXd
    assert expected.any(axis=1).all() and not found[1].any()
    numpy.testing.assert_array_equal(found[[0, 2]], expected[[0, 2]])
