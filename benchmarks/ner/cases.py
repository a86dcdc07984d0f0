"""What is measured: parts, recognizers, docs and cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.common.options import check_only
from benchmarks.common.paths import has_md

# Steps. The first three parts have their names.
PREDICT, ANNOTATE, UPDATE = STEPS = ("predict", "annotate", "update")
PROBABILITIES = "probabilities"
LABELS, LENGTH, BATCH = GROWTH = ("labels", "length", "batch")
PARTS = (*STEPS, PROBABILITIES, *GROWTH)

MD, TRAINED, PLANTED = "en_core_web_md", "trained on the text", "planted"


class Recognizer(NamedTuple):
    """A recognizer that both arms share the model of.

    kind: MD, TRAINED or PLANTED.
    labels: Of a planted one, the number of labels.
    length: Of a planted one, the number of tokens of each entity. 0 takes the text's own entities.
    """

    kind: str
    labels: int = 0
    length: int = 0

    @property
    def what(self) -> str:
        """Return the name of the recognizer in the results."""
        parts = [self.kind]
        parts += [f"{self.labels} label{'s' * (self.labels != 1)}"] if self.labels else []
        parts += [f"entities of {self.length} tokens"] if self.length else []
        return ", ".join(parts)


class Docs(NamedTuple):
    """Docs that a step goes through.

    number: The number of docs. 0 takes as many as have Settings.words tokens together.
    words: The number of tokens of each doc. 0 takes sentences.
    size: The number of docs of a batch. 0 takes all at once.
    """

    number: int
    words: int = 0
    size: int = 0

    @property
    def text(self) -> str:
        """Return what the docs are, in words."""
        number = f"{self.number:,} " if self.number else ""
        if not self.words:
            docs = f"{number}sentences"
        else:
            docs = f"{number}doc{'s' * (self.number != 1)} of {self.words:,} words"
        return f"{docs}, {self.size:,} at a time" if self.size else docs


@dataclass(frozen=True)
class Settings:
    """The sizes of everything.

    width, depth: Of the tok2vec of the recognizer that is trained on the text.
    hidden_width: Of the hidden layer of recognizers.
    steps: The number of training steps, so that it finds entities as in real text.
    words: The least number of words in a training batch.
    sentences: The number of sentences in a batch.
    alone: Docs that are predicted one by one, as in nlp(text).
    long: Long docs, which are predicted together. One of them is a training batch.
    labels: The numbers of labels along the axis of that name.
    lengths: The numbers of tokens of entities along theirs, with this many labels.
    length_docs, length_labels: The docs along that axis, and the number of labels.
    batches: The sizes of batches along theirs.
    batched: The number of sentences along that axis.
    sets: The number of sets of docs that the rounds take in turn.
    repeats: The number of rounds of a case.
    """

    width: int = 96
    depth: int = 4
    hidden_width: int = 64
    steps: int = 60
    words: int = 1000
    sentences: int = 256
    alone: Docs = Docs(64, 15, 1)
    long: Docs = Docs(8, 1000)
    labels: Sequence[int] = (1, 4, 18, 75, 300)
    lengths: Sequence[int] = (2, 8, 32, 128)
    length_docs: Docs = Docs(8, 1024)
    length_labels: int = 4
    batches: Sequence[int] = (1, 16, 256, 1024)
    batched: int = 1024
    sets: int = 4
    repeats: int = 20


QUICK = Settings(
    width=16,
    depth=1,
    hidden_width=16,
    steps=4,
    words=60,
    sentences=8,
    alone=Docs(3, 15, 1),
    long=Docs(2, 60),
    labels=(1, 18),
    lengths=(2, 8),
    length_docs=Docs(2, 64),
    batches=(1, 4),
    batched=6,
    sets=2,
    repeats=3,
)


class Case(NamedTuple):
    """One comparison.

    part: One of PARTS.
    step: One of STEPS.
    recognizer: The recognizer.
    docs: The docs.
    value: The value along the axis, for the parts of GROWTH. 0 otherwise.
    """

    part: str
    step: str
    recognizer: Recognizer
    docs: Docs
    value: int = 0

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        steps = [self.part] if self.part == self.step else [self.part, self.step]
        if self.part in GROWTH:
            return "/".join([*steps, str(self.value)])
        return "/".join([*steps, self.recognizer.what, self.docs.text])


def plan(settings: Settings, only: Sequence[str]) -> list[Case]:
    """List the cases.

    Raises ValueError for an unknown part.
    """
    check_only(only, PARTS)
    cases = [*_compared(settings), *_growing(settings)]
    return [case for case in cases if not only or case.part in only]


def _compared(settings: Settings) -> Iterator[Case]:
    sentences = Docs(settings.sentences)
    trained = Recognizer(TRAINED)
    recognizers = [Recognizer(MD), trained] if has_md() else [trained]
    for part in (PREDICT, ANNOTATE):
        for recognizer in recognizers:
            for docs in (sentences, settings.alone, settings.long):
                yield Case(part, part, recognizer, docs)
    for docs in (Docs(0), settings.long._replace(number=1)):
        yield Case(UPDATE, UPDATE, trained, docs)
    for recognizer in recognizers:
        for docs in (sentences, settings.long):
            yield Case(PROBABILITIES, ANNOTATE, recognizer, docs)


def _growing(settings: Settings) -> Iterator[Case]:
    for step, docs in ((PREDICT, Docs(settings.sentences)), (UPDATE, Docs(0))):
        for labels in settings.labels:
            yield Case(LABELS, step, Recognizer(PLANTED, labels), docs, labels)
    long = settings.length_docs
    for step, docs in ((PREDICT, long), (UPDATE, long._replace(number=1))):
        for length in settings.lengths:
            recognizer = Recognizer(PLANTED, settings.length_labels, length)
            yield Case(LENGTH, step, recognizer, docs, length)
    for size in settings.batches:
        docs = Docs(settings.batched, size=size)
        yield Case(BATCH, PREDICT, Recognizer(TRAINED), docs, size)
