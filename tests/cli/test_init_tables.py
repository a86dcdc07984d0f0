import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from thinc.api import Config

from spacy_multihash import Tables, read_tables
from spacy_multihash.cli._shards import Shards
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import CALLBACK, LOOKUP, make_docs, small_config, write_corpus
from tests.helpers.streams import linux, run_into

invoke = partial(cli.invoke, "init-tables")
ok = partial(cli.ok, "init-tables")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config with a corpus in which "." occurs 4 times, and anna, bob and rome twice."""
    corpus = write_corpus(tmp_path / "corpus.spacy", make_docs())
    path = tmp_path / "config.cfg"
    small_config(corpus, LOOKUP, **CALLBACK).to_disk(path)
    return path


def made(config: Path, *args: Any) -> Tables:
    """Run the command, and read the tables."""
    output = config.with_name("out.tables")
    ok(config, output, *args)
    return read_tables(output)


def sizes(tables: Tables) -> dict[str, int]:
    return {name: len(table) for name, table in tables.tables.items()}


def test_tables_are_written_with_counts(config: Path) -> None:
    tables = made(config, "--min-freq", 2)
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


def test_options_go_before_the_config(config: Path, tmp_path: Path) -> None:
    assert sizes(made(config, "--min-freq", 2, "--max-rows", 3)) == {"NORM": 2, "SHAPE": 2}
    corpus = write_corpus(tmp_path / "other.spacy", make_docs()[3:])
    found = sizes(made(config, "--paths.train", corpus, "--force"))
    assert found["NORM"] == 4  # they, like, rain, .


def refused(config: Path, output: Path, *args: Any) -> str:
    """Run a command that must fail without a file, and give what it says on one line."""
    error = cli.refused("init-tables", config, output, *args)
    assert not output.exists()
    return error


EMBED = "--components.tok2vec.model.embed"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--workers", 2), "--workers and --dask count shards: give the folder"),
        (("--component", "ner"), "component 'ner' holds no MultiEmbed"),
        (("word",), "Invalid config override 'word': name should start with --"),
        (("--no.such", 1), "not a section value that can be overridden"),
        ((f"{EMBED}.width", "wide"), "wide"),
        (("--paths.train", "none.spacy"), "There is no corpus at none.spacy"),
        (("--paths.train", "bad.spacy"), "Cannot read bad.spacy"),
        (("--training.max_epochs", -1), "with --training.max_epochs 0 and the sample's path"),
    ],
    ids=lambda args: " ".join(map(str, args)) if isinstance(args, tuple) else "",
)
def test_bad_input_is_one_error(
    args: tuple[Any, ...],
    message: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.spacy").write_bytes(zlib.compress(b"\x80"))
    assert message in refused(config, tmp_path / "out.tables", *args)


@linux
def test_stdout_holds_the_tables_alone(config: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy", "multihash", "init-tables", str(config)]
    found = read_tables(run_into(command, "file", tmp_path))
    assert sizes(found) == {"NORM": 12, "SHAPE": 6}


def test_files_beside_docs_are_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.spacy", "b.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in Shards.of(tmp_path).paths] == ["a.spacy"]
    assert "b.txt" in capsys.readouterr().err
