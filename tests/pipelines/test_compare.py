"""Two pipelines side by side."""

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_multihash.pipelines.compare import shares_kept, tokens_per_second


def test_tokens_that_are_cut_otherwise_have_not_kept_their_values() -> None:
    vocab = spacy.blank("en").vocab
    one = Doc(vocab, words=["a", "b", "c", "d"], tags=["A", "B", "C", "D"])
    two = Doc(vocab, words=["a", "b c", "d"], tags=["A", "B", "E"])
    one.set_ents([Span(one, 1, 3, "X")])
    two.set_ents([Span(two, 1, 2, "X")])
    assert shares_kept([one], [two]) == {"TAG": 1 / 4, "entities": 1}
    assert shares_kept([two], [one]) == {"TAG": 1 / 3, "entities": 1}
    heads = Doc(vocab, words=["a", "b", "c", "d"], heads=[3, 3, 3, 3], deps=["x"] * 4)
    merged = Doc(vocab, words=["a", "b c", "d"], heads=[2, 2, 2], deps=["x"] * 3)
    assert shares_kept([heads], [merged])["HEAD"] == 2 / 4


def test_spans_are_kept_with_extent_and_label_in_their_group() -> None:
    one, two = (Doc(spacy.blank("en").vocab, words=["a", "b", "c"]) for _ in range(2))
    one.spans["a"] = [Span(one, 0, 2, "X"), Span(one, 1, 2, "X"), Span(one, 2, 3, "Y")]
    two.spans["a"] = [Span(two, 2, 3, "Y"), Span(two, 0, 2, "Z"), Span(two, 1, 3, "X")]
    one.spans["b"], one.spans["none"] = [Span(one, 0, 1, "X")], []
    assert shares_kept([one], [two]) == {"spans of a": 1 / 3, "spans of b": 0}


def test_attributes_that_a_pipeline_does_not_set_are_left_out() -> None:
    nlp = spacy.blank("en")
    docs = [nlp("Anna"), nlp("Anna met Bob"), nlp("")]
    assert shares_kept(docs, docs) == {}


def test_speed_needs_tokens() -> None:
    nlp = spacy.blank("en")
    assert all(speed > 0 for speed in tokens_per_second([nlp, nlp], ["Anna met Bob"]))
    with pytest.raises(ValueError, match="no tokens"):
        tokens_per_second([nlp], [""])
