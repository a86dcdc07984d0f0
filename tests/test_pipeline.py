"""The embeddings in whole pipelines: train, pretrain, source, save, load, package, and odd docs."""

import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from numpy.testing import assert_allclose, assert_equal
from spacy.cli.train import train as train_cli
from spacy.language import DEFAULT_CONFIG_PRETRAIN_PATH, Language
from spacy.tokens import Doc, Span
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.training.pretrain import pretrain
from spacy.util import load_config, load_model_from_config
from thinc.api import Config, Model

from spacy_multihash import build_multi_embed_v1, build_multi_hash_embed_v1, find_tables, set_tables
from spacy_multihash.common.nodes import find_nodes
from spacy_multihash.tables.find import rows_of
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.arrays import assert_all_close
from tests.helpers.corpora import CALLBACK, small_config, write_corpus
from tests.helpers.sections import ours, spacys

WIDTH = 16
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [200, 100, 100, 50]

SETTINGS: dict[str, Any] = {"width": WIDTH, "attrs": ATTRS, "include_static_vectors": False}
HASHES = {"rows": ROWS, "num_hashes": [1, 2, 4, 6], "table_dropout": True}
EMBED = {
    "hash": ours("MultiHashEmbed", **SETTINGS, **HASHES),
    "lookup": ours("MultiEmbed", **SETTINGS, unk_dropout=0.05),
}
CALLBACKS = {"hash": {}, "lookup": CALLBACK}
PRETRAINING = {
    "max_epochs": 2,
    "corpus": "corpora.pretrain",
    "component": "tok2vec",
    "layer": "",
    "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 4},
    "objective": spacys("PretrainCharacters.v1", maxout_pieces=2, hidden_size=16, n_characters=2),
}

SENTENCES = [
    ("Anna Berg lives in Oslo .", [(0, 2, "PER"), (4, 5, "LOC")]),
    ("Tom works at Acme Corp .", [(0, 1, "PER"), (3, 5, "ORG")]),
    ("The rain in Rome fell for 12 days .", [(3, 4, "LOC")]),
    ("Acme Corp sold 300 cars in Oslo .", [(0, 2, "ORG"), (6, 7, "LOC")]),
    ("Nobody saw it .", []),
    ("Tom met Anna Berg .", [(0, 1, "PER"), (2, 4, "PER")]),
    ("In Rome , Globex hired Tom .", [(1, 2, "LOC"), (3, 4, "ORG"), (5, 6, "PER")]),
    ("Globex lost 40 % of its value .", [(0, 1, "ORG")]),
]
# Words that no training sentence holds, an empty doc, white space.
TEXTS = [*(text for text, _ in SENTENCES), "", "  ", "Zoë 's 7th 😀 naïve co-op\n\n went !"]


def training_docs() -> list[Doc]:
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=text.split()) for text, _ in SENTENCES]
    for doc, (_, ents) in zip(docs, SENTENCES, strict=True):
        doc.set_ents([Span(doc, start, end, label=label) for start, end, label in ents])
    return docs


def make_config(kind: str, corpus: Path) -> Config:
    config = small_config(corpus, EMBED[kind], **CALLBACKS[kind])
    config["paths"]["raw_text"] = ""
    pretrain_corpus = {"@readers": "spacy.JsonlCorpus.v1", "path": "${paths.raw_text}"}
    config["corpora"]["pretrain"] = pretrain_corpus
    config["pretraining"] = PRETRAINING
    # A number, since a sourced tok2vec leaves no section to refer to.
    config["components"]["ner"]["model"]["tok2vec"]["width"] = WIDTH
    # Few and large steps, for few sentences.
    config["training"].update(patience=0, max_steps=50, eval_frequency=25)
    config["training"]["batcher"] = {"@batchers": "spacy.batch_by_sequence.v1", "size": 8}
    config["training"]["optimizer"]["learn_rate"] = 0.02
    # Filled with the defaults, as `spacy init fill-config --pretraining` does.
    filled = load_model_from_config(config, auto_fill=True).config
    return load_config(DEFAULT_CONFIG_PRETRAIN_PATH).merge(filled)


def tok2vec(nlp: Language) -> Model:
    return nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]


def token_vectors(nlp: Language) -> list[numpy.ndarray]:
    return tok2vec(nlp).predict([nlp.make_doc(text) for text in TEXTS])


def assert_same_predictions(one: Language, other: Language) -> None:
    assert_equal(token_vectors(one), token_vectors(other))
    docs = zip(map(one, TEXTS), map(other, TEXTS), strict=True)
    for ents, others in ((doc.ents, same.ents) for doc, same in docs):
        assert [(e.text, e.label_) for e in ents] == [(e.text, e.label_) for e in others]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "train.spacy", training_docs())


