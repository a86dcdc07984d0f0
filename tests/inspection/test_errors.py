"""Mistakes of recognizers, against hand-made pairs of gold and found entities."""

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any, Optional

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.cli.convert import convert
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.corpus.texts import write_json_lines
from spacy_multihash.inspection.errors import (
    Entity,
    Mistake,
    Mistakes,
    entities_of,
    find_mistakes,
    pair_entities,
)
from spacy_multihash.inspection.errors_page import (
    confusion_rows,
    count_rows,
    json_records,
    render_errors,
    render_mistakes,
    render_side_by_side,
)
from tests.helpers.recognizers import trained

NLP = spacy.blank("en")
WORDS = ["Anna", "Paz", "met", "Bob", "in", "New", "York", "."]


def entities(text: str) -> list[Entity]:
    """Read entities written as in "0-2 PER, 3-4 GPE"."""
    found = []
    for part in filter(None, text.split(", ")):
        extent, label = part.split(" ")
        start, end = map(int, extent.split("-"))
        found.append(Entity(start, end, label, " ".join(WORDS[start:end])))
    return found


def plain(entity: Optional[Entity]) -> str:
    return f"{entity.start}-{entity.end} {entity.label}" if entity else ""


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        ("", "", []),
        ("0-2 PER", "0-2 PER", [(None, "0-2 PER", "0-2 PER")]),
        ("0-2 PER", "", [("missed", "0-2 PER", "")]),
        ("", "0-2 PER", [("spurious", "", "0-2 PER")]),
        ("0-2 PER", "0-2 GPE", [("label", "0-2 PER", "0-2 GPE")]),
        ("0-2 PER", "0-1 PER", [("cut", "0-2 PER", "0-1 PER")]),
        ("0-2 PER", "1-3 GPE", [("both", "0-2 PER", "1-3 GPE")]),
        ("0-2 PER", "2-4 PER", [("missed", "0-2 PER", ""), ("spurious", "", "2-4 PER")]),
        # The same label is nearer than more tokens, and the same boundaries than the same label.
        (
            "0-4 PER",
            "0-3 GPE, 3-4 PER",
            [("spurious", "", "0-3 GPE"), ("cut", "0-4 PER", "3-4 PER")],
        ),
        ("0-3 PER, 3-4 PER", "0-4 PER", [("cut", "0-3 PER", "0-4 PER"), ("missed", "3-4 PER", "")]),
        (
            "5-7 GPE",
            "5-6 GPE, 6-7 GPE",
            [("cut", "5-7 GPE", "5-6 GPE"), ("spurious", "", "6-7 GPE")],
        ),
    ],
)
def test_entities_that_overlap_are_one_mistake(gold: str, found: str, expected: list) -> None:
    pairs = pair_entities(entities(gold), entities(found))
    assert sorted((kind, plain(g), plain(f)) for kind, g, f in pairs if kind) == sorted(
        pair for pair in expected if pair[0]
    )
    assert len(pairs) == len(expected)


def test_each_entity_is_in_one_pair() -> None:
    """The kinds of random entities add up, and those that don't overlap are never paired."""
    choose = random.Random(0)

    def draw() -> list[Entity]:
        ends = sorted(choose.sample(range(30), 12))
        return [
            Entity(start, end, choose.choice("XY"), "")
            for start, end in zip(ends[::2], ends[1::2], strict=True)
        ]

    for _ in range(200):
        gold, found = draw(), draw()
        pairs = pair_entities(gold, found)
        assert Counter(g for _, g, _ in pairs if g) == Counter(gold)
        assert Counter(f for _, _, f in pairs if f) == Counter(found)
        assert {(g, f) for kind, g, f in pairs if kind is None} == {
            (each, each) for each in set(gold) & set(found)
        }
        for kind, g, f in pairs:
            if g and f:
                assert max(g.start, f.start) < min(g.end, f.end)
                same = (g.start, g.end) == (f.start, f.end)
                expected = {(True, False): "label", (False, True): "cut", (False, False): "both"}
                assert kind == expected.get((same, g.label == f.label))


def doc_of(words: list[str], ents: str = "", missing: str = "") -> Doc:
    doc = Doc(NLP.vocab, words=words)
    spans = [Span(doc, e.start, e.end, label=e.label) for e in entities(ents)]
    doc.set_ents(spans, missing=[doc[e.start : e.end] for e in entities(missing)])
    return doc


def test_what_is_found_where_gold_is_missing_does_not_count() -> None:
    gold = doc_of(WORDS, "0-2 PER", missing="5-7 X")
    found = doc_of(WORDS, "0-2 PER, 3-4 PER, 5-7 GPE")
    _, counted = entities_of(Example(found, gold))
    assert [plain(each) for each in counted] == ["0-2 PER", "3-4 PER"]


