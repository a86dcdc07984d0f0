"""The tables of candidates for a recipe, and of the one that is chosen."""

import pytest

from experiments.arms.recipe import BASE, CHOSEN
from experiments.runs.files import read_json
from experiments.runs.standings import Rung, Standing, as_json
from experiments.tables.recipe import (
    BASE_LINE,
    CHOSEN_LINE,
    NO_COMPARISON,
    NO_ROUND,
    recipe_tables,
    render_choice,
    render_losses,
    render_recommended,
    render_rounds,
)
from tests.helpers.paths import ROOT

WINNER = "recipe-hash-slices"
STANDINGS = [
    Standing(WINNER, {"conll-es": 0.02, "anem": -0.01}, 0.005, 0.015, 2, 1.25),
    Standing(BASE, {"conll-es": 0.0, "anem": 0.0}, 0.0, 0.0, 2, 0.5),
    Standing("recipe-width_64", {"conll-es": -0.03}, -0.03, None, 1, None),
]


def known(*seeds: int) -> dict:
    rung = Rung(("conll-es", "anem"), seeds)
    return {"rounds": [as_json(STANDINGS, rung, failed=["recipe-weighted"])], "winner": None}


def test_a_round_has_a_line_for_each_candidate_and_the_base_last() -> None:
    lines = render_rounds(known(0)).splitlines()
    assert lines[0] == (
        "**Round 1.** One seed, 0. F1 on dev minus that of the base. "
        "Without results: recipe-weighted."
    )
    assert lines[2] == "| candidate | conll-es | anem | mean | standard error | training time |"
    assert lines[4:] == [
        "| hash-slices | +0.020 | -0.010 | +0.005 | – | 1.25 |",
        "| width_64 | -0.030 | – | -0.030 | – | – |",
        f"| {BASE_LINE} | – | – | – | – | 0.50 |",
    ]


def test_a_round_names_its_seeds_and_has_an_error_with_several() -> None:
    found = render_rounds(known(0, 1, 2))
    assert found.startswith("**Round 1.** Seeds 0, 1, 2. F1 on dev")
    # With one seed it would be that of data sets alone.
    assert "| hash-slices | +0.020 | -0.010 | +0.005 | 0.015 | 1.25 |" in found


def test_options_that_gained_nothing_are_listed() -> None:
    assert render_losses(known(0)) == (
        "Of 2 options, 1 gained nothing in the mean of round 1: `width_64` (-0.030)."
    )
    assert render_losses({}) == NO_ROUND


def test_before_the_first_round_there_is_no_table() -> None:
    assert render_rounds({}) == NO_ROUND


@pytest.mark.parametrize(
    ("winner", "sentence"),
    [
        (None, "No recipe is chosen yet. Complete rounds: 1."),
        (BASE, "The base was chosen: no candidate is ahead of it by the margin."),
        (WINNER, "The recipe that was chosen is `recipe-hash-slices`."),
    ],
)
def test_what_is_chosen_is_said(winner: str | None, sentence: str) -> None:
    assert render_choice({**known(0), "winner": winner}) == sentence


@pytest.mark.parametrize("winner", [None, BASE, WINNER])
def test_what_is_chosen_is_compared_with_the_report_and_the_crf(winner: str | None) -> None:
    tables = recipe_tables(winner)
    lines = tables["recipe"].groups[0].arms
    last = CHOSEN_LINE if winner == WINNER else BASE_LINE
    assert [*lines][-1] == last and lines[last] == (winner or BASE)
    assert f"test: {last} – CRF" in [found.label for found in tables["recipe"].comparisons]


def test_what_recommend_writes_is_compared_with_the_recipe_setting_by_setting() -> None:
    differs = {"training.dropout": ["0.2", "0.3"], "nlp.lang": ['"en"', "absent"]}
    corpora = {"anem": {"differs": {}}, "wnut17": {"differs": differs}}
    assert render_recommended({"recipe": CHOSEN, "corpora": corpora}).splitlines()[2:] == [
        "| anem | nothing |",
        '| wnut17 | `training.dropout = 0.2`, not 0.3; `nlp.lang = "en"`, not absent |',
    ]
    assert render_recommended({}) == NO_COMPARISON
    with pytest.raises(ValueError, match=f"beside {CHOSEN}, which is chosen, was: beside {WINNER}"):
        render_recommended({"recipe": WINNER, "corpora": corpora})


def test_recommended_config_is_what_was_chosen() -> None:
    assert read_json(ROOT / "results" / "halving.json", "choose again")["winner"] == CHOSEN
