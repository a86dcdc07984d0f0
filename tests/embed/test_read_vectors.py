"""Several tables of vectors in the embeddings: what they read, and where pipelines keep them."""

import pickle
import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.attrs import LOWER, ORTH
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model, fix_random_seed
from thinc.types import Ragged

from spacy_multihash import make_tables, set_tables
from spacy_multihash.common.nodes import find_nodes
from spacy_multihash.embed.architectures import build_meta_vectors_v1, build_multi_hash_embed_v1
from spacy_multihash.embed.static_vectors import READ_VECTORS, find_table_rows
from spacy_multihash.embed.vector_tables import find_table
from spacy_multihash.inspection.unknown import UnknownSymbols, features_of
from tests.helpers.several_vectors import (
    TEXT,
    meta_embed,
    meta_pipeline,
    save_floret,
    save_words,
    tensor_of,
    trained,
    vectors_of,
)
from tests.helpers.vectors import files
from tests.helpers.weights import check_param_gradients

MODES = ("concat", "mme")


def save_tables(folder: Path) -> dict[str, str]:
    return {
        "own": save_words(folder / "own", ["Rome", "Anna", "fell"], 6),
        "nl": save_words(folder / "nl", ["rome", "met"], 5, seed=1),
        "floret": save_floret(folder / "floret", 4),
    }


def two_tables(paths: dict[str, str]) -> Language:
    """Train a pipeline of two tables of words, one by LOWER."""
    embed = meta_embed({"vocab": None, "nl": paths["nl"]}, key_attrs={"nl": "LOWER"})
    return trained(meta_pipeline(embed, paths["own"]))


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return save_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def saved(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipeline")
    two_tables(paths).to_disk(folder)
    return folder


@pytest.fixture
def nlp(saved: Path) -> Language:
    return spacy.load(saved)


def reader(nlp: Language) -> Model:
    (node,) = find_nodes(nlp.get_pipe("tok2vec").model, READ_VECTORS)  # type: ignore[attr-defined]
    return node


def test_vectors_are_those_of_the_tables(paths: dict[str, str]) -> None:
    nlp = spacy.blank("en")
    own = nlp.vocab.vectors = vectors_of(nlp, ["Rome", "Anna", "fell"], 6)
    doc = nlp.make_doc(TEXT)
    tables = {"vocab": None, "nl": paths["nl"], "floret": paths["floret"]}
    model = build_meta_vectors_v1(None, tables).initialize(X=[doc])
    theirs, floret = spacy.load(paths["nl"]).vocab, spacy.load(paths["floret"]).vocab
    expected = [
        [*floret[token.text].vector, *theirs[token.text].vector]
        + [*(own[token.orth] if token.orth in own else numpy.zeros(6))]
        for token in doc
    ]
    assert_allclose(model.predict([doc]).dataXd, expected, atol=1e-5)
    present = find_table_rows(model, [doc]).present.sum(axis=1)
    assert present.tolist() == [5, 1, 2]  # all, met, and Anna and fell


def test_gradients_reach_the_projections_through_types(paths: dict[str, str]) -> None:
    fix_random_seed(3)
    blank = spacy.blank("en")
    docs = [Doc(blank.vocab, words=words) for words in (["met", "Anna", "met"], [], ["rome"])]
    model = build_meta_vectors_v1(3, {"nl": paths["nl"], "own": paths["own"]}, "mme")
    model.initialize(X=docs)
    wrap = partial(Ragged, lengths=numpy.array([3, 0, 1]))
    check_param_gradients(model, docs, lambda Y: Y.dataXd, eps=1e-2, atol=1e-2, wrap=wrap)


@pytest.mark.filterwarnings("ignore:MetaVectors. the table 'nl' has none of the 2 words")
@pytest.mark.parametrize(
    ("attr", "present"), [("ORTH", [0, 1]), ("LOWER", [1, 1]), ("NORM", [1, 0]), ("LEMMA", [0, 0])]
)
def test_key_attributes_are_those_of_the_config(
    attr: str, present: list[int], paths: dict[str, str]
) -> None:
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["Rome", "met"], lemmas=["Rome", ""])
    nlp.vocab["met"].norm_ = "MET"
    model = build_meta_vectors_v1(4, {"nl": paths["nl"]}, "mme", key_attrs={"nl": attr})
    model.initialize(X=[doc])
    assert find_table_rows(model, [doc]).present.tolist() == [[bool(has) for has in present]]


BUILDERS: dict[str, dict[str, Any]] = {
    "MultiHashEmbed": {"rows": [50]},
    "MultiWeightedHashEmbed": {"rows": [50]},
    "MultiEmbed": {"unk_dropout": 0.5},
}


@pytest.mark.parametrize("feature", ["SHAPE", "LOWER{2,3}"])
@pytest.mark.parametrize("builder", BUILDERS)
def test_each_embedding_takes_several_tables(
    builder: str, feature: str, paths: dict[str, str]
) -> None:
    embed = meta_embed({"nl": paths["nl"], "floret": paths["floret"]})
    del embed["rows"]
    embed |= {"@architectures": f"spacy-multihash.{builder}.v1", "attrs": [feature]}
    build = partial(spacy.registry.resolve, {"embed": embed | BUILDERS[builder]})
    docs = [spacy.blank("en").make_doc(TEXT)]
    model = build()["embed"]
    if builder == "MultiEmbed":
        set_tables(model, make_tables({feature: Counter({5: 20})}))
    model.initialize(X=docs)
    (before,) = model.predict(docs)
    assert before.shape == (5, 16)
    Y, backprop = model.begin_update(docs)
    backprop(Y)
    fresh = build()["embed"].from_bytes(model.to_bytes())
    assert_array_equal(fresh.predict(docs)[0], before)
    find_table(docs[0].vocab, "floret").data[:] *= -1
    assert (model.predict(docs)[0] != before).any(axis=1).all()