def test_entities_are_compared_by_the_tokens_of_gold() -> None:
    found = Doc(NLP.vocab, words=["New", "York", "-based"], spaces=[True, False, False])
    gold = Doc(NLP.vocab, words=["New", "York", "-", "based"], spaces=[True, False, False, False])
    gold.set_ents([Span(gold, 0, 2, label="GPE")])
    found.set_ents([Span(found, 0, 3, label="GPE")])
    ((kind, _, given),) = pair_entities(*entities_of(Example(found, gold)))
    assert kind == "cut" and plain(given) == "0-4 GPE"


# A pipeline whose entities are known: those of rules.


def ruled(**patterns: str) -> Language:
    nlp = spacy.blank("en")
    ruler: Any = nlp.add_pipe("entity_ruler")
    for label, texts in patterns.items():
        ruler.add_patterns([{"label": label, "pattern": text} for text in texts.split(", ")])
    return nlp


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
    found = find_mistakes(nlp, small_corpus(), TRAIN, num_explained=3)
    assert [(m.kind, m.doc, plain(m.gold), plain(m.found), m.seen) for m in found.mistakes] == [
        ("cut", 0, "0-2 PER", "1-2 PER", False),
        ("spurious", 0, "", "3-4 PER", True),
        ("label", 0, "5-7 GPE", "5-7 ORG", True),
        ("spurious", 1, "", "0-1 GPE", False),
        ("missed", 2, "5-6 GPE", "", True),
    ]
    assert (found.gold, found.found, found.right) == (3, 4, 0)
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
    page = render_errors(found, "Mistakes").decode()
    assert ", p " not in page
    assert count_rows(found)[-1] == ("all", "0", "1", "1", "0", "2", "1")
    header, rows = confusion_rows(found)
    assert header == ["gold \\ found", "GPE", "ORG", "PER", "no entity"]
    assert rows[0] == ["GPE", "·", "1", "·", "1"]
    assert rows[3] == ["no entity", "1", "·", "1", "·"]


def test_sentences_end_the_context_and_long_ones_are_cut() -> None:
    doc = NLP("It rains. Anna slept. We left." + " More" * 200 + " Bob")
    for token in doc:
        token.is_sent_start = token.text in ("It", "Anna", "We")
    doc.set_ents([Span(doc, 3, 4, label="PER"), Span(doc, len(doc) - 1, len(doc), label="PER")])
    anna, bob = find_mistakes(ruled(GPE="Rome"), [doc]).mistakes
    assert "".join(anna.words) == "Anna slept. " and anna.first == 3
    assert "".join(bob.words) == "More " * 25 + "Bob"


@pytest.mark.parametrize(
    ("docs", "message"),
    [([], "None of the 0 gold docs"), ([Doc(NLP.vocab, words=["x"])], "None of the 1 gold docs")],
)
def test_corpora_without_annotation_are_refused(docs: list[Doc], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_mistakes(ruled(GPE="Rome"), docs)


def test_a_corpus_without_mistakes_or_training_has_a_page() -> None:
    found = find_mistakes(ruled(GPE="Rome"), [sentence("Rome is old.", GPE="Rome")], TRAIN)
    assert (found.right, list(found.mistakes)) == (1, [])
    assert "There are no mistakes" in render_errors(found, "x").decode()
    found = find_mistakes(ruled(GPE="Rome"), [sentence("It rains.")], [])
    assert found.confusion == {} and list(json_records(found, "prodigy")) == []
    found = find_mistakes(ruled(GPE="Rome"), small_corpus())  # without training
    assert {mistake.seen for mistake in found.mistakes} == {None}
    assert "seen" not in render_mistakes(found)


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
    found = find_mistakes(nlp, wrong_corpus(), right_corpus(), num_explained=2)
    assert {(m.kind, m.doc, plain(m.gold), plain(m.found)) for m in found.mistakes} == {
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
            assert mistake.found and mistake.confidence == mistake.found.probability
    label = next(mistake for mistake in found.mistakes if mistake.kind == "label")
    assert label.gold and label.found and label.gold.probability is not None
    assert label.gold.probability + (label.found.probability or 0) <= 1 + 1e-6
    explanations = [mistake.explanation for mistake in found.mistakes]
    assert explanations[2] is None
    for mistake, explanation in zip(found.mistakes[:2], explanations, strict=False):
        assert explanation is not None
        assert explanation.probability == pytest.approx(mistake.confidence, abs=1e-5) or (
            mistake.kind == "missed"
        )
    assert "Why not " in render_mistakes(found)


def test_sure_mistakes_that_training_contradicts_are_suspect(nlp: Language) -> None:
    found = find_mistakes(nlp, wrong_corpus(), right_corpus(), sure=0.5)
    # "." occurs in training, never as an entity; "Bob" as PER alone.
    assert [mistake.is_suspect for mistake in found.mistakes] == [True] * 3
    assert "The annotation may be wrong (3)" in render_mistakes(found)
    found = find_mistakes(nlp, wrong_corpus(), right_corpus(), sure=1.1)
    assert not any(mistake.is_suspect for mistake in found.mistakes)
    # Training annotates as the corpus does.
    found = find_mistakes(nlp, wrong_corpus(), wrong_corpus(), sure=0.5)
    suspects = [plain(m.gold) for m in found.mistakes if m.is_suspect]
    assert suspects == []
    # Nothing is known of a missed entity whose words training lacks.
    found = find_mistakes(nlp, [doc_of("It was Qux".split(), "2-3 X")], right_corpus(), sure=0.0)
    missed = [m for m in found.mistakes if m.kind == "missed"]
    assert not any(mistake.is_suspect for mistake in missed)


def test_entities_of_rules_and_unknown_labels_have_no_probability(nlp: Language) -> None:
    ruler: Any = nlp.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "PER", "pattern": "They"}])
    try:
        docs = [doc_of("They like rain .".split(), "2-3 FOOD")]
        spurious, missed = find_mistakes(nlp, docs, num_explained=2).mistakes
    finally:
        nlp.remove_pipe("entity_ruler")
    assert (spurious.kind, missed.kind) == ("spurious", "missed")
    assert spurious.confidence is None and missed.confidence is None


