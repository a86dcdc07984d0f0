"""Mistakes of recognizers, against hand-made pairs of gold and found entities."""

import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash import convert
from spacy_multihash.corpus.evaluation import evaluate_entities
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.corpus.spans import Entity
from spacy_multihash.corpus.texts import write_json_lines
from spacy_multihash.inspection.errors import Errors, Mistake, errors
from tests.helpers.recognizers import trained
from tests.helpers.spacy_pipelines import add_rules
from tests.helpers.spans import NLP, doc_of, plain

# A pipeline whose entities are known: those of rules.


def ruled(**patterns: str) -> Language:
    labels = {text: label for label, texts in patterns.items() for text in texts.split(", ")}
    return add_rules(spacy.blank("en"), labels)


def sentence(text: str, **ents: str) -> Doc:
    doc = NLP(text)
    places = [(text.index(entity), len(entity), label) for label, entity in ents.items()]
    spans = [doc.char_span(start, start + size, label=label) for start, size, label in places]
    doc.set_ents(filter(None, spans))
    return doc


def small_corpus() -> list[Doc]:
    return [
        sentence("Anna Paz met Bob in New York.", PER="Anna Paz", GPE="New York"),
        sentence("Rome is old."),
        sentence("She likes <b>&amp; Oslo.", GPE="Oslo"),
        sentence("It rains."),
    ]


TRAIN = [
    sentence("Bob left.", PER="Bob"),
    sentence("We saw Oslo.", GPE="Oslo"),
    sentence("We saw Ravenna.", GPE="Ravenna"),
    sentence("New York is large.", ORG="New York"),
]


def test_mistakes_of_a_pipeline_without_probabilities() -> None:
    nlp = ruled(PER="Paz, Bob", ORG="New York", GPE="Rome")
    found = errors(nlp, small_corpus(), train=TRAIN, explained=3)
    assert [(m.kind, m.doc, plain(m.gold), plain(m.predicted), m.seen) for m in found.mistakes] == [
        ("cut", 0, "0-2 PER", "1-2 PER", False),
        ("spurious", 0, "", "3-4 PER", True),
        ("label", 0, "5-7 GPE", "5-7 ORG", True),
        ("spurious", 1, "", "0-1 GPE", False),
        ("missed", 2, "5-6 GPE", "", True),
    ]
    assert (found.gold, found.predicted, found.right) == (3, 4, 0)
    assert found.confusion == {
        ("PER", "PER"): 1,
        (None, "PER"): 1,
        ("GPE", "ORG"): 1,
        (None, "GPE"): 1,
        ("GPE", None): 1,
    }
    _, bob, york, rome, oslo = found.mistakes
    for mistake in found.mistakes:
        assert (mistake.confidence, mistake.explanation, mistake.is_suspect) == (None, None, False)
    assert [(n.text, n.label, n.count) for n in york.same_words] == [("New York", "ORG", 1)]
    assert [(n.text, n.label, n.count) for n in oslo.same_shape] == [("Oslo", "GPE", 1)]
    assert [(n.text, n.label, n.count) for n in rome.same_words] == []
    assert "".join(bob.words) == "Anna Paz met Bob in New York."
    assert [plain(each) for each in bob.gold_around] == ["0-2 PER", "5-7 GPE"]
    page = found.page("Mistakes")
    assert ", p " not in page
    for kind, share in (("right", "0.70"), ("wrong", "0.35"), ("missed", "0.35")):  # of the row
        assert f'class="number shade {kind}" style="--a:{share}">1<' in page
    counts, confusion = found.tables()
    assert counts.rows[-1] == ("all", "0", "1", "1", "0", "2", "1")
    assert confusion.header == ("gold \\ predicted", "GPE", "ORG", "PER", "no entity")
    assert confusion.rows[0] == ("GPE", "·", "1", "·", "1")
    assert confusion.rows[3] == ("no entity", "1", "·", "1", "·")
    assert {"gold": "GPE", "predicted": "ORG", "count": 1} in found.to_json()["confusion"]


def test_a_label_named_all_has_its_own_counts() -> None:
    found = errors(ruled(all="Bob", GPE="Rome"), small_corpus())
    assert [row[0] for row in [*found.tables()][0].rows].count("all") == 2


