"""Scores of seen and unseen entities against plain loops over spans."""

from collections import Counter
from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_multihash.corpus.evaluation import (
    Matching,
    Scores,
    evaluate_entities,
    keep_entities,
    known_entities,
)

VOCAB = Vocab()
WORDS = "a b c d e f g h".split()
# (start, end, label); of overlapping ones, make_doc takes the first.
SPANS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(1, 3), st.sampled_from(["PER", "LOC"])), max_size=5
)
MISSING = st.sets(st.integers(0, 7), max_size=3)

Found = set[tuple[int, int, int, str]]  # doc, start, end, label


def make_doc(spans: list[tuple[int, int, str]], missing: set[int] = frozenset()) -> Doc:  # type: ignore[assignment]
    doc = Doc(VOCAB, words=WORDS)
    taken: set[int] = set(missing)
    ents = []
    for start, length, label in spans:
        tokens = set(range(start, min(start + length, len(WORDS))))
        if not tokens & taken:
            taken |= tokens
            ents.append(Span(doc, start, max(tokens) + 1, label))
    doc.set_ents(ents, missing=[doc[i : i + 1] for i in missing])
    return doc


def found(docs: list[Doc]) -> Found:
    return {(i, e.start, e.end, e.label_) for i, doc in enumerate(docs) for e in doc.ents}


def prf(tp: int, fp: int, fn: int) -> tuple[float, float, float] | None:
    if not tp + fp + fn:
        return None
    p, r = (tp / n if n else 0.0 for n in (tp + fp, tp + fn))
    return p, r, 2 * p * r / (p + r) if p + r else 0.0


def reference(
    examples: list[Example], part: Callable[[str], bool]
) -> tuple[float, float, float] | None:
    """Score the entities whose text is of a part, by sets of spans."""
    predicted = found([e.x for e in examples])
    golds = found([e.y for e in examples])

    def text(span: tuple[int, int, int, str]) -> str:
        return " ".join(WORDS[span[1] : span[2]])

    def touches_missing(span: tuple[int, int, int, str], others: Found) -> bool:
        doc, start, end, _ = span
        if any(examples[doc].y[i].ent_iob == 0 for i in range(start, end)):
            return True
        return any(d == doc and s < end and start < e for d, s, e, _ in others)

    kept_golds = {span for span in golds if part(text(span))}
    candidates = {s for s in predicted if not touches_missing(s, golds - kept_golds)}
    if not kept_golds and part is not everything:
        return None
    tp = len(candidates & kept_golds)
    return prf(tp, len(candidates) - tp, len(kept_golds) - tp)


def everything(text: str) -> bool:
    return True


def values(scores: Scores) -> tuple[float, float, float] | None:
    assert (scores.p is None) == (scores.r is None) == (scores.f is None)
    return None if scores.p is None else (scores.p, scores.r, scores.f)


@given(
    pairs=st.lists(st.tuples(SPANS, SPANS, MISSING), min_size=1, max_size=4),
    train=st.lists(SPANS, max_size=3),
)
def test_all_scores_are_those_of_plain_loops(
    pairs: list[tuple[list[tuple[int, int, str]], list[tuple[int, int, str]], set[int]]],
    train: list[list[tuple[int, int, str]]],
) -> None:
    examples = [Example(make_doc(p), make_doc(g, missing)) for p, g, missing in pairs]
    training = [make_doc(spans) for spans in train]
    counts = Counter(ent.text for doc in training for ent in doc.ents)
    result = evaluate_entities(examples, known_entities(training))
    assert values(result.overall) == pytest.approx(reference(examples, everything))
    for name, is_part in {
        "seen": lambda text: counts[text] > 0,
        "unseen": lambda text: counts[text] == 0,
    }.items():
        expected = reference(examples, is_part)
        assert values(result.masked[name]) == pytest.approx(expected), name
    assert sum(part.entities for part in result.masked.values()) == result.overall.entities


def test_labels_have_scores_where_they_have_entities() -> None:
    train = make_doc([(0, 1, "PER"), (6, 1, "PER")])  # a, g
    gold = make_doc([(0, 1, "PER"), (2, 2, "LOC"), (6, 1, "PER")])  # a, c d, g
    predicted = make_doc([(0, 1, "PER"), (2, 1, "LOC"), (5, 1, "PER")])  # a, c, f
    result = evaluate_entities([Example(predicted, gold)], known_entities([train]))
    per_label = result.overall.per_label
    assert {label: (s.entities, s.p, s.r) for label, s in per_label.items()} == {
        "LOC": (1, 0.0, 0.0),
        "PER": (2, 0.5, 0.5),
    }
    seen, unseen = result.masked["seen"].per_label, result.masked["unseen"].per_label
    assert (seen["LOC"], unseen["PER"]) == (Scores(0), Scores(0))
    assert values(seen["PER"]) == (0.5, 0.5, 0.5) and values(unseen["LOC"]) == (0.0, 0.0, 0.0)
    none, one = make_doc([]), make_doc([(0, 1, "PER")])
    assert evaluate_entities([Example(none, none)], known_entities([])).overall == Scores(0)
    result = evaluate_entities([Example(one, none)], known_entities([]))
    assert values(result.overall) == (0.0, 0.0, 0.0)


def test_entities_are_compared_as_the_matching_says_whatever_their_tokens() -> None:
    doc = Doc(VOCAB, words=["Anna", "anna"], ents=["B-PER", "B-ORG"])
    upper, lower = doc.ents
    train = [doc[1:].as_doc()]
    assert known_entities(train).has_seen(lower) and not known_entities(train).has_seen(upper)
    for ignore_case, match_label, expected in ((True, False, True), (True, True, False)):
        known = known_entities(train, Matching(ignore_case, match_label))
        assert known.has_seen(lower) and known.has_seen(upper) == expected
    split = Doc(VOCAB, words=["New", "York"], spaces=[True, False], ents=["B-GPE", "I-GPE"])
    whole = Doc(VOCAB, words=["New York"], ents=["B-GPE"])
    assert known_entities([split]).has_seen(whole.ents[0])


def test_keep_entities_masks_the_others() -> None:
    doc = make_doc([(0, 1, "PER"), (2, 2, "LOC")], {7})
    masked = keep_entities(doc, lambda ent: ent.label_ == "PER")
    assert [t.ent_iob_ for t in masked] == ["B", "O", "", "", "O", "O", "O", ""]
    assert [t.ent_iob_ for t in doc] == ["B", "O", "B", "I", "O", "O", "O", ""]
