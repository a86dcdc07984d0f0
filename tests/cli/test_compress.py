"""The command that makes the files of a pipeline small, and what it says of them."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, Span
from typer.testing import Result

from spacy_multihash.cli import compress as compress_module
from spacy_multihash.pipelines.compress import LeftOut
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus


@pytest.fixture(scope="module")
def trained(recognizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "model").symlink_to(recognizer("tagger_ner"))
    write_corpus(folder / "dev.spacy", make_docs())
    return folder


def invoke(trained: Path, output: Path, *args: Any) -> Result:
    return cli.invoke("compress", trained / "model", output, *args)


def test_pipeline_and_report_are_written(trained: Path, tmp_path: Path) -> None:
    output, path = tmp_path / "out", tmp_path / "report.json"
    result = invoke(trained, output, "--data", trained / "dev.spacy", "--report", path)
    assert result.exit_code == 0, result.output
    report = srsly.read_json(path)
    size = sum(file.stat().st_size for file in output.rglob("*") if file.is_file())
    assert report["bytes_after"] == size < report["bytes_before"]
    assert report["left_out"]["strings"] > 0
    predictions = report["predictions"]
    assert predictions["shares_kept"] == {"entities": 1}
    assert (predictions["f_before"], predictions["f_after"]) == (1, 1)
    assert "F1 of entities 100.00 100.00" in said(result)
    assert f"Left out: {report['left_out']['strings']:,} of" in said(result)
    nlp = spacy.load(output)
    assert [e.text for e in nlp(make_docs()[0].text).ents]


BAG_OF_WORDS = {
    "@architectures": "spacy.TextCatBOW.v3",
    "exclusive_classes": True,
    "ngram_size": 1,
    "no_output_layer": False,
    "length": 64,
}
CODE = """
import spacy
from pathlib import Path

@spacy.Language.component("of_package")
def of_package(doc):
    return doc

def load(**settings):
    return spacy.load(Path(__file__).parent / "model", **settings)
"""


def test_package_that_brings_its_own_code_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "with_code"
    information = tmp_path / "with_code-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: with_code\nVersion: 1.0\n")
    package.mkdir()
    (package / "__init__.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("with_code")
    nlp = spacy.blank("en")
    nlp.add_pipe("of_package")
    nlp.to_disk(package / "model")
    cli.ok("compress", "with_code", tmp_path / "out")
    assert spacy.load(tmp_path / "out").pipe_names == ["of_package"]


def test_without_corpus_files_alone_are_measured(trained: Path, tmp_path: Path) -> None:
    args = ("--weights", "int8", "--tables", "float16", "--keep-strings")
    result = invoke(trained, tmp_path / "out", *args)
    assert result.exit_code == 0, result.output
    assert "F1" not in result.output
    assert "Left out: 0 of" in said(result)
    callback = spacy.load(tmp_path / "out").config["nlp"]["after_creation"]
    assert (callback["weights"], callback["tables"], callback["vectors"]) == (
        "int8",
        "float16",
        "int8",
    )


def test_span_groups_and_classes_of_texts_are_compared(trained: Path, tmp_path: Path) -> None:
    nlp = spacy.load(trained / "model")
    ruler: Any = nlp.add_pipe("span_ruler", config={"spans_key": "rules"})
    ruler.add_patterns([{"label": "WORD", "pattern": make_docs()[0][0].text}])
    textcat = spacy.blank("en")
    pipe: Any = textcat.add_pipe("textcat", config={"model": BAG_OF_WORDS})
    for label in "AB":
        pipe.add_label(label)
    textcat.initialize()
    nlp.add_pipe("textcat", source=textcat)
    nlp.to_disk(tmp_path / "model")
    args = ("--data", trained / "dev.spacy", "--report", tmp_path / "report.json")
    result = invoke(tmp_path, tmp_path / "out", *args)
    assert result.exit_code == 0, result.output
    assert "spans of rules 100.00" in said(result)
    assert "Scores of classes change by up to 0.0" in said(result)
    predictions = srsly.read_json(tmp_path / "report.json")["predictions"]
    assert predictions["shares_kept"]["spans of rules"] == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--weights", "int4"), "'int4' is not one of"),
        (("--data", "missing.spacy"), "There is no corpus at missing.spacy"),
        (("--report", "{out}"), "out: the command has another use for"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(
    trained: Path, tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    new = tmp_path / "new"
    names = {"new": new, "out": new / "out", "model": trained / "model"}
    before = (trained / "model" / "meta.json").read_bytes()
    result = invoke(trained, new / "out", *(arg.format(**names) for arg in args))
    assert result.exit_code != 0
    assert message in said(result)
    assert not list(tmp_path.iterdir())
    assert (trained / "model" / "meta.json").read_bytes() == before


def test_pipeline_that_cannot_be_loaded_again_is_not_written(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compress(nlp: Language, folder: Path, *args: Any, **settings: Any) -> LeftOut:
        nlp.to_disk(folder)
        (folder / "tagger_ner" / "model").write_bytes(b"broken")
        return LeftOut(0, 0, 0)

    monkeypatch.setattr(compress_module, "compress", compress)
    result = invoke(trained, tmp_path / "out")
    assert result.exit_code == 1 and "Cannot read" in said(result)
    assert not (tmp_path / "out").exists()


def test_corpus_with_other_labels_has_no_f1(trained: Path, tmp_path: Path) -> None:
    docs = [Doc(doc.vocab, [token.text for token in doc]) for doc in make_docs()]
    for doc in docs:
        doc.set_ents([Span(doc, 0, 1, label="DATE")])
    write_corpus(tmp_path / "dev.spacy", docs)
    result = invoke(trained, tmp_path / "out", "--data", tmp_path / "dev.spacy")
    assert result.exit_code == 0, result.output
    assert "The corpus has entities of DATE, and the pipeline finds GPE, PER." in said(result)
    assert "F1 of entities" not in said(result)
