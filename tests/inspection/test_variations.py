"""Variations that are tried beside the recommended settings, and what comes of it."""

from dataclasses import replace

import pytest

from spacy_multihash.inspection.halving import Round
from spacy_multihash.inspection.recommend import BASE, NGRAMS, SLICES, describe
from spacy_multihash.inspection.settings import CUT_ROWS
from spacy_multihash.inspection.trials import Trials
from spacy_multihash.inspection.variations import RECOMMENDED, conclude, make_candidates
from tests.inspection.test_recommend import advise, make_facts

FACTS = make_facts(features={"NORM": {"unknown_entities": 0.3}})
ROUNDS = [Round(4, 2, 500), Round(3, 1, 1000)]


def test_variations_differ_from_the_recommendation_in_what_they_are_named_for() -> None:
    found = make_candidates(advise(FACTS).settings, FACTS, max_size=10**7, most=99)
    assert list(found)[:4] == [RECOMMENDED, "hashing", "dropout 0.2", "fewer features"]
    assert len(found) >= 8 and len({*found.values()}) == len(found)
    few = make_candidates(advise(FACTS).settings, FACTS, max_size=10**7, most=3)
    assert list(few) == list(found)[:3]
    assert found["fewer features"].attrs == BASE
    assert found["hashing"].rows is not None
    changed = {
        name: [key for key, value in describe(each).items() if value != recommended.get(key)]
        for recommended in [describe(found[RECOMMENDED])]
        for name, each in found.items()
    }
    assert changed["dropout 0.2"] == ["dropout"]
    assert changed["unk_dropout 0.1"] == ["unk_dropout"]
    assert changed["width 64"] == ["width"]
    assert changed["hashing"] == ["embedding", "rows", "hashes"]
    assert changed["n-grams, hashed"] == [NGRAMS, "reduce", *changed["hashing"]]


def test_variations_have_ngrams_in_tables_that_are_cut_as_recommended() -> None:
    found = make_candidates(advise(FACTS).settings, FACTS, max_size=10**7, most=99)
    assert found["n-grams"].attrs == (*BASE, NGRAMS) and found["n-grams"].max_rows == CUT_ROWS
    facts = make_facts(features={"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}})
    found = make_candidates(advise(facts).settings, facts, max_size=10**7, most=99)
    assert found[RECOMMENDED].attrs == (*BASE, NGRAMS) and "n-grams" not in found
    cuts = {name: each.max_rows for name, each in found.items()}
    assert cuts[RECOMMENDED] == cuts["dropout 0.2"] == CUT_ROWS
    assert cuts["fewer features"] is cuts["slices"] is cuts["hashing"] is None


@pytest.mark.parametrize("max_size", [10**7, 10**6])
def test_no_variation_trains_in_trials_what_another_one_does(max_size: int) -> None:
    """In so few steps, batches do not reach their final size."""
    found = make_candidates(
        advise(FACTS, max_size).settings, FACTS, max_size=max_size, most=99
    ).values()
    assert len({replace(each, batch_words=0) for each in found}) == len(found) >= 8


def test_variations_fit_where_the_recommendation_does() -> None:
    facts = make_facts()
    found = make_candidates(advise(facts, 10**6).settings, facts, max_size=10**6, most=99)
    assert len(found) >= 8
    assert found["slices"].attrs == (*BASE, *SLICES)
    assert all(each.rows and 96 * sum(each.rows) <= 10**6 for each in found.values())
    assert found["more hashes"].num_hashes == (4, 4, 4, 4)
    # The tables of slices have no room where those of the base just fit.
    assert "slices" not in make_candidates(
        advise(facts, 2_340_864).settings, facts, max_size=1, most=99
    )


@pytest.mark.parametrize(
    ("score", "winner", "reason"),
    [
        (0.72, "dropout 0.2", "F1 on DEV 0.720, and 0.700 of recommended, after 1,000 steps"),
        (0.709, RECOMMENDED, "0.709 of dropout 0.2, after 1,000 steps: nothing is better by 0.01"),
    ],
)
def test_what_wins_the_trials_is_taken(score: float, winner: str, reason: str) -> None:
    recommended = advise(FACTS)
    candidates = make_candidates(recommended.settings, FACTS, max_size=10**7, most=99)
    last = {RECOMMENDED: 0.7, "dropout 0.2": score, "hashing": 0.5}
    trials = Trials(ROUNDS, [dict(last), last])
    found = conclude(recommended, candidates, trials, FACTS, max_size=10**7)
    assert found.settings == candidates[winner]
    assert found.choices[-1].value == winner and reason in found.choices[-1].reason
    changed = [each for each in found.choices[:-1] if each not in recommended.choices]
    if winner == RECOMMENDED:
        assert changed == []
    else:
        assert [(each.name, each.value) for each in changed] == [("dropout", "0.2")]
        assert changed[0].reason == "won the trials as 'dropout 0.2', +0.020 F1 on DEV"


def test_nothing_is_concluded_from_trials_that_are_not_finished() -> None:
    recommended = advise(FACTS)
    scores = [{RECOMMENDED: 0.1, "hashing": 0.9}, {RECOMMENDED: 0.1}]
    trials = Trials(ROUNDS, scores, left_out=["hashing"])
    found = conclude(recommended, {}, trials, FACTS, max_size=10**7)
    assert found.settings == recommended.settings
    assert found.choices[:-1] == recommended.choices
    assert found.choices[-1].reason == "the budget ended in round 2 of 2"
