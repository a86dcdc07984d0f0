"""Features beyond spaCy's attributes in whole pipelines, and in all tools that know attributes."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from numpy.testing import assert_array_equal
from spacy.cli.train import train as train_cli
from spacy.language import Language
from spacy.strings import get_string_id
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.util import load_model_from_config
from thinc.api import Config, Model

from spacy_multihash import (
    build_multi_hash_embed_v1,
    embed_to_spacy,
    read_tables,
    spacy_seeds,
    write_tables,
)
from spacy_multihash.corpus.read import model_examples, tokens_of
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.corpora import CALLBACK, small_config
from tests.helpers.features import ngrams

ATTRS = ["NORM", "ORTH[:2]", "LOWER[-3:]", "LOWER{3,4}", "LEMMA[1:]", "MORPH[Case]", "_.kinds"]
KINDS = {"Rome": ["place", "city"], "Oslo": ["place"], "Bob": "person", "Anna": ["person"]}
COMPONENT = "spacy_multihash_tests_annotate"
SENTENCES = [
    ("Anna met Bob in Rome .", [(0, 1, "PER"), (2, 3, "PER"), (4, 5, "LOC")]),
    ("Bob left Rome", [(0, 1, "PER"), (2, 3, "LOC")]),
    ("They like rain in Oslo .", [(4, 5, "LOC")]),
    ("Banana fell", []),
]
EMBED: dict[str, dict[str, Any]] = {
    "hash": {
        "@architectures": "spacy-multihash.MultiHashEmbed.v1",
        "rows": [50] * len(ATTRS),
        "num_hashes": 2,
    },
    "weighted": {
        "@architectures": "spacy-multihash.MultiWeightedHashEmbed.v1",
        "rows": [50] * len(ATTRS),
        "reduce": "mean",
    },
    "lookup": {
        "@architectures": "spacy-multihash.MultiEmbed.v1",
        "count_repeats": False,
        "unk_dropout": 0.1,
    },
}


@Language.component(COMPONENT)
def annotate(doc: Doc) -> Doc:
    """Set lemmas, cases and kinds, as a component before the embedding would."""
    for token in doc:
        token.lemma_ = token.lower_.removesuffix("s")
        token.set_morph("Case=Nom|Number=Sing" if token.is_title else "Number=Plur")  # type: ignore[attr-defined]
        token._.kinds = KINDS.get(token.text, [])
    return doc


@pytest.fixture(autouse=True, scope="module")
def _extension() -> Iterator[None]:
    Token.set_extension("kinds", default=None)
    yield
    Token.remove_extension("kinds")


def gold_docs() -> list[Doc]:
    vocab = spacy.blank("en").vocab
    docs = [annotate(Doc(vocab, words=text.split())) for text, _ in SENTENCES]
    for doc, (_, ents) in zip(docs, SENTENCES, strict=True):
        doc.set_ents([Span(doc, start, end, label=label) for start, end, label in ents])
    return docs


def make_config(kind: str, corpus: Path) -> Config:
    embed = {"width": 16, "attrs": ATTRS, "include_static_vectors": False, **EMBED[kind]}
    config = small_config(corpus, embed, **(CALLBACK if kind == "lookup" else {}))
    config["nlp"]["pipeline"] = [COMPONENT, "tok2vec", "ner"]
    config["components"][COMPONENT] = {"factory": COMPONENT}
    config["components"]["ner"]["model"]["tok2vec"]["width"] = 16
    config["training"]["annotating_components"] = [COMPONENT]
    config["training"].update(patience=0, max_steps=60, eval_frequency=20)
    config["training"]["optimizer"]["learn_rate"] = 0.02
    return load_model_from_config(config, auto_fill=True).config


def tok2vec(nlp: Language) -> Model:
    return nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "train.spacy"
    DocBin(docs=gold_docs(), store_user_data=True).to_disk(path)
    return path


@pytest.fixture(scope="module", params=EMBED)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def trained(kind: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"trained_{kind}")
    make_config(kind, corpus).to_disk(folder / "config.cfg")
    train_cli(folder / "config.cfg", folder)
    return folder / "model-best"


@pytest.fixture(scope="module")
def nlp(trained: Path) -> Language:
    return spacy.load(trained)


def pieces_of(token: Token, name: str) -> list[str]:
    """Cut the symbols of a token in plain Python."""
    kinds = token._.kinds
    return {
        "NORM": lambda: [token.norm_],
        "ORTH[:2]": lambda: [token.text[:2]],
        "LOWER[-3:]": lambda: [token.lower_[-3:]],
        "LOWER{3,4}": lambda: ngrams(token.lower_, 3, 4),
        "LEMMA[1:]": lambda: [token.lemma_[1:]],
        "MORPH[Case]": lambda: [",".join(token.morph.get("Case", []))],
        "_.kinds": lambda: [kinds] if isinstance(kinds, str) else [*kinds],
    }[name]()


def count(name: str, *, repeats: bool = True) -> Counter[str]:
    tokens = [token for doc in gold_docs() for token in doc]
    found = [pieces_of(token, name) for token in tokens]
    return Counter(text for texts in found for text in (texts if repeats else {*texts}))


# Pipelines


def test_training_learns_from_what_earlier_components_set(nlp: Language) -> None:
    for text, ents in SENTENCES:
        assert [(ent.start, ent.end, ent.label_) for ent in nlp(text).ents] == ents


def test_vectors_depend_on_what_earlier_components_set(nlp: Language) -> None:
    doc = nlp.get_pipe(COMPONENT)(nlp.make_doc("Rome"))
    expected = tok2vec(nlp).predict([doc])[0]
    doc[0]._.kinds = {"city", "place"}  # the order does not count
    assert_array_equal(tok2vec(nlp).predict([doc])[0], expected)
    doc[0]._.kinds = "person"
    assert abs(tok2vec(nlp).predict([doc])[0] - expected).max() > 1e-3
    doc[0]._.kinds = ["place", "city"]
    doc[0].set_morph("Case=Acc")  # type: ignore[attr-defined]
    difference = abs(tok2vec(nlp).predict([doc])[0] - expected).max()
    assert difference > 1e-3 or "lookup_rows" in {n.name for n in tok2vec(nlp).walk()}


def test_saved_pipeline_predicts_the_same(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    for text, _ in SENTENCES:
        assert_array_equal(again(text).tensor, nlp(text).tensor)


# Tables


def test_tables_count_the_annotation_of_the_corpus(corpus: Path, tmp_path: Path) -> None:
    nlp = load_model_from_config(make_config("lookup", corpus), auto_fill=True)
    tables = count_tables([tok2vec(nlp)], tokens_of(model_examples(nlp, corpus)))
    assert {*tables.tables} == {*ATTRS}
    for name, table in tables.tables.items():
        expected = {get_string_id(text): freq for text, freq in count(name, repeats=False).items()}
        found = dict(zip(table.keys.tolist(), table.counts.tolist(), strict=True))
        assert found == expected
        assert table.counts.tolist() == sorted(table.counts.tolist(), reverse=True)
    write_tables(tmp_path / "tables.bin", tables)
    again = read_tables(tmp_path / "tables.bin")
    for name in ATTRS:
        assert_array_equal(again.tables[name].keys, tables.tables[name].keys)


def test_features_that_spacy_lacks_are_not_converted() -> None:
    attrs = ["NORM", "ORTH[:1]", "LOWER{3,5}", "_.kinds", "MORPH[Case]"]
    ours = build_multi_hash_embed_v1(8, attrs, [9] * 5, False, seeds=spacy_seeds(5))
    with pytest.raises(ValueError, match="has the features .* with PREFIX in the place of ORTH"):
        embed_to_spacy(ours)
