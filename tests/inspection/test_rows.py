"""The command that shows rows, and what it counts, against plain loops."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.tokens import Doc, DocBin
from spacy.util import registry

from spacy_multihash.cli.inspect_rows import Inspection
from spacy_multihash.inspection.rows import (
    Size,
    count_indistinguishable,
    input_width,
    inspect_symbols,
    inspect_table,
    model_size,
    symbols_of,
)
from spacy_multihash.inspection.symbols import symbol_text
from spacy_multihash.tables.find import EmbeddingTable, component_models, find_tables, rows_of
from tests.helpers.cli import ok, refused
from tests.helpers.corpora import (
    CALLBACK,
    HASH,
    LOOKUP,
    build,
    make_docs,
    small_config,
    write_corpus,
)
from tests.helpers.pipelines import add_embedding
from tests.helpers.rows import KEYS, ROWS, inspected, reference_rows

SPACY = {**HASH, "@architectures": "spacy.MultiHashEmbed.v2"}


def write_config(folder: Path, embed: dict[str, Any], **callback: Any) -> Path:
    corpus = write_corpus(folder / "corpus.spacy", make_docs())
    path = folder / "config.cfg"
    small_config(corpus, embed, **callback).to_disk(path)
    return path


def make_pipeline(folder: Path, embed: dict[str, Any], **callback: Any) -> Language:
    corpus = write_corpus(folder / "corpus.spacy", make_docs())
    nlp = build(small_config(corpus, embed, **callback))
    nlp.initialize()
    return nlp


def hash_tables(**settings: Any) -> list[EmbeddingTable]:
    nlp = spacy.blank("en")
    add_embedding(nlp, "tok2vec", {**HASH, "width": 16, **settings})
    return find_tables(nlp)


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
    assert list(models) == ["tok2vec", "ner"]
    total = 0
    for model in models.values():
        arrays = [node.get_param(name) for node in model.walk() for name in node.param_names]
        count = sum(len(array.ravel()) for array in arrays)
        assert model_size(model, model) == Size(count, 4 * count)  # shared layers count once
        total += count
    assert model_size(*models.values()) == Size(total, 4 * total)


def test_lookup_table_in_place_of_a_hash_table_has_the_size_of_a_multi_embed(
    tmp_path: Path,
) -> None:
    hashed = inspected(write_config(tmp_path, HASH), "--data", tmp_path / "corpus.spacy")
    tables = find_tables(make_pipeline(tmp_path, LOOKUP, **CALLBACK))
    for report, table in zip(hashed["tables"], tables, strict=True):
        E, symbols = table.weights.get_param("E"), table.layer.attrs["symbols"]
        nbytes = E.nbytes + symbols.keys.nbytes + symbols.rows.nbytes
        assert report["use"]["lookup_size"] == {"parameters": E.size, "bytes": nbytes}


# Symbols


def test_symbols_are_distinct_and_the_most_frequent_come_first() -> None:
    docs = make_docs()
    tables = hash_tables()
    norms = symbols_of(iter(docs), tables)[tables[0]]
    tokens = [token for doc in docs for token in doc]
    assert set(norms.tolist()) == {token.norm for token in tokens}
    assert len(norms) == len({token.norm for token in tokens})
    assert norms[0] == docs[0].vocab.strings["."]


@pytest.mark.parametrize(
    ("attr", "symbol"),
    [("MORPH", "Case=Nom"), ("TAG", ""), ("POS", "NOUN"), ("SPACY", 1), ("ENT_IOB", 2)],
)
def test_symbols_are_written_as_strings_or_numbers(attr: str, symbol: str | int) -> None:
    vocab = spacy.blank("en").vocab
    id_ = vocab.strings.add(symbol) if isinstance(symbol, str) else symbol
    assert symbol_text(vocab, attr, id_) == str(symbol)


# Use of tables


def indistinguishable_by_loop(rows: list[list[int]]) -> int:
    keys = [sorted(of_symbol) for of_symbol in rows]
    return sum(keys.count(key) > 1 for key in keys)


@pytest.mark.parametrize("num_hashes", [1, 3, 5])
def test_use_of_a_table_is_that_of_a_plain_loop(num_hashes: int) -> None:
    table = hash_tables(num_hashes=num_hashes, rows=[40, 40])[0]
    seeds = table.layer.attrs["seed"].value
    keys = KEYS[:25]
    use = inspect_table(table, keys).use
    assert use is not None
    rows = rows_of(table.layer, keys).tolist()
    if num_hashes <= 4:
        assert rows == reference_rows(keys.tolist(), 40, num_hashes, [seeds])
    assert use.num_symbols == 25
    assert use.load_factor == 25 * num_hashes / 40
    assert use.indistinguishable == indistinguishable_by_loop(rows)


def test_use_of_a_lookup_table(tmp_path: Path) -> None:
    nlp = make_pipeline(tmp_path, LOOKUP, **{**CALLBACK, "min_freq": 2})
    table = find_tables(nlp)[0]  # anna, bob, rome and "."
    doc = Doc(nlp.vocab, words=["Anna", "saw", "Rome", "and", "Oslo"])
    report = inspect_table(table, symbols_of([doc], [table])[table])
    settings = (report.rows_by, report.num_rows, report.num_hashes, report.seed)
    assert settings == ("lookup", 5, 1, None)
    assert report.use is not None
    assert report.use.indistinguishable == 3  # saw, and, oslo: unknown


@given(rows=ROWS)
def test_indistinguishable_symbols_have_the_rows_of_another(rows: list[list[int]]) -> None:
    array = numpy.array(rows, dtype="int32")
    assert count_indistinguishable(array) == indistinguishable_by_loop(rows)


# Words


def test_rows_of_a_word_are_those_of_mmh3() -> None:
    vocab = spacy.blank("en").vocab
    norm, shape = hash_tables(num_hashes=3, seeds=[5, 6])
    (word,) = inspect_symbols(norm, "Apple", vocab)
    assert (word.word, word.component, word.attr) == ("Apple", "tok2vec", "NORM")
    assert word.symbol == "apple"
    assert [word.rows] == reference_rows([vocab["Apple"].norm], 50, 3, [5])
    assert [found.symbol for found in inspect_symbols(shape, "Apple", vocab)] == ["Xxxxx"]
    assert word.sharing is None


@pytest.mark.parametrize("attr", ["NORM", "SHAPE"])
def test_symbols_that_share_rows_with_a_word_are_those_of_a_loop(attr: str) -> None:
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=[f"w{i}" * (i % 7 + 1) for i in range(60)])]
    table = next(t for t in hash_tables(num_hashes=2, rows=[11, 11]) if t.attr == attr)
    symbols = symbols_of(docs, [table])[table]
    (word,) = inspect_symbols(table, "w3w3w3w3", vocab, symbols)
    own = docs[0].vocab["w3w3w3w3"]
    key = own.norm if attr == "NORM" else own.shape
    (rows,) = reference_rows([key], 11, 2, [table.layer.attrs["seed"].value])
    others: dict[int, list[str]] = {1: [], 2: []}
    for symbol in (s for s in symbols.tolist() if s != key):
        (its,) = reference_rows([symbol], 11, 2, [table.layer.attrs["seed"].value])
        equal = sum(a == b for a, b in zip(rows, its, strict=True))
        if equal:
            others[equal].append(vocab.strings[symbol])
    assert word.sharing is not None
    assert [(s.hashes, s.count, s.examples) for s in word.sharing] == [
        (j, len(found), found[:5]) for j, found in others.items()
    ]


# A config


def test_tables_of_a_config_are_known_and_its_weights_are_not(tmp_path: Path) -> None:
    inspection = inspected(write_config(tmp_path, HASH), "Anna")
    tables = [(t["attr"], t["num_rows"], t["width"]) for t in inspection["tables"]]
    assert tables == [("NORM", 50, 16), ("SHAPE", 20, 16)]
    assert inspection["components"] == {"tok2vec": None, "ner": None}
    assert inspection["pipeline"] is None
    trained = make_pipeline(tmp_path, HASH)
    expected = [inspect_symbols(table, "Anna", trained.vocab) for table in find_tables(trained)]
    assert inspection["words"] == [asdict(word) for found in expected for word in found]


@pytest.mark.parametrize(
    "callback",
    [CALLBACK, {"@callbacks": "set_attr", "component": "tok2vec", "attr": "tables", "layer": None}],
)
def test_multi_embed_of_a_config_has_the_tables_of_its_file(
    callback: dict[str, Any], tmp_path: Path
) -> None:
    path = write_config(tmp_path, LOOKUP, **CALLBACK)
    ok("init-tables", path, tmp_path / "x.tables")
    write_config(tmp_path, LOOKUP, **callback, path=str(tmp_path / "x.tables"))
    assert [table["num_rows"] for table in inspected(path)["tables"]] == [13, 7]


@registry.misc("tests.norms.v1")
def make_norms() -> Lookups:
    lookups = Lookups()
    lookups.add_table("lexeme_norm", {"Anna": "hannah"})
    return lookups


def test_norms_are_those_of_the_lookups_that_training_would_load(tmp_path: Path) -> None:
    config = small_config(write_corpus(tmp_path / "corpus.spacy", make_docs()), HASH)
    config["initialize"]["lookups"] = {"@misc": "tests.norms.v1"}
    config.to_disk(tmp_path / "config.cfg")
    assert inspected(tmp_path / "config.cfg", "Anna")["words"][0]["symbol"] == "hannah"


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a pipeline and a corpus."""
    tmp_path = tmp_path_factory.mktemp("folder")
    embed = {**HASH, "rows": [50, 20], "num_hashes": 1, "seeds": [8, 9]}
    make_pipeline(tmp_path, embed).to_disk(tmp_path / "model")
    vocab = spacy.blank("en").vocab
    words = [f"w{i}" for i in range(1000)]
    write_corpus(tmp_path / "words.spacy", [Doc(vocab, words=words)])
    return tmp_path


