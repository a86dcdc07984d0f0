"""The callback that makes the tables of MultiEmbed, in the pipelines that it may meet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_array_equal
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.training import Corpus
from spacy.training.initialize import init_nlp
from spacy.util import resolve_dot_names
from spacy.vocab import Vocab
from thinc.api import Config, Model

from spacy_multihash import count_symbols, make_tables, read_tables, write_tables
from spacy_multihash.corpus.training import training_docs
from spacy_multihash.tables.set_tables import make_init_tables_v1
from tests.helpers.corpora import (
    CALLBACK,
    HASH,
    LOOKUP,
    build,
    make_docs,
    small_config,
    write_corpus,
)

NORMS = {".": 4, "anna": 2, "bob": 2, "rome": 2}  # the norms that occur twice or more


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.spacy", make_docs())


def config_of(corpus: Path, **callback: Any) -> Config:
    return small_config(corpus, LOOKUP, **(CALLBACK | callback))


start = init_nlp  # what `spacy train` does before the first step


def embed_of(nlp: Language) -> Model:
    return nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]


def symbols(nlp: Language, attr: str = "NORM") -> list[str]:
    """List the symbols of an attribute's table, by row."""
    (table,) = (
        node.attrs["symbols"]
        for node in embed_of(nlp).walk()
        if node.name == "lookup_rows" and node.attrs["attr"].value == attr
    )
    # Counting leaves no string behind in the vocab of the pipeline: those of the tests are known.
    tokens = [token for doc in make_docs() for token in doc]
    strings = [s for token in tokens for s in (token.norm_, token.shape_)] + ["robert", "zanzibar"]
    name_of = {Vocab().strings.add(string): string for string in strings}
    return [name_of[int(table.keys[i])] for i in numpy.argsort(table.rows)]


def vectors(nlp: Language) -> numpy.ndarray:
    docs = [Doc(nlp.vocab, words=["Anna", "met", "rain", "."])]
    return embed_of(nlp).predict(docs)[0]


# What is counted


def test_tables_hold_the_frequent_symbols_of_the_training_corpus(corpus: Path) -> None:
    nlp = start(config_of(corpus, min_freq=2))
    assert symbols(nlp)[0] == "."
    assert set(symbols(nlp)) == set(NORMS)
    assert symbols(nlp, "SHAPE") == ["Xxxx", *symbols(nlp, "SHAPE")[1:]]


def test_whole_corpus_is_counted_and_not_the_sample_for_initialization(tmp_path: Path) -> None:
    docs = make_docs(30)
    late = Doc(docs[0].vocab, words=["Zanzibar"] * 3)
    nlp = start(config_of(write_corpus(tmp_path / "c.spacy", [*docs, late]), min_freq=3))
    assert "zanzibar" in symbols(nlp)


NOISE = {
    "@augmenters": "spacy-multihash.char_noise.v1",
    "corpus": "${paths.train}",
    "level": 0.9,
    "keep_original": True,
}


def test_words_of_an_augmenter_are_not_counted(corpus: Path) -> None:
    clean = start(config_of(corpus))
    config = config_of(corpus)
    config["corpora"]["train"]["augmenter"] = NOISE
    nlp = start(config)
    assert symbols(nlp) == symbols(clean)
    assert symbols(nlp, "SHAPE") == symbols(clean, "SHAPE")
    _, train_corpus = resolve_dot_names(nlp.config.interpolate(), ["corpora.dev", "corpora.train"])
    assert len(list(train_corpus(nlp))) == 2 * len(make_docs())


@spacy.registry.readers("spacy_multihash_tests.augmented.v1")
def make_corpus(path: Path, augmenter: Callable) -> Corpus:
    return Corpus(path, augmenter=augmenter)


def test_reader_that_needs_its_augmenter_keeps_it(corpus: Path) -> None:
    nlp = build(config_of(corpus))
    reader = {"@readers": "spacy_multihash_tests.augmented.v1", "path": str(corpus)}
    nlp.config["corpora"]["train"] = {**reader, "augmenter": {**NOISE, "corpus": str(corpus)}}
    assert len(list(training_docs(nlp))) == 2 * len(make_docs())


@spacy.registry.misc("spacy_multihash_tests.lookups.v1")
def make_lookups() -> Lookups:
    lookups = Lookups()
    lookups.add_table("lexeme_norm", {"Bob": "robert"})
    return lookups


def test_norm_is_counted_with_the_lookups_that_the_pipeline_will_have(corpus: Path) -> None:
    config = config_of(corpus)
    config["initialize"]["lookups"] = {"@misc": "spacy_multihash_tests.lookups.v1"}
    counted = symbols(start(config))
    assert "robert" in counted and "bob" not in counted


def test_rules_of_the_tokenizer_are_kept(corpus: Path) -> None:
    docs = [Doc(Vocab(), words=["a:b", "c"], spaces=[True, False])]  # known spaces: tokenized anew
    write_corpus(corpus, docs)
    nlp = build(config_of(corpus))
    nlp.tokenizer.add_special_case("a:b", [{"ORTH": "a"}, {"ORTH": ":"}, {"ORTH": "b"}])
    assert [[t.text for t in doc] for doc in training_docs(nlp)] == [["a", ":", "b", "c"]]


