"""Successive halving: who goes on, with how much, and who wins."""

import pytest

from spacy_multihash.inspection.halving import Round, best_of, better_half, plan_rounds


@pytest.mark.parametrize(("candidates", "left"), [(1, 1), (2, 1), (3, 2), (8, 4)])
def test_the_better_half_goes_on_with_the_base(candidates: int, left: int) -> None:
    others = [f"c{i}" for i in range(candidates)]
    assert better_half([*others, "base"], "base") == ["base", *others[:left]]


@pytest.mark.parametrize(
    ("candidates", "docs", "rounds"),
    [
        (2, 10_000, [Round(2, 1, 1600)]),
        (4, 10_000, [Round(4, 2, 800), Round(3, 1, 1600)]),
        (8, 10_000, [Round(8, 4, 400), Round(5, 2, 800), Round(3, 1, 1600)]),
        (8, 799, [Round(8, 2, 400), Round(5, 2, 800), Round(3, 1, 1600)]),
        (4, 30, [Round(4, 1, 800), Round(3, 1, 1600)]),
    ],
)
def test_each_round_has_half_of_the_others_and_twice_the_data(
    candidates: int, docs: int, rounds: list[Round]
) -> None:
    assert plan_rounds(candidates, docs) == rounds


@pytest.mark.parametrize(("score", "winner"), [(0.72, "other"), (0.709, "base"), (0.6, "base")])
def test_only_what_is_better_by_more_than_noise_wins(score: float, winner: str) -> None:
    assert best_of({"base": 0.7, "other": score}, "base") == winner
