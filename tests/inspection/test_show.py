"""Entities with their probabilities, as a result, as a page and in the terminal."""

import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_multihash.inspection.show import Shown, ShownEntity, show
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.spacy_pipelines import CNN, add_rules, build, ner
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
def nlp(folder: Path, request: pytest.FixtureRequest) -> Language:
    return spacy.load(folder / request.param)


def rows(shown: Shown) -> list[tuple[str, str]]:
    return [(entity.text, entity.label) for entity in shown.entities]


def test_entities_have_the_probabilities_of_the_component(nlp: Language) -> None:
    shown, again = show(nlp, TEXT), show(nlp, TEXT)
    assert rows(shown) == [("Anna", "PER"), ("Bob", "PER"), ("New York", "GPE")]
    recognizer: Any = nlp.get_pipe(nlp.pipe_names[-1])
    assert recognizer.spans_key is None and nlp.pipe_names == [recognizer.name]  # as before
    recognizer.spans_key = "mine"
    group = nlp(TEXT).spans["mine"]
    expected = pytest.approx(group.attrs["scores"].tolist())
    assert [entity.probability for entity in shown.entities] == expected
    assert [entity.probability for entity in again.entities] == expected
    table, _ = shown.tables()
    assert [row[2] for row in table.rows] == [f"{p:.2f}" for p in group.attrs["scores"]]
    assert shown.to_json()["entities"][2]["start"] == TEXT.index("New")


def test_threshold_leaves_entities_out_and_is_that_of_the_call(nlp: Language) -> None:
    sure = sorted((entity.probability or 0, entity.text) for entity in show(nlp, TEXT).entities)
    between = float(numpy.mean([sure[0][0], sure[1][0]]))
    shown = show(nlp, TEXT, threshold=between)
    assert {text for text, _ in rows(shown)} == {text for _, text in sure[1:]}
    assert shown.page().count("<mark>") == len(shown.doc.ents) == 2
    strict = trained(threshold=1.0)
    assert rows(show(strict, TEXT)) == [] and len(rows(show(strict, TEXT, threshold=0))) == 3
    with pytest.raises(ValueError, match="threshold"):
        show(nlp, TEXT, threshold=2)


def test_other_recognizers_have_none(folder: Path) -> None:
    shown = show(folder / "ner", TEXT)
    assert {entity.probability for entity in shown.entities} == {None}
    assert list(shown.accelerable) == ["ner"] and "multihash accelerate" in str(shown)
    shown = show(batch_ner(beam_width=2), TEXT)
    assert {entity.probability for entity in shown.entities} == {None}


def test_entities_of_rules_before_a_recognizer_have_none(nlp: Language) -> None:
    add_rules(nlp, {"Bob": "PER", "met": "MET"}, before=nlp.pipe_names[-1])
    for threshold in (None, 1):
        entities = show(nlp, TEXT, threshold=threshold).entities
        given = {(e.text, e.label) for e in entities if e.probability is None}
        assert given == {("met", "MET"), ("Bob", "PER")}


STORED: list[bytes] = []


@Language.component("stores_docs_for_tests")
def store(doc: Doc) -> Doc:
    STORED.append(doc.to_bytes())
    return doc


@pytest.mark.parametrize("later", ["merge_entities", "token_splitter", "stores_docs_for_tests"])
def test_later_components_may_merge_split_and_store(later: str, nlp: Language) -> None:
    STORED.clear()
    before = show(nlp, TEXT)
    config = {"min_length": 3, "split_length": 2} if later == "token_splitter" else {}
    nlp.add_pipe(later, config=config)
    after = show(nlp, TEXT)
    assert len(STORED) == (later == "stores_docs_for_tests")
    assert (len(after.doc) == len(before.doc)) is bool(STORED)
    assert after.entities == before.entities and not after.doc.user_data


def two_recognizers() -> Language:
    nlp = trained()
    second: Any = nlp.add_pipe("tagger_ner", name="second", config={"model": tagger()})
    second.initialize(lambda: examples_of(nlp), labels=["OTHER"])
    return nlp


@pytest.mark.parametrize("make", [two_recognizers, lambda: trained(spans_key="mine")])
def test_recognizers_keep_to_their_groups(make: Callable[[], Language]) -> None:
    shown = show(make(), TEXT)
    assert {"Anna", "Bob", "New York"} <= {text for text, _ in rows(shown)}
    assert None not in {entity.probability for entity in shown.entities}
    assert list(shown.doc.spans) in ([], ["mine"])


def test_page_has_no_tags_of_texts_labels_or_titles() -> None:
    evil = "<script>alert('&')</script>"
    doc = Doc(spacy.blank("en").vocab, words=[evil, "Zoë東京🙂\n"])
    doc.ents = [Span(doc, 0, 1, label=evil, kb_id=evil)]
    doc.user_data["title"] = evil
    page = Shown(doc, [ShownEntity(evil, evil, 0, len(evil), 0.97)], {evil: 0.5}, []).page(evil)
    assert "<script" not in page
    text = unescape(re.sub("<[^>]*>", "", page))
    assert f"{evil}{evil}\u00a00.97" in text and "Zoë東京🙂\n" in text


# The command


def test_command_prints_and_writes_a_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    result = cli.ok("show", folder / "tagger_ner", TEXT, "--output", page)
    assert "entity label probability" in said(result) and f"to {page}" in said(result)
    assert page.read_text("utf8").count("<mark>") == 3
    assert "--force" in cli.refused("show", folder / "tagger_ner", TEXT, "--output", page)


@pytest.mark.parametrize("way", ["file", "stdin"])
def test_text_is_read_from_elsewhere(way: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbfAnna met\r\nBob .\n")
    args = ["-"] if way == "stdin" else ["--file", tmp_path / "text.txt"]
    result = cli.invoke(
        "show", folder / "tagger_ner", *args, stdin=b"\xef\xbb\xbfAnna met\nBob .\n"
    )
    assert "Entities: 2" in said(result)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["model"], "Expected either TEXT or --file, got neither"),
        (["model", "a", "--file", "b"], "Expected either TEXT or --file, got both"),
        (["model", " \n"], "The text is empty"),
        (["model", "-"], "Expected UTF-8 as standard input. 'utf-8' codec can't decode byte 0xff"),
        (["model", "M\udcfcller"], "half of a letter"),
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
    args: list[str], message: str, folder: Path, here: Path
) -> None:
    Path("model").symlink_to(folder / "tagger_ner")
    shutil.copytree(folder / "ner", "training/model-best")
    Path("text.txt").write_text("Anna met Bob .")
    shutil.copytree(folder / "ner", "own")
    config = Path("own/config.cfg").read_text()
    own = re.sub("@architectures = .*", '@architectures = "my.Own.v1"', config, count=1)
    Path("own/config.cfg").write_text(own)
    error = cli.refused("show", *args, stdin=b"\xff")
    assert "Cannot show the entities" in error and re.search(message, error), error


def test_a_pipeline_that_finds_nothing_says_so() -> None:
    nlp = spacy.blank("en")
    assert "It has: none; disabled: none" in str(show(nlp, TEXT))
    add_rules(nlp, {"nowhere": "X"})
    assert "No entities were predicted" in str(show(nlp, TEXT))
    nlp.disable_pipe("entity_ruler")
    assert "disabled: entity_ruler" in str(show(nlp, TEXT))
    textcat: Any = nlp.add_pipe("textcat")
    for label in ("A", "B"):
        textcat.add_label(label)
    nlp.initialize()
    shown = show(nlp, TEXT)
    assert shown.cats == nlp(TEXT).cats and "No entities" not in str(shown)
