"""The names of the report: its configs run as printed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from spacy.training import Corpus
from spacy.training.initialize import init_nlp
from thinc.api import Config, Model, fix_random_seed

from spacy_multihash import count_symbols, make_tables, write_tables
from spacy_multihash.common.nodes import find_nodes
from spacy_multihash.compat import (
    build_report_multi_embed_v1,
    build_report_multi_fewer_hash_embed_v1,
    make_set_attr,
)
from spacy_multihash.tables.tables import read_tables
from tests.helpers.corpora import CALLBACK, LOOKUP, build, make_docs, small_config, write_corpus
from tests.helpers.vectors import write_pipeline

# Miranda et al. 2022, Appendix C, listings 2 and 3. They replace one section of listing 1, which
# is configs/report.cfg.
LISTING_2 = """
[components.tok2vec.model.embed]
@architectures = "spacy.MultiEmbed.v1"
attrs = ["NORM","PREFIX","SUFFIX","SHAPE"]
width = ${components.tok2vec.model.encode.width}
include_static_vectors = true
unk = 0
"""
LISTING_3 = """
[components.tok2vec.model.embed]
@architectures = "spacy.MultiFewerHashEmbed.v1"
num_hashes = 1
width = ${components.tok2vec.model.encode.width}
attrs = ["NORM","PREFIX","SUFFIX","SHAPE"]
rows = [5000,2500,2500,2500]
include_static_vectors = true
"""
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
SET_ATTR = {"@callbacks": "set_attr", "component": "tok2vec", "attr": "tables", "layer": None}


def counts_of(docs: list[Doc]) -> dict[str, Counter[int]]:
    return count_symbols(docs, {attr: spacy.attrs.intify_attr(attr) for attr in ATTRS})


def initialize(listing: str, tmp_path: Path, **callback: Any) -> Language:
    """Complete a listing, initialize its pipeline, and see it learn in forty steps."""
    corpus = write_corpus(tmp_path / "corpus.spacy", make_docs())
    X = numpy.eye(4, 8, dtype="float32")
    vectors = write_pipeline(tmp_path / "vectors", X, ["Anna", "Bob", "Rome", "."], "en")
    config = small_config(corpus, {}, **callback)
    parents = "[components]\n[components.tok2vec]\n[components.tok2vec.model]\n"
    config = config.merge(Config().from_str(f"{parents}{listing}", interpolate=False))
    config["paths"]["vectors"] = str(vectors)
    nlp = init_nlp(build(config).config)
    examples = list(Corpus(corpus)(nlp))
    sgd = nlp.create_optimizer()
    losses = [nlp.update(examples, sgd=sgd)["ner"] for _ in range(40)]
    assert 0 < losses[-1] < losses[0] / 2
    for node in nodes(nlp, "table_embed"):
        assert node.get_grad("E").any()
    return nlp


def embed_of(nlp: Language) -> Model:
    return nlp.get_pipe("tok2vec").model.get_ref("embed")  # type: ignore[attr-defined]


def nodes(nlp: Language, name: str) -> list[Model]:
    return find_nodes(embed_of(nlp), name)


def test_listing_2_runs_with_the_callback_of_the_report(tmp_path: Path) -> None:
    tables = tmp_path / "corpus.tables"
    write_tables(tables, make_tables(counts_of(make_docs()), min_freq=1))
    nlp = initialize(LISTING_2, tmp_path, **{**SET_ATTR, "layer": "multiembed"}, path=str(tables))
    assert embed_of(nlp).name == "multiembed"
    for attr, layer in zip(ATTRS, nodes(nlp, "lookup_rows"), strict=True):
        keys = read_tables(tables).tables[attr].keys
        assert layer.attrs["attr"].value == attr
        assert layer.predict(keys).ravel().tolist() == list(range(1, len(keys) + 1))


def test_listing_3_runs(tmp_path: Path) -> None:
    nlp = initialize(LISTING_3, tmp_path)
    hashes = nodes(nlp, "hash_rows")
    assert [node.attrs["num_hashes"].value for node in hashes] == [1] * 4
    assert [node.attrs["seed"].value for node in hashes] == [8, 9, 10, 11]


@pytest.fixture
def docs() -> list[Doc]:
    return make_docs()


def predictions(model: Model, docs: list[Doc]) -> numpy.ndarray:
    fix_random_seed(3)
    return numpy.vstack(model.initialize(X=docs).predict(docs))


def test_four_of_fewer_hashes_are_spacy_itself(docs: list[Doc]) -> None:
    fewer = build_report_multi_fewer_hash_embed_v1(8, 4, ATTRS, [50, 20, 20, 20], False)
    theirs = MultiHashEmbed(8, ATTRS, [50, 20, 20, 20], False)
    assert_allclose(predictions(fewer, docs), predictions(theirs, docs), atol=1e-5)


def test_tables_dropout_and_pieces_may_be_given_in_line(docs: list[Doc]) -> None:
    strings = docs[0].vocab.strings
    rows = {strings["rome"]: 1, strings["anna"]: 2}
    model = build_report_multi_embed_v1(
        ["NORM"], 8, 0, tables={"NORM": rows}, dropout=0.3, maxout_pieces=2
    )
    predictions(model, docs)
    (drop,), (mix,) = find_nodes(model, "dropout"), find_nodes(model, "maxout_norm")
    assert (drop.attrs["dropout_rate"], mix.get_dim("nP")) == (0.3, 2)
    (lookup,) = [node for node in model.walk() if node.name == "lookup_rows"]
    ids = numpy.array([strings["anna"], strings["rome"], strings["."]], dtype="uint64")
    assert lookup.predict(ids).tolist() == [[2], [1], [0]]


def test_set_attr_keeps_the_tables_of_a_trained_component(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus.spacy", make_docs())
    first = init_nlp(build(small_config(corpus, LOOKUP, **CALLBACK)).config)
    first.to_disk(tmp_path / "first")
    counts = counts_of(make_docs()[:1])
    write_tables(tmp_path / "other.tables", make_tables(counts, min_freq=1))
    config = small_config(corpus, LOOKUP, path=str(tmp_path / "other.tables"), **SET_ATTR)
    for name in ("tok2vec", "ner"):
        config["components"][name] = {"source": str(tmp_path / "first")}
    nlp = init_nlp(config)
    assert_array_equal(nlp("Anna met rain").tensor, first("Anna met rain").tensor)


def set_tables_of(path: Path) -> Language:
    nlp = spacy.blank("en")
    embed = {"@architectures": "spacy.MultiEmbed.v1", "attrs": ATTRS, "width": 8, "unk": 0}
    nlp.add_pipe("tok2vec", config={"model": embed})
    return make_set_attr(path, "tok2vec", "tables", None)(nlp)


def test_set_attr_reads_the_file_of_the_reports_own_script(tmp_path: Path) -> None:
    # What the script makes with unk = 0: rows by frequency, from 1 on.
    rows = {
        attr: {symbol: i + 1 for i, (symbol, _) in enumerate(count.most_common())}
        for attr, count in counts_of(make_docs()).items()
    }
    srsly.write_msgpack(tmp_path / "train.tables", rows)
    model = set_tables_of(tmp_path / "train.tables").get_pipe("tok2vec").model  # type: ignore[attr-defined]
    for attr, layer in zip(ATTRS, find_nodes(model, "lookup_rows"), strict=True):
        ids = numpy.array(list(rows[attr]), dtype="uint64")
        assert layer.predict(ids).ravel().tolist() == list(rows[attr].values())


def of_file(tables: Any) -> Callable[[Path], Any]:

    def run(folder: Path) -> None:
        srsly.write_msgpack(folder / "train.tables", tables)
        set_tables_of(folder / "train.tables")

    return run


def of_settings(**settings: Any) -> Callable[[Path], Any]:
    return lambda folder: build_report_multi_embed_v1(["NORM"], 8, **{"unk": 0, **settings})


ROWS = "rows of {} values must be 1 to {}, each once"
WHOLE = "NORM.* must map ids .* to rows, both integers, got "
NO_FILE = "train.tables is not a file of tables"
REFUSED: list[tuple[Callable[[Path], Any], str]] = [
    (of_file({"NORM": {17: 1}}), "lack PREFIX"),
    (of_file({"NORM": {17: 0}}), f"NORM.* {ROWS.format(1, 1)}"),
    (of_file({"NORM": {17: 1, 18: 1}}), f"NORM.* {ROWS.format(2, 2)}"),
    (of_file({"NORM": {"17": 1}}), f"{WHOLE}'17': 1"),
    (of_file({"NORM": {17: "1"}}), f"{WHOLE}17: '1'"),
    (of_file({"NORM": {17: True}}), f"{WHOLE}17: True"),
    *((of_file(tables), NO_FILE) for tables in ({}, {"NORM": 3})),
    (of_settings(unk=5), "unk must be 0, got 5"),
    (of_settings(tables={"NORM": {17: 2, 18: 3}}), ROWS.format(2, 2)),
    (lambda _: make_set_attr(Path("x"), "tok2vec", "x", "m"), "attr = 'tables' .*got 'x'"),
]


@pytest.mark.parametrize(("do", "message"), REFUSED)
def test_refusals(do: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"(?s){message}"):
        do(tmp_path)