def test_sentences_end_the_context_and_long_ones_are_cut() -> None:
    doc = NLP("It rains. Anna slept. We left." + " More" * 200 + " Bob")
    for token in doc:
        token.is_sent_start = token.text in ("It", "Anna", "We")
    doc.set_ents([Span(doc, 3, 4, label="PER"), Span(doc, len(doc) - 1, len(doc), label="PER")])
    anna, bob = errors(ruled(GPE="Rome"), [doc]).mistakes
    assert "".join(anna.words) == "Anna slept. " and anna.first == 3
    assert "".join(bob.words) == "More " * 25 + "Bob"


@pytest.mark.parametrize(
    ("docs", "message"),
    [([], "got none in list"), ([Doc(NLP.vocab, words=["x"])], "1 documents, but none")],
)
def test_corpora_without_annotation_are_refused(docs: list[Doc], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        errors(ruled(GPE="Rome"), docs)


def test_a_corpus_without_mistakes_or_training_has_a_page() -> None:
    found = errors(ruled(GPE="Rome"), [sentence("Rome is old.", GPE="Rome")], train=TRAIN)
    assert (found.right, list(found.mistakes)) == (1, [])
    assert "There are no mistakes" in found.page("x")
    found = errors(ruled(GPE="Rome"), [sentence("It rains.")], train=TRAIN)
    assert found.confusion == {} and list(found.records("prodigy")) == []
    found = errors(ruled(GPE="Rome"), small_corpus())  # without training
    assert {mistake.seen for mistake in found.mistakes} == {None}
    assert not re.search("(un)?seen", found.page("x").partition("<main>")[2])


# Recognizers with probabilities.


@pytest.fixture(scope="module", params=["batch_ner", "tagger_ner"])
def nlp(request: pytest.FixtureRequest) -> Language:
    return trained(request.param)


def wrong_corpus() -> list[Doc]:
    """Sentences that the recognizers know, annotated in another way, and one that is right."""
    return [
        doc_of("Anna met Bob in Rome .".split(), "0-1 PER, 2-3 GPE, 4-5 GPE"),
        doc_of("Bob left Rome .".split(), "2-3 GPE"),
        doc_of("Anna likes Oslo .".split(), "0-1 PER, 2-3 GPE, 3-4 GPE"),
        doc_of("They like rain .".split()),
    ]


def right_corpus() -> list[Doc]:
    return [
        doc_of("Anna met Bob in Rome .".split(), "0-1 PER, 2-3 PER, 4-5 GPE"),
        doc_of("Bob left Rome .".split(), "0-1 PER, 2-3 GPE"),
    ]


def test_mistakes_have_probabilities_and_the_most_confident_come_first(nlp: Language) -> None:
    found = errors(nlp, wrong_corpus(), train=right_corpus(), explained=2)
    assert {(m.kind, m.doc, plain(m.gold), plain(m.predicted)) for m in found.mistakes} == {
        ("label", 0, "2-3 GPE", "2-3 PER"),
        ("spurious", 1, "", "0-1 PER"),
        ("missed", 2, "3-4 GPE", ""),
    }
    confidences = [mistake.confidence or 0 for mistake in found.mistakes]
    assert confidences == sorted(confidences, reverse=True) and min(confidences) > 0.5
    for mistake in found.mistakes:
        if mistake.kind == "missed":
            assert mistake.gold and mistake.gold.probability is not None
            assert mistake.confidence == 1 - mistake.gold.probability
        else:
            assert mistake.predicted and mistake.confidence == mistake.predicted.probability
    label = next(mistake for mistake in found.mistakes if mistake.kind == "label")
    assert label.gold and label.predicted and label.gold.probability is not None
    assert label.gold.probability + (label.predicted.probability or 0) <= 1 + 1e-6
    explanations = [mistake.explanation for mistake in found.mistakes]
    assert explanations[2] is None
    for mistake, explanation in zip(found.mistakes[:2], explanations, strict=False):
        assert explanation is not None
        assert explanation.probability == pytest.approx(mistake.confidence, abs=1e-5) or (
            mistake.kind == "missed"
        )
    assert "Why not " in found.page()


def test_sure_mistakes_that_training_contradicts_are_suspect(nlp: Language) -> None:
    found = errors(nlp, wrong_corpus(), train=right_corpus(), sure=0.5)
    # "." occurs in training, never as an entity; "Bob" as PER alone.
    assert [mistake.is_suspect for mistake in found.mistakes] == [True] * 3
    assert "The annotation may be wrong (3)" in found.page()
    found = errors(nlp, wrong_corpus(), train=right_corpus(), sure=1)
    assert not any(mistake.is_suspect for mistake in found.mistakes)
    # Training annotates as the corpus does.
    found = errors(nlp, wrong_corpus(), train=wrong_corpus(), sure=0.5)
    suspects = [plain(m.gold) for m in found.mistakes if m.is_suspect]
    assert suspects == []
    # Nothing is known of words that training lacks, except that they can be an entity.
    found = errors(nlp, wrong_corpus(), train=[doc_of(["They"])], sure=0.5)
    assert {m.kind for m in found.mistakes if m.is_suspect} == {"spurious"}
    found = errors(nlp, [doc_of("It was Qux".split(), "1-2 GPE")], train=right_corpus(), sure=0.0)
    missed = [m for m in found.mistakes if m.kind == "missed"]
    assert [(mistake.is_suspect, mistake.confidence is None) for mistake in missed] == [
        (False, False)
    ]


def test_entities_of_rules_and_unknown_labels_have_no_probability(nlp: Language) -> None:
    add_rules(nlp, {"They": "PER"}, first=True)
    try:
        docs = [doc_of("They like rain .".split(), "2-3 FOOD")]
        spurious, missed = errors(nlp, docs, explained=2).mistakes
    finally:
        nlp.remove_pipe("entity_ruler")
    assert (spurious.kind, missed.kind) == ("spurious", "missed")
    assert spurious.confidence is None and missed.confidence is None


# Pages and JSON.


def test_texts_and_labels_stay_texts() -> None:
    docs = [sentence("She saw <script>alert(1)</script> <b>", **{"<i>": "<b>"})]
    train = [sentence("A <b> here", **{"<u>": "<b>"})]
    found = errors(ruled(GPE="Rome"), docs, train=train)
    predicted = NLP("She saw <script>alert(1)</script> <b>")
    sides = evaluate_entities([Example(predicted, docs[0])]).page()
    for text in (found.page("<h6>"), sides):
        assert not re.findall(r"<(script|b>[^a-zA-Z]*<small|i>|u>|h6)", text)
        assert "&lt;i&gt;" in text and "&lt;b&gt;" in text


def test_two_thousand_mistakes_are_grouped_and_may_be_limited() -> None:
    mistake = Mistake("missed", 0, Entity(0, 1, "PER", "Bob"), None, words=("Bob ", "left"))
    found = Errors([], [mistake] * 2_000, 2_000, 0, 0, {("PER", None): 2_000}, False)
    page = found.page("x")
    assert page.count("<article") == 2_000 and len(page) < 1_500_000
    assert "<details open" not in page
    (group,) = found.groups(10)
    assert len(group.mistakes) == 10 and group.total == 2_000


@pytest.mark.parametrize("tool", ["prodigy", "doccano", "labelstudio"])
def test_json_lines_are_read_by_convert(tool: Any, tmp_path: Path) -> None:
    """Docs with mistakes come back with their gold entities."""
    nlp = ruled(PER="Paz, Bob", ORG="New York", GPE="Rome")
    found = errors(nlp, small_corpus())
    records = list(found.records(tool))
    write_json_lines(tmp_path / "wrong.jsonl", records)
    done = convert(tmp_path / "wrong.jsonl", tmp_path / "wrong.spacy", lang="en")
    assert done.files[0].problems == []
    docs = list(read_docs(tmp_path / "wrong.spacy", NLP.vocab))
    expected = small_corpus()[:3]
    assert [doc.text for doc in docs] == [doc.text for doc in expected]
    for doc, gold in zip(docs, expected, strict=True):
        assert [(e.start, e.end, e.label_) for e in doc.ents] == [
            (e.start, e.end, e.label_) for e in gold.ents
        ]
    if tool == "prodigy":
        for record in records:
            for span in record["spans"]:
                tokens = record["tokens"][span["token_start"] : span["token_end"] + 1]
                assert (tokens[0]["start"], tokens[-1]["end"]) == (span["start"], span["end"])
    said = str(records[0])
    assert "label: gold GPE 'New York', predicted ORG 'New York'" in said.replace('"', "")
