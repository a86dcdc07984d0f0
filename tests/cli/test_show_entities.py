"""Entities with their probabilities, in the terminal and as a page."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from typer.testing import CliRunner, Result

from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.cli.show import Shown, render_page, show
from tests.helpers.cli import said
from tests.helpers.spacy_pipelines import CNN, build, ner
from tests.helpers.tagger_ner import examples_of, fit, randomize, tagger, trained

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


def invoke(*args: Any, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(multihash_cli, ["show", *map(str, args)], input=stdin)


def rows(result: Result) -> list[list[str]]:
    """The cells of the table of entities."""
    lines = result.output.splitlines()
    (line,) = [i for i, text in enumerate(lines) if set(text) == {"-", " "}]
    cells = [re.split(" {2,}", text.strip()) for text in lines[line + 1 :]]
    return cells[: cells.index([""])] if [""] in cells else cells


@pytest.fixture
def odd(folder: Path, tmp_path: Path) -> Path:
    """The folder of a training, a file with a text, and a pipeline with code of its own."""
    shutil.copytree(folder / "ner", tmp_path / "training" / "model-best")
    (tmp_path / "text.txt").write_text("Anna met Bob .")
    shutil.copytree(folder / "ner", tmp_path / "own")
    config = (tmp_path / "own" / "config.cfg").read_text()
    own = re.sub("@architectures = .*", '@architectures = "my.Own.v1"', config, count=1)
    (tmp_path / "own" / "config.cfg").write_text(own)
    return tmp_path


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ("training", "x", "training is the folder of a training. Give the pipeline in it, .*-best"),
        ("training/model-best", "text.txt", "text.txt is a file. .* give --file text.txt"),
        ("own", "x", "own' needs my.Own.v1, which isn't registered. .* give --code FILE"),
        ("text.txt", "x", "text.txt is a file, and no trained pipeline"),
    ],
)
def test_names_of_other_things_are_explained(
    odd: Path, monkeypatch: pytest.MonkeyPatch, model: str, text: str, message: str
) -> None:
    monkeypatch.chdir(odd)
    result = invoke(model, text)
    assert result.exit_code == 1
    assert re.search(message, said(result)), result.output


class Page(HTMLParser):
    """What a browser would see: texts, marks and their captions and colours."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.captions: list[str] = []
        self.colors: list[str] = []
        self.feed(html.decode("ascii"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "mark":
            self.colors += re.findall(r"background: (#\w+)", dict(attrs)["style"] or "")
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["span"]:
            self.captions.append(data.strip("\n "))
        elif {"div", "mark"} & {*self.open[-1:]}:
            self.text += data


def words(text: str) -> str:
    return "".join(text.split())


def test_entities_are_shown_with_probabilities(model: Path) -> None:
    result = invoke(model, TEXT)
    assert result.exit_code == 0, result.output
    assert [row[:2] for row in rows(result)] == [
        ["Anna", "PER"],
        ["Bob", "PER"],
        ["New York", "GPE"],
    ]
    assert all(re.fullmatch(r"[01]\.\d\d", row[2]) for row in rows(result))


def test_probabilities_are_those_of_the_component(model: Path) -> None:
    shown = show(model, TEXT)
    nlp = spacy.load(model)
    nlp.get_pipe(nlp.pipe_names[-1]).spans_key = "mine"  # type: ignore[attr-defined]
    doc = nlp(TEXT)
    group = doc.spans["mine"]
    assert shown.probabilities == pytest.approx(group.attrs["scores"].tolist())
    assert [ent.text for ent in shown.doc.ents] == [span.text for span in group]


def test_page_shows_the_text_with_marks(model: Path, tmp_path: Path) -> None:
    result = invoke(model, TEXT, "--output", tmp_path / "new" / "page.html")
    assert f"Wrote {tmp_path / 'new' / 'page.html'}" in said(result).replace("- ", "-")
    html = (tmp_path / "new" / "page.html").read_bytes()
    assert html.startswith(b"<!DOCTYPE html>")
    page = Page(html)
    assert words(page.text) == words(TEXT)
    assert page.captions == [f"{label}\u00a0{p}" for _, label, p in rows(result)]
    assert page.colors == ["#ddd", "#ddd", "#feca74"]  # displaCy's GPE; it has no PER


@pytest.mark.parametrize("way", ["file", "stdin"])
def test_text_is_read_from_elsewhere(way: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbfAnna met\r\nBob .\n")
    args = ["-"] if way == "stdin" else ["--file", tmp_path / "text.txt"]
    result = invoke(model, *args, stdin=b"\xef\xbb\xbfAnna met\nBob .\n")
    assert [row[0] for row in rows(result)] == ["Anna", "Bob"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], "Expected either TEXT or --file, was given neither. Give one of them."),
        (["a", "--file", "b"], "Expected either TEXT or --file, was given both. Give one of them."),
        ([" \n"], "Expected a text, was: nothing but whitespace. Give one with words."),
        (["-"], "Expected UTF-8 as standard input. 'utf-8' codec can't decode byte 0xff"),
        (["--file", "nowhere.txt"], "No such file or directory: 'nowhere.txt'"),
    ],
)
def test_text_that_is_none_is_an_error(args: list[str], expected: str, folder: Path) -> None:
    result = invoke(folder / "tagger_ner", *args, stdin=b"\xff")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Cannot show the entities" in said(result)
    assert expected in said(result)


def test_pipeline_that_is_not_there_is_an_error() -> None:
    result = invoke("nowhere", TEXT)
    assert result.exit_code == 1
    assert "There is no pipeline 'nowhere'" in said(result)


