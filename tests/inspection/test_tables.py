"""The tables of pipelines, and how corpora fill them, against plain loops."""

import json
import re
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_multihash.inspection.tables import (
    InspectedTable,
    InspectedTables,
    TableUse,
    count_indistinguishable,
    distinct_values,
    inspect_tables,
    model_size,
)
from spacy_multihash.layers import importance_seed
from spacy_multihash.tables.find import component_models, find_tables, find_weighted, rows_of
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import (
    CALLBACK,
    HASH,
    LOOKUP,
    build,
    make_docs,
    small_config,
    write_corpus,
)
from tests.helpers.features import KEYS
from tests.helpers.pipelines import (
    add_embedding,
    ngrams_by_loop,
    token_docs,
    two_textcats,
    weighted_pipeline,
)
from tests.helpers.weights import weights_of

SPACY = {**HASH, "@architectures": "spacy.MultiHashEmbed.v2"}
# Rows of a few values in a small table: many of them collide.
ROWS = st.integers(1, 6).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=1, max_size=12)
)


def make_pipeline(folder: Path, embed: dict[str, Any], **callback: Any) -> Language:
    corpus = write_corpus(folder / "corpus.spacy", make_docs())
    nlp = build(small_config(corpus, embed, **callback))
    nlp.initialize()
    return nlp


# Tables


@pytest.mark.parametrize("embed", [HASH, LOOKUP, SPACY], ids=["hash", "lookup", "spacy"])
def test_tables_are_found_also_if_the_component_is_disabled(
    embed: dict[str, Any], tmp_path: Path
) -> None:
    nlp = make_pipeline(tmp_path, embed, **CALLBACK if embed is LOOKUP else {})
    nlp.disable_pipe("tok2vec")
    names = [(table.component, table.attr) for table in find_tables(nlp)]
    assert names == [("tok2vec", "NORM"), ("tok2vec", "SHAPE")]


@pytest.mark.parametrize("embed", [HASH, SPACY], ids=["ours", "spacy"])
def test_rows_are_those_that_the_model_adds_up(embed: dict[str, Any], tmp_path: Path) -> None:
    for table in find_tables(make_pipeline(tmp_path, embed)):
        rows = rows_of(table.layer, KEYS[:50])
        given_ids = rows if embed is HASH else KEYS[:50]
        expected = table.weights.predict(given_ids)
        E = table.weights.get_param("E")
        assert numpy.allclose(E[rows].sum(axis=1), expected, atol=1e-6)


def test_sizes_are_those_of_the_arrays(tmp_path: Path) -> None:
    models = component_models(make_pipeline(tmp_path, HASH))
    total = 0
    for model in models.values():
        count = sum(array.size for array in weights_of(model))
        assert model_size(model, model) == (count, 4 * count)  # shared layers count once
        total += count
    assert model_size(*models.values()) == (total, 4 * total)


def summary(table: InspectedTable) -> tuple[object, ...]:
    sizes = (table.num_rows, table.width, table.num_hashes, table.seed)
    return (table.feature, table.part, table.rows_by, *sizes)


def test_both_tables_of_a_weighted_embedding_are_inspected() -> None:
    done = inspect_tables(weighted_pipeline(num_hashes=3))
    assert [summary(table) for table in done.inspected] == [
        ("NORM", "components", "hash", 30, 16, 3, 5),
        ("NORM", "importance", "hash", 200, 3, 1, importance_seed(5)),
        ("SHAPE", "components", "hash", 8, 16, 3, 6),
        ("SHAPE", "importance", "hash", 11, 3, 1, importance_seed(6)),
    ]
    assert "tok2vec.NORM (importance)" in str(done) and "load" not in str(done)


@pytest.mark.parametrize(
    ("settings", "part", "number"),
    [({}, "vectors", 0), ({"append_importance": True}, "components", 2)],
)
def test_fixed_importance_has_no_table(settings: dict[str, Any], part: str, number: int) -> None:
    nlp = weighted_pipeline(train_importance=False, **settings)
    assert [table.part for table in find_tables(nlp)] == [part] * 2
    assert [weighted.importance for weighted in find_weighted(nlp)] == [None] * number


# Use of tables


def indistinguishable_by_loop(rows: list[list[int]]) -> int:
    keys = [sorted(of_value) for of_value in rows]
    return sum(keys.count(key) > 1 for key in keys)


