"""Explanations of pipelines: of a text, of a corpus, as a page and in the terminal."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_multihash.inspection.effects import explain_corpus
from spacy_multihash.inspection.explain import Explanations, explain, prepare
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import CONFIGS, trained
from tests.helpers.sections import ours, spacys
from tests.helpers.spacy_pipelines import add_rules

TEXT = "Anna met Bob in Rome ."


@pytest.fixture(params=["batch_ner"])
def nlp(request: pytest.FixtureRequest, recognizer: Any) -> Language:
    return spacy.load(recognizer(request.param))


both = pytest.mark.parametrize("nlp", CONFIGS, indirect=True)


@both
def test_predicted_entities_are_explained(nlp: Language) -> None:
    done = explain(nlp, TEXT, window=1)
    assert [(each.text, each.label) for each in done.explanations] == [
        ("Anna", "PER"),
        ("Bob", "PER"),
        ("Rome", "GPE"),
    ]
    for each in done.explanations:
        assert each.predicted and each.features == ("NORM", "PREFIX", "SUFFIX", "SHAPE")
        assert each.together > 0.3
        assert each.completeness == pytest.approx(sum(each.by_token) / each.together)
    assert done.explanations[2].words == ("in", "Rome", ".")
    assert "[Rome]" in str(done) and len(list(done.tables())) == 3
    assert json.loads(json.dumps(done.to_json()))["explanations"][0]["label"] == "PER"


@both
def test_a_span_is_explained_whether_it_is_predicted_or_not(nlp: Language) -> None:
    anna, bob = explain(nlp, TEXT, spans=["Anna=GPE", "Bob=PER"]).explanations
    assert (anna.label, anna.predicted, bob.predicted) == ("GPE", False, True)
    assert anna.probability < 0.5 < bob.probability
    twice = explain(nlp, "Anna met Anna .", spans=["Anna=PER"]).explanations
    assert [each.start for each in twice] == [0, 2]


@both
def test_entities_whose_tokens_are_split_later_are_explained(nlp: Language) -> None:
    whole = explain(nlp, TEXT)
    nlp.add_pipe("token_splitter", config={"min_length": 4, "split_length": 2})
    assert len(nlp(TEXT)) > len(nlp.make_doc(TEXT))
    assert explain(nlp, TEXT).to_json() == whole.to_json()


@both
def test_effects_of_a_corpus_are_measured(nlp: Language) -> None:
    done = explain_corpus(nlp, make_docs(2))
    by_label = {each.label: each.entities for each in done.effects}
    assert by_label[None] == sum(len(doc.ents) for doc in make_docs(2)) == 14
    assert {each.feature for each in done.effects} == {"NORM", "PREFIX", "SUFFIX", "SHAPE"}
    assert max(each.mean for each in done.effects) > 0.05
    assert "±" in str(done)


def test_other_labels_of_a_corpus_are_left_out_and_named(nlp: Language) -> None:
    docs = [doc.copy() for doc in make_docs()[:3]]
    for doc in docs:
        doc.set_ents([Span(doc, 0, 1, label="person")])
    with pytest.raises(ValueError, match="no gold entities .* 3 have labels .*person; it knows"):
        explain_corpus(nlp, docs)
    docs[0].set_ents([Span(docs[0], 0, 1, label="PER")])
    done = explain_corpus(nlp, docs)
    assert {effect.entities for effect in done.effects} == {1}
    assert {effect.error for effect in done.effects} == {None}
    assert re.search("2 have labels that .*person", str(done))


def test_no_more_entities_are_explained_than_asked_for(nlp: Language) -> None:
    done = explain(nlp, TEXT, max_entities=2)
    assert [each.text for each in done.explanations] == ["Anna", "Bob"]
    assert done.left_out == 1 and "first 2 of 3" in str(done)
    assert explain(nlp, TEXT, max_entities=3).left_out == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"spans": ["Anna"]}, "must be TEXT=LABEL.* got Anna"),
        ({"spans": ["Carla=PER"]}, "'Carla' is not in the text"),
        ({"spans": ["nna=PER"]}, "'nna' stands within a token"),
        ({"spans": ["Anna=XYZ"]}, "There is no label 'XYZ'"),
        ({"component": "ner"}, "must be one of batch_ner"),
        ({"max_entities": 0}, "max_entities"),
        ({"window": -1}, "window"),
        ({"text": " \n"}, "The text is empty"),
    ],
)
def test_what_cannot_be_explained_is_told(
    nlp: Language, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        explain(nlp, **{"text": TEXT, **settings})


def test_pipelines_without_probabilities_are_refused(nlp: Language) -> None:
    assert "Nothing was predicted" in str(explain(nlp, "They like rain ."))
    other = spacy.blank("en")
    other.add_pipe("sentencizer")
    with pytest.raises(ValueError, match="no component of batch_ner or tagger_ner"):
        explain(other, TEXT)
    embed: Any = nlp.get_pipe("batch_ner").model  # type: ignore[attr-defined]
    for node in embed.walk():
        if node.name == "extract_features":
            node.name = "other"
    with pytest.raises(ValueError, match='Component "batch_ner" embeds no attributes of tokens'):
        prepare(nlp, "batch_ner")


def classifier(
    architecture: dict[str, Any], factory: str = "textcat", *, updates: int = 20
) -> Language:
    """A classifier of texts by a word: "good" or "bad"."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, name="textcat", config={"model": architecture})
    texts = {"a good day": 1.0, "good work": 1.0, "a bad day": 0.0, "bad work": 0.0}
    examples = [
        Example.from_dict(nlp.make_doc(text), {"cats": {"POS": good, "NEG": 1 - good}})
        for text, good in texts.items()
    ]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.1
    for _ in range(updates):
        nlp.update(examples, sgd=optimizer)
    return nlp