@pytest.mark.parametrize("mode", MODES)
def test_docs_without_tokens_can_initialize(nlp: Language, mode: str) -> None:
    width = None if mode == "concat" else 7
    vectors = build_meta_vectors_v1(width, {"vocab": None}, mode)
    attrs = ["NORM", "LOWER{2,3}", "MORPH[Case]"]
    model = build_multi_hash_embed_v1(8, attrs, [9, 9, 9], False, vectors=vectors)
    model.initialize(X=[Doc(nlp.vocab), Doc(nlp.vocab)])
    assert model.predict([nlp.make_doc("Anna met")])[0].shape == (2, 8)


def test_a_table_without_the_words_is_warned_of(paths: dict[str, str]) -> None:
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(text) for text in ("ROME ANNA", "", "ROME")]
    message = r"'own' has none of the 2 words .*, such as \['ANNA', 'ROME'\].* by ORTH. Check"
    model = build_meta_vectors_v1(None, dict(paths), key_attrs={"nl": "LOWER"})
    with pytest.warns(UserWarning, match=message) as warned:
        model.initialize(X=docs)
    assert len(warned) == 1
    build_meta_vectors_v1(None, {"own": paths["own"]}).initialize(X=docs[1:2])


# Where the tables are


def test_a_saved_pipeline_has_each_table_once_and_works_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    nlp = two_tables(save_tables(tmp_path / "tables"))
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "saved", tmp_path / "elsewhere" / "moved")
    shutil.rmtree(tmp_path / "tables")
    loaded = spacy.load(tmp_path / "elsewhere" / "moved")
    assert_array_equal(tensor_of(loaded), tensor_of(nlp))
    data = find_table(nlp.vocab, "nl").data.tobytes()
    counts = {name: found.count(data) for name, found in files(tmp_path / "elsewhere").items()}
    assert {name: n for name, n in counts.items() if n} == {"moved/vocab/lookups.bin": 1}
    assert data not in reader(nlp).to_bytes()


def test_tables_travel_to_other_processes(nlp: Language) -> None:
    copied = pickle.loads(pickle.dumps(nlp))  # as a process that is spawned gets it
    assert_array_equal(tensor_of(copied), tensor_of(nlp))
    in_turn = [doc.to_json() for doc in nlp.pipe([TEXT] * 3)]
    assert [doc.to_json() for doc in nlp.pipe([TEXT] * 3, n_process=2)] == in_turn


def test_a_sourced_component_needs_its_tables(nlp: Language, saved: Path) -> None:
    target = spacy.blank("en")
    target.vocab.vectors = nlp.vocab.vectors
    target.add_pipe("tok2vec", source=nlp)
    with pytest.raises(ValueError, match="'nl': the vocab of the docs .*load_vectors.v1 with"):
        target(TEXT)
    callback = {"@callbacks": "spacy-multihash.load_vectors.v1", "tables": {"nl": str(saved)}}
    spacy.registry.resolve({"callback": callback})["callback"](target)
    assert_array_equal(tensor_of(target), tensor_of(nlp))


# What is refused


def test_weights_of_other_tables_or_modes_are_refused(paths: dict[str, str]) -> None:
    def build(tables: dict[str, Any], **settings: Any) -> Model:
        embed = meta_embed(tables, **settings)
        return spacy.registry.resolve({"embed": embed})["embed"]

    docs = [spacy.blank("en").make_doc(TEXT)]
    trained = build({"nl": paths["nl"], "own": paths["own"]}).initialize(X=docs)
    message = trained.to_bytes()
    build({"own": None, "nl": None}).from_bytes(message)
    other = {"nl": paths["nl"], "other": paths["own"]}
    for model, error in (
        (build(other), r"vectors = \['nl', 'other'\], .* with vectors = \['nl', 'own'\]"),
        (build({"nl": None, "own": None}, mode="concat"), "vectors_mode = .'concat'.*'mme'"),
        (build({"nl": None, "own": None}, key_attrs={"nl": "LOWER"}), "vectors_key_attrs = "),
    ):
        with pytest.raises(ValueError, match=f"'multi_hash_embed'.*{error}"):
            model.from_bytes(message)


def test_a_table_of_another_width_is_refused(nlp: Language) -> None:
    nlp.vocab.vectors = vectors_of(nlp, ["Anna"], 9)
    with pytest.raises(ValueError, match="a table 'vocab' of width 6, got one of width 9"):
        nlp(TEXT)


def test_vectors_and_static_vectors_together_are_refused() -> None:
    embed = {**meta_embed({"vocab": None}), "include_static_vectors": True}
    with pytest.raises(ValueError, match="both embed static vectors. Set .* a table vocab = null"):
        spacy.registry.resolve({"embed": embed})


# What knows static vectors knows several tables


def test_features_are_the_attributes_of_the_tables(nlp: Language) -> None:
    model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    features = features_of(model, nlp.vocab)
    assert features.pop("SHAPE")
    assert features == {"vector[LOWER]": LOWER, "vector[ORTH]": ORTH}
    doc = nlp.make_doc("Anna met")
    unknown = UnknownSymbols(doc, {LOWER: numpy.array([1]), ORTH: numpy.array([0])})
    assert not find_table_rows(reader(nlp), [unknown]).present.any()
    one = build_multi_hash_embed_v1(
        8, ["NORM"], [5], False, vectors=build_meta_vectors_v1(8, {"vocab": None})
    )
    assert features_of(one, nlp.vocab)["vector"] == ORTH
