"""The command that goes from a corpus to a trained pipeline and a report."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import spacy
import typer
from typer.testing import CliRunner, Result

from spacy_multihash.cli._util import with_options
from spacy_multihash.cli.fit import Bar
from spacy_multihash.training import fit as module
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus

FEW_STEPS = ("--training.max_steps", "20", "--training.eval_frequency", "10")


@pytest.fixture(autouse=True)
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write corpora, and go there."""
    for name in ("train", "dev"):
        write_corpus(here / f"{name}.spacy", make_docs(5))
    monkeypatch.setattr(module, "EXPLAINED", 0)


def invoke(*args: Any) -> Result:
    given = ("train.spacy", "--dev", "dev.spacy", "--lang", "en", "--output", "out")
    return cli.invoke("fit", *given, *args)


def test_corpus_and_scores_are_printed_and_files_written() -> None:
    result = invoke(*FEW_STEPS)
    assert result.exit_code == 0, result.output
    scores = json.loads(Path("out/scores.json").read_text())
    f = 100 * scores["ours"]["scores"]["dev"]["parts"]["all"]["f"]
    assert result.stdout.index(" Corpus ") < result.stdout.index(" Scores ")
    assert f"{f:.1f}" in said(result) and "Sentences of dev that are in train" in said(result)
    assert "on dev at step 10, best" in result.stderr
    assert "multihash show out/model 'YOUR TEXT'" in said(result)
    assert spacy.load("out/model").pipe_names == ["tagger_ner"]
    assert Path("out/report.html").is_file()


def test_refusal_leaves_nothing() -> None:
    for args, expected in (
        ("--training.max_step 5", "Did you mean --training.max_steps"),
        ("--textcat", "It has entities"),
        ("--test nowhere", "nowhere"),
    ):
        result = invoke(*args.split())
        assert result.exit_code in (1, 2) and expected in said(result)
        assert not Path("out").exists()


def test_gpu_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(gpu_id: int) -> None:
        raise ValueError(f"there is no GPU {gpu_id}")

    monkeypatch.setattr(spacy, "require_gpu", refuse)
    assert "there is no GPU 7" in said(invoke("--gpu-id", 7))
    assert not Path("out").exists()


def test_log_has_a_line_for_each_fold_and_none_for_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [*Bar(iter("ab"), desc="Cross-validation", unit=" folds")] == ["a", "b"]
    assert [*Bar(range(3), desc="Training", unit=" steps", total=3)] == [0, 1, 2]
    said = capsys.readouterr().err
    assert said == "Cross-validation: 1 of 2\nCross-validation: 2 of 2\n"


@dataclass
class Choices:
    """Choices to make.

    lang (str): A name.
    is_on (bool): Whether it's on,
        in two lines.
    settings (int): For Python alone.
    """

    lang: str
    is_on: bool = True
    settings: int = 0


def test_fields_of_a_dataclass_are_options_with_their_descriptions() -> None:
    app, runner = typer.Typer(rich_markup_mode=None), CliRunner(env={"NO_COLOR": "1"})

    @app.command()
    @with_options(Choices)
    def run(number: int = 1, **choices: Any) -> None:
        typer.echo(f"{number} {choices}")

    found = runner.invoke(app, ["-l", "x", "--no-is-on", "--number", "2"])
    assert found.output == "2 {'lang': 'x', 'is_on': False}\n"
    text = " ".join(runner.invoke(app, ["--help"]).output.split())
    assert "Whether it's on, in two lines" in text and "--settings" not in text
    assert runner.invoke(app, []).exit_code == 2  # the name is missing
