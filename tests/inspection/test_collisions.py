"""What inspect-rows says of weighted hash embeddings, of tokens and of n-grams."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_multihash.corpus.shards import model_shard
from spacy_multihash.inspection.rows import inspect_symbols, inspect_table, symbols_of
from spacy_multihash.inspection.symbols import find_texts
from spacy_multihash.layers import importance_seed
from spacy_multihash.tables.find import EmbeddingTable, find_tables, find_weighted
from tests.helpers.cli import ok
from tests.helpers.corpora import write_corpus
from tests.helpers.pipelines import (
    TEXTCAT,
    WEIGHTED,
    add_embedding,
    ngrams_by_loop,
    textcat_pipeline,
    token_docs,
    two_textcats,
    weighted_pipeline,
)
from tests.helpers.rows import inspected, reference_rows


def summary(table: EmbeddingTable) -> tuple[object, ...]:
    report = inspect_table(table)
    sizes = (report.num_rows, report.width, report.num_hashes, report.seed)
    return (report.attr, report.part, report.rows_by, *sizes, report.size.parameters)


# Tables


def test_both_tables_of_a_weighted_embedding_are_reported() -> None:
    assert [summary(table) for table in find_tables(weighted_pipeline(num_hashes=3))] == [
        ("NORM", "components", "hash", 30, 16, 3, 5, 30 * 16),
        ("NORM", "importance", "hash", 200, 3, 1, importance_seed(5), 200 * 3),
        ("SHAPE", "components", "hash", 8, 16, 3, 6, 8 * 16),
        ("SHAPE", "importance", "hash", 11, 3, 1, importance_seed(6), 11 * 3),
    ]


@pytest.mark.parametrize(
    ("settings", "part", "number"),
    [({}, "vectors", 0), ({"append_importance": True}, "components", 2)],
)
def test_fixed_importance_has_no_table(settings: dict[str, Any], part: str, number: int) -> None:
    nlp = weighted_pipeline(train_importance=False, **settings)
    assert [table.part for table in find_tables(nlp)] == [part] * 2
    assert [weighted.importance for weighted in find_weighted(nlp)] == [None] * number


def test_tables_of_all_components_are_found() -> None:
    tables = find_tables(two_textcats())
    assert [(table.component, table.attr, table.part) for table in tables] == [
        ("textcat", "LOWER[1,3]", "components"),
        ("textcat", "LOWER[1,3]", "importance"),
        ("second", "LOWER[2]", "components"),
        ("second", "LOWER[2]", "importance"),
    ]


# N-grams


def ngram_texts(table: EmbeddingTable, docs: list[Doc], ids: numpy.ndarray) -> list[str]:
    """Write n-grams, all of which docs have, as texts."""
    found = find_texts(lambda: docs, table, ids.tolist(), docs[0].vocab)
    return [found[id_] for id_ in ids.tolist()]


def test_ngrams_of_a_corpus_are_those_of_a_loop() -> None:
    nlp = two_textcats()
    docs, tables = token_docs(nlp), find_tables(nlp)
    symbols = symbols_of(iter(docs), tables)
    for table, orders in ((tables[0], (1, 3)), (tables[2], (2,))):
        texts = ngram_texts(table, docs, symbols[table])
        expected = ngrams_by_loop(docs, *orders)
        counts = [expected.count(text) for text in texts]
        assert sorted(texts) == sorted(set(expected))
        assert counts == sorted(counts, reverse=True)


def test_texts_are_found_behind_the_first_docs() -> None:
    nlp = two_textcats()
    docs = [nlp.make_doc("some other words")] * 600 + [nlp.make_doc("the last one at last")]
    table = find_tables(nlp)[2]
    texts = ngram_texts(table, docs, symbols_of(docs, [table])[table])
    assert set(texts) == set(ngrams_by_loop(docs, 2))


def test_rows_of_an_ngram_are_those_of_its_id() -> None:
    nlp = two_textcats()
    docs, table = token_docs(nlp), find_tables(nlp)[0]
    symbols = symbols_of(docs, [table])[table]
    id_ = int(symbols[ngram_texts(table, docs, symbols).index("what a joke")])
    (word,) = inspect_symbols(table, "What  a joke", nlp.vocab, symbols)
    assert (word.symbol, word.part) == ("what a joke", "components")
    assert [word.rows] == reference_rows([id_], 30, 2, [table.layer.attrs["seed"].value])
    assert word.sharing is not None
    listed = [text for sharing in word.sharing for text in sharing.examples]
    assert all(text.isdigit() for text in listed)  # ids: nobody said where they occur


def test_refusals() -> None:
    nlp = textcat_pipeline({**TEXTCAT, "ngram_orders": [4]})
    (table, *_) = tables = find_tables(nlp)
    with pytest.raises(
        ValueError, match=r"LOWER to inspect have orders \[4\], but 'a b' has 2 words"
    ):
        inspect_symbols(table, "a b", nlp.vocab)
    with pytest.raises(ValueError, match=r"or none that make a symbol of LOWER\[4\]\. Give a"):
        symbols_of([nlp.make_doc("three words only")], tables)


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a pipeline with both kinds of embeddings, and a corpus."""
    folder = tmp_path_factory.mktemp("folder")
    nlp = textcat_pipeline({**TEXTCAT, "rows": 6})
    add_embedding(nlp, "tok2vec", WEIGHTED)
    nlp.initialize()
    nlp.to_disk(folder / "model")
    write_corpus(folder / "docs.spacy", token_docs(nlp))
    return folder


def test_command_shows_both_tables(folder: Path) -> None:
    args = (folder / "model", "it", "what a", "--data", folder / "docs.spacy")
    result = ok("inspect-rows", *args)
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    first = lines.index("tok2vec.NORM components 30 16 2 5 480 1,920")
    seed = importance_seed(5)
    assert lines[first + 1] == f"tok2vec.NORM importance 200 2 1 {seed} 400 1,600"
    assert any(line.startswith("what a textcat.LOWER[1,2] components 'what a' ") for line in lines)


def test_command_shows_ngrams_that_share_rows_as_texts(folder: Path) -> None:
    printed = inspected(folder / "model", "it", "--data", folder / "docs.spacy")
    assert [table["part"] for table in printed["tables"]] == ["components", "importance"] * 3
    words = [word for word in printed["words"] if word["component"] == "textcat"]
    examples = {text for word in words for s in word["sharing"] for text in s["examples"]}
    assert examples and examples < set(ngrams_by_loop(token_docs(spacy.blank("en")), 1, 2))
    assert printed["tables"][0]["use"]["num_symbols"] == 13


def test_a_phrase_is_an_ngram_and_no_token(folder: Path) -> None:
    words = inspected(folder / "model", "what a", "it")["words"]
    places = [(word["word"], word["component"]) for word in words]
    assert places == [("what a", "textcat")] * 2 + [("it", "textcat")] * 2 + [("it", "tok2vec")] * 4
    with_blanks = inspected(folder / "model", "a b c d")["words"]  # of no order
    assert {word["component"] for word in with_blanks} == {"tok2vec"}


def test_a_corpus_is_read_once_for_the_symbols_beside_a_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []

    def counting(path: Path, nlp: Language) -> Any:
        reads.append(path)
        return model_shard(path, nlp)

    monkeypatch.setattr("spacy_multihash.cli._shards.model_shard", counting)
    inspected(folder / "model", "--data", folder / "docs.spacy")
    assert len(reads) == 1
    inspected(folder / "model", "it", "--data", folder / "docs.spacy")
    of_tables = 2  # the components and the importance of n-grams
    assert len(reads) <= 2 + of_tables
