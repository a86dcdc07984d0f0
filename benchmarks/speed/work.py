"""What a case times, and the batches for it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from spacy.tokens import Doc

from benchmarks.common.text import merge_docs, take_batches, take_docs, take_tokens
from benchmarks.common.timing import Step
from benchmarks.speed.cases import Settings


class Work(NamedTuple):
    """The steps that a case times, and the tokens of its batches."""

    steps: dict[str, Step]
    tokens: list[int]


def make_batches(
    docs: Sequence[Doc], *, long: bool, train: bool, settings: Settings
) -> list[list[Doc]]:
    """Take batches of docs, as they are or merged into longer ones."""
    docs = merge_docs(docs, settings.words) if long else list(docs)
    size = settings.long_docs if long else settings.docs
    take = partial(take_tokens, size=settings.words) if train else partial(take_docs, size=size)
    return take_batches(docs, take, settings.batches)
