"""What commands check before they work."""

import os
import re
from pathlib import Path
from typing import cast

import pytest
import spacy
from spacy.pipeline import TrainablePipe
from typer.testing import CliRunner

from spacy_multihash.cli._util import check_file_output, load_pipeline, load_vectors
from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.embed.compressed_vectors import compress_vectors
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.vectors import random_vectors, write_pipeline


def test_a_file_that_exists_is_refused_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    check_file_output(path, "--output", force=False)
    path.touch()
    with pytest.raises(ValueError, match=r"out\.json exists\. Give another --output, or --force"):
        check_file_output(path, "--output", force=False)
    check_file_output(path, "--output", force=True)
    with pytest.raises(ValueError, match="Expected the name of a file to write as --output, was a"):
        check_file_output(tmp_path, "--output", force=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_without_force(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_file_output(tmp_path / "pipe", "--output", force=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["calibrate", "x", "in.spacy", "out", "--plot", "in.spacy"],
        ["compress", "x", "out", "--data", "in.spacy", "--report", "in.spacy"],
        ["corpus-stats", "in.spacy", "--output", "in.spacy"],
        ["evaluate", "x", "in.spacy", "--train", "y", "--output", "in.spacy"],
        ["explain", "x", "--corpus", "in.spacy", "--plot", "in.spacy"],
        ["init-tables", "in.spacy", "in.spacy"],
        ["init-config", "ner", "in.spacy", "-l", "xx", "--train", "in.spacy", "--dev", "in.spacy"],
        ["show", "x", "--file", "in.spacy", "--output", "in.spacy"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_read_is_not_replaced(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.spacy").write_text("mine")
    result = CliRunner().invoke(multihash_cli, [*arguments, "--force"])
    assert result.exit_code == 1
    assert "in.spacy is read, and" in said(result) and "would take its place" in said(result)
    assert Path("in.spacy").read_text() == "mine"


def test_a_plot_in_the_folder_that_is_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(
        multihash_cli, ["calibrate", "x", "y", "out", "--plot", "out/x.png"]
    )
    assert result.exit_code == 1
    assert "out/x.png is read" not in said(result)
    assert "out/x.png would be in OUTPUT" in said(result)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("meta.json", "ValueError"),
        ("vocab/key2row", "ValueError"),
        ("vocab/lookups.bin", "ValueError"),
        ("vocab/strings.json", "ValueError"),
        ("vocab/vectors", "EOFError"),
        ("vocab/vectors.cfg", "ValueError"),
    ],
)
def test_a_damaged_pipeline_is_named(name: str, error: str, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path / "in", random_vectors())
    (path / name).write_bytes(b"")
    found = rf"in' \({error}: .*\)\. If a file of it is damaged, copy or make it again\.$"
    with pytest.raises(ValueError, match=f"^Cannot load the pipeline '.*{found}"):
        load_pipeline(path)
    with pytest.raises(ValueError, match="^Cannot load the vectors of .*in "):
        load_vectors(path)


def test_files_in_a_corpus_are_neither_replaced_nor_added(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for name in ("one.spacy", "scores.json"):
        (tmp_path / "corpus" / name).touch()
    check_file_output(
        tmp_path / "corpus" / "scores.json", "--output", force=True, inputs=[tmp_path / "corpus"]
    )
    with pytest.raises(ValueError, match=r"corpus is read, and --output at .*two\.spacy would"):
        check_file_output(
            tmp_path / "corpus" / "two.spacy", "--output", force=True, inputs=[tmp_path / "corpus"]
        )


@pytest.mark.parametrize(
    "arguments",
    [
        ["init-config", "ner", "in/config.cfg", "--lang", "xx", "--vectors", "in"],
        ["corpus-stats", "x.spacy", "--output", "in/meta.json", "--vectors", "in"],
        ["evaluate", "in", "x.spacy", "--train", "y.spacy", "--output", "in/meta.json"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_files_of_a_pipeline_that_is_read_are_not_replaced(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pipeline(tmp_path / "in", random_vectors())
    for name in ("x.spacy", "y.spacy"):
        write_corpus(tmp_path / name, make_docs())
    before = {path: path.read_bytes() for path in Path("in").rglob("*") if path.is_file()}
    result = CliRunner().invoke(multihash_cli, [*arguments, "--force"])
    assert "is a file of the pipeline in. Give another" in said(result)
    assert {path: path.read_bytes() for path in Path("in").rglob("*") if path.is_file()} == before


def test_vectors_of_a_compressed_vocab_are_loaded(tmp_path: Path) -> None:
    nlp = spacy.load(write_pipeline(tmp_path / "in", random_vectors()))
    nlp.vocab.to_disk(tmp_path / "vocab")
    expected = load_vectors(tmp_path / "vocab").vectors
    compress_vectors(tmp_path / "vocab", "float32", lossy=True)
    found = load_vectors(tmp_path / "vocab").vectors
    assert found == expected and found.n_keys > 0


def test_a_pipeline_with_a_damaged_component_is_named(tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    cast(TrainablePipe, nlp.add_pipe("tagger_ner")).add_label("X")
    nlp.initialize()
    nlp.to_disk(tmp_path / "in")
    model = tmp_path / "in" / "tagger_ner" / "model"
    model.write_bytes(model.read_bytes()[:-3])
    arguments = ["compress", str(tmp_path / "in"), str(tmp_path / "out")]
    result = CliRunner().invoke(multihash_cli, arguments)
    assert result.exit_code == 1, result.output
    assert "in' (ValueError: Unpack failed: incomplete input). If a file" in said(result)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["show", "inspect-rows"])
def test_text_in_another_encoding_is_refused(command: str, tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path)
    result = CliRunner().invoke(multihash_cli, [command, str(tmp_path), "M\udcfcller met Bob"])
    assert result.exit_code == 1
    assert re.search("Expected UTF-8 as (TEXT|WORDS), .* at position 1", said(result))
