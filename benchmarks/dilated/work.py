"""What a case times, and the batches for it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from spacy.tokens import Doc

from benchmarks.common.text import merge_docs, take_batches, take_docs
from benchmarks.common.timing import Step
from benchmarks.dilated.cases import Batches


class Work(NamedTuple):
    """The steps that a case times, the tokens of its batches, and facts of each arm."""

    steps: dict[str, Step]
    tokens: list[int]
    arms: dict[str, dict[str, float]]


def make_batches(docs: Sequence[Doc], batches: Batches, number: int) -> list[list[Doc]]:
    """Take batches of docs, as they are or merged into longer ones."""
    docs = merge_docs(docs, batches.words) if batches.words else docs
    return take_batches(docs, partial(take_docs, size=batches.docs), number)
