"""Entities with their probabilities, in the terminal and as a page."""

import re
import shutil
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from typer.testing import Result

from spacy_multihash.cli.show import Shown, render_page, show
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.spacy_pipelines import CNN, build, ner
from tests.helpers.tagger_ner import examples_of, fit, randomize, tagger, trained

invoke = partial(cli.invoke, "show")
ok = partial(cli.ok, "show")

TEXT = "Anna met Bob in New York ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipelines")
    trained().to_disk(folder / "tagger_ner")
    nlp = build({"ner": ner(CNN)})
    randomize(nlp.get_pipe("ner").model)  # type: ignore[attr-defined]
    nlp.to_disk(folder / "ner")
    batch_ner().to_disk(folder / "batch_ner")
    return folder


def batch_ner(**config: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("batch_ner", config={"model": {"tok2vec": CNN}, **config})
    return fit(nlp)


@pytest.fixture(params=["tagger_ner", "batch_ner"])
def model(folder: Path, request: pytest.FixtureRequest) -> Path:
    return folder / request.param


def rows(result: Result) -> list[list[str]]:
    """The cells of the table of entities."""
    lines = result.output.splitlines()
    (line,) = [i for i, text in enumerate(lines) if set(text) == {"-", " "}]
    cells = [re.split(" {2,}", text.strip()) for text in lines[line + 1 :]]
    return cells[: cells.index([""])] if [""] in cells else cells


def captions(html: str) -> list[str]:
    """The captions of the marks of a page, without their tags."""
    return [unescape(text).strip("\n ") for text in re.findall("<span.*?>(.*?)</span>", html, re.S)]


# A text


def test_entities_are_shown_with_probabilities_and_as_a_page(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    result = ok(model, TEXT, "--output", page)
    found = [["Anna", "PER"], ["Bob", "PER"], ["New York", "GPE"]]
    assert [row[:2] for row in rows(result)] == found
    assert all(re.fullmatch(r"[01]\.\d\d", row[2]) for row in rows(result))
    html = page.read_bytes().decode("ascii")
    assert html.startswith("<!DOCTYPE html>")
    assert captions(html) == [f"{label}\u00a0{p}" for _, label, p in rows(result)]
    # displaCy's colour of GPE; it has none of PER
    assert re.findall(r"mark .*background: (#\w+)", html) == ["#ddd", "#ddd", "#feca74"]
    result = invoke(model, TEXT, "--output", page)
    assert "--force" in said(result)


def test_labels_of_a_text_are_shown(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    textcat = nlp.add_pipe("textcat")
    for label in ("A", "B"):
        textcat.add_label(label)  # type: ignore[attr-defined]
    nlp.initialize()
    nlp.to_disk(tmp_path / "textcat")
    result = invoke(tmp_path / "textcat", TEXT)
    cats = {label: f"{p:.2f}" for label, p in nlp(TEXT).cats.items()}
    assert dict(rows(result)) == cats and "No entities" not in result.output
    result = invoke(tmp_path / "textcat", TEXT, "--threshold", "0.5")
    assert "No entities" not in result.output
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "x"}])  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "both")
    assert "No entities were found" in said(invoke(tmp_path / "both", TEXT))