def test_counting_adds_nothing_to_the_vocab_and_no_more_rows_than_allowed(corpus: Path) -> None:
    nlp = build(config_of(corpus))
    before = {lexeme.orth for lexeme in nlp.vocab}
    make_init_tables_v1(min_freq=1, max_rows=3)(nlp)
    assert {lexeme.orth for lexeme in nlp.vocab} == before
    sizes = [n.get_dim("nV") for n in embed_of(nlp).walk() if n.name == "table_embed"]
    assert sizes == [3, 3]


# Files


def test_tables_may_be_read_from_a_file_and_are_cut_as_the_config_says(
    corpus: Path, tmp_path: Path
) -> None:
    counts = count_symbols(make_docs(), {"NORM": spacy.attrs.NORM, "SHAPE": spacy.attrs.SHAPE})
    path = tmp_path / "x.tables"
    write_tables(path, make_tables(counts, min_freq=0))
    nlp = start(config_of(corpus, path=str(path), min_freq=2))
    assert set(symbols(nlp)) == set(NORMS)
    assert len(read_tables(path).tables["NORM"]) > len(NORMS)


# Components that are not initialized


def test_disabled_component_without_tables_gets_them(corpus: Path) -> None:
    nlp = build(config_of(corpus, min_freq=2))
    with nlp.select_pipes(enable=[]):  # as spacy pretrain does
        nlp.initialize()
    assert set(symbols(nlp)) == set(NORMS)


@pytest.mark.parametrize("frozen", [["tok2vec", "ner"], []], ids=["frozen", "trained further"])
def test_sourced_component_keeps_its_tables(
    frozen: list[str], corpus: Path, tmp_path: Path
) -> None:
    first = start(config_of(corpus))
    first.update(list(Corpus(corpus)(first)), sgd=first.create_optimizer())
    first.to_disk(tmp_path / "first")
    other = write_corpus(tmp_path / "other.spacy", make_docs()[:1])
    config = config_of(other)
    for name in ("tok2vec", "ner"):
        config["components"][name] = {"source": str(tmp_path / "first")}
    config["training"].update(frozen_components=frozen, annotating_components=frozen)
    nlp = start(config)
    assert symbols(nlp) == symbols(first)
    assert_array_equal(vectors(nlp), vectors(first))


def test_initializing_again_makes_tables_anew(corpus: Path) -> None:
    nlp = start(config_of(corpus))
    write_corpus(corpus, make_docs()[3:])
    nlp.initialize()
    assert set(symbols(nlp)) == {"they", "like", "rain", "."}
    tables = [node.get_dim("nV") for node in embed_of(nlp).walk() if node.name == "table_embed"]
    assert tables == [5, 4]  # with row 0; the shapes are Xxxx, xxxx and "."
    anna, met, rain, dot = vectors(nlp).round(4).tolist()
    assert anna != rain != dot and met != rain


def test_several_components_are_given_their_tables_by_one_count(corpus: Path) -> None:
    config = config_of(corpus, component=["tok2vec", "ner"])
    own = {"@architectures": "spacy.Tok2Vec.v2", "embed": LOOKUP | {"attrs": ["ORTH"]}}
    own["encode"] = config["components"]["tok2vec"]["model"]["encode"]
    config["components"]["ner"]["model"]["tok2vec"] = own
    nlp = start(config)
    (orth,) = (n for n in nlp.get_pipe("ner").model.walk() if n.name == "lookup_rows")  # type: ignore[attr-defined]
    assert orth.attrs["attr"].value == "ORTH"
    assert len(orth.attrs["symbols"]) == 12
    assert len(symbols(nlp)) == 12


# Bad input


@pytest.mark.parametrize(
    ("embed", "callback", "settings", "message"),
    [
        (LOOKUP, {"component": "tagger"}, {}, r"no component 'tagger' .* \['tok2vec', 'ner'\]"),
        (LOOKUP, {"component": "ner"}, {}, "component 'ner' holds no MultiEmbed"),
        (HASH, {}, {}, "component 'tok2vec' holds no MultiEmbed"),
        (LOOKUP, {"min_freq": 99}, {}, "NORM has no values: none occurs at least 99 times"),
        (LOOKUP, {}, {"training.max_epochs": -1}, "init-tables, with --training.max_epochs 0"),
        (LOOKUP, {}, {"paths.train": None}, "Corpus path can't be None"),
        (LOOKUP, {"path": "none.tables"}, {}, "no file of tables at .*none.tables"),
        (LOOKUP, {"min_freq": -1}, {}, "min_freq must be an integer of 0 or more, got -1"),
        (LOOKUP, {"max_rows": 1}, {}, "max_rows must be an integer of 2 or more, got 1"),
        (LOOKUP, {}, {"training.train_corpus": "corpora.none"}, r"has no \[corpora.none\]"),
        (LOOKUP, None, {}, "'lookup_rows' of NORM has no table of values. Add the callback"),
    ],
)
def test_configs_without_what_tables_need_are_refused(
    embed: Any, callback: Any, settings: Any, message: str, corpus: Path
) -> None:
    config = small_config(corpus, embed, **({} if callback is None else CALLBACK | callback))
    for name, value in settings.items():
        section, _, key = name.partition(".")
        config[section][key] = value
    with pytest.raises((OSError, ValueError), match=message):
        build(config).initialize()