# Pages and JSON.


def test_texts_and_labels_stay_texts() -> None:
    docs = [sentence("She saw <script>alert(1)</script> <b>", **{"<i>": "<b>"})]
    train = [sentence("A <b> here", **{"<u>": "<b>"})]
    found = find_mistakes(ruled(GPE="Rome"), docs, train)
    predicted = Example(NLP("She saw <script>alert(1)</script> <b>"), docs[0])
    for page in (render_errors(found, "<h6>"), render_side_by_side([predicted], "<h6>")):
        text = page.decode()
        assert not re.findall(r"<(script|b>[^a-zA-Z]*<small|i>|u>|h6)", text)
        assert "&lt;i&gt;" in text and "&lt;b&gt;" in text and "&lt;h6&gt;" in text


def test_two_thousand_mistakes_are_grouped_and_may_be_limited() -> None:
    mistake = Mistake("missed", 0, Entity(0, 1, "PER", "Bob"), None, words=("Bob ", "left"))
    found = Mistakes([], [mistake] * 2_000, 2_000, 0, 0, {("PER", None): 2_000}, False)
    page = render_errors(found, "x").decode()
    assert page.count("<article") == 2_000 and len(page) < 1_500_000
    assert "<details open" not in page and 'class="kind" open' not in page
    short = render_mistakes(found, limit=10)
    assert short.count("<article") == 10 and "(2,000)" in short


def test_right_and_wrong_entities_are_marked_side_by_side() -> None:
    gold = doc_of(WORDS, "0-2 PER, 5-7 GPE")
    found = doc_of(WORDS, "0-2 PER, 5-6 GPE")
    page = render_side_by_side([Example(found, gold)], "x").decode()
    body = page[page.index('class="pair side"') :]
    marks = re.findall(r'<mark class="(\w+)">([^<]*)<small>(\w+)', body)
    assert marks == [
        ("right", "Anna Paz", "PER"),
        ("missed", "New York", "GPE"),
        ("right", "Anna Paz", "PER"),
        ("wrong", "New", "GPE"),
    ]


def test_entities_in_the_same_gold_token_do_not_repeat_it() -> None:
    gold = Doc(NLP.vocab, words=["New-York", "votes"])
    gold.set_ents([Span(gold, 0, 1, label="GPE")])
    found = Doc(NLP.vocab, words=["New", "-", "York", "votes"], spaces=[False, False, True, False])
    found.set_ents([Span(found, 0, 1, label="GPE"), Span(found, 2, 3, label="ORG")])
    page = render_side_by_side([Example(found, gold)], "x").decode()
    assert page.count("New-York") == 2  # gold, and found
    assert "<small>ORG" in page


@pytest.mark.parametrize("tool", ["prodigy", "doccano"])
def test_json_lines_are_read_by_convert(tool: Any, tmp_path: Path) -> None:
    """Docs with mistakes come back with their gold entities."""
    nlp = ruled(PER="Paz, Bob", ORG="New York", GPE="Rome")
    found = find_mistakes(nlp, small_corpus())
    records = list(json_records(found, tool))
    write_json_lines(tmp_path / "wrong.jsonl", records)
    done = convert(tmp_path / "wrong.jsonl", tmp_path / "wrong.spacy", lang="en")
    assert done.source.problems == []
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
    assert "label: gold GPE 'New York', found ORG 'New York'" in said.replace('"', "")