def test_command_prints_nothing_but_json(folder: Path) -> None:
    printed = inspected(folder / "model", "w7", "--data", folder / "words.spacy")
    norm = printed["tables"][0]
    assert (norm["seed"], norm["use"]["num_symbols"]) == (8, 1000)
    assert printed["words"][0]["sharing"][0]["hashes"] == 1
    assert len(printed["words"][0]["sharing"][0]["examples"]) == 5
    assert printed["components"]["tok2vec"]["bytes"] == 4 * 5120
    assert set(printed) == set(Inspection.__dataclass_fields__)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["."], "Expected a package's name, a pipeline's folder, or a config"),
        (["text.cfg"], r"No pipeline can be built from the config .*text\.cfg"),
        (["words.spacy"], r"No pipeline can be built from the config .*words\.spacy"),
        (["plain"], "no embedding with rows to inspect: looked for .* components sentencizer"),
        (["config.cfg"], "'tok2vec' has no table of NORM yet.* multihash init-tables CONFIG FILE"),
        (["model", "--data", "no.spacy"], "There are no shards at"),
        (["model", "--data", "empty.spacy"], "The corpus has no tokens to inspect"),
        (["model", "--data", "blank.spacy"], "The corpus has no tokens to inspect"),
        (["model", "a", ""], "A word to inspect must have at least one char"),
    ],
)
def test_bad_input_is_one_clear_error(
    folder: Path, args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("model", "words.spacy"):
        Path(name).symlink_to(folder / name)
    Path("text.cfg").write_text("Anna met Bob.")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk("plain")
    write_config(tmp_path, LOOKUP, **CALLBACK)
    DocBin().to_disk("empty.spacy")
    write_corpus(Path("blank.spacy"), [Doc(nlp.vocab)])
    error = refused("inspect-rows", *args, "--json")
    assert re.search(message, error), error


WINDOWS = {"window_size": 2, "maxout_pieces": 2, "depth": 4}


@pytest.mark.parametrize(
    ("name", "settings", "width"),
    [
        ("spacy-multihash.IteratedDilatedEncoder.v1", {"repeats": 3}, 27),
        ("spacy-multihash.MaxoutWindowEncoder.v1", WINDOWS, 17),
        ("spacy.MaxoutWindowEncoder.v2", WINDOWS, None),
    ],
)
def test_input_width_of_an_encoder_is_told(
    name: str, settings: dict[str, int], width: int | None
) -> None:
    encode = {"@architectures": name, "width": 96, **settings}
    model = {"model": {"tok2vec": {"encode": encode}}}
    pipe: Any = spacy.blank("en").add_pipe("tagger_ner", config=model)
    assert input_width(pipe.model) == width