@pytest.mark.parametrize("way", ["file", "stdin"])
def test_text_is_read_from_elsewhere(way: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbfAnna met\r\nBob .\n")
    args = ["-"] if way == "stdin" else ["--file", tmp_path / "text.txt"]
    result = invoke(folder / "tagger_ner", *args, stdin=b"\xef\xbb\xbfAnna met\nBob .\n")
    assert [row[0] for row in rows(result)] == ["Anna", "Bob"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["model"], "Expected either TEXT or --file, was given neither. Give one of them."),
        (["model", "a", "--file", "b"], "Expected either TEXT or --file, was given both."),
        (["model", " \n"], "Expected a text, was: nothing but whitespace. Give one with words."),
        (["model", "-"], "Expected UTF-8 as standard input. 'utf-8' codec can't decode byte 0xff"),
        (["model", "M\udcfcller"], "'utf-8' codec can't encode character"),
        (["model", "--file", "nowhere.txt"], "No such file or directory: 'nowhere.txt'"),
        (["model", "text.txt"], "text.txt is a file. .* give --file text.txt"),
        (["nowhere", "x"], "There is no pipeline 'nowhere'"),
        (["nb_core_news_sm", "x"], "There is no .* python -m spacy download nb_core_news_sm"),
        (["training", "x"], "training is the folder of a training. Give the .*-best"),
        (["own", "x"], "own' needs my.Own.v1, which isn't registered. .* give --code FILE"),
        (["text.txt", "x"], "text.txt is a file, and no trained pipeline"),
    ],
)
def test_what_is_no_pipeline_or_text_is_explained(
    args: list[str], message: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").symlink_to(folder / "tagger_ner")
    shutil.copytree(folder / "ner", "training/model-best")
    Path("text.txt").write_text("Anna met Bob .")
    shutil.copytree(folder / "ner", "own")
    config = Path("own/config.cfg").read_text()
    own = re.sub("@architectures = .*", '@architectures = "my.Own.v1"', config, count=1)
    Path("own/config.cfg").write_text(own)
    error = cli.refused("show", *args, stdin=b"\xff")
    assert "Cannot show the entities" in error and re.search(message, error), error


def test_threshold_leaves_entities_out(model: Path, tmp_path: Path) -> None:
    shown = show(model, TEXT)
    pairs = zip(shown.probabilities, shown.doc.ents, strict=True)
    sure = sorted((p, ent.text) for p, ent in pairs if p is not None)
    between = float(numpy.mean([sure[0][0], sure[1][0]]))
    page = tmp_path / "page.html"
    result = invoke(model, TEXT, "--threshold", between, "--output", page)
    assert {row[0] for row in rows(result)} == {text for _, text in sure[1:]}
    assert len(captions(page.read_text())) == 2
    assert len(rows(invoke(model, TEXT, "--threshold", 0))) == 3


def test_threshold_of_the_pipeline_is_that_of_the_command_if_it_has_one(tmp_path: Path) -> None:
    trained(threshold=1.0).to_disk(tmp_path)
    assert "No entities were found" in said(invoke(tmp_path, TEXT))
    assert len(rows(invoke(tmp_path, TEXT, "--threshold", 0))) == 3


# Where probabilities come from


def test_probabilities_are_those_of_the_component(model: Path) -> None:
    shown = show(model, TEXT)
    nlp = spacy.load(model)
    nlp.get_pipe(nlp.pipe_names[-1]).spans_key = "mine"  # type: ignore[attr-defined]
    doc = nlp(TEXT)
    group = doc.spans["mine"]
    assert shown.probabilities == pytest.approx(group.attrs["scores"].tolist())
    assert [ent.text for ent in shown.doc.ents] == [span.text for span in group]


def test_other_recognizers_have_none(folder: Path, tmp_path: Path) -> None:
    result = invoke(folder / "ner", TEXT)
    assert {row[2] for row in rows(result)} == {"-"}
    assert "ner is spaCy's recognizer, which gives no probabilities" in said(result)
    assert "python -m spacy multihash accelerate MODEL OUTPUT" in said(result)
    batch_ner(beam_width=2).to_disk(tmp_path)
    assert ["Anna", "PER", "-"] in rows(invoke(tmp_path, TEXT))


def test_entities_of_rules_before_a_recognizer_have_none(model: Path, tmp_path: Path) -> None:
    nlp = spacy.load(model)
    ruler: Any = nlp.add_pipe("entity_ruler", before=nlp.pipe_names[-1])
    ruler.add_patterns([{"label": "PER", "pattern": "Bob"}, {"label": "MET", "pattern": "met"}])
    nlp.to_disk(tmp_path)
    for args in ([], ["--threshold", 1]):
        found = rows(invoke(tmp_path, TEXT, *args))
        assert ["met", "MET", "-"] in found and ["Bob", "PER", "-"] in found
    found = rows(invoke(tmp_path, TEXT))
    assert [row[1] for row in found if row[2] != "-"] == ["PER", "GPE"]


STORED: list[bytes] = []


@Language.component("stores_docs_for_tests")
def store(doc: Doc) -> Doc:
    STORED.append(doc.to_bytes())
    return doc


@pytest.mark.parametrize("later", ["merge_entities", "token_splitter", "stores_docs_for_tests"])
def test_later_components_may_merge_split_and_store(
    later: str, model: Path, tmp_path: Path
) -> None:
    STORED.clear()
    nlp = spacy.load(model)
    config = {"min_length": 3, "split_length": 2} if later == "token_splitter" else {}
    nlp.add_pipe(later, config=config)
    nlp.to_disk(tmp_path)
    before, after = show(model, TEXT), show(tmp_path, TEXT)
    assert len(STORED) == (later == "stores_docs_for_tests")
    assert (len(after.doc) == len(before.doc)) is bool(STORED)
    assert after.probabilities == before.probabilities
    assert [(ent.text, ent.label_) for ent in after.doc.ents] == [
        (ent.text, ent.label_) for ent in before.doc.ents
    ]
    assert None not in after.probabilities and not after.doc.user_data


def two_recognizers() -> Language:
    nlp = trained()
    second: Any = nlp.add_pipe("tagger_ner", name="second", config={"model": tagger()})
    second.initialize(lambda: examples_of(nlp), labels=["OTHER"])
    return nlp


@pytest.mark.parametrize("make", [two_recognizers, lambda: trained(spans_key="mine")])
def test_recognizers_keep_to_their_groups(make: Callable[[], Language], tmp_path: Path) -> None:
    make().to_disk(tmp_path)
    shown = show(tmp_path, TEXT)
    assert {"Anna", "Bob", "New York"} <= {ent.text for ent in shown.doc.ents}
    assert None not in shown.probabilities
    assert len(shown.doc.spans) == 2 or list(shown.doc.spans) == ["mine"]


def test_disabled_recognizer_is_not_asked(tmp_path: Path) -> None:
    nlp = trained()
    nlp.disable_pipe("tagger_ner")
    nlp.to_disk(tmp_path)
    assert "No entities were found" in said(invoke(tmp_path, TEXT))


def test_page_has_no_tags_of_texts_labels_links_or_titles() -> None:
    evil = "<script>alert('&')</script>"
    doc = Doc(spacy.blank("en").vocab, words=[evil, "Zoë東京🙂\n"])
    doc.ents = [Span(doc, 0, 1, label=evil, kb_id=evil)]
    doc.user_data["title"] = evil
    html = render_page(Shown(doc, [0.97], [])).decode("ascii")
    assert "<script" not in html
    assert captions(html)[0].startswith(f"{evil}\u00a00.97")
    assert "Zoë東京🙂" in unescape(html) and html.count("<br>") == 1
