"""Settings decided from counted facts: each choice flips for its reason."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_multihash.inspection.facts import CorpusFacts, FeatureFacts, VectorFacts
from spacy_multihash.inspection.recommend import (
    BASE,
    CANDIDATES,
    NGRAMS,
    SLICES,
    Choice,
    Recommendation,
    adopt,
    describe,
    recommend,
)
from spacy_multihash.inspection.settings import (
    CUT_ROWS,
    IN_COLLISION,
    LEAST_ROWS,
    Settings,
    fewest_hashes,
    hash_settings,
    hashed_table,
    lookup_rows,
)

COUNTS = (20_000, 80, 4_000, 300, 1200, 5000, 1000, 9000, 85_000)
SYMBOLS = dict(zip(CANDIDATES, COUNTS, strict=True))
KNOWN = FeatureFacts(symbols=0, unknown_tokens=0.0, unknown_entities=0.0, top_share=0.1)


def make_facts(symbols: dict[str, int] = SYMBOLS, **others: Any) -> CorpusFacts:
    """Make the facts of a corpus that the recommended settings suit; by name, what differs."""
    features = {name: replace(KNOWN, symbols=count) for name, count in symbols.items()}
    for name, changes in others.pop("features", {}).items():
        features[name] = replace(features[name], **changes)
    values = {
        "train_docs": 1000,
        "train_tokens": 200_000,
        "train_entities": 2000,
        "dev_tokens": 10_000,
        "dev_entities": 500,
        "shaped": 0.2,
        **others,
    }
    return CorpusFacts(features=features, **values)


def advise(facts: CorpusFacts, max_size: int = 10**7, **options: Any) -> Recommendation:
    return recommend(facts, width=96, max_size=max_size, **options)


def choice(found: Recommendation, name: str) -> Choice:
    return next(choice for choice in found.choices if choice.name == name)


def test_base_alone_is_taken_where_dev_has_no_unknown_word() -> None:
    found = advise(make_facts())
    assert found.settings == Settings(attrs=BASE, width=96)
    assert choice(found, "embedding").reason == (
        "rows of their own for symbols take 2,340,864 parameters, and --max-size is 10,000,000"
    )
    assert {each.name: each.value for each in found.choices} == describe(found.settings)
    assert all("\n" not in each.reason for each in found.choices)


UNKNOWN = {"NORM": {"unknown_entities": 0.3}}


@pytest.mark.parametrize(
    ("facts", "attrs", "name", "reason"),
    [
        (
            make_facts(features=UNKNOWN),
            (*BASE, *SLICES),
            "ORTH[:2]",
            "at most half of NORM's 30.0 %",
        ),
        (
            make_facts(features=UNKNOWN | {"ORTH[-4:]": {"unknown_entities": 0.16}}),
            (*BASE, *SLICES[:3]),
            "ORTH[-4:]",
            "more than half of NORM's 30.0 %",
        ),
        (
            make_facts(features={"NORM": {"unknown_entities": 0.19}}),
            BASE,
            "ORTH[:2]",
            "NORM is unknown in 19.0 % of DEV's entities, less than 20.0 %",
        ),
        (
            make_facts(features={"NORM": {"unknown_tokens": 0.02}}),
            (*BASE, NGRAMS),
            NGRAMS,
            "NORM is unknown in 2.0 % of DEV's tokens, at least 2.0 %",
        ),
        (
            make_facts(features={"NORM": {"unknown_tokens": 0.019}}),
            BASE,
            NGRAMS,
            "NORM is unknown in 1.9 % of DEV's tokens, less than 2.0 %",
        ),
        (
            make_facts(features={"PREFIX": {"top_share": 0.995}}),
            ("NORM", "SUFFIX", "SHAPE"),
            "PREFIX",
            "99.5 % of TRAIN's tokens have the same value",
        ),
        (
            make_facts(shaped=0.001),
            BASE[:3],
            "SHAPE",
            "only 0.1 % of TRAIN's tokens have a capital or a digit",
        ),
        (
            make_facts(SYMBOLS | {"SUFFIX": 18_000}),
            ("NORM", "PREFIX", "SHAPE"),
            "SUFFIX",
            "its 18,000 values say what NORM's 20,000 say",
        ),
    ],
)
def test_features_are_taken_or_left_out_for_a_reason(
    facts: CorpusFacts, attrs: tuple[str, ...], name: str, reason: str
) -> None:
    found = advise(facts)
    assert found.settings.attrs == attrs
    assert choice(found, name).reason.endswith(reason)
    assert choice(found, name).value == ("taken" if name in attrs else "left out")


def test_rows_of_their_own_come_before_ngrams_and_slices() -> None:
    facts = make_facts(features={"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}})
    with_ngrams = 96 * lookup_rows(facts.features, (*BASE, NGRAMS))
    with_slices = 96 * lookup_rows(facts.features, (*BASE, *SLICES))
    for size, attrs in (
        (with_ngrams - 1, (*BASE, *SLICES)),
        (with_slices, (*BASE, *SLICES)),
        (with_slices - 1, BASE),
    ):
        found = advise(facts, size)
        assert found.settings.attrs == attrs and found.settings.rows is None
        assert found.settings.max_rows is None
        assert choice(found, NGRAMS).value == "left out"
        assert choice(found, NGRAMS).reason.startswith("no room for its 85,000 symbols; NORM is")


def test_ngrams_take_the_place_of_slices_in_tables_that_are_cut() -> None:
    facts = make_facts(features={"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}})
    rows = sum(SYMBOLS[name] + 1 for name in BASE) + CUT_ROWS
    found = advise(facts, 96 * rows)
    assert found.settings == Settings((*BASE, NGRAMS), 96, max_rows=CUT_ROWS)
    for name in SLICES:
        assert choice(found, name).value == "left out"
        assert choice(found, name).reason.startswith("n-grams are taken instead; unknown in 0.0 %")
    assert choice(found, "max_rows").value == "30,000" and "rows" not in describe(found.settings)
    assert choice(found, "max_rows").reason.startswith("of each table: its most frequent symbols")
    assert "more often than the rare ones" in choice(found, "unk_dropout").reason
    assert f"take {96 * rows:,} parameters" in choice(found, "embedding").reason
    fitting = replace(facts, features=facts.features | {NGRAMS: replace(KNOWN, symbols=29_999)})
    found = advise(fitting, 96 * rows)
    assert found.settings == Settings((*BASE, NGRAMS), 96)
    assert choice(found, "rows").value == "all symbols"


def test_symbols_are_hashed_where_tables_do_not_fit() -> None:
    facts = make_facts()
    assert advise(facts, 96 * lookup_rows(facts.features, BASE)).settings.rows is None
    found = advise(facts, 96 * 10_000)
    assert found.settings.rows == (5_600, 80, 4_000, 300)
    assert found.settings.num_hashes == (2, 3, 2, 2)
    assert choice(found, "embedding").value == "MultiHashEmbed"
    assert choice(found, "rows").value == "NORM 5,600, PREFIX 80, SUFFIX 4,000, SHAPE 300"
    assert choice(found, "hashes").value == "NORM 2, PREFIX 3, SUFFIX 2, SHAPE 2"
    assert choice(found, "embedding").reason.startswith(
        "rows of their own for NORM, PREFIX, SUFFIX, SHAPE take 2,340,864 parameters"
    )
    assert "the load of NORM is the largest: 7.1 symbols" in choice(found, "rows").reason
    assert "most are in SHAPE: 0.66 %" in choice(found, "hashes").reason
    assert "unk_dropout" not in describe(found.settings)


@pytest.mark.parametrize("symbols", [80, 300, 4_000])
def test_hashed_tables_have_at_most_as_many_rows_as_symbols(symbols: int) -> None:
    """With three or four hashes, that is more than twice as many symbols times hashes as rows."""
    found = advise(make_facts(SYMBOLS | {"SHAPE": symbols}), 96 * 20_000)
    assert found.settings.rows is not None and found.settings.rows[-1] == symbols
    reason = choice(found, "rows").reason
    assert reason.startswith("at most as many as symbols, and no more than fit; the load of ")


@pytest.mark.parametrize("symbols", range(2, 16))
def test_small_tables_have_the_rows_that_four_hashes_need(symbols: int) -> None:
    found = advise(make_facts(SYMBOLS | {"SHAPE": symbols}), 96 * 20_000)
    assert found.settings.rows is not None and found.settings.num_hashes is not None
    rows, num_hashes = found.settings.rows[-1], found.settings.num_hashes[-1]
    assert hashed_table(symbols, rows, num_hashes).in_collision <= IN_COLLISION
    is_larger = rows > symbols
    assert not is_larger or hashed_table(symbols, rows - 1, 4).in_collision > IN_COLLISION
    reason = choice(found, "rows").reason
    assert (", more to tell the few of SHAPE apart, and no more than fit;" in reason) is is_larger
    assert "rows that fit are too few" not in choice(found, "hashes").reason


@pytest.mark.parametrize(("spare", "rows"), [(0, 4), (3, 7), (6, 10)])
def test_small_tables_leave_the_others_the_least(spare: int, rows: int) -> None:
    facts = make_facts(SYMBOLS | {"SHAPE": 4})
    found = advise(facts, 96 * (2 * LEAST_ROWS + 80 + 4 + spare))
    assert found.settings.rows == (100, 80, 100, rows)
    is_short = "or 4 where the rows that fit are too few" in choice(found, "hashes").reason
    assert is_short is (rows < 10)
    assert ("to tell the few of SHAPE apart" in choice(found, "rows").reason) is (rows > 4)


def test_hashes_that_fall_short_of_the_limit_say_so() -> None:
    found = advise(make_facts(SYMBOLS | {"NORM": 10**6}), 96 * (3 * LEAST_ROWS + 80))
    assert found.settings.num_hashes is not None and found.settings.num_hashes[0] == 4
    assert choice(found, "hashes").reason == (
        "the fewest from 2 to 4 with at most 1.0 % of symbols in collision by chance, or 4 where "
        "the rows that fit are too few for that; most are in NORM: 21.34 %"
    )


def test_crowded_tables_cost_further_features() -> None:
    unknown = {"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}}
    facts = make_facts(SYMBOLS | {NGRAMS: 40_000}, features=unknown)
    sizes = (2_200_000, 1_000_000, 300_000)
    found = [advise(facts, size).settings for size in sizes]
    assert [each.attrs for each in found] == [(*BASE, NGRAMS), (*BASE, *SLICES), BASE]
    assert all(each.rows for each in found)


def test_the_smallest_tables_have_to_fit() -> None:
    needed = 96 * (3 * LEAST_ROWS + 80)
    assert advise(make_facts(), needed).settings.rows == (100, 80, 100, 100)
    message = (
        f"Expected a --max-size of {needed:,} parameters or more, was: {needed - 1:,}. The smallest"
        ".*Give a larger one"
    )
    with pytest.raises(ValueError, match=message):
        advise(make_facts(), needed - 1)


@pytest.mark.parametrize(("words", "is_taken"), [(0.5, True), (0.49, False)])
def test_vectors_are_taken_if_they_have_half_of_the_words(words: float, is_taken: bool) -> None:
    facts = make_facts(vectors=VectorFacts(words, tokens=0.9))
    found = advise(facts, vectors="my_vectors")
    assert found.settings.vectors is is_taken
    limit = "at least" if is_taken else "less than"
    assert choice(found, "vectors").reason == (
        f"my_vectors has {100 * words:.1f} % of DEV's words, {limit} 50.0 %, and 90.0 % of its "
        "tokens"
    )


@pytest.mark.parametrize(
    ("tokens", "words"), [(50_000, 1000), (49_999, 900), (12_345, 200), (100, 100)]
)
def test_batches_are_smaller_where_an_epoch_would_have_few(tokens: int, words: int) -> None:
    found = advise(make_facts(train_tokens=tokens))
    assert found.settings.batch_words == words
    assert choice(found, "batch size").value == f"{words:,} words"
    reason = choice(found, "batch size").reason
    assert reason.startswith(f"the final size, with which TRAIN's {tokens:,} tokens make ")
    assert ("fewer than 50 of them" in reason) is (words < 1000)


def test_other_settings_keep_the_reasons_of_what_they_leave() -> None:
    facts = make_facts()
    found = advise(facts)
    changed = adopt(found, replace(found.settings, dropout=0.2), "won", facts, max_size=10**7)
    assert [old for old in found.choices if old not in changed.choices] == [
        choice(found, "dropout")
    ]
    assert choice(changed, "dropout") == Choice("dropout", "0.2", "won")
    hashed = replace(found.settings, rows=(9, 9, 9, 9), num_hashes=(2, 2, 2, 2))
    changed = adopt(found, hashed, "won", facts, max_size=10**7)
    names = [each.name for each in changed.choices if each.reason == "won"]
    assert names == ["embedding", "rows", "hashes"]


@pytest.mark.parametrize(
    ("changes", "size"), [({"attrs": BASE[:1]}, "1,920,096"), ({"width": 64}, "1,560,576")]
)
def test_reasons_for_tables_are_of_the_settings_that_are_taken(
    changes: dict[str, Any], size: str
) -> None:
    facts = make_facts()
    found = advise(facts)
    taken = adopt(found, replace(found.settings, **changes), "won", facts, max_size=10**7)
    assert choice(taken, "embedding").reason.startswith(
        f"rows of their own for symbols take {size} par"
    )
    assert choice(taken, "rows") == choice(found, "rows")


def test_reasons_for_hashed_tables_are_of_the_settings_that_are_taken() -> None:
    facts, max_size = make_facts(), 96 * 20_000
    found = advise(facts, max_size)

    def take(**changes: Any) -> Recommendation:
        return adopt(found, replace(found.settings, **changes), "won", facts, max_size=max_size)

    more = take(num_hashes=(4, 4, 4, 4))
    assert choice(more, "embedding") == choice(found, "embedding")
    assert choice(more, "hashes").reason == "won"
    assert "the load of NORM is the largest: 5.3 symbols" in choice(more, "rows").reason
    # Rows of their own take 1,560,576 parameters then, which would fit.
    assert choice(take(width=64), "embedding").reason == "won"


def test_slices_are_not_left_out_for_ngrams_that_a_trial_left_out() -> None:
    facts = make_facts(features={"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}})
    found = advise(facts)
    without = replace(found.settings, attrs=BASE, max_rows=None)
    fewer = adopt(found, without, "won", facts, max_size=10**7)
    changed = [each.name for each in fewer.choices if each.reason == "won"]
    assert changed == [*SLICES, NGRAMS, "rows"]
    other = adopt(found, replace(found.settings, dropout=0.2), "won", facts, max_size=10**7)
    assert choice(other, SLICES[0]) == choice(found, SLICES[0])


def test_hashed_ngrams_have_no_more_rows_than_those_of_their_own() -> None:
    facts = make_facts(SYMBOLS | {NGRAMS: 900_000}, features={"NORM": {"unknown_tokens": 0.2}})
    found = hash_settings(facts.features, (*BASE, NGRAMS), width=96, max_size=10**8)
    assert found is not None and found.rows == (20_000, 80, 4_000, 300, CUT_ROWS)


def test_hashes_are_the_fewest_that_tell_symbols_apart() -> None:
    assert [fewest_hashes(1000, rows) for rows in (450, 100, 25)] == [2, 3, 4]
    # Two hashes of 50 symbols into 10 rows: 100 ordered pairs of rows, of which two are one.
    assert hashed_table(50, 10, 2).in_collision == pytest.approx(1 - (1 - 2 / 100) ** 49)
    assert hashed_table(50, 10, 2).load == 10


@given(
    counts=st.lists(st.integers(1, 10**6), min_size=9, max_size=9),
    size=st.integers(1, 10**8),
    unknown=st.floats(0, 1),
)
@settings(max_examples=50)
def test_tables_never_have_more_parameters_than_they_may(
    counts: list[int], size: int, unknown: float
) -> None:
    features = {"NORM": {"unknown_entities": unknown, "unknown_tokens": unknown / 2}}
    facts = make_facts(dict(zip(CANDIDATES, counts, strict=True)), features=features)
    try:
        found = advise(facts, size).settings
    except ValueError as error:
        assert "Expected a --max-size" in str(error)
        return
    symbols = [facts.features[name].symbols for name in found.attrs]
    assert found.attrs[0] == "NORM"
    if found.rows is None:
        is_cut = NGRAMS in found.attrs and max(symbols) >= CUT_ROWS
        assert found.max_rows == (CUT_ROWS if is_cut else None)
        most = found.max_rows or max(symbols) + 1
        assert 96 * sum(min(count + 1, most) for count in symbols) <= size
        return
    assert 96 * sum(found.rows) <= size
    assert found.num_hashes is not None and set(found.num_hashes) <= {2, 3, 4}
    for num_rows, num_symbols in zip(found.rows, symbols, strict=True):
        assert min(num_symbols, LEAST_ROWS) <= num_rows <= max(num_symbols, 14)
