import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import srsly
from spacy.cli._util import app
from thinc.api import Config
from typer.testing import CliRunner, Result

from spacy_multihash import read_tables
from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.cli.init_tables import init_tables
from tests.helpers.cli import said
from tests.helpers.corpora import CALLBACK, LOOKUP, make_docs, small_config, write_corpus
from tests.helpers.streams import into, linux, run_into


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config with a corpus in which "." occurs 4 times, and anna, bob and rome twice."""
    corpus = write_corpus(tmp_path / "corpus.spacy", make_docs())
    path = tmp_path / "config.cfg"
    small_config(corpus, LOOKUP, **CALLBACK).to_disk(path)
    return path


def invoke(*args: Any) -> Result:
    return CliRunner().invoke(multihash_cli, ["init-tables", *map(str, args)])


def sizes(path: Path) -> dict[str, int]:
    return {name: len(table) for name, table in read_tables(path).tables.items()}


def test_tables_are_written_and_returned(config: Path, tmp_path: Path) -> None:
    tables = init_tables(config, tmp_path / "out.tables", min_freq=2)
    assert sizes(tmp_path / "out.tables") == {"NORM": 4, "SHAPE": 4}
    assert {name: table.counts.tolist() for name, table in tables.tables.items()} == {
        "NORM": [4, 2, 2, 2],
        "SHAPE": [6, 4, 4, 2],
    }


def test_cut_is_taken_from_the_callback_of_the_config(config: Path, tmp_path: Path) -> None:
    tables = init_tables(config, tmp_path / "out.tables")
    assert (tables.min_freq, tables.max_rows) == (1, None)


@pytest.mark.parametrize("callback", [None, {"@callbacks": CALLBACK["@callbacks"]}])
def test_cut_that_the_config_does_not_name_is_ten(
    callback: Any, config: Path, tmp_path: Path
) -> None:
    plain = Config().from_disk(config, interpolate=False)
    plain["initialize"]["before_init"] = callback
    plain["paths"]["train"] = str(write_corpus(tmp_path / "long.spacy", make_docs(10)))
    plain.to_disk(config)
    assert init_tables(config, tmp_path / "out.tables").min_freq == 10


def test_number_of_rows_is_taken_from_the_callback_of_the_config(
    config: Path, tmp_path: Path
) -> None:
    limited = Config().from_disk(config, interpolate=False)
    limited["initialize"]["before_init"]["max_rows"] = 3
    limited.to_disk(config)
    init_tables(config, tmp_path / "out.tables")
    assert sizes(tmp_path / "out.tables") == {"NORM": 2, "SHAPE": 2}


@pytest.mark.parametrize("whole", [False, True])
def test_callback_may_be_of_variables(whole: bool, config: Path, tmp_path: Path) -> None:
    changed = Config().from_disk(config, interpolate=False)
    callback = changed["initialize"]["before_init"]
    changed["vars"] = {"min_freq": 3, "component": "tok2vec", "callback": callback}
    callback.update(min_freq="${vars.min_freq}", component="${vars.component}", max_rows=None)
    if whole:
        changed["initialize"]["before_init"] = "${vars.callback}"
        changed["vars"]["callback"] = {**callback, "min_freq": 3}
    changed.to_disk(config, interpolate=False)
    assert init_tables(config, tmp_path / "out.tables").min_freq == 3


def test_corpus_of_the_config_is_not_replaced(config: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.spacy"
    before = corpus.read_bytes()
    for override in ([], ["--paths.train", str(corpus)]):
        result = invoke(config, corpus, "--force", *override)
        assert "corpus.spacy is read, and OUTPUT at" in said(result)
    assert corpus.read_bytes() == before


def test_given_cut_goes_before_that_of_the_config(config: Path, tmp_path: Path) -> None:
    result = invoke(config, tmp_path / "out.tables", "--min-freq", 2, "--max-rows", 3)
    assert result.exit_code == 0, result.output
    assert sizes(tmp_path / "out.tables") == {"NORM": 2, "SHAPE": 2}


def test_settings_of_the_config_can_be_overridden(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path / "other.spacy", make_docs()[3:])
    result = invoke(config, tmp_path / "out.tables", "--paths.train", corpus)
    assert result.exit_code == 0, result.output
    assert sizes(tmp_path / "out.tables")["NORM"] == 4  # they, like, rain, .


def test_merged_parts_are_the_whole(config: Path, tmp_path: Path) -> None:
    limited = Config().from_disk(config, interpolate=False)
    limited["initialize"]["before_init"]["max_rows"] = 4
    limited.to_disk(config)
    parts = []
    for i, docs in enumerate((make_docs()[:1], make_docs()[1:])):
        corpus = write_corpus(tmp_path / f"part{i}.spacy", docs)
        parts += ["--merge", str(tmp_path / f"part{i}.tables")]
        args = ("--uncut", "--paths.train", corpus)
        assert invoke(config, tmp_path / f"part{i}.tables", *args).exit_code == 0
    assert invoke(config, tmp_path / "merged.tables", "--min-freq", 2, *parts).exit_code == 0
    assert invoke(config, tmp_path / "whole.tables", "--min-freq", 2).exit_code == 0
    merged, whole = (tmp_path / f"{name}.tables" for name in ("merged", "whole"))
    assert merged.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("option", ["--min-freq", "--max-rows"])
def test_all_symbols_are_not_kept_and_cut_at_once(
    config: Path, tmp_path: Path, option: str
) -> None:
    said = refused(config, tmp_path / "out.tables", "--uncut", option, 3)
    assert f"Expected --uncut without {option}, which cuts tables, was: {option} 3." in said


def refused(config: Path, output: Path, *args: Any) -> str:
    """Run a command that must fail without a file, and give what it says on one line."""
    result = invoke(config, output, *args)
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    assert not output.exists()
    return " ".join(result.output.split())


def test_parts_that_were_cut_are_refused(config: Path, tmp_path: Path) -> None:
    assert invoke(config, tmp_path / "part.tables", "--min-freq", 2).exit_code == 0
    said = refused(config, tmp_path / "out.tables", "--merge", tmp_path / "part.tables")
    assert "Cannot merge tables that were cut: part 1 has min_freq = 2" in said


def test_parts_without_an_attribute_of_the_config_are_refused(config: Path, tmp_path: Path) -> None:
    assert invoke(config, tmp_path / "part.tables").exit_code == 0
    other = Config().from_disk(config, interpolate=False)
    other["components"]["tok2vec"]["model"]["embed"]["attrs"] = ["NORM", "PREFIX"]
    other.to_disk(config)
    said = refused(config, tmp_path / "out.tables", "--merge", tmp_path / "part.tables")
    assert "The tables of MultiEmbed lack PREFIX" in said


def test_component_without_a_multi_embed_is_refused(config: Path, tmp_path: Path) -> None:
    said = refused(config, tmp_path / "out.tables", "--component", "ner")
    assert "component 'ner' holds no MultiEmbed" in said


def test_negative_cut_is_refused(config: Path, tmp_path: Path) -> None:
    assert "min_freq must be a whole number from 0 on, was: -1" in refused(
        config, tmp_path / "out.tables", "--min-freq", -1
    )


def test_symbols_that_are_all_rare_are_refused(config: Path, tmp_path: Path) -> None:
    said = refused(config, tmp_path / "out.tables", "--min-freq", 99)
    assert "The table of NORM has no symbols: none occurs at least 99 times" in said


def test_failure_leaves_the_old_file_alone(config: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.tables"
    output.write_bytes(b"old")
    result = invoke(config, output, "--min-freq", 99, "--force")
    assert "none occurs at least 99 times" in " ".join(result.stderr.split())
    assert output.read_bytes() == b"old"


def test_streamed_corpus_is_counted_once_it_has_an_end(config: Path, tmp_path: Path) -> None:
    streamed = Config().from_disk(config, interpolate=False)
    streamed["training"]["max_epochs"] = -1
    streamed.to_disk(config)
    said = refused(config, tmp_path / "out.tables")
    assert "init-tables, with --training.max_epochs 0 and the sample's path" in said
    assert invoke(config, tmp_path / "out.tables", "--training.max_epochs", 0).exit_code == 0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (["word"], "a config override's name should start with --"),
        (["--no.such", "1"], "not a section value that can be overridden"),
        (["--components.tok2vec.model.embed.width", "wide"], "wide"),
    ],
    ids=["no option", "unknown", "wrong type"],
)
def test_override_that_does_not_fit_is_refused(
    override: list[str], message: str, config: Path, tmp_path: Path
) -> None:
    assert message in refused(config, tmp_path / "out.tables", *override)


def test_code_is_imported_before_the_config_is_read(config: Path, tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(
        "import spacy\n"
        "from spacy.training import Corpus\n"
        "spacy.registry.readers('spacy_multihash_tests.code.v1')(lambda path: Corpus(path))\n"
    )
    coded = Config().from_disk(config, interpolate=False)
    reader = {"@readers": "spacy_multihash_tests.code.v1", "path": "${paths.train}"}
    coded["corpora"]["train"] = reader
    coded.to_disk(config)
    result = invoke(config, tmp_path / "out.tables", "--code", tmp_path / "reader.py")
    assert result.exit_code == 0, result.output


def test_corpus_that_is_not_there_is_refused(config: Path, tmp_path: Path) -> None:
    said = refused(config, tmp_path / "out.tables", "--paths.train", tmp_path / "none.spacy")
    assert "none.spacy" in said


def test_config_without_a_corpus_path_is_refused(config: Path, tmp_path: Path) -> None:
    assert "Corpus path can't be None" in refused(
        config, tmp_path / "out.tables", "--paths.train", "null"
    )


@pytest.mark.parametrize("content", [b"", b"no corpus", zlib.compress(b"\x80")])
def test_damaged_corpus_is_named(config: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.spacy").write_bytes(content)
    said = refused(config, tmp_path / "out.tables", "--paths.train", tmp_path / "bad.spacy")
    assert "bad.spacy is cut off, or no .spacy file at all" in said


def test_what_is_no_config_is_named_without_colours(tmp_path: Path) -> None:
    (tmp_path / "no.cfg").write_text("hello\n")
    result = invoke(tmp_path / "no.cfg", tmp_path / "out.tables")
    assert result.exit_code == 1 and "\x1b" not in result.output
    assert "no.cfg: Make sure the sections and values are formatted correctly" in said(result)


def test_damaged_part_is_refused(config: Path, tmp_path: Path) -> None:
    srsly.write_json(tmp_path / "part.json", {})
    said = refused(config, tmp_path / "out.tables", "--merge", tmp_path / "part.json")
    assert "part.json" in said


def test_help_of_the_group_names_the_command() -> None:
    result = CliRunner().invoke(multihash_cli, ["--help"])
    assert "init-tables" in result.output


def test_help_of_the_command_explains_the_arguments() -> None:
    said = " ".join(invoke("--help").output.split())
    assert "Write the tables of a config's MultiEmbed to a file" in said
    assert "Keep the symbols that occur at least this often" in said


def test_command_is_one_of_spacy(config: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy", "multihash", "init-tables"]
    command += [str(config), str(tmp_path / "out.tables")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sizes(tmp_path / "out.tables") == {"NORM": 12, "SHAPE": 6}
    assert "Wrote the tables" in done.stdout
    assert "Counting" in done.stderr
    assert "Counting" not in done.stdout


@linux
@into
def test_stdout_holds_the_tables_alone(into: str, config: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy", "multihash", "init-tables", str(config)]
    assert sizes(run_into(command, into, tmp_path)) == {"NORM": 12, "SHAPE": 6}


def test_group_is_added_to_spacy_once() -> None:
    assert sum(group.typer_instance is multihash_cli for group in app.registered_groups) == 1
