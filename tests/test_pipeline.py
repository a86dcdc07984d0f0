"""The embeddings in whole pipelines: train, pretrain, source, save, load, package, and odd docs."""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from numpy.testing import assert_allclose, assert_array_equal
from spacy.cli.train import train as train_cli
from spacy.language import DEFAULT_CONFIG_PRETRAIN_PATH, Language
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.training.pretrain import pretrain
from spacy.util import load_config, load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config, Model, fix_random_seed

from spacy_multihash import (
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    find_tables,
    set_tables,
    spacy_seeds,
)
from spacy_multihash.embed.find import rows_of
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.corpora import CALLBACK, small_config, write_corpus
from tests.helpers.several_vectors import floret_of, save_floret, vectors_of

WIDTH = 16
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [200, 100, 100, 50]

EMBED: dict[str, dict[str, Any]] = {
    "hash": {
        "@architectures": "spacy-multihash.MultiHashEmbed.v1",
        "width": WIDTH,
        "attrs": ATTRS,
        "rows": ROWS,
        "include_static_vectors": False,
        "num_hashes": [1, 2, 4, 6],
        "table_dropout": True,
    },
    "lookup": {
        "@architectures": "spacy-multihash.MultiEmbed.v1",
        "width": WIDTH,
        "attrs": ATTRS,
        "include_static_vectors": False,
        "unk_dropout": 0.05,
    },
}
CALLBACKS = {"hash": {}, "lookup": CALLBACK}
PRETRAINING = {
    "max_epochs": 2,
    "corpus": "corpora.pretrain",
    "component": "tok2vec",
    "layer": "",
    "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 4},
    "objective": {
        "@architectures": "spacy.PretrainCharacters.v1",
        "maxout_pieces": 2,
        "hidden_size": 16,
        "n_characters": 2,
    },
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
    """Predict the vectors that tok2vec gives to the tokens of each text."""
    return tok2vec(nlp).predict([nlp.make_doc(text) for text in TEXTS])


def entities_of(nlp: Language) -> list[list[tuple[str, str]]]:
    return [[(ent.text, ent.label_) for ent in nlp(text).ents] for text in TEXTS]


def assert_same_vectors(one: Sequence[numpy.ndarray], other: Sequence[numpy.ndarray]) -> None:
    for vectors, others in zip(one, other, strict=True):
        assert_array_equal(vectors, others)


def assert_same_predictions(one: Language, other: Language) -> None:
    assert_same_vectors(token_vectors(one), token_vectors(other))
    assert entities_of(one) == entities_of(other)


def assert_learnt(nlp: Language) -> None:
    for text, ents in SENTENCES:
        found = [(ent.start, ent.end, ent.label_) for ent in nlp(text).ents]
        assert found == ents


def examples_of(nlp: Language, corpus: Path) -> list[Example]:
    docs = DocBin().from_disk(corpus).get_docs(nlp.vocab)
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "train.spacy", training_docs())


@pytest.fixture(scope="module", params=["hash", "lookup"])
def kind(request: pytest.FixtureRequest) -> str:
    """MultiHashEmbed, then MultiEmbed."""
    return request.param


