"""The command that drops rows of MultiEmbed."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from typer.testing import CliRunner, Result

from spacy_multihash.cli.group import multihash_cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.lookup_ner import tables_of, trained_lookup


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    trained_lookup(0.1).to_disk(folder / "model")
    write_corpus(folder / "dev.spacy", make_docs())
    return folder


def invoke(trained: Path, output: Path, *args: Any) -> Result:
    arguments = ["prune", trained / "model", output, *args]
    return CliRunner().invoke(multihash_cli, [str(each) for each in arguments])


def test_sizes_and_scores_are_shown_and_the_pipeline_is_written(
    trained: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    result = invoke(trained, output, "--keep", 0.5, "--data", trained / "dev.spacy")
    assert result.exit_code == 0, result.output
    nlp = spacy.load(output)
    kept = {attr: weights.get_dim("nV") for attr, (_, weights) in tables_of(nlp).items()}
    assert sum(kept.values()) == 11  # half of 18, and row 0 of both
    for attr, rows in (("LOWER", 13), ("SHAPE", 7)):
        (line,) = [row for row in result.output.splitlines() if f"tagger_ner.{attr}" in row]
        assert line.split()[1:3] == [str(rows), str(kept[attr])]
    (line,) = [row for row in result.output.splitlines() if row.startswith("all ")]
    assert line.split()[1:] == ["20", "11", "320", "176"]
    assert "100.00" in result.output
    assert "found as before %" in result.output


def test_dev_corpus_decides(trained: Path, tmp_path: Path) -> None:
    output, data = tmp_path / "out", trained / "dev.spacy"
    result = invoke(trained, output, "--max-loss", 0, "--data", data)
    assert result.exit_code == 0, result.output
    assert "100.00     100.00" in result.output
    nlp = spacy.load(output)
    assert [[(e.text, e.label_) for e in nlp(doc.text).ents] for doc in make_docs()] == [
        [(e.text, e.label_) for e in doc.ents] for doc in make_docs()
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Expected one of --threshold, --keep, --max-loss, were given: none"),
        (("--keep", 0.5, "--threshold", -3), "were given: --threshold, --keep. To let a dev"),
        (("--max-loss", 0.01), "--max-loss needs a dev corpus to measure F1 on"),
        (("--keep", 2), "keep must be a share, 0 < keep <= 1, was: 2.0"),
        (("--threshold", "nan"), "threshold must be a finite number, was: nan"),
        (("--keep", 1, "--data", "nowhere.spacy"), "nowhere.spacy"),
    ],
)
def test_what_cannot_be_done_is_said(
    trained: Path, tmp_path: Path, args: tuple[Any, ...], message: str
) -> None:
    result = invoke(trained, tmp_path / "out", *args)
    assert result.exit_code == 1
    assert message in said(result)
    assert not (tmp_path / "out").exists()


def test_output_that_exists_is_kept_without_force(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "not an empty directory" in said(invoke(trained, tmp_path, "--keep", 1))
    result = invoke(trained, tmp_path, "--keep", 1, "--force")
    assert "--force replaces no other directory" in said(result)
    assert (tmp_path / "file").exists()
    args = ("--keep", 1, "--data", tmp_path / "file", "--force")
    assert "file is read, and OUTPUT at" in said(invoke(trained, tmp_path, *args))
    for name in ("meta.json", "config.cfg"):
        (tmp_path / name).touch()
    assert invoke(trained, tmp_path, "--keep", 1, "--force").exit_code == 0
    assert not (tmp_path / "file").exists()
