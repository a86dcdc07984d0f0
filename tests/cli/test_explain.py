"""The command that explains entities."""

import json
import re
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Span
from spacy.training import Example
from spacy.vectors import Vectors
from thinc.api import Config

from spacy_multihash.cli.explain import explain_text
from spacy_multihash.inspection.explain import prepare
from spacy_multihash.inspection.explain_page import TOKENS_AROUND, render_explanations
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import CONFIGS, trained
from tests.helpers.vectors import FLORET, random_vectors

invoke = partial(cli.invoke, "explain")
ok = partial(cli.ok, "explain")

TEXT = "Anna met Bob in Rome ."


@pytest.fixture(params=["batch_ner"])
def model(request: pytest.FixtureRequest, recognizer: Any) -> Path:
    return recognizer(request.param)


both = pytest.mark.parametrize("model", CONFIGS, indirect=True)


def test_found_entities_are_explained(model: Path) -> None:
    result = ok(model, TEXT)
    output = said(result)
    nlp = spacy.load(model)
    assert len(nlp(TEXT).ents) == 3
    for ent in nlp(TEXT).ents:
        assert f"{ent.text}, {ent.label_}: " in output and f"[{ent.text}]" in output
    assert "token NORM PREFIX SUFFIX SHAPE all" in output
    assert output.count("With all of these unknown, the log-odds fall by") == 3


@both
def test_json_has_all_numbers(model: Path) -> None:
    found = json.loads(invoke(model, TEXT, "--window", 1, "--json").output)
    assert [(each["text"], each["label"]) for each in found] == [
        ("Anna", "PER"),
        ("Bob", "PER"),
        ("Rome", "GPE"),
    ]
    for each in found:
        assert len(each["by_token"]) == len(each["words"]) == len(each["by_feature"])
        assert each["together"] > 0.3
        assert each["completeness"] == pytest.approx(sum(each["by_token"]) / each["together"])
    assert found[2]["words"] == ["in", "Rome", "."]


@both
def test_a_span_is_explained_whether_it_is_found_or_not(model: Path) -> None:
    found = json.loads(
        invoke(model, TEXT, "--span", "Anna=GPE", "--span", "Bob=PER", "--json").output
    )
    assert [(each["text"], each["label"], each["found"]) for each in found] == [
        ("Anna", "GPE", False),
        ("Bob", "PER", True),
    ]
    assert found[0]["probability"] < 0.5 < found[1]["probability"]
    assert ", not found" in said(invoke(model, TEXT, "--span", "Anna=GPE"))
    found = json.loads(invoke(model, "Anna met Anna .", "--span", "Anna=PER", "--json").output)
    assert [each["start"] for each in found] == [0, 2]


@both
def test_entities_whose_tokens_are_split_later_are_explained(model: Path, tmp_path: Path) -> None:
    nlp = spacy.load(model)
    nlp.add_pipe("token_splitter", config={"min_length": 4, "split_length": 2})
    nlp.to_disk(tmp_path)
    whole, split = (json.loads(invoke(path, TEXT, "--json").output) for path in (model, tmp_path))
    assert len(nlp(TEXT)) > len(nlp.make_doc(TEXT))
    assert split == whole != []


def test_corpus_with_other_labels_is_refused_and_labels_left_out_are_named(
    model: Path, tmp_path: Path
) -> None:
    docs = [doc.copy() for doc in make_docs()[:3]]
    for doc in docs:
        doc.set_ents([Span(doc, 0, 1, label="person")])
    dev = write_corpus(tmp_path / "dev.spacy", docs)
    message = said(invoke(model, "--corpus", dev))
    assert "The corpus has no gold entities to explain. Give one that has some. Of those" in message
    assert re.search("3 have labels that .*_ner does not know .person; it knows GPE, PER", message)
    docs[0].set_ents([Span(docs[0], 0, 1, label="PER")])
    corpus = write_corpus(tmp_path / "dev.spacy", docs)
    assert "a single entity has none." in said(invoke(model, "--corpus", corpus))
    result = ok(model, "--corpus", corpus, "--json")
    assert {effect["entities"] for effect in json.loads(result.stdout)} == {1}
    assert re.search("Gold entities are left out: 2 have labels that .*person", said(result))


def test_no_more_entities_are_explained_than_asked_for(model: Path) -> None:
    result = invoke(model, TEXT, "--max-entities", 2, "--json")
    assert [each["text"] for each in json.loads(result.stdout)] == ["Anna", "Bob"]
    assert "Only the first 2 of 3 entities are explained --max-entities 3" in said(result)
    result = invoke(model, TEXT, "--max-entities", 3, "--json")
    assert len(json.loads(result.output)) == 3
    assert "Only the first" not in result.output
    assert invoke(model, TEXT, "--max-entities", 0).exit_code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--span", "Anna"], "--span must be TEXT=LABEL, such as 'New York=GPE', was: Anna"),
        (["--span", "Carla=PER"], "--span Carla=PER: 'Carla' is not in the text"),
        (["--span", "nna=PER"], "'nna' stands within a token. Give whole tokens"),
        (["--span", "Anna=XYZ"], "There is no label 'XYZ'. Expected one of:"),
        (["--corpus", "x.spacy"], "TEXT is for a text. Leave it out, or --corpus"),
        (["--component", "ner"], "component must be one of"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    model: Path, options: list[str], message: str
) -> None:
    assert message in cli.refused("explain", model, TEXT, *options)


def test_what_cannot_be_explained_is_told(model: Path, tmp_path: Path) -> None:
    assert "Expected either TEXT or --file" in said(invoke(model))
    assert "No entities were found" in said(invoke(model, "They like rain ."))
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)
    assert "The pipeline has no component of batch_ner or tagger_ner" in said(invoke(tmp_path, "x"))


