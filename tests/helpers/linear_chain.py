"""Plain references of a linear chain of tags: sums over all sequences that entities have."""

from functools import cache
from itertools import product

import numpy
from hypothesis import strategies as st

from spacy_multihash.ner.biluo import MISSING, Constraints, tag_names
from spacy_multihash.ner.tagger.crf import crf_loss

Weighted = list[tuple[tuple[int, ...], float]]


@cache
def valid_sequences(num_labels: int, length: int) -> list[tuple[int, ...]]:
    """List all tags that entities in so many tokens have, by reading their names."""
    names = tag_names("XYZ"[:num_labels])
    found = []
    for tags in product(range(len(names)), repeat=length):
        inside = ""
        for tag in tags:
            kind, label = names[tag][0], names[tag][2:]
            if (kind in "IL") != (inside != "") or (kind in "IL" and label != inside):
                break
            inside = label if kind in "BI" else ""
        else:
            if not inside:
                found.append(tags)
    return found


def score(scores: numpy.ndarray, transitions: numpy.ndarray, tags: tuple[int, ...]) -> float:
    return sum(float(row[tag]) for row, tag in zip(scores, tags, strict=True)) + sum(
        float(transitions[pair]) for pair in zip(tags, tags[1:], strict=False)
    )


def probabilities(
    scores: numpy.ndarray, transitions: numpy.ndarray, sequences: list[tuple[int, ...]]
) -> tuple[float, Weighted]:
    """Return the log of the sum of all sequences, and each one's share of it."""
    logs = [score(scores, transitions, tags) for tags in sequences]
    total = float(numpy.logaddexp.reduce(logs))
    return total, [
        (tags, float(numpy.exp(log - total))) for tags, log in zip(sequences, logs, strict=True)
    ]


class Batch:
    """Docs with scores from -scale to scale, and gold tags of which a share is missing."""

    def __init__(
        self,
        lengths: list[int],
        num_labels: int = 2,
        *,
        scale: float = 2.0,
        missing: float = 0.0,
        seed: int = 0,
    ) -> None:
        rng = numpy.random.default_rng(seed)
        nO = 4 * num_labels + 1
        self.lengths = numpy.array(lengths, dtype="int32")
        self.scores = rng.uniform(-scale, scale, (sum(lengths), nO)).astype("float32")
        self.transitions = rng.uniform(-2, 2, (nO, nO)).astype("float32")
        self.gold = numpy.zeros(sum(lengths), dtype="int64")
        if max(lengths, default=0) <= 4:
            tags = [valid_sequences(num_labels, length) for length in lengths]
            drawn = [one[rng.integers(len(one))] for one in tags]
            self.gold = numpy.array([tag for doc in drawn for tag in doc], dtype="int64")
        self.gold[rng.random(len(self.gold)) < missing] = MISSING
        self.starts = rng.random(len(self.gold)) < 0.2
        self.starts[numpy.cumsum([0, *lengths])[:-1][self.lengths > 0]] = True
        spaces, outside = rng.random((2, len(self.gold))) < 0.2
        self.constraints = Constraints(self.starts, spaces, outside)

    def loss(self) -> tuple[float, numpy.ndarray, numpy.ndarray]:
        return crf_loss(self.scores, self.lengths, self.transitions, self.gold)


batches = st.builds(
    Batch,
    st.lists(st.integers(0, 4), max_size=4),
    st.integers(0, 2),
    scale=st.sampled_from([0.0, 2.0, 500.0]),
    missing=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)


def log_total(scores: numpy.ndarray, transitions: numpy.ndarray, known: numpy.ndarray) -> float:
    """Sum over all sequences that entities have and that agree with known tags, token by token.

    For docs with too many sequences to list them.
    """
    names = tag_names("WXYZ"[: len(transitions) // 4])
    allowed = numpy.array([[_may_follow(before, after) for after in names] for before in names])
    steps = numpy.where(allowed, transitions.astype("float64"), -numpy.inf)
    may_begin, may_end = allowed[0], allowed[:, 0]  # as behind and before a token outside
    logs = numpy.where(may_begin, 0.0, -numpy.inf)
    for t, row in enumerate(scores.astype("float64")):
        if t:
            logs = numpy.logaddexp.reduce(logs[:, None] + steps, axis=0)
        logs = logs + row
        if known[t] != MISSING:
            logs[numpy.arange(len(logs)) != known[t]] = -numpy.inf
    return float(numpy.logaddexp.reduce(numpy.where(may_end, logs, -numpy.inf)))


def _may_follow(before: str, after: str) -> bool:
    inside = before[2:] if before[0] in "BI" else ""
    return after[2:] == inside if after[0] in "IL" else not inside
