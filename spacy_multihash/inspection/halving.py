"""Successive halving (Jamieson and Talwalkar 2016): which candidates go on, and with how much.

Nothing is trained here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Steps of the last round. With fewer, what learns fast would win over what learns more.
LAST_STEPS = 1600
# A part of a corpus has at least so many documents.
LEAST_DOCS = 200
# Trials have one seed. A smaller difference of F1 may be that of another seed.
MARGIN = 0.01


@dataclass(frozen=True)
class Round:
    """How candidates are trained that are left.

    candidates (int): How many they are.
    every (int): Every how-manieth document is trained on, from the first one on.
    steps (int): For how many steps.
    """

    candidates: int
    every: int
    steps: int


def plan_rounds(num_candidates: int, num_docs: int, *, last_steps: int = LAST_STEPS) -> list[Round]:
    """Plan rounds, each with half of the candidates beside the base, and twice the data and steps.

    The last round has one or two candidates beside the base, and all documents. A corpus of few
    documents is never cut into parts of less than 200.

    num_candidates (int): The candidates, the base included, at least 2.
    num_docs (int): The documents of the training corpus.
    """
    sizes = [num_candidates - 1]
    while sizes[-1] > 2:
        sizes.append((sizes[-1] + 1) // 2)
    rounds = []
    for i, others in enumerate(sizes):
        every = 2 ** (len(sizes) - 1 - i)
        while every > 1 and num_docs // every < LEAST_DOCS:
            every //= 2
        rounds.append(Round(others + 1, every, last_steps // 2 ** (len(sizes) - 1 - i)))
    return rounds


def better_half(ranked: Sequence[str], base: str) -> list[str]:
    """List the candidates that go on: the base, and the better half of the others.

    ranked (Sequence[str]): The candidates, the best first.
    base (str): What they are compared with. It always goes on.
    """
    others = [name for name in ranked if name != base]
    return [base, *others[: (len(others) + 1) // 2]]


def best_of(scores: Mapping[str, float], base: str, margin: float = MARGIN) -> str:
    """Name the candidate to take: the base, unless another one is better by more than noise.

    scores (Mapping[str, float]): The F1 of each candidate in the last round.
    base (str): What they are compared with.
    margin (float): The difference of F1 that is taken for more than noise.
    """
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] - scores[base] >= margin else base
