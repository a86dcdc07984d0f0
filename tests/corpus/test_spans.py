"""Gold and predicted entities, matched: against hand-made pairs, and spaCy's scorer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.corpus.evaluation import evaluate_entities, score
from spacy_multihash.corpus.spans import match, pair
from tests.helpers.spans import NLP, WORDS, doc_of, entities, plain


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        ("", "", []),
        ("0-2 PER", "0-2 PER", ["right: 0-2 PER, 0-2 PER"]),
        ("0-2 PER", "", ["missed: 0-2 PER, "]),
        ("", "0-2 PER", ["spurious: , 0-2 PER"]),
        ("0-2 PER", "0-2 GPE", ["label: 0-2 PER, 0-2 GPE"]),
        ("0-2 PER", "0-1 PER", ["cut: 0-2 PER, 0-1 PER"]),
        ("0-2 PER", "1-3 GPE", ["both: 0-2 PER, 1-3 GPE"]),
        ("0-2 PER", "2-4 PER", ["missed: 0-2 PER, ", "spurious: , 2-4 PER"]),
        # The same label is nearer than more tokens, and the same boundaries than the same label.
        ("0-4 PER", "0-3 GPE, 3-4 PER", ["cut: 0-4 PER, 3-4 PER", "spurious: , 0-3 GPE"]),
        ("0-3 PER, 3-4 PER", "0-4 PER", ["cut: 0-3 PER, 0-4 PER", "missed: 3-4 PER, "]),
        ("5-7 GPE", "5-6 GPE, 6-7 GPE", ["cut: 5-7 GPE, 5-6 GPE", "spurious: , 6-7 GPE"]),
    ],
)
def test_entities_that_overlap_are_one_mistake(gold: str, found: str, expected: list) -> None:
    pairs = pair(entities(gold), entities(found))
    assert sorted(f"{kind}: {plain(g)}, {plain(f)}" for kind, g, f in pairs) == expected


def test_what_is_found_where_gold_is_missing_does_not_count() -> None:
    gold = doc_of(WORDS, "0-2 PER", missing="5-7 X")
    found = doc_of(WORDS, "0-2 PER, 3-4 PER, 5-7 GPE")
    counted = [each.predicted for each in match(gold, found)]
    assert [plain(each) for each in counted] == ["0-2 PER", "3-4 PER"]


def test_entities_are_compared_by_the_tokens_of_gold() -> None:
    found = Doc(NLP.vocab, words=["New", "York", "-based"], spaces=[True, False, False])
    gold = Doc(NLP.vocab, words=["New", "York", "-", "based"], spaces=[True, False, False, False])
    gold.set_ents([Span(gold, 0, 2, label="GPE")])
    found.set_ents([Span(found, 0, 3, label="GPE")])
    ((kind, _, given),) = match(gold, found)
    assert kind == "cut" and plain(given) == "0-4 GPE"


CUTS = st.lists(st.integers(1, 11), unique=True, max_size=8)
SPANS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 3), st.sampled_from("AB-")), max_size=5
)


def drawn_doc(cuts: list[int], spans: list[tuple[int, int, str]]) -> Doc:
    """Cut the same text into words, and mark entities, or missing annotation as "-"."""
    ends = [0, *sorted(cuts), 12]
    words = ["abcdefghijkl"[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    free, ents, missing = set(range(len(doc))), [], []
    for start, length, label in spans:
        place = set(range(start, start + length))
        if place <= free:
            free -= place
            span = Span(doc, start, start + length, label=label)
            (missing if label == "-" else ents).append(span)
    doc.set_ents(ents, missing=missing)
    return doc


@given(st.lists(st.tuples(CUTS, SPANS, CUTS, SPANS), min_size=1, max_size=3))
def test_scores_are_spacys(drawn: list[tuple]) -> None:
    """Also where tokens differ, and where annotation is missing."""
    examples = [Example(drawn_doc(*one[2:]), drawn_doc(*one[:2])) for one in drawn]
    ours, theirs = score(examples), get_ner_prf(examples)
    assert (ours.p, ours.r, ours.f) == tuple(theirs[f"ents_{key}"] for key in "prf")
    for label, of_label in (theirs["ents_per_type"] or {}).items():
        # None where all are on tokens without gold annotation
        assert {key: getattr(ours.per_label[label], key) or 0.0 for key in "prf"} == of_label


# Side by side


def test_right_and_wrong_entities_are_marked_side_by_side() -> None:
    gold = doc_of(WORDS, "0-2 PER, 5-7 GPE")
    found = doc_of(WORDS, "0-2 PER, 5-6 GPE")
    page = evaluate_entities([Example(found, gold)]).page()
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
    page = evaluate_entities([Example(found, gold)]).page()
    assert page.count("New-York") == 2  # gold, and found
    assert "<small>ORG" in page