def test_threshold_leaves_entities_out(model: Path, tmp_path: Path) -> None:
    sure = sorted((p, ent.text) for ent, p in zip(*ents_of(model), strict=True))
    between = float(numpy.mean([sure[0][0], sure[1][0]]))
    page = tmp_path / "page.html"
    result = invoke(model, TEXT, "--threshold", between, "--output", page)
    assert {row[0] for row in rows(result)} == {text for _, text in sure[1:]}
    assert len(Page(page.read_bytes()).captions) == 2
    assert len(rows(invoke(model, TEXT, "--threshold", 0))) == 3


def ents_of(model: Path) -> tuple[tuple[Span, ...], list[float]]:
    shown = show(model, TEXT)
    return shown.doc.ents, [p for p in shown.probabilities if p is not None]


def test_threshold_of_the_pipeline_is_that_of_the_command_if_it_has_one(tmp_path: Path) -> None:
    trained(threshold=1.0).to_disk(tmp_path)
    assert "No entities were found" in said(invoke(tmp_path, TEXT))
    assert len(rows(invoke(tmp_path, TEXT, "--threshold", 0))) == 3


def test_ner_is_said_to_give_no_probabilities(folder: Path) -> None:
    result = invoke(folder / "ner", TEXT)
    assert {row[2] for row in rows(result)} == {"-"}
    assert "ner is spaCy's recognizer, which gives no probabilities" in said(result)
    assert "python -m spacy multihash accelerate MODEL OUTPUT" in said(result)


def test_entities_of_a_beam_have_no_probability(tmp_path: Path) -> None:
    batch_ner(beam_width=2).to_disk(tmp_path)
    assert ["Anna", "PER", "-"] in rows(invoke(tmp_path, TEXT))


def test_entities_of_rules_before_a_recognizer_have_no_probability(
    model: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(model)
    ruler: Any = nlp.add_pipe("entity_ruler", before=nlp.pipe_names[-1])
    ruler.add_patterns([{"label": "PER", "pattern": "Bob"}, {"label": "MET", "pattern": "met"}])
    nlp.to_disk(tmp_path)
    for args in ([], ["--threshold", 1]):
        found = rows(invoke(tmp_path, TEXT, *args))
        assert ["met", "MET", "-"] in found and ["Bob", "PER", "-"] in found
    found = rows(invoke(tmp_path, TEXT))
    assert [row[1] for row in found if row[2] != "-"] == ["PER", "GPE"]


@pytest.mark.parametrize("later", ["merge_entities", "token_splitter"])
def test_probabilities_stay_when_tokens_are_merged_or_split(
    later: str, model: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(model)
    config = {"min_length": 3, "split_length": 2} if later == "token_splitter" else {}
    nlp.add_pipe(later, config=config)
    nlp.to_disk(tmp_path)
    before, after = show(model, TEXT), show(tmp_path, TEXT)
    assert len(after.doc) != len(before.doc)
    assert after.probabilities == before.probabilities
    assert [(ent.text, ent.label_) for ent in after.doc.ents] == [
        (ent.text, ent.label_) for ent in before.doc.ents
    ]
    assert None not in after.probabilities and not after.doc.user_data


STORED: list[bytes] = []


@Language.component("stores_docs_for_tests")
def store(doc: Doc) -> Doc:
    STORED.append(doc.to_bytes())
    return doc


def test_later_components_may_store_the_doc(model: Path, tmp_path: Path) -> None:
    STORED.clear()
    nlp = spacy.load(model)
    nlp.add_pipe("stores_docs_for_tests")
    nlp.to_disk(tmp_path)
    assert show(tmp_path, TEXT).probabilities == show(model, TEXT).probabilities
    assert len(STORED) == 1


def test_two_recognizers_do_not_overwrite_each_other(tmp_path: Path) -> None:
    nlp = trained()
    second: Any = nlp.add_pipe("tagger_ner", name="second", config={"model": tagger()})
    second.initialize(lambda: examples_of(nlp), labels=["OTHER"])
    nlp.to_disk(tmp_path)
    shown = show(tmp_path, TEXT)
    assert {"Anna", "Bob", "New York"} <= {ent.text for ent in shown.doc.ents}
    assert None not in shown.probabilities


def test_spans_key_of_the_pipeline_is_used(tmp_path: Path) -> None:
    trained(spans_key="mine").to_disk(tmp_path)
    shown = show(tmp_path, TEXT)
    assert list(shown.doc.spans) == ["mine"]
    assert None not in shown.probabilities


def test_disabled_recognizer_is_not_asked(tmp_path: Path) -> None:
    nlp = trained()
    nlp.disable_pipe("tagger_ner")
    nlp.to_disk(tmp_path)
    assert "No entities were found" in said(invoke(tmp_path, TEXT))


# Pages


def entity_doc(nlp: Language, *words: str, label: str, kb_id: str = "") -> Doc:
    doc = Doc(nlp.vocab, words=list(words))
    doc.ents = [Span(doc, 0, 1, label=label, kb_id=kb_id)]
    return doc


def test_page_has_no_tags_of_texts_labels_links_or_titles() -> None:
    evil = "<script>alert('&')</script>"
    doc = entity_doc(spacy.blank("en"), evil, "Zoë東京🙂\n", label=evil, kb_id=evil)
    doc.user_data["title"] = evil
    page = Page(render_page(Shown(doc, [0.97], [])))
    assert "script" not in page.tags
    assert page.captions[0] == f"{evil}\u00a00.97"
    assert evil in page.text and "Zoë東京🙂" in page.text and page.tags.count("br") == 1