@given(rows=ROWS)
def test_indistinguishable_values_have_the_rows_of_another(rows: list[list[int]]) -> None:
    array = numpy.array(rows, dtype="int32")
    assert count_indistinguishable(array) == indistinguishable_by_loop(rows)


@pytest.mark.parametrize("num_hashes", [1, 3, 5])
def test_use_of_a_table_is_that_of_a_plain_loop(num_hashes: int) -> None:
    nlp = spacy.blank("en")
    add_embedding(nlp, "tok2vec", {**HASH, "width": 16, "rows": [20, 20], "num_hashes": num_hashes})
    norm = inspect_tables(nlp, make_docs()).inspected[0]
    assert inspect_tables(nlp, DocBin(docs=make_docs())).inspected[0] == norm
    with pytest.raises(ValueError, match="Expected a path or Docs"):
        inspect_tables(nlp, ["Anna"])
    values = sorted({token.norm for doc in make_docs() for token in doc})
    rows = rows_of(find_tables(nlp)[0].layer, numpy.array(values, dtype="uint64")).tolist()
    expected = indistinguishable_by_loop(rows)
    assert norm.use == TableUse(len(values), len(values) * num_hashes / 20, expected)
    assert num_hashes > 1 or 0 < expected < len(values)


def test_use_of_a_lookup_table(tmp_path: Path) -> None:
    nlp = make_pipeline(tmp_path, LOOKUP, **{**CALLBACK, "min_freq": 2})
    doc = Doc(nlp.vocab, words=["Anna", "saw", "Rome", "and", "Oslo"])
    norm = inspect_tables(nlp, [doc]).inspected[0]  # anna, bob, rome and "."
    assert summary(norm)[2:] == ("lookup", 5, 16, 1, None)
    assert norm.use is not None and norm.use.indistinguishable == 3  # saw, and, oslo: unknown


def test_ngrams_of_a_corpus_are_those_of_a_loop() -> None:
    nlp = two_textcats()
    docs, tables = token_docs(nlp), find_tables(nlp)
    values = distinct_values(iter(docs), tables)
    for table, orders in ((tables[0], (1, 3)), (tables[2], (2,))):
        assert len(values[table]) == len(set(ngrams_by_loop(docs, *orders)))


def test_page_has_bars_and_escapes_names() -> None:
    table = InspectedTable("<b>", "<i>", "vectors", "hash", 10, 4, 1, 8, TableUse(5, 0.5, 2))
    page = InspectedTables([table]).page()
    assert "<b>" not in page and "<i>" not in page and "&lt;b&gt;" in page
    assert re.findall(r"width:([\d.]+)%", page) == ["100.0", "40.0"]


# The command


def test_command_reads_shards_and_writes_a_page(tmp_path: Path) -> None:
    make_pipeline(tmp_path, HASH).to_disk(tmp_path / "model")
    (tmp_path / "shards").mkdir()
    for number, doc in enumerate(make_docs()):
        write_corpus(tmp_path / "shards" / f"{number}.spacy", [doc])
    page = tmp_path / "page.html"
    args = (tmp_path / "model", "--data")
    result = cli.ok("inspect-tables", *args, tmp_path / "shards", "--output", page)
    assert "load factor" in said(result) and page.is_file()
    of_shards, of_file = (
        json.loads(cli.ok("inspect-tables", *args, tmp_path / name, "--json").stdout)
        for name in ("shards", "corpus.spacy")
    )
    assert of_shards == of_file


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["."], "Give the pipeline in it, model"),
        (["plain"], "no embedding with rows to inspect: looked for .* components sentencizer"),
        (["model", "--data", "no.spacy"], "There is no corpus at"),
        (["model", "--data", "empty.spacy"], "The corpus has no tokens to inspect"),
        (["model", "--data", "blank.spacy"], "The corpus has no tokens to inspect"),
    ],
)
def test_bad_input_is_one_clear_error(args: list[str], message: str, here: Path) -> None:
    make_pipeline(here, HASH).to_disk("model")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk("plain")
    DocBin().to_disk("empty.spacy")
    write_corpus(Path("blank.spacy"), [Doc(nlp.vocab)])
    error = cli.refused("inspect-tables", *args, "--json")
    assert re.search(message, error), error