def test_a_recognizer_without_attributes_is_refused(model: Path) -> None:
    nlp = spacy.load(model)
    embed: Any = nlp.get_pipe("batch_ner").model  # type: ignore[attr-defined]
    for node in embed.walk():
        if node.name == "extract_features":
            node.name = "other"
    with pytest.raises(ValueError, match='Component "batch_ner" embeds no attributes of tokens'):
        prepare(nlp, "batch_ner")


@pytest.mark.filterwarnings("ignore:The feature MORPH:UserWarning")  # the docs have none
def test_features_beyond_attributes_are_explained() -> None:
    embed = {"attrs": ["ORTH[:2]", "LOWER{3,4}", "MORPH[Case]", "SHAPE"]}
    nlp = trained("tagger_ner", {"model": {"tok2vec": {"embed": embed}}})
    (anna, *_) = explain_text(nlp, "tagger_ner", TEXT)
    assert anna.features == ("ORTH[:2]", "LOWER{3,4}", "MORPH[Case]", "SHAPE")
    assert all(value != 0 for value in anna.by_feature[0])
    assert anna.together > 0.3


def test_entities_of_rules_in_front_are_not_explained(model: Path) -> None:
    nlp = spacy.load(model)
    ruler: Any = nlp.add_pipe("entity_ruler", before="batch_ner")
    ruler.add_patterns([{"label": "FOOD", "pattern": "Rome"}])
    found = explain_text(nlp, "batch_ner", TEXT)
    assert [each.text for each in found] == ["Anna", "Bob"]
    (rome,) = explain_text(nlp, "batch_ner", TEXT, ["Rome=GPE"])
    assert rome.probability < 1e-15  # the rule's entity is in its place


def test_page_has_the_numbers_and_no_script(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = invoke(model, TEXT, "--output", page)
    assert f"Wrote {page}" in said(result)
    text = page.read_text("utf8")
    found = json.loads(invoke(model, TEXT, "--json").output)
    for each in found:
        assert f"{each['text']}: {each['label']}, probability {each['probability']:.3f}" in text
        assert f"(log-odds {each['log_odds']:+.2f})" in text
    assert text.count('class="token own"') == 3
    numbers = re.findall(r"<span>([-+.0-9]+)</span></span>", text)
    assert [float(number) for number in numbers] == pytest.approx(
        [value for each in found for value in each["by_token"]], abs=6e-3
    )
    assert "<script" not in text and "Leave" not in text
    assert "--force" in cli.refused("explain", model, TEXT, "--output", page)
    ok(model, TEXT, "--output", page, "--force")


def test_page_escapes_words_labels_and_features(model: Path) -> None:
    (anna,) = explain_text(spacy.load(model), "batch_ner", TEXT, ["Anna=PER"], window=0)
    name = "<b>&ü"
    anna = replace(anna, text=name, label=name, words=(name,), features=(name, *anna.features[1:]))
    text = render_explanations([anna]).decode()
    assert "<b>" not in text and text.count("&lt;b&gt;&amp;ü") >= 4
    assert "No entities were found" in render_explanations([]).decode()


def paragraphs(page: bytes) -> list[str]:
    """The texts of a page, with each number in brackets behind its token."""
    texts = re.findall(r'<p class="text">(.*?)</p>', page.decode(), re.DOTALL)
    texts = [re.sub(r"<span>([-+.0-9]+)</span></span>", r"[\1]", text) for text in texts]
    return [unescape(re.sub("<.*?>", "", text)) for text in texts]


def test_page_cuts_long_texts_around_the_entity(model: Path) -> None:
    nlp = spacy.load(model)
    rain = "rain " * (TOKENS_AROUND + 50)
    (anna,) = explain_text(nlp, nlp.pipe_names[0], f"{rain}Anna {rain}", ["Anna=PER"], window=0)
    (text,) = paragraphs(render_explanations([anna]))
    kept = "rain " * TOKENS_AROUND
    assert re.sub(r"\[.+?\]", "", text) == f"… {kept}Anna {kept}…"
    (anna,) = explain_text(nlp, nlp.pipe_names[0], f"{kept}Anna {kept}", ["Anna=PER"], window=0)
    assert "…" not in paragraphs(render_explanations([anna]))[0]


def test_words_without_a_string_are_looked_up_in_floret_vectors(tmp_path: Path) -> None:
    """An unknown word has no string that n-grams could be cut from: its vector is zero."""
    nlp = spacy.blank("en")
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=random_vectors(20), mode="floret", **FLORET
    )
    config = Config(CONFIGS["tagger_ner"]).copy()
    config["model"]["tok2vec"]["embed"]["include_static_vectors"] = True
    nlp.add_pipe("tagger_ner", config=config)
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()])
    nlp.to_disk(tmp_path)
    result = ok(tmp_path, TEXT, "--span", "Anna=PER", "--json")
    (anna,) = json.loads(result.output)
    assert "vector" in anna["features"]
    column = anna["features"].index("vector")
    assert any(row[column] != 0 for row in anna["by_feature"])


@both
def test_effects_of_a_corpus_are_shown(model: Path, tmp_path: Path) -> None:
    dev = write_corpus(tmp_path / "dev.spacy", make_docs(2))
    result = ok(model, "--corpus", dev)
    assert "label entities unknown feature everywhere in the entity" in said(result)
    found = json.loads(invoke(model, "--corpus", dev, "--json").output)
    by_label = {each["label"]: each["entities"] for each in found}
    assert by_label[None] == sum(len(doc.ents) for doc in make_docs(2)) == 14
    assert {each["feature"] for each in found} == {"NORM", "PREFIX", "SUFFIX", "SHAPE"}
    assert max(each["mean"] for each in found) > 0.05
