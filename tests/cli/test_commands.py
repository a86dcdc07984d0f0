"""What commands print and write, each of a function that other tests are about."""

import importlib
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.tokens import Doc, Span
from spacy.util import load_config
from thinc.api import Config

from spacy_multihash import init_config
from spacy_multihash.common.timing import Ratio
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.pipelines.measure import Figure
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import wrong_docs
from tests.helpers.spacy_pipelines import (
    CNN,
    TEXTS,
    add_rules,
    build,
    ner,
    predictions,
    with_listener,
)

# accelerate and restore


@pytest.mark.parametrize("name", ["dev.spacy", "texts.txt", "texts.jsonl"])
def test_faster_pipeline_is_written_and_its_figures_are_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = "spacy_multihash.pipelines.accelerate.compare_loads"
    monkeypatch.setattr(loads, lambda *_, **__: ([], ""))
    build(with_listener(ner=ner(CNN))).to_disk(tmp_path / "model")
    data, report = tmp_path / name, tmp_path / "gain.html"
    if name == "dev.spacy":
        write_corpus(data, map(spacy.blank("en"), TEXTS))
    elif name == "texts.txt":
        data.write_text("\n\n".join(TEXTS), "utf8")
    else:
        srsly.write_jsonl(data, [{"text": text} for text in TEXTS])
    args = ("accelerate", tmp_path / "model", tmp_path / "out", "--data", data, "--seconds", 0)
    printed = cli.said(cli.ok(*args, "--report", report))
    assert "Replaced: 4" in printed and re.search("TAG ([0-9]+) \\1 \\1 100.00", printed)
    assert "batches, tokens a second" in report.read_text("utf8")
    assert spacy.load(tmp_path / "out").get_pipe_meta("ner").factory == "batch_ner"
    if name != "dev.spacy":
        return
    figures = json.loads(cli.ok(*args, "--force", "--keep-ner", "--json").stdout)
    assert len(figures["replaced"]) == 3
    assert figures["gain"]["agreement"]["kinds"]["TAG"]["share"] == 1
    code = tmp_path / "out" / "code.py"
    code.touch()
    assert "may not contain each other" in cli.refused(*args, "--force", "--code", code)


def test_pipeline_is_written_and_what_was_replaced_is_printed(tmp_path: Path) -> None:
    nlp = build(with_listener(ner=ner(CNN)))
    nlp.to_disk(tmp_path / "model")
    cli.ok("accelerate", tmp_path / "model", tmp_path / "fast", "--name", "en_quick")
    fast = spacy.load(tmp_path / "fast")
    assert fast.meta["name"] == "quick"
    cli.ok("compress", tmp_path / "fast", tmp_path / "small")
    assert spacy.load(tmp_path / "small").meta["name"] == "quick_small"
    args = ("restore", tmp_path / "fast", tmp_path / "back")
    assert "Restored: 6" in cli.said(cli.ok(*args))
    assert predictions(spacy.load(tmp_path / "back"), TEXTS) == predictions(nlp, TEXTS)
    figures = json.loads(cli.ok(*args, "--force", "--json").stdout)
    assert figures["replaced"][-1]["after"] == "ner" and figures["lost"] == []
    error = cli.refused("accelerate", tmp_path / "model", tmp_path / "new", "--name", "a-b")
    assert "--name must be a name" in error