@pytest.fixture(scope="module", params=["hash", "lookup"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def trained(kind: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"trained_{kind}")
    make_config(kind, corpus).to_disk(folder / "config.cfg")
    train_cli(folder / "config.cfg", folder)
    return folder / "model-best"


@pytest.fixture
def nlp(trained: Path) -> Language:
    return spacy.load(trained)


def test_training_learns_the_sentences(nlp: Language) -> None:
    for text, ents in SENTENCES:
        assert [(ent.start, ent.end, ent.label_) for ent in nlp(text).ents] == ents


def test_pretrained_weights_are_those_that_training_starts_from(
    kind: str, corpus: Path, tmp_path: Path
) -> None:
    config = make_config(kind, corpus)
    srsly.write_jsonl(tmp_path / "raw.jsonl", [{"text": text} for text, _ in SENTENCES])
    config["paths"]["raw_text"] = str(tmp_path / "raw.jsonl")
    pretrain(config.interpolate(), tmp_path)
    fresh, weights = init_nlp(config), tmp_path / "model-last.bin"
    config["paths"]["init_tok2vec"] = str(weights)
    nlp = init_nlp(config)
    pairs = zip(token_vectors(nlp), token_vectors(fresh), strict=True)
    assert any((one != other).any() for one, other in pairs)
    tok2vec(fresh).from_bytes(weights.read_bytes())
    assert_equal(token_vectors(nlp), token_vectors(fresh))


def test_sourced_components_are_trained_further(
    kind: str, corpus: Path, trained: Path, tmp_path: Path
) -> None:
    config = make_config(kind, corpus)
    config["components"] = {name: {"source": str(trained)} for name in ("tok2vec", "ner")}
    config["training"]["max_steps"] = 5
    config["training"]["optimizer"]["L2"] = 0.0  # which changes weights without any gradient
    nlp = init_nlp(config)
    assert_same_predictions(nlp, spacy.load(trained))
    before = [node.get_param("E").copy() for node in find_nodes(tok2vec(nlp), "table_embed")]
    train(nlp, tmp_path)
    docs = [nlp.make_doc(text) for text, _ in SENTENCES]
    for table, old in zip(find_tables(nlp), before, strict=True):
        ids = numpy.concatenate([doc.to_array(table.attr) for doc in docs])
        reached = {*rows_of(table.layer, ids).ravel().tolist()}
        if not table.is_hashed:
            reached.add(0)  # some symbols are taken as unknown in training
        changed = {*numpy.flatnonzero((old != table.weights.get_param("E")).any(axis=1)).tolist()}
        assert changed and changed <= reached
    assert_same_predictions(nlp, spacy.load(tmp_path / "model-last"))


def test_pipeline_goes_to_disk_bytes_and_pickles_and_back(
    nlp: Language, kind: str, corpus: Path, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path)
    config = make_config(kind, corpus)
    config["training"]["seed"] = 99
    others = [init_nlp(config) for _ in range(2)]
    assert any((a != b).any() for a, b in zip(*map(token_vectors, (others[0], nlp)), strict=True))
    for other in (
        others[0].from_disk(tmp_path),
        others[1].from_bytes(nlp.to_bytes()),
        load_model_from_config(nlp.config).from_bytes(nlp.to_bytes()),  # never initialized
        pickle.loads(pickle.dumps(nlp)),
    ):
        assert_same_predictions(other, nlp)


# The embedding alone


def make_docs(*texts: str) -> list[Doc]:
    vocab = spacy.blank("en").vocab
    return [Doc(vocab, words=text.split()) for text in texts]


def build_embed(kind: str, docs: list[Doc]) -> Model[list[Doc], list[Any]]:
    if kind == "hash":
        return build_multi_hash_embed_v1(WIDTH, ATTRS, ROWS, False).initialize(X=docs)
    model = build_multi_embed_v1(WIDTH, ATTRS, False)
    set_tables(model, count_tables([model], docs))
    return model.initialize(X=docs)


def test_spans_have_the_vectors_of_their_docs(kind: str) -> None:
    docs = make_docs("Anna met Anna in Rome .", "Rome fell", "In Rome")
    model = build_embed(kind, docs)
    whole = model.predict(docs)
    spans = [docs[0][2:5], docs[1][:], docs[2][1:1], docs[2][1:]]
    expected = [whole[0][2:5], whole[1], whole[2][1:1], whole[2][1:]]
    assert_all_close(model.predict(spans), expected, atol=1e-6)


@pytest.mark.parametrize("text", ["", "\n\n \t", "\u200b", "😀", "a" * 10000])
def test_pipeline_takes_any_text(nlp: Language, text: str) -> None:
    doc = nlp(text)
    assert doc.text == text
    assert numpy.isfinite(doc.tensor).all()
    _, among_others = nlp.pipe([TEXTS[0], text])
    assert_allclose(doc.tensor, among_others.tensor, atol=1e-5)
    assert doc.to_json() == among_others.to_json()


def test_norm_of_a_token_goes_before_the_norm_of_its_word(kind: str) -> None:
    (doc,) = make_docs("gonna gonna gonna")
    doc[1].norm_ = "going"
    (vectors,) = build_embed(kind, [doc]).predict([doc])
    assert_allclose(vectors[2], vectors[0], atol=1e-5)  # not the same row of a product
    assert abs(vectors[1] - vectors[0]).max() > 1e-3


def test_pipeline_reports_static_vectors_that_are_missing(kind: str, corpus: Path) -> None:
    config = make_config(kind, corpus)
    config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    with pytest.raises(ValueError, match=r"Name a pipeline or folder .* in \[initialize\] vectors"):
        init_nlp(config)
