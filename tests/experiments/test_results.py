"""The counts of each sentence add up to spaCy's scores."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example

from experiments.results import entity_counts, label_counts
from spacy_multihash.corpus.evaluation import score

NLP = spacy.blank("en")
SpanT = tuple[int, int, str]
WORDS = ["ab", "cd", "ef", "gh", "ij", "kl"]
SPANS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(["A", "B"])), max_size=4
)


def make_doc(spans: list[SpanT], starts: list[bool] | None = None, *, whole: bool = True) -> Doc:
    """Make a doc of six words, or of three that each join two of them."""
    words = (
        WORDS if whole else [one + two for one, two in zip(WORDS[::2], WORDS[1::2], strict=True)]
    )
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words), sent_starts=starts)
    ents = [
        Span(doc, start, min(start + length, len(words)), label)
        for start, length, label in spans
        if start < len(words)
    ]
    doc.set_ents(spacy.util.filter_spans(ents))
    return doc


def test_entities_are_counted_in_the_sentence_of_their_first_token() -> None:
    gold = make_doc(
        [(0, 2, "A"), (3, 1, "B"), (5, 1, "B")], [True, False, False, True, False, False]
    )
    predicted = make_doc([(0, 2, "A"), (2, 2, "A"), (3, 1, "A"), (5, 1, "B")])
    assert [ent.start for ent in predicted.ents] == [0, 2, 5]
    counts = entity_counts([Example(predicted, gold)])
    assert counts.tolist() == [[1, 1, 1], [1, 0, 2]]


def test_docs_without_sentences_are_one_and_those_without_annotation_are_none() -> None:
    gold = make_doc([(1, 1, "A")])
    bare = Doc(NLP.vocab, words=WORDS)
    empty = Doc(NLP.vocab)
    examples = [Example(make_doc([]), each) for each in (gold, bare)]
    assert entity_counts(examples).tolist() == [[0, 0, 1]]
    assert entity_counts([Example(empty, empty)]).shape == (0, 3)


@given(
    st.lists(
        st.tuples(SPANS, SPANS, st.booleans(), st.lists(st.booleans(), min_size=6, max_size=6))
    )
)
def test_counts_add_up_to_spacys_scores(
    drawn: list[tuple[list[SpanT], list[SpanT], bool, list[bool]]],
) -> None:
    examples = [
        Example(make_doc(predicted, whole=whole), make_doc(gold, [True, *starts[1:]]))
        for predicted, gold, whole, starts in drawn
    ]
    right, made_up, golds = entity_counts(examples).sum(0, dtype=int).tolist()
    scores = score(examples)
    assert scores.entities == golds
    if scores.p is not None:
        assert scores.p == pytest.approx(right / (right + made_up or 1), abs=1e-9)
        assert scores.r == pytest.approx(right / (golds or 1), abs=1e-9)


def test_labels_are_counted_by_doc() -> None:
    docs = []
    for cats in ({"x": 1.0, "y": 0.0}, {"x": 0.2, "y": 0.8}):
        docs.append(Doc(NLP.vocab, words=["a"]))
        docs[-1].cats = cats
    right, wrong = (docs[0], docs[0]), (docs[1], docs[0])
    assert label_counts([right, wrong]).tolist() == [[1, 0, 1], [0, 1, 1]]