def test_refusal_names_all_parts_and_writes_nothing(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner")
    nlp.to_disk(tmp_path / "model")
    error = cli.refused("restore", tmp_path / "model", tmp_path / "out")
    assert "components.tagger_ner (tagger_ner)" in error and "MaxoutWindow" not in error
    assert not (tmp_path / "out").exists()


# compress


CODE = """
import spacy
from pathlib import Path

@spacy.Language.component("of_package")
def of_package(doc):
    return doc

def load(**settings):
    return spacy.load(Path(__file__).parent / "model", **settings)
"""


@pytest.fixture(autouse=True)
def measured_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = ([Figure("load", "s", 2.0, 1.0, Ratio(1.9, 2.0, 2.1), 3)], "")
    monkeypatch.setattr("spacy_multihash.pipelines.compress.compare_loads", lambda *_, **__: loads)


def test_small_pipeline_is_written_and_figures_are_printed(recognizer: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "dev.spacy", make_docs())
    args = (recognizer("tagger_ner"), tmp_path / "out", "--data", tmp_path / "dev.spacy")
    result = cli.ok("compress", *args, "--weights", "int8")
    assert "F1 of entities 100.00 100.00" in cli.said(result)
    assert "load (s) 2 1 2.00 1.90 to 2.10" in cli.said(result)
    callback = spacy.load(tmp_path / "out").config["nlp"]["after_creation"]
    assert (callback["weights"], callback["vectors"]) == ("int8", "int8")
    figures = json.loads(cli.ok("compress", *args, "--json", "--force").stdout)
    assert figures["predictions"]["f1"]["after"] == 1
    assert figures["bytes_after"] < figures["bytes_before"]


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


def test_refusals_of_compress_write_nothing(recognizer: Any, tmp_path: Path) -> None:
    model, output = recognizer("tagger_ner"), tmp_path / "out"
    assert "'int4' is not one of" in cli.refused("compress", model, output, "--weights", "int4")
    error = cli.refused("compress", model, output, "--data", "missing.spacy")
    assert "Cannot compress the pipeline There is no corpus at missing.spacy" in error
    assert not list(tmp_path.iterdir())


# calibrate and estimate


def test_temperature_is_written_and_figures_are_printed(recognizer: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "dev.spacy", wrong_docs())
    output, plot = tmp_path / "out", tmp_path / "reliability.png"
    args = ("calibrate", recognizer("tagger_ner"), tmp_path / "dev.spacy", output, "--plot", plot)
    figures = json.loads(cli.ok(*args, "--bins", 5, "--json").stdout)
    tagger: Any = spacy.load(output).get_pipe("tagger_ner")
    assert tagger.temperature == figures["temperature"] > 1.2
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "exists. Give another OUTPUT" in cli.refused(*args)
    assert f"temperature = {tagger.temperature:.3f}" in cli.said(cli.ok(*args, "--force"))


def test_scores_are_printed_and_written_and_texts_chosen(recognizer: Any, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("Anna met Bob in Rome .\nThey like rain .\nOslo likes it\n")
    args = ("estimate", recognizer("tagger_ner"), tmp_path / "texts.txt")
    output = cli.said(cli.ok(*args, "--json", tmp_path / "e.json"))
    figures = json.loads((tmp_path / "e.json").read_text())
    assert f"{100 * figures['overall']['f1']:.1f}" in output and "calibrate" in output
    assert "exists. Give another --json" in cli.refused(*args, "--json", tmp_path / "e.json")
    lines = cli.ok(*args, "--next", 2, "--export", "doccano").stdout.splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"text", "label", "expected_mistakes"}] * 2
    by_chance = cli.ok(*args, "--next", 2, "--random", "--export", "doccano").stdout.splitlines()
    assert len(by_chance) == 2 and by_chance != lines
    assert "no corpus at" in cli.refused("estimate", args[1], tmp_path / "nowhere")


# errors


invoke = partial(cli.invoke, "errors")
ok = partial(cli.ok, "errors")


@pytest.fixture
def model(recognizer: Any) -> Path:
    return recognizer("tagger_ner")


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """A corpus in which the first entity of each doc is missing."""
    docs: list[Doc] = [doc.copy() for doc in make_docs()]
    for doc in docs:
        doc.set_ents([Span(doc, ent.start, ent.end, ent.label) for ent in doc.ents[1:]])
    return write_corpus(tmp_path / "gold.spacy", docs)


def test_mistakes_are_counted_and_written_to_a_page(
    model: Path, gold: Path, tmp_path: Path
) -> None:
    train = write_corpus(tmp_path / "train.spacy", make_docs())
    page = tmp_path / "errors.html"
    result = ok(model, gold, "--train", train, "--output", page, "--explain", 1, "--sure", 0.5)
    output = said(result)
    assert "all 4 0 0 0 3 0" in output and "no entity · 3 ·" in output
    assert "In 3 of the mistakes, the annotation may be wrong" in output and f"to {page}" in output
    text = page.read_text("utf8")
    assert text.count("<article") == 3 and text.count("Why PER?") + text.count("Why GPE?") == 1
    assert text.count(" · seen · ") == 3
    assert "exists. Give another --output" in said(invoke(model, gold, "--output", page))


@pytest.mark.parametrize("tool", ["prodigy", "labelstudio"])
def test_export_has_a_line_for_each_doc_with_mistakes(model: Path, gold: Path, tool: str) -> None:
    result = ok(model, gold, "--export", tool)
    assert len([json.loads(line) for line in result.stdout.splitlines()]) == 3


