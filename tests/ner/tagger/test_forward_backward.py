"""Transitions in two groups, against the matrix of all. Sums are tested by what uses them."""

import numpy
import pytest
from numpy.testing import assert_array_equal

from spacy_multihash.ner.biluo import may_follow, tag_names
from spacy_multihash.ner.tagger.forward_backward import join_transitions, split_transitions


def random_transitions(num_labels: int) -> numpy.ndarray:
    nO = 4 * num_labels + 1
    return numpy.random.default_rng(num_labels).uniform(-2, 2, (nO, nO)).astype("float32")


@pytest.mark.parametrize("num_labels", [0, 1, 3])
def test_groups_are_put_together_again(num_labels: int) -> None:
    transitions = random_transitions(num_labels)
    split = split_transitions(transitions)
    joined = join_transitions(split.between, split.within)
    assert_array_equal(joined, numpy.where(may_follow(len(transitions)), transitions, 0))


def test_transitions_within_an_entity_are_of_one_label() -> None:
    transitions, labels = random_transitions(3), "XYZ"
    names = tag_names(labels)
    split = split_transitions(transitions)
    assert split.within.shape == (2, 2, 3)
    for i, source in enumerate("BI"):
        for j, target in enumerate("IL"):
            for number, label in enumerate(labels):
                pair = names.index(f"{source}-{label}"), names.index(f"{target}-{label}")
                assert split.within[i, j, number] == transitions[pair]
