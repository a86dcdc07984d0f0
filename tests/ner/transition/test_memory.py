"""How memory grows with the length of a doc: by what is kept of each token, and by no scores."""

import tracemalloc
from collections.abc import Callable

import pytest
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.compute.dispatch import NONE, chosen_kernels
from tests.helpers.transition import Case, recognizer

pytestmark = pytest.mark.skipif(chosen_kernels() == NONE, reason="needs the kernels")
LENGTHS = (8_000, 16_000)
CASE = Case(labels=[f"L{i}" for i in range(100)], hidden_width=16, cut_size=100)


def bytes_per_token(call: Callable[[int], object]) -> float:
    """By how many bytes the peak of what a call needs grows for each token."""
    peaks = []
    for length in LENGTHS:
        tracemalloc.start()
        call(length)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return (peaks[1] - peaks[0]) / (LENGTHS[1] - LENGTHS[0])


def long_doc(pipe: EntityRecognizer, length: int) -> Doc:
    return Doc(pipe.vocab, words=["a"] * length)


def test_update_keeps_no_scores_of_a_long_doc() -> None:
    ours = recognizer(BatchEntityRecognizer, CASE)
    ours.state_dropout = 0.1
    tags = ["B-L0", "I-L0", *["O"] * 8]

    def update(length: int) -> None:
        fix_random_seed(0)
        reference = Doc(ours.vocab, words=["a"] * length, ents=tags * (length // len(tags)))
        ours.update([Example(long_doc(ours, length), reference)])

    # The scores alone of a token have 402 actions of 4 bytes
    assert bytes_per_token(update) < 1600


def test_greedy_keeps_no_scores_of_a_long_doc() -> None:
    ours = recognizer(BatchEntityRecognizer, CASE)
    # The rest is what is known of tokens, and their vectors
    assert bytes_per_token(lambda n: ours.predict(long_doc(ours, n))) < 1000
