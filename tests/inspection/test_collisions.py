"""What inspect-rows says of weighted hash embeddings, of tokens and of n-grams."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import Result

from spacy_multihash.cli.inspect_rows import inspect_rows, inspect_rows_cli
from spacy_multihash.common.types import NgramLayer
from spacy_multihash.corpus.shards import model_shard
from spacy_multihash.embed.find import EmbeddingTable, find_tables, find_weighted, rows_of
from spacy_multihash.inspection.chance import in_collision_by_chance
from spacy_multihash.inspection.importance import symbol_importance
from spacy_multihash.inspection.rows import (
    Collisions,
    inspect_collisions,
    inspect_table,
    inspect_word,
    list_suspicions,
    symbols_of,
)
from spacy_multihash.inspection.symbols import find_ngram_texts
from spacy_multihash.layers import importance_seed
from spacy_multihash.tables.set_tables import ngram_ids
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.ngrams import ngrams_by_loop
from tests.helpers.pipelines import (
    DICTIONARY,
    ENSEMBLE,
    TEXTCAT,
    WEIGHTED,
    add_embedding,
    textcat_pipeline,
    token_docs,
    weighted_pipeline,
)
from tests.helpers.rows import KEYS, reference_rows


def invoke(*args: Any) -> Result:
    return invoke_command(inspect_rows_cli, *args)


def shared_by_loop(rows: list[Any]) -> int:
    return sum(rows.count(row) > 1 for row in rows)


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


def test_importance_that_is_looked_up_has_a_row_for_each_symbol_of_its_table() -> None:
    assert [summary(table) for table in find_tables(weighted_pipeline(importance_by="lookup"))] == [
        ("NORM", "components", "hash", 30, 16, 2, 5, 30 * 16),
        ("NORM", "importance", "lookup", 5, 2, 1, None, 5 * 2),
        ("SHAPE", "components", "hash", 8, 16, 2, 6, 8 * 16),
        ("SHAPE", "importance", "lookup", 5, 2, 1, None, 5 * 2),
    ]


@pytest.mark.parametrize(
    ("settings", "parts"),
    [({}, ["vectors"] * 2), ({"aggregate": "concatenate"}, ["components"] * 2)],
)
def test_importance_that_is_fixed_has_no_table(settings: dict[str, Any], parts: list[str]) -> None:
    nlp = weighted_pipeline(train_importance=False, **settings)
    assert [table.part for table in find_tables(nlp)] == parts
    assert [w.importance for w in find_weighted(nlp)] == [None] * parts.count("components")


def test_importance_without_its_table_of_symbols_is_an_error() -> None:
    nlp = spacy.blank("en")
    add_embedding(nlp, "tok2vec", {**WEIGHTED, "importance_by": "lookup", "importance_rows": None})
    with pytest.raises(ValueError, match="component 'tok2vec' has no table of NORM yet"):
        find_tables(nlp)


def test_tables_of_all_members_of_an_ensemble_are_found() -> None:
    tables = find_tables(textcat_pipeline(ENSEMBLE))
    assert [(table.component, table.attr, table.part) for table in tables] == [
        ("textcat", "LOWER[1,3]", "components"),
        ("textcat", "LOWER[1,3]", "importance"),
        ("textcat", "LOWER[2]", "components"),
        ("textcat", "LOWER[2]", "importance"),
    ]


# Collisions


def collisions(symbols: numpy.ndarray, **settings: Any) -> Collisions:
    return inspect_collisions(find_weighted(weighted_pipeline(**settings))[0], symbols)


@pytest.mark.parametrize("num_hashes", [1, 2, 3])
@pytest.mark.parametrize("independent", [True, False])
def test_collisions_are_those_of_a_loop(num_hashes: int, independent: bool) -> None:
    symbols = KEYS[:60]
    found = collisions(symbols, num_hashes=num_hashes, independent=independent)
    own = reference_rows(symbols.tolist(), 200, 1, [importance_seed(5)])
    hashed = symbols.tolist() if independent else [row for (row,) in own]
    rows = reference_rows(hashed, 30, num_hashes, [5])
    both = [(*row, *its) for row, its in zip(rows, own, strict=True)]
    assert (found.component, found.attr, found.seed) == ("tok2vec", "NORM", 5)
    assert found.importance is not None and found.both is not None
    assert found.num_symbols == 60
    assert found.components.actual == shared_by_loop(rows)
    assert found.importance.actual == shared_by_loop(own)
    assert found.both.actual == shared_by_loop(both)


def test_chance_of_collisions_is_that_of_the_closed_forms() -> None:
    found = collisions(KEYS[:60])
    assert found.importance is not None and found.both is not None
    for count, outcomes in (
        (found.components, 30**2),
        (found.importance, 200),
        (found.both, 30**2 * 200),
    ):
        assert count.mean == pytest.approx(60 * (1 - (1 - 1 / outcomes) ** 59))
        assert (count.mean, count.sd) == in_collision_by_chance(60, outcomes)
    assert found.probability == pytest.approx(1 - (1 - 1 / (30**2 * 200)) ** 59)


def test_symbols_of_one_row_of_importance_are_the_same_if_it_is_hashed_to_components() -> None:
    found = collisions(KEYS[:60], independent=False)
    assert found.both == found.importance
    assert found.importance is not None and found.importance.mean is not None
    assert found.components.mean is not None
    # The components of all these collide, and of those by chance.
    assert found.components.mean > found.importance.actual


def test_symbols_that_are_looked_up_collide_only_if_unknown() -> None:
    docs = make_docs()
    nlp = weighted_pipeline(importance_by="lookup")
    (embedding, _) = find_weighted(nlp)
    symbols = symbols_of(docs, [embedding.components])[embedding.components]
    found = inspect_collisions(embedding, symbols)
    unknown = len(symbols) - 4  # anna, bob, rome and "." occur twice
    assert found.importance is not None and found.both is not None
    assert (found.importance.actual, found.importance.mean) == (unknown, None)
    assert (found.both.mean, found.both.sd) == in_collision_by_chance(unknown, 30**2)
    alike = inspect_collisions(
        find_weighted(weighted_pipeline(importance_by="lookup", independent=False))[0], symbols
    )
    assert alike.both is not None
    assert (alike.both.actual, alike.both.mean, alike.probability) == (unknown, None, None)


@pytest.mark.parametrize("independent", [True, False])
def test_good_seeds_lead_to_collisions_near_chance(independent: bool) -> None:
    settings = {"rows": [100, 101], "importance_rows": [5000, 4999], "seeds": None}
    nlp = weighted_pipeline(independent=independent, **settings)
    for embedding in find_weighted(nlp):
        found = inspect_collisions(embedding, KEYS)
        for count in (found.components, found.importance, found.both):
            assert count is not None and count.mean is not None and count.sd is not None
            assert abs(count.actual - count.mean) <= 4 * count.sd + 2
    for table in find_tables(nlp):
        assert list_suspicions(inspect_table(table, KEYS)) == []


def test_symbols_that_are_hashed_as_one_reach_no_more_rows_than_one() -> None:
    nlp = weighted_pipeline(independent=False, rows=[50, 8], importance_rows=[10, 11])
    table = find_tables(nlp)[0]
    use = inspect_table(table, KEYS).use
    assert use is not None
    assert use.num_symbols == len(KEYS)
    assert use.unreached.mean == pytest.approx(50 * (49 / 50) ** (10 * 2))
    sizes = numpy.unique(rows_of(table.layer.layers[0], KEYS), return_counts=True)[1]
    within = sum(size * (size - 1) // 2 for size in sizes.tolist())
    across = len(KEYS) * (len(KEYS) - 1) // 2 - within
    assert use.colliding_pairs[1].mean == pytest.approx(within + across / 50**2)


def test_fixed_importance_has_collisions_of_components_alone() -> None:
    found = collisions(KEYS[:60], train_importance=False, aggregate="concatenate")
    assert (found.importance, found.both) == (None, None)
    assert found.components.mean is not None
    assert found.probability == pytest.approx(found.components.mean / 60)


def test_no_symbols_do_not_collide() -> None:
    found = collisions(KEYS[:0])
    assert found.both is not None
    assert (found.both.actual, found.both.mean, found.probability) == (0, 0, 0)


# N-grams


def ngram_texts(
    read: Callable[[], Iterable[Doc]], ngrams: NgramLayer, ids: list[int], vocab: Vocab
) -> list[str]:
    """Write n-grams, all of which docs have, as texts."""
    found = find_ngram_texts(read, ngrams, ids, vocab)
    return [found[id_] for id_ in ids]


@pytest.mark.parametrize("make", [list, iter], ids=["list", "iterator"])
def test_ngrams_of_a_corpus_are_those_of_a_loop(make: Callable[[Any], Any]) -> None:
    nlp = textcat_pipeline(ENSEMBLE)
    docs, tables = token_docs(nlp), find_tables(nlp)
    symbols = symbols_of(make(docs), tables)
    for table, orders in ((tables[0], (1, 3)), (tables[2], (2,))):
        assert table.ngrams is not None
        ids = symbols[table]
        texts = ngram_texts(lambda: docs, table.ngrams, ids.tolist(), nlp.vocab)
        expected = ngrams_by_loop(docs, *orders)
        counts = [expected.count(text) for text in texts]
        assert sorted(texts) == sorted(set(expected))
        assert counts == sorted(counts, reverse=True)


def test_a_corpus_is_read_no_further_than_the_last_text() -> None:
    nlp = textcat_pipeline({**TEXTCAT, "ngram_orders": [2]})
    table = find_tables(nlp)[0]
    assert table.ngrams is not None
    docs = [nlp.make_doc("what a joke")] * 256  # the docs of a batch

    def read() -> Iterator[Doc]:
        yield from docs
        raise AssertionError("read on")

    ids = ngram_ids(table.ngrams, docs[:1]).tolist()
    assert ngram_texts(read, table.ngrams, ids, nlp.vocab) == ["what a", "a joke"]
    docs.clear()
    assert ngram_texts(read, table.ngrams, [], nlp.vocab) == []


def test_texts_are_found_behind_the_first_docs() -> None:
    nlp = textcat_pipeline(ENSEMBLE)
    docs = [nlp.make_doc("some other words")] * 600 + [nlp.make_doc("the last one at last")]
    table = find_tables(nlp)[2]
    assert table.ngrams is not None
    ids = symbols_of(docs, [table])[table].tolist()
    texts = ngram_texts(lambda: docs, table.ngrams, ids + ids[:1], nlp.vocab)
    assert texts[:2] == texts[-1:] + texts[1:2]
    assert set(texts) == set(ngrams_by_loop(docs, 2))


def test_rows_of_an_ngram_are_those_of_its_id() -> None:
    nlp = textcat_pipeline(ENSEMBLE)
    docs, table = token_docs(nlp), find_tables(nlp)[0]
    assert table.ngrams is not None
    symbols = symbols_of(docs, [table])[table]
    texts = ngram_texts(lambda: docs, table.ngrams, symbols.tolist(), nlp.vocab)
    id_ = int(symbols[texts.index("what a joke")])
    word = inspect_word(table, "What  a joke", nlp.vocab, symbols)
    assert (word.symbol, word.part) == ("what a joke", "components")
    assert [word.rows] == reference_rows([id_], 30, 2, [table.layer.attrs["seed"].value])
    assert word.sharing is not None
    listed = [text for sharing in word.sharing for text in sharing.examples]
    assert all(text.isdigit() for text in listed)  # ids: nobody said where they occur


@pytest.mark.parametrize(("word", "number"), [("what a", 2), ("what a joke this", 4), (" ", 0)])
def test_an_ngram_of_another_order_is_an_error(word: str, number: int) -> None:
    nlp = textcat_pipeline(ENSEMBLE)
    message = re.escape(f"LOWER to inspect have orders [1, 3], but {word!r} has {number} words")
    with pytest.raises(ValueError, match=message):
        inspect_word(find_tables(nlp)[0], word, nlp.vocab)


def test_inspecting_skips_tables_of_other_orders(tmp_path: Path) -> None:
    textcat_pipeline(ENSEMBLE).to_disk(tmp_path / "model")
    inspection = inspect_rows(tmp_path / "model", ["joke", "a joke"])
    shown = [(word.word, word.attr) for word in inspection.words]
    assert shown == [("joke", "LOWER[1,3]")] * 2 + [("a joke", "LOWER[2]")] * 2
    with pytest.raises(ValueError, match=r"have orders \[1, 3\], but 'a joke of a' has 4 words"):
        inspect_rows(tmp_path / "model", ["a joke of a"])


def test_a_corpus_without_ngrams_of_an_order_is_an_error() -> None:
    nlp = textcat_pipeline({**TEXTCAT, "ngram_orders": [4]})
    with pytest.raises(ValueError, match=r"or none that make a symbol of LOWER\[4\]\. Give a"):
        symbols_of([nlp.make_doc("three words only")], find_tables(nlp))


def test_ngrams_that_a_dictionary_leaves_out_are_no_symbols_of_its_model() -> None:
    nlp = textcat_pipeline(DICTIONARY)
    docs, tables = token_docs(nlp), find_tables(nlp)
    everything = ngrams_by_loop(docs, 1, 2)
    known = {text for text in everything if everything.count(text) >= 2}
    assert len(known) < len(set(everything))
    symbols = symbols_of(docs, tables)
    for table in tables:
        assert table.ngrams is not None
        ids = symbols[table].tolist()
        assert sorted(ngram_texts(lambda: docs, table.ngrams, ids, nlp.vocab)) == sorted(known)
    report = inspect_table(tables[1], symbols[tables[1]])
    assert report.use is not None and report.use.unreached.actual == 1  # row 0
    (embedding,) = find_weighted(nlp)
    found = inspect_collisions(embedding, symbols[embedding.components])
    assert found.importance is not None
    assert (found.num_symbols, found.importance.actual) == (len(known), 0)


def test_the_dictionary_of_one_member_is_not_that_of_another() -> None:
    members = {"first": DICTIONARY, "second": {**TEXTCAT, "ngram_orders": [1, 2], "seed": 3}}
    nlp = textcat_pipeline({**ENSEMBLE, "*": members})
    docs, (known, _, everything, _) = token_docs(nlp), find_tables(nlp)
    symbols = symbols_of(docs, [known, everything])
    assert known.attr == everything.attr
    assert len(symbols[everything]) == len(set(ngrams_by_loop(docs, 1, 2))) > len(symbols[known])


def test_an_ngram_that_the_dictionary_leaves_out_has_no_rows(tmp_path: Path) -> None:
    nlp = textcat_pipeline(DICTIONARY)
    message = "leaves out 'joke this', which its dictionary of textcat.LOWER.1,2. does not have"
    with pytest.raises(ValueError, match=message):
        inspect_word(find_tables(nlp)[0], "joke this", nlp.vocab)
    nlp.to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        inspect_rows(tmp_path / "model", ["a joke", "joke this"])
    shown = inspect_rows(tmp_path / "model", ["a joke"]).words
    assert [(word.word, word.part) for word in shown] == [
        ("a joke", "components"),
        ("a joke", "importance"),
    ]


def test_a_dictionary_without_ngrams_of_the_corpus_is_a_warning(tmp_path: Path) -> None:
    nlp = textcat_pipeline(DICTIONARY)
    add_embedding(nlp, "tok2vec", WEIGHTED)
    nlp.initialize()
    nlp.to_disk(tmp_path / "model")
    docs = [nlp.make_doc("quite other words")]
    DocBin(docs=docs).to_disk(tmp_path / "other.spacy")
    inspection = inspect_rows(tmp_path / "model", data=tmp_path / "other.spacy")
    missing = "no symbol of textcat.LOWER[1,2] that its dictionary has"
    assert sum(missing in line for line in inspection.warnings) == 1
    used = {(table.component, table.attr): table.use is not None for table in inspection.tables}
    assert used == {
        ("textcat", "LOWER[1,2]"): False,
        ("tok2vec", "NORM"): True,
        ("tok2vec", "SHAPE"): True,
    }
    assert [found.component for found in inspection.collisions] == ["tok2vec"] * 2
    with pytest.raises(ValueError, match=r"no symbol of textcat.LOWER\[1,2\] that its dict"):
        symbol_importance(nlp, lambda: docs, component="textcat")


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


def test_command_shows_both_tables_and_their_collisions(folder: Path) -> None:
    result = invoke(folder / "model", "it", "what a", "--data", folder / "docs.spacy")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    first = lines.index("tok2vec.NORM components 30 16 2 5 480 1,920")
    seed = importance_seed(5)
    assert lines[first + 1] == f"tok2vec.NORM importance 200 2 1 {seed} 400 1,600"
    found = inspect_rows(folder / "model", data=folder / "docs.spacy").collisions
    assert [(c.component, c.attr) for c in found] == [
        ("textcat", "LOWER[1,2]"),
        ("tok2vec", "NORM"),
        ("tok2vec", "SHAPE"),
    ]
    of_ngrams = found[0]
    assert of_ngrams.importance is not None and of_ngrams.both is not None
    counts = {"components": of_ngrams.components, "importance": of_ngrams.importance}
    for kind, count in counts.items():
        assert f"textcat.LOWER[1,2] 13 {kind} {count.actual} {count.mean:.3g}" in lines
    both = f"both {of_ngrams.both.actual} {of_ngrams.both.mean:.3g} {of_ngrams.probability:.3g}"
    assert f"textcat.LOWER[1,2] 13 {both}" in lines
    assert any(line.startswith("what a textcat.LOWER[1,2] components 'what a' ") for line in lines)


def test_command_shows_ngrams_that_share_rows_as_texts(folder: Path) -> None:
    result = invoke(folder / "model", "it", "--data", folder / "docs.spacy", "--json")
    printed = json.loads(result.stdout)
    assert [table["part"] for table in printed["tables"]] == ["components", "importance"] * 3
    words = [word for word in printed["words"] if word["component"] == "textcat"]
    examples = {text for word in words for s in word["sharing"] for text in s["examples"]}
    assert examples and examples < set(ngrams_by_loop(token_docs(spacy.blank("en")), 1, 2))
    assert printed["collisions"][0]["num_symbols"] == 13


def test_command_tells_the_models_of_an_ensemble_apart(tmp_path: Path) -> None:
    nested = {**ENSEMBLE, "*": {"inner": ENSEMBLE, "last": TEXTCAT}}
    nlp = textcat_pipeline(nested)
    nlp.to_disk(tmp_path / "model")
    write_corpus(tmp_path / "docs.spacy", token_docs(nlp))
    result = invoke(tmp_path / "model", "it", "--data", tmp_path / "docs.spacy")
    first_cells = [line.split()[:2] for line in result.output.splitlines()]
    for name in ("textcat[0.0].LOWER[1,3]", "textcat[0.1].LOWER[2]", "textcat[1].LOWER[1,2]"):
        assert [name, "components"] in first_cells and [name, "importance"] in first_cells
    found = inspect_rows(tmp_path / "model", ["it"], data=tmp_path / "docs.spacy")
    assert [table.member for table in found.tables] == ["0.0", "0.0", "0.1", "0.1", "1", "1"]
    assert [word.member for word in found.words] == ["0.0", "0.0", "1", "1"]
    assert [collisions.member for collisions in found.collisions] == ["0.0", "0.1", "1"]


def test_a_phrase_is_an_ngram_and_no_token(folder: Path) -> None:
    words = inspect_rows(folder / "model", ["what a", "it"]).words
    places = [(word.word, word.component) for word in words]
    assert places == [("what a", "textcat")] * 2 + [("it", "textcat")] * 2 + [("it", "tok2vec")] * 4
    with_blanks = inspect_rows(folder / "model", ["a b c d"]).words  # of no order
    assert {word.component for word in with_blanks} == {"tok2vec"}


def test_a_corpus_is_read_once_for_the_symbols_beside_a_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []

    def counting(path: Path, nlp: Language) -> Any:
        reads.append(path)
        return model_shard(path, nlp)

    monkeypatch.setattr("spacy_multihash.cli._shards.model_shard", counting)
    inspect_rows(folder / "model", data=folder / "docs.spacy")
    assert len(reads) == 1
    inspect_rows(folder / "model", ["it"], data=folder / "docs.spacy")
    of_tables = 2  # the components and the importance of n-grams
    assert len(reads) <= 2 + of_tables


def test_command_has_no_collisions_without_a_corpus(folder: Path) -> None:
    assert inspect_rows(folder / "model").collisions == []
    assert "collision" not in said(invoke(folder / "model"))


@pytest.mark.parametrize("aggregate", ["sum", "concatenate"])
def test_width_of_a_table_is_that_of_its_rows(aggregate: str) -> None:
    tables = find_tables(weighted_pipeline(aggregate=aggregate))
    found = [inspect_table(table).width for table in tables if table.part == "components"]
    assert found == [table.weights.get_param("E").shape[1] for table in tables[::2]]
