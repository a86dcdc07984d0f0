"""The scores that runs are measured by."""

import pytest
import spacy
from spacy.training import Example

from experiments.runs.scores import category_scores


def test_accuracy_is_the_share_of_right_labels_and_f1_their_mean() -> None:
    nlp = spacy.blank("en")
    # gold and predicted: a is right once of two, b once of one, c never of one
    pairs = [("a", "a"), ("a", "b"), ("b", "b"), ("c", "a")]
    examples = []
    for gold, predicted in pairs:
        reference, doc = nlp("word"), nlp("word")
        reference.cats = {name: float(name == gold) for name in "abc"}
        doc.cats = {name: 0.8 if name == predicted else 0.1 for name in "abc"}
        examples.append(Example(doc, reference))
    scores = category_scores(examples)["all"]
    assert scores["accuracy"] == pytest.approx(2 / 4)
    assert scores["macro_f"] == pytest.approx((0.5 + 2 / 3 + 0.0) / 3)