OURS = ours("TextCatHashEmbed", width=8, rows=100, train_importance=False)
BOW = spacys("TextCatBOW.v3", ngram_size=1, no_output_layer=False, length=4096)


@pytest.mark.parametrize("model", [OURS, BOW], ids=["ours", "spacy"])
@pytest.mark.parametrize("exclusive", [True, False])
def test_labels_of_texts_are_explained(model: dict[str, Any], exclusive: bool) -> None:
    factory = "textcat" if exclusive else "textcat_multilabel"
    nlp = classifier({**model, "exclusive_classes": exclusive}, factory)
    (each,) = explain(nlp, "a good day").explanations
    assert (each.label, each.predicted) == ("POS", True)
    assert each.features == (("LOWER",) if model is OURS else ("ORTH",))
    assert each.words == ("a", "good", "day")
    assert each.by_token[1] > 1.2 * max(abs(each.by_token[0]), abs(each.by_token[2]))
    assert each.probability == pytest.approx(nlp("a good day").cats["POS"], abs=1e-6)
    (against,) = explain(nlp, "a good day", spans=["NEG"]).explanations
    assert against.by_token[1] < 0 and not against.predicted
    with pytest.raises(ValueError, match="one of POS, NEG, got 'X'"):
        explain(nlp, "a good day", spans=["X"])


def test_entities_are_explained_rather_than_labels_of_texts(nlp: Language) -> None:
    both = classifier({**OURS, "exclusive_classes": True}, updates=1)
    both.add_pipe("batch_ner", source=nlp)
    assert {each.label for each in explain(both, TEXT).explanations} == {"PER", "GPE"}
    (each,) = explain(both, TEXT, component="textcat").explanations
    assert each.label in ("POS", "NEG")


def test_sure_labels_are_told_apart() -> None:
    """Where float32 rounds a probability to 1, the other labels' probabilities tell it."""
    nlp = classifier({**OURS, "exclusive_classes": True}, updates=5)
    (each,) = explain(nlp, "a good day").explanations
    output = nlp.get_pipe("textcat").model.get_ref("output_layer")  # type: ignore[attr-defined]
    for name in ("W", "b"):
        output.set_param(name, output.get_param(name) * (25 / each.log_odds))
    assert nlp("a good day").cats["POS"] == 1
    assert explain(nlp, "a good day").explanations[0].log_odds == pytest.approx(25, abs=0.01)