def test_what_cannot_be_read_is_named(model: Path, gold: Path) -> None:
    assert "There is no corpus at nowhere" in said(invoke(model, "nowhere"))
    assert "There is no pipeline 'nowhere'" in said(invoke("nowhere", gold))


# evaluate


@pytest.fixture
def folder(here: Path) -> Path:
    """Write a pipeline that knows Anna and Rome, and corpora, and go there."""
    nlp, docs = spacy.blank("en"), make_docs()
    nlp.to_disk("blank")
    add_rules(nlp, {"Anna": "PER", "Rome": "GPE"}).to_disk("model")
    write_corpus(here / "train.spacy", docs[1:2])  # Bob, Rome
    write_corpus(here / "dev.spacy", docs)
    write_corpus(here / "bare.spacy", [Doc(nlp.vocab, words=["Anna"])])
    return here


DEV = ("model", "dev.spacy", "--train", "train.spacy")


@pytest.mark.usefixtures("folder")
def test_tables_and_a_page_show_seen_and_unseen_entities() -> None:
    result = cli.ok("evaluate", *DEV, "--output", "pages/entities.html")
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "all 7 100.00 57.14 72.73" in lines
    assert "seen 4 100.00 50.00 66.67" in lines
    assert "unseen 3 100.00 66.67 80.00" in lines
    page = Path("pages/entities.html").read_text("utf8")
    assert page.count('class="pair side"') == 4
    body = page[page.index('class="pair side"') :]
    assert body.count('class="right"') == 2 * 4 and body.count('class="missed"') == 3


def test_matching_options_change_what_is_seen(folder: Path) -> None:
    doc = Doc(spacy.blank("en").vocab, words=["ROME", "Bob"], ents=["B-GPE", "B-ORG"])
    write_corpus(folder / "other.spacy", [doc])
    for options, seen in (("", 1), ("--ignore-case", 2), ("--match-label", 0)):
        args = ("model", "other.spacy", *DEV[2:], "--json", *options.split())
        scores = json.loads(cli.ok("evaluate", *args).stdout)
        assert scores["masked"]["seen"]["entities"] == seen


def test_masked_corpora_are_written(folder: Path) -> None:
    cli.ok("evaluate", *DEV, "--masked", "masked")
    vocab = spacy.blank("en").vocab
    seen, unseen = (
        list(read_docs(folder / "masked" / f"{name}.spacy", vocab)) for name in ("seen", "unseen")
    )
    assert [ent.text for doc in seen for ent in doc.ents] == ["Bob", "Rome", "Bob", "Rome"]
    assert [ent.text for doc in unseen for ent in doc.ents] == ["Anna", "Anna", "Oslo"]
    assert seen[0][0].ent_iob_ == "" and unseen[0][0].ent_iob_ == "B"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("model", "nothing.spacy", *DEV[2:]), r"There is no corpus at .*nothing\.spacy"),
        (("model", "bare.spacy", *DEV[2:]), "1 documents, but none with annotation"),
        (("model", "dev.spacy", "--train", "bare.spacy"), r"corpus at .*bare\.spacy has no entit"),
        (("blank", *DEV[1:]), "no component that assigns entities"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_written(args: Any, message: str) -> None:
    assert re.search(message, cli.refused("evaluate", *args, "--masked", "masked"))
    assert not Path("masked").exists()


# init-config


def test_config_is_written_with_its_reasons(here: Path) -> None:
    write_corpus(here / "train.spacy", make_docs(3))
    result = cli.ok("init-config", "ner", "my.cfg", "--lang", "en", "--train", "train.spacy")
    made = init_config("ner", "en", train="train.spacy")
    assert load_config("my.cfg") == made.config
    lines = Path("my.cfg").read_text("utf8").splitlines()
    assert lines[0].endswith("init-config ner --lang en --train train.spacy")
    assert all(reason in result.output and f"# {reason}" in lines for reason in made.reasons)
    assert "train my.cfg --output training --paths.dev dev.spacy" in result.output


def test_dash_prints_the_config_and_nothing_else() -> None:
    result = cli.ok("init-config", "ner", "-", "--lang", "en", "--vectors", "my vectors")
    lines = result.stdout.splitlines()
    assert lines[0].endswith("init-config ner --lang en --vectors 'my vectors'")
    config = Config().from_str(result.stdout, interpolate=False)
    assert config == init_config("ner", "en", vectors="my vectors").config


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    assert "textcat_multilabel" in cli.refused("init-config", "parser", tmp_path / "x", "-l", "en")
    assert not list(tmp_path.iterdir())
