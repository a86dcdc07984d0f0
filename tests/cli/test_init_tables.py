import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from thinc.api import Config

from spacy_multihash import Tables, init_tables, read_tables
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import CALLBACK, LOOKUP, make_docs, small_config, write_corpus
from tests.helpers.processes import linux, run_into

invoke = partial(cli.invoke, "init-tables")
ok = partial(cli.ok, "init-tables")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config with a corpus in which "." occurs 4 times, and anna, bob and rome twice."""
    corpus = write_corpus(tmp_path / "corpus.spacy", make_docs())
    path = tmp_path / "config.cfg"
    small_config(corpus, LOOKUP, **CALLBACK).to_disk(path)
    return path


def made(config: Path, **settings: Any) -> Tables:
    return init_tables(config, **settings).made


def sizes(tables: Tables) -> dict[str, int]:
    return {name: len(table) for name, table in tables.tables.items()}


def test_tables_are_written_with_counts(config: Path) -> None:
    output = config.with_name("out.tables")
    assert "attribute rows" in said(ok(config, output, "--min-freq", 2))
    tables = read_tables(output)
    assert {name: table.counts.tolist() for name, table in tables.tables.items()} == {
        "NORM": [4, 2, 2, 2],
        "SHAPE": [6, 4, 4, 2],
    }


@pytest.mark.parametrize("callback", [None, {"@callbacks": CALLBACK["@callbacks"]}])
def test_cut_that_the_config_does_not_name_is_ten(
    callback: Any, config: Path, tmp_path: Path
) -> None:
    plain = Config().from_disk(config, interpolate=False)
    plain["initialize"]["before_init"] = callback
    plain["paths"]["train"] = str(write_corpus(tmp_path / "long.spacy", make_docs(10)))
    plain.to_disk(config)
    assert made(config).min_freq == 10


def test_callback_may_be_of_variables(config: Path) -> None:
    changed = Config().from_disk(config, interpolate=False)
    callback = {**changed["initialize"]["before_init"], "component": "tok2vec", "max_rows": 3}
    changed["vars"] = {"min_freq": 3, "callback": {**callback, "min_freq": "${vars.min_freq}"}}
    changed["initialize"]["before_init"] = "${vars.callback}"
    changed.to_disk(config, interpolate=False)
    tables = made(config)
    assert (tables.min_freq, tables.max_rows) == (3, 3)


def test_corpus_of_the_config_is_not_replaced(config: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.spacy"
    before = corpus.read_bytes()
    for override in ([], ["--paths.train", str(corpus)]):
        result = invoke(config, corpus, "--force", *override)
        assert "has another use for" in said(result)
    assert corpus.read_bytes() == before


def test_settings_go_before_the_config(config: Path, tmp_path: Path) -> None:
    assert sizes(made(config, min_freq=2, max_rows=3)) == {"NORM": 2, "SHAPE": 2}
    corpus = write_corpus(tmp_path / "other.spacy", make_docs()[3:])
    found = sizes(made(config, overrides={"paths.train": str(corpus)}))
    assert found["NORM"] == 4  # they, like, rain, .


EMBED = "--components.tok2vec.model.embed"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--workers", 2), "--workers is for --shards"),
        (("word",), "Invalid config override 'word': name should start with --"),
        (("--no.such", 1), "not a section value that can be overridden"),
        ((f"{EMBED}.width", "wide"), "wide"),
        (("--paths.train", "none.spacy"), "There is no corpus at none.spacy"),
        (("--paths.train", "bad.spacy"), "Cannot read bad.spacy"),
    ],
    ids=lambda args: " ".join(map(str, args)) if isinstance(args, tuple) else "",
)
def test_bad_input_is_one_error(args: Any, message: str, config: Path, here: Path) -> None:
    Path("bad.spacy").write_bytes(zlib.compress(b"\x80"))
    assert message in cli.refused("init-tables", config, "out.tables", *args)
    assert not Path("out.tables").exists()


@linux
def test_stdout_holds_the_tables_alone(config: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy", "multihash", "init-tables", str(config)]
    found = read_tables(run_into(command, "file", tmp_path))
    assert sizes(found) == {"NORM": 12, "SHAPE": 6}


def test_files_beside_docs_are_not_counted(config: Path, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    write_corpus(shards / "a.spacy", make_docs())
    (shards / "b.txt").write_text("Zoë Zoë")
    done = init_tables(config, shards=shards, min_freq=2)
    assert done.rows == {"NORM": 5, "SHAPE": 5} and "b.txt" in str(done)
    assert done.to_json()["not_counted"] == [str(shards / "b.txt")]