@pytest.mark.filterwarnings("ignore:The feature MORPH:UserWarning")  # the docs have none
def test_features_beyond_attributes_are_explained() -> None:
    embed = {"attrs": ["ORTH[:2]", "LOWER{3,4}", "MORPH[Case]", "SHAPE"]}
    nlp = trained("tagger_ner", {"model": {"tok2vec": {"embed": embed}}})
    anna = explain(nlp, TEXT).explanations[0]
    assert anna.features == ("ORTH[:2]", "LOWER{3,4}", "MORPH[Case]", "SHAPE")
    assert all(value != 0 for value in anna.by_feature[0])
    assert anna.together > 0.3


def test_entities_of_rules_in_front_are_not_explained(nlp: Language) -> None:
    add_rules(nlp, {"Rome": "FOOD"}, before="batch_ner")
    assert [each.text for each in explain(nlp, TEXT).explanations] == ["Anna", "Bob"]
    (rome,) = explain(nlp, TEXT, spans=["Rome=GPE"]).explanations
    assert rome.probability < 1e-15  # the rule's entity is in its place


# The page


def test_page_has_the_numbers_and_no_script(nlp: Language) -> None:
    done = explain(nlp, TEXT)
    page = done.page()
    for each in done.explanations:
        assert f"{each.text}: {each.label}, probability {each.probability:.3f}" in page
        assert f"(log-odds {each.log_odds:+.2f})" in page
    assert page.count('class="token own ') == 3
    numbers = re.findall(r"<span>([-+.0-9]+)</span></span>", page)
    assert [float(number) for number in numbers] == pytest.approx(
        [value for each in done.explanations for value in each.by_token], abs=6e-3
    )
    assert "<script" not in page
    assert "Nothing was predicted" in Explanations([]).page()


def test_page_escapes_words_labels_and_features(nlp: Language) -> None:
    (anna,) = explain(nlp, TEXT, spans=["Anna=PER"], window=0).explanations
    name = "<b>&ü"
    anna = replace(anna, text=name, label=name, words=(name,), features=(name, *anna.features[1:]))
    page = Explanations([anna]).page()
    assert "<b>" not in page and page.count("&lt;b&gt;&amp;ü") >= 4


def paragraph(page: str) -> str:
    """The text of a page, with each number in brackets behind its token."""
    (text,) = re.findall(r'<p class="text">(.*?)</p>', page, re.DOTALL)
    text = re.sub(r"<span>([-+.0-9]+)</span></span>", r"[\1]", text)
    return unescape(re.sub("<.*?>", "", text))


def test_page_cuts_long_texts_around_the_entity(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_multihash.inspection.explain.TOKENS_AROUND", 5)
    for number, before, after in ((7, "… ", "…"), (5, "", "")):
        around = "rain " * number
        done = explain(nlp, f"{around}Anna {around}", spans=["Anna=PER"], window=0)
        text = re.sub(r"\[.+?\]", "", paragraph(done.page()))
        assert text == f"{before}{'rain ' * 5}Anna {'rain ' * 5}{after}"


# The command


def test_command_prints_texts_and_corpora_and_writes_a_page(
    recognizer: Any, tmp_path: Path
) -> None:
    model, page = recognizer("batch_ner"), tmp_path / "page.html"
    result = cli.ok("explain", model, TEXT, "--output", page)
    assert "token NORM PREFIX SUFFIX SHAPE all" in said(result) and f"to {page}" in said(result)
    assert "<h2>Anna: PER" in page.read_text("utf8")
    assert "--force" in cli.refused("explain", model, TEXT, "--output", page)
    dev = write_corpus(tmp_path / "dev.spacy", make_docs(2))
    result = cli.ok("explain", model, "--data", dev)
    assert "label entities unknown feature everywhere in the entity" in said(result)
    assert "TEXT has no effect with --data" in cli.refused("explain", model, TEXT, "--data", dev)
    assert "TEXT or --file" in cli.refused("explain", model)