@pytest.fixture(scope="module")
def trained(kind: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the best model of a training run with `spacy train`."""
    folder = tmp_path_factory.mktemp(f"trained_{kind}")
    make_config(kind, corpus).to_disk(folder / "config.cfg")
    train_cli(folder / "config.cfg", folder)
    return folder / "model-best"


@pytest.fixture
def nlp(trained: Path) -> Language:
    return spacy.load(trained)


# Training


def test_training_learns_the_sentences(nlp: Language) -> None:
    assert_learnt(nlp)


def test_saved_pipeline_predicts_the_same_in_another_process(
    nlp: Language, trained: Path, tmp_path: Path
) -> None:
    code = (
        "import sys, numpy, spacy, srsly\n"
        "nlp = spacy.load(sys.argv[1])\n"
        "docs = list(nlp.pipe(srsly.read_json(sys.argv[2])))\n"
        "numpy.savez(sys.argv[3], *[doc.tensor for doc in docs])\n"
        "ents = [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs]\n"
        "srsly.write_json(sys.argv[4], ents)\n"
    )
    names = ["texts.json", "vectors.npz", "ents.json"]
    texts, vectors, ents = (tmp_path / name for name in names)
    srsly.write_json(texts, TEXTS)
    subprocess.run([sys.executable, "-c", code, trained, texts, vectors, ents], check=True)
    docs = list(nlp.pipe(TEXTS))
    with numpy.load(vectors) as arrays:
        assert_same_vectors(list(arrays.values()), [doc.tensor for doc in docs])
    expected = [[[ent.text, ent.label_] for ent in doc.ents] for doc in docs]
    assert srsly.read_json(ents) == expected


# Pretraining


@pytest.fixture(scope="module")
def pretrained(
    kind: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Config, Path]:
    """The config of a run of `spacy pretrain`, and its weights."""
    folder = tmp_path_factory.mktemp(f"pretrained_{kind}")
    config = make_config(kind, corpus)
    srsly.write_jsonl(folder / "raw.jsonl", [{"text": text} for text, _ in SENTENCES])
    config["paths"]["raw_text"] = str(folder / "raw.jsonl")
    pretrain(config.interpolate(), folder)
    return config, folder / "model-last.bin"


def test_pretrained_weights_are_those_that_training_starts_from(
    pretrained: tuple[Config, Path], tmp_path: Path
) -> None:
    config, weights = pretrained
    fresh = init_nlp(config)
    config = config.copy()
    config["paths"]["init_tok2vec"] = str(weights)
    nlp = init_nlp(config)
    assert any(
        (a != b).any() for a, b in zip(token_vectors(nlp), token_vectors(fresh), strict=True)
    )
    tok2vec(fresh).from_bytes(weights.read_bytes())
    assert_same_vectors(token_vectors(nlp), token_vectors(fresh))


# Frozen, sourced, copied


def test_frozen_tok2vec_keeps_its_weights_and_annotates(
    kind: str, corpus: Path, trained: Path, tmp_path: Path
) -> None:
    config = make_config(kind, corpus)
    config["components"]["tok2vec"] = {"source": str(trained)}
    config["training"]["frozen_components"] = ["tok2vec"]
    config["training"]["annotating_components"] = ["tok2vec"]
    config["training"]["seed"] = 5
    train(init_nlp(config), tmp_path)
    result = spacy.load(tmp_path / "model-best")
    assert_same_vectors(token_vectors(result), token_vectors(spacy.load(trained)))
    assert_learnt(result)


def test_sourced_components_are_trained_further(
    kind: str, corpus: Path, trained: Path, tmp_path: Path
) -> None:
    config = make_config(kind, corpus)
    config["components"] = {name: {"source": str(trained)} for name in ("tok2vec", "ner")}
    config["training"]["max_steps"] = 5
    config["training"]["optimizer"]["L2"] = 0.0  # which changes weights without any gradient
    nlp = init_nlp(config)
    assert_same_predictions(nlp, spacy.load(trained))
    before = [node.get_param("E").copy() for node in nodes(tok2vec(nlp), "table_embed")]
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


def test_sourced_tables_are_kept_when_the_corpus_is_another(
    corpus: Path, trained: Path, kind: str, tmp_path: Path
) -> None:
    vocab = spacy.blank("en").vocab
    other = tmp_path / "other.spacy"
    DocBin(docs=[Doc(vocab, words=["Wholly", "different", "words"])]).to_disk(other)
    config = make_config(kind, other)
    config["components"] = {name: {"source": str(trained)} for name in ("tok2vec", "ner")}
    assert_same_predictions(init_nlp(config), spacy.load(trained))


def test_replaced_listeners_survive_saving(nlp: Language, tmp_path: Path) -> None:
    expected = entities_of(nlp)
    nlp.replace_listeners("tok2vec", "ner", ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    nlp.to_disk(tmp_path)
    assert entities_of(spacy.load(tmp_path)) == expected


# Saving, and several processes


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


# Python 3.12 and later warn of fork in a process with threads; multiprocessing is spaCy's.
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_two_processes_predict_the_same_as_one(nlp: Language) -> None:
    ones = list(nlp.pipe(TEXTS * 3, batch_size=4, n_process=1))
    twos = list(nlp.pipe(TEXTS * 3, batch_size=4, n_process=2))
    assert_same_vectors([doc.tensor for doc in twos], [doc.tensor for doc in ones])
    for two, one in zip(twos, ones, strict=True):
        assert two.to_json() == one.to_json()


# The embedding alone


def nodes(model: Model, name: str) -> list[Model]:
    return [node for node in model.walk() if node.name == name]


def make_docs(*texts: str, vocab: Vocab | None = None) -> list[Doc]:
    vocab = vocab or spacy.blank("en").vocab
    return [Doc(vocab, words=text.split()) for text in texts]


def build_embed(
    kind: str, docs: Sequence[Doc], attrs: Sequence[Any] = ATTRS, *, static_vectors: bool = False
) -> Model[list[Doc], list[Any]]:
    """Build and initialize an embedding, from the same seed each time."""
    if kind == "hash":
        rows = [200] * len(attrs)
        model = build_multi_hash_embed_v1(WIDTH, list(attrs), rows, static_vectors)
    else:
        model = build_multi_embed_v1(WIDTH, list(attrs), static_vectors)
        set_tables(model, count_tables([model], docs))
    fix_random_seed(1)
    return model.initialize(X=list(docs))


def test_spans_have_the_vectors_of_their_docs(kind: str) -> None:
    docs = make_docs("Anna met Anna in Rome .", "Rome fell", "In Rome")
    model = build_embed(kind, docs)
    whole = model.predict(docs)
    spans = [docs[0][2:5], docs[1][:], docs[2][1:1], docs[2][1:]]
    expected = [whole[0][2:5], whole[1], whole[2][1:1], whole[2][1:]]
    for vectors, others in zip(model.predict(spans), expected, strict=True):
        assert_allclose(vectors, others, atol=1e-6)


BATCHES = {
    "no docs": [],
    "all docs empty": ["", "", ""],
    "some docs empty": ["", "Rome fell", ""],
    "docs of one token": ["Rome", "fell", "Rome"],
}


@pytest.mark.parametrize("texts", BATCHES.values(), ids=BATCHES.keys())
def test_odd_batches_go_forward_and_back(kind: str, texts: list[str]) -> None:
    whole = make_docs("Anna met Anna in Rome . fell")
    model = build_embed(kind, whole)
    alone = dict(zip([token.text for token in whole[0]], model.predict(whole)[0], strict=True))
    docs = make_docs(*texts)
    vectors, backprop = model.begin_update(docs)
    assert all(v.dtype == numpy.float32 for v in vectors)
    for doc, found in zip(docs, vectors, strict=True):
        expected = numpy.array([alone[token.text] for token in doc]).reshape(len(doc), WIDTH)
        assert_allclose(found, expected, atol=1e-6)
    assert backprop([numpy.ones_like(v) for v in vectors]) == []


@pytest.mark.parametrize("text", ["", "\n\n \t", "\u200b", "😀", "a" * 10000])
def test_pipeline_takes_any_text(nlp: Language, text: str) -> None:
    doc = nlp(text)
    assert doc.text == text
    assert numpy.isfinite(doc.tensor).all()
    _, among_others = nlp.pipe([TEXTS[0], text])
    assert_allclose(doc.tensor, among_others.tensor, atol=1e-5)
    assert doc.to_json() == among_others.to_json()


# Attributes


LEXICAL = ["NORM", "LOWER", "ORTH", "PREFIX", "SHAPE", "LENGTH", "IS_ALPHA", "LIKE_NUM", "IS_STOP"]
OF_TOKENS = ["SPACY", "POS", "TAG", "LEMMA", "ENT_TYPE", "MORPH", "SENT_START"]


@pytest.fixture
def annotated() -> list[Doc]:
    words = ["Anna", "saw", "12", "cats", "and", "Anna", "saw", "."]
    doc = Doc(
        spacy.blank("en").vocab,
        words=words,
        spaces=[True] * 6 + [False] * 2,
        pos=["PROPN", "VERB", "NUM", "NOUN", "CCONJ", "PROPN", "NOUN", "PUNCT"],
        tags=["NNP", "VBD", "CD", "NNS", "CC", "NNP", "NN", "."],
        lemmas=["Anna", "see", "12", "cat", "and", "Anna", "saw", "."],
        morphs=["", "Tense=Past", "", "Number=Plur", "", "", "Number=Sing", ""],
        ents=["B-PER", "O", "O", "O", "O", "B-PER", "O", "O"],
        sent_starts=[True] + [False] * 7,
    )
    return [doc]


@pytest.mark.parametrize("attr", LEXICAL + OF_TOKENS)
def test_any_attribute_tells_tokens_apart(kind: str, attr: str, annotated: list[Doc]) -> None:
    model = build_embed(kind, annotated, [attr])
    (vectors,) = model.predict(annotated)
    values = annotated[0].to_array([attr]).ravel()
    equal = values[:, None] == values[None]
    same = (abs(vectors[:, None] - vectors[None]) < 1e-6).all(axis=2)
    assert_array_equal(same, equal)
    assert not equal.all()


def test_norm_of_a_token_goes_before_the_norm_of_its_word(kind: str) -> None:
    (doc,) = make_docs("gonna gonna gonna")
    doc[1].norm_ = "going"
    (vectors,) = build_embed(kind, [doc]).predict([doc])
    assert_allclose(vectors[2], vectors[0], atol=1e-5)  # not the same row of a product
    assert abs(vectors[1] - vectors[0]).max() > 1e-3


# Static vectors


@pytest.fixture(params=["words", "floret"])
def with_vectors(request: pytest.FixtureRequest) -> list[Doc]:
    """Docs whose vocab has vectors, of both kinds in turn: Rome and Anna, or of all letters."""
    nlp = spacy.blank("en")
    words = vectors_of(nlp, ["Rome", "Anna", "unused"], 6)
    nlp.vocab.vectors = words if request.param == "words" else floret_of(nlp, 6)
    texts = ["Anna met Anna in Rome .", "", "Strange words fell in Rome rome", "One"]
    return make_docs(*texts, vocab=nlp.vocab)


def test_static_vectors_give_the_predictions_of_spacy(with_vectors: list[Doc]) -> None:
    predicted = []
    for build in (MultiHashEmbed, partial(build_multi_hash_embed_v1, seeds=spacy_seeds(4))):
        fix_random_seed(3)
        model = build(WIDTH, ATTRS, ROWS, True).initialize(X=with_vectors)
        predicted.append(numpy.vstack(model.predict(with_vectors)))
    assert_allclose(*predicted, atol=1e-5)


def test_pipeline_with_static_vectors_survives_saving(
    kind: str, corpus: Path, tmp_path: Path
) -> None:
    config = make_config(kind, corpus)
    config["paths"]["vectors"] = save_floret(tmp_path / "vectors", 6)
    config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    nlp = init_nlp(config)
    nlp.to_disk(tmp_path / "saved")
    assert_same_predictions(spacy.load(tmp_path / "saved"), nlp)


def test_pipeline_reports_static_vectors_that_are_missing(kind: str, corpus: Path) -> None:
    config = make_config(kind, corpus)
    config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    with pytest.raises(ValueError, match=r"Name a pipeline or folder .* in \[initialize\] vectors"):
        init_nlp(config)
