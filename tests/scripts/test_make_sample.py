import random
from collections import defaultdict
from pathlib import Path

import pytest
import sample_words as material
import spacy
from hypothesis import given
from hypothesis import strategies as st
from make_sample import (
    LABELS,
    SIZES,
    SampleSummary,
    Sentence,
    entity_texts,
    make_sample,
    make_sample_cli,
    make_sentences,
    summarise,
)
from spacy.tokens import DocBin

Splits = dict[str, list[Sentence]]


@pytest.fixture(scope="module")
def splits() -> Splits:
    return make_sentences(0)
