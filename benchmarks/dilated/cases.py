"""What is measured: parts, arms, sizes and cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from benchmarks.common.options import check_only

ENCODER_PREDICT, ENCODER_TRAIN = ENCODER = ("encoder-predict", "encoder-train")
DECODING, TRAINING = "decoding", "training"
PARTS = (*ENCODER, DECODING, TRAINING)

# Arms. The ratios of a part are to its first arm.
MAXOUT, SPACY_MAXOUT = "MaxoutWindowEncoder", "spacy.MaxoutWindowEncoder"
DILATED = "IteratedDilatedEncoder"
NER, GREEDY, CONSTRAINED, CRF = "spaCy's ner", "greedy", "constrained", "crf"
CROSS_ENTROPY, EVERY_PASS = "cross entropy", "cross entropy of every pass"
BASES = {**dict.fromkeys(ENCODER, MAXOUT), DECODING: NER, TRAINING: NER}


class Pair(NamedTuple):
    """Two encoders that have one property in common.

    alike: The property.
    dilations, repeats, share: The settings of the IteratedDilatedEncoder.
    depth: The depth of the MaxoutWindowEncoder that comes nearest to it in that property.
    """

    alike: str
    dilations: tuple[int, ...]
    repeats: int
    share: bool
    depth: int

    @property
    def name(self) -> str:
        """Return the name of the pair in the results."""
        stack = f"{self.dilations} x {self.repeats}{'' if self.share else ', not shared'}"
        return f"equal {self.alike}: {stack} / depth {self.depth}"


PARAMETERS, INPUT_WIDTH = "parameters", "input width"
PAIRS = [
    Pair(PARAMETERS, (1, 2), repeats=1, share=True, depth=1),
    Pair(PARAMETERS, (1, 2, 4, 1), repeats=2, share=False, depth=3),
    Pair(INPUT_WIDTH, (1, 2, 4), repeats=1, share=True, depth=8),
    Pair(INPUT_WIDTH, (1, 2, 1), repeats=3, share=True, depth=13),
]


class Batches(NamedTuple):
    """Batches of docs.

    docs: The number of docs.
    words: The least number of words of each doc. 0 takes the text's own docs.
    alone: Whether each doc is a batch of its own, as in nlp(text).
    """

    docs: int
    words: int = 0
    alone: bool = False


@dataclass(frozen=True)
class Settings:
    """The sizes of everything.

    width: The width of the vectors.
    depth: The depth of the MaxoutWindowEncoder in the pipelines with spaCy's ner.
    labels: The numbers of labels.
    texts: The batches that are encoded. The first two are also decoded.
    alone: The docs that are decoded one by one.
    words: The number of words in a training batch.
    steps: The number of training steps before decoding, so that there are entities as in real text.
    batches: The number of batches that the rounds take in turn.
    repeats: The number of rounds of a measurement.
    """

    width: int = 96
    depth: int = 8
    labels: tuple[int, int] = (4, 18)
    texts: tuple[Batches, Batches, Batches] = (Batches(256), Batches(8, 1000), Batches(1, 10_000))
    alone: Batches = Batches(64, alone=True)
    words: int = 1000
    steps: int = 300
    batches: int = 4
    repeats: int = 20


QUICK = Settings(
    width=16,
    depth=2,
    texts=(Batches(8), Batches(2, 60), Batches(1, 100)),
    alone=Batches(4, alone=True),
    words=60,
    steps=2,
    batches=2,
    repeats=3,
)


class Case(NamedTuple):
    """One comparison.

    part: One of PARTS.
    pair: The encoders that are compared, None in the other parts.
    labels: The number of labels, 0 for encoders.
    batches: The batches. Training steps take batches of Settings.words words instead.
    """

    part: str
    pair: Optional[Pair]
    labels: int
    batches: Batches

    @property
    def what(self) -> str:
        """Return the names of the encoders, or the number of labels."""
        return f"{self.labels} labels" if self.pair is None else self.pair.name

    @property
    def text(self) -> str:
        """Return the length of the docs in words."""
        docs = f"{self.batches.words:,} words" if self.batches.words else "short docs"
        return f"{docs}, one by one" if self.batches.alone else docs

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        return f"{self.part}/{self.what}/{self.text}"


def plan(settings: Settings, only: Sequence[str]) -> list[Case]:
    """List the cases.

    Raises ValueError for an unknown part.
    """
    check_only(only, PARTS)
    texts, labels = settings.texts, settings.labels
    cases = [Case(part, pair, 0, batch) for part in ENCODER for pair in PAIRS for batch in texts]
    decoded = (*texts[:2], settings.alone)
    cases += [Case(DECODING, None, number, batch) for number in labels for batch in decoded]
    cases += [Case(TRAINING, None, number, texts[0]) for number in labels]
    return [case for case in cases if not only or case.part in only]
