"""Settings decided from counted facts: each choice flips for its reason."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_multihash.inspection.facts import CorpusFacts, FeatureFacts, VectorFacts
from spacy_multihash.inspection.recommend import (
    BASE,
    CANDIDATES,
    MAX_COLLISIONS,
    MAX_NGRAM_ROWS,
    MIN_ROWS,
    NGRAMS,
    SLICES,
    Settings,
    collisions,
    fewest_hashes,
    hash_tables,
    lookup_rows,
    recommend,
)

COUNTS = (20_000, 80, 4_000, 300, 1200, 5000, 1000, 9000, 85_000)
SYMBOLS = dict(zip(CANDIDATES, COUNTS, strict=True))
KNOWN = FeatureFacts(symbols=0, unknown_tokens=0.0, unknown_entities=0.0, top_share=0.1)


def make_facts(symbols: dict[str, int] = SYMBOLS, **others: Any) -> CorpusFacts:
    """Make the facts of a corpus; by name, what differs."""
    features = {name: replace(KNOWN, symbols=count) for name, count in symbols.items()}
    for name, changes in others.pop("features", {}).items():
        features[name] = replace(features[name], **changes)
    values = {"train_tokens": 200_000, "shaped": 0.2, **others}
    return CorpusFacts(features=features, **values)


def advise(facts: CorpusFacts, max_size: int = 10**7, **options: Any) -> tuple[Settings, list[str]]:
    return recommend(facts, width=96, max_size=max_size, **options)


def test_base_alone_is_chosen_where_dev_has_no_unknown_word() -> None:
    settings, reasons = advise(make_facts())
    assert settings == Settings(attrs=BASE)
    assert "MultiEmbed: a row for each symbol takes 2,340,864 of 10,000,000 parameters" in reasons
    assert all("\n" not in reason for reason in reasons)


UNKNOWN = {"NORM": {"unknown_entities": 0.3}}


@pytest.mark.parametrize(
    ("facts", "attrs", "reason"),
    [
        (
            make_facts(features=UNKNOWN),
            (*BASE, *SLICES),
            "LOWER[:2]: unknown in 0.0 % of dev tokens and 0.0 % of dev entities",
        ),
        (
            make_facts(features=UNKNOWN | {"LOWER[-4:]": {"unknown_entities": 0.16}}),
            (*BASE, *SLICES[:3]),
            "no LOWER[-4:]: unknown in 0.0 % of dev tokens and 16.0 % of dev entities",
        ),
        (
            make_facts(features={"NORM": {"unknown_entities": 0.19}}),
            BASE,
            "no LOWER[:2]: NORM is unknown in 19.0 % of dev entities only",
        ),
        (
            make_facts(features={"NORM": {"unknown_tokens": 0.02}}),
            (*BASE, NGRAMS),
            "LOWER{3,5}: NORM is unknown in 2.0 % of dev tokens",
        ),
        (
            make_facts(features={"NORM": {"unknown_tokens": 0.019}}),
            BASE,
            "no LOWER{3,5}: NORM is unknown in 1.9 % of dev tokens",
        ),
        (
            make_facts(features={"PREFIX": {"top_share": 0.995}}),
            ("NORM", "SUFFIX", "SHAPE"),
            "no PREFIX: 99.5 % of tokens have the same value",
        ),
        (
            make_facts(shaped=0.001),
            BASE[:3],
            "no SHAPE: only 0.1 % of tokens have a capital or a digit",
        ),
        (
            make_facts(SYMBOLS | {"SUFFIX": 18_000}),
            ("NORM", "PREFIX", "SHAPE"),
            "no SUFFIX: its 18,000 values add nothing to NORM's 20,000",
        ),
    ],
)
def test_features_are_chosen_for_a_reason(
    facts: CorpusFacts, attrs: tuple[str, ...], reason: str
) -> None:
    settings, reasons = advise(facts)
    assert settings.attrs == attrs
    assert reason in reasons


def test_a_row_for_each_symbol_comes_before_ngrams_and_slices() -> None:
    facts = make_facts(features={"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}})
    with_ngrams = 96 * lookup_rows(facts.features, (*BASE, NGRAMS))
    with_slices = 96 * lookup_rows(facts.features, (*BASE, *SLICES))
    for size, attrs in (
        (with_ngrams - 1, (*BASE, *SLICES)),
        (with_slices, (*BASE, *SLICES)),
        (with_slices - 1, BASE),
    ):
        settings, reasons = advise(facts, size)
        assert settings == Settings(attrs)
        assert "no LOWER{3,5}: there's no room for its 85,000 symbols" in reasons


def test_ngrams_replace_slices_in_tables_with_a_limit() -> None:
    facts = make_facts(features={"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}})
    rows = sum(SYMBOLS[name] + 1 for name in BASE) + MAX_NGRAM_ROWS
    settings, reasons = advise(facts, 96 * rows)
    assert settings == Settings((*BASE, NGRAMS), max_rows=MAX_NGRAM_ROWS)
    assert {f"no {name}: n-grams are used instead" for name in SLICES} <= {*reasons}
    hashed = hash_tables(facts.features, (*BASE, NGRAMS), width=96, max_size=10**8)
    assert hashed is not None and hashed[0] == (20_000, 80, 4_000, 300, MAX_NGRAM_ROWS)
    fitting = replace(facts, features=facts.features | {NGRAMS: replace(KNOWN, symbols=29_999)})
    assert advise(fitting, 96 * rows)[0] == Settings((*BASE, NGRAMS))


def test_symbols_are_hashed_where_tables_do_not_fit() -> None:
    facts = make_facts()
    assert advise(facts, 96 * lookup_rows(facts.features, BASE))[0].rows is None
    settings, reasons = advise(facts, 96 * 10_000)
    assert settings == Settings(BASE, (5_600, 80, 4_000, 300), (2, 3, 2, 2))
    text = "\n".join(reasons)
    assert "a row for each symbol of NORM, PREFIX, SUFFIX, SHAPE would take 2,340,864 of" in text
    assert "rows NORM 5,600, PREFIX 80, SUFFIX 4,000, SHAPE 300: at most 7.1 symbols" in text


@pytest.mark.parametrize("symbols", [2, 3, 8, 15])
def test_small_tables_have_the_rows_that_four_hashes_need(symbols: int) -> None:
    settings, _ = advise(make_facts(SYMBOLS | {"SHAPE": symbols}), 96 * 20_000)
    assert settings.rows is not None and settings.num_hashes is not None
    rows, num_hashes = settings.rows[-1], settings.num_hashes[-1]
    assert collisions(symbols, rows, num_hashes) <= MAX_COLLISIONS
    assert rows <= symbols or collisions(symbols, rows - 1, 4) > MAX_COLLISIONS


def test_small_tables_leave_the_others_the_least() -> None:
    facts = make_facts(SYMBOLS | {"SHAPE": 4})
    for spare in (0, 3, 6):
        settings, _ = advise(facts, 96 * (2 * MIN_ROWS + 80 + 4 + spare))
        assert settings.rows == (100, 80, 100, 4 + spare)


def test_crowded_tables_cost_further_features() -> None:
    unknown = {"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}}
    facts = make_facts(SYMBOLS | {NGRAMS: 40_000}, features=unknown)
    found = [advise(facts, size)[0] for size in (2_200_000, 1_000_000, 300_000)]
    assert [settings.attrs for settings in found] == [(*BASE, NGRAMS), (*BASE, *SLICES), BASE]
    assert all(settings.rows for settings in found)


def test_the_smallest_tables_have_to_fit() -> None:
    needed = 96 * (3 * MIN_ROWS + 80)
    assert advise(make_facts(), needed)[0].rows == (100, 80, 100, 100)
    with pytest.raises(ValueError, match=f"at least {needed:,} parameters, got {needed - 1:,}"):
        advise(make_facts(), needed - 1)


@pytest.mark.parametrize(("words", "use_them"), [(0.5, True), (0.49, False)])
def test_vectors_are_used_if_half_of_the_words_have_one(words: float, use_them: bool) -> None:
    settings, reasons = advise(make_facts(vectors=VectorFacts(words, 0.9)), vectors="mine")
    assert settings.vectors is use_them
    reason = f"static vectors: mine has {100 * words:.1f} % of dev words and 90.0 % of dev tokens"
    assert (reason if use_them else f"no {reason}") in reasons


@pytest.mark.parametrize(
    ("tokens", "words"), [(50_000, 1000), (49_999, 900), (25_001, 500), (25_000, 200), (100, 200)]
)
def test_batches_are_smaller_where_an_epoch_would_have_few(tokens: int, words: int) -> None:
    settings, reasons = advise(make_facts(train_tokens=tokens))
    assert settings.batch_words == words
    assert any(reason.startswith(f"batches of {words:,} words: an epoch") for reason in reasons)


def test_few_tokens_get_slices_transitions_and_less_patience() -> None:
    features = {"NORM": {"unknown_entities": 0.3, "unknown_tokens": 0.2}}
    settings, reasons = advise(make_facts(train_tokens=25_000, features=features))
    assert (settings.attrs, settings.patience) == ((*BASE, *SLICES), 600)
    assert settings.learn_transitions
    assert "no LOWER{3,5}: with 25,000 tokens or fewer, slices are the safer choice" in reasons
    assert "patience 600: the corpus has 25,000 tokens" in reasons
    settings, _ = advise(make_facts(train_tokens=25_001, features=features))
    assert (settings.attrs, settings.patience) == ((*BASE, NGRAMS), None)
    assert not settings.learn_transitions


def test_hashes_are_the_fewest_that_tell_symbols_apart() -> None:
    assert [fewest_hashes(1000, rows) for rows in (450, 100, 25)] == [2, 3, 4]
    # Two hashes of 50 symbols into 10 rows: 100 ordered pairs of rows, of which two are one.
    assert collisions(50, 10, 2) == pytest.approx(1 - (1 - 2 / 100) ** 49)


@given(
    counts=st.lists(st.integers(1, 10**6), min_size=9, max_size=9),
    size=st.integers(1, 10**8),
    unknown=st.floats(0, 1),
)
def test_tables_never_have_more_parameters_than_they_may(
    counts: list[int], size: int, unknown: float
) -> None:
    features = {"NORM": {"unknown_entities": unknown, "unknown_tokens": unknown / 2}}
    facts = make_facts(dict(zip(CANDIDATES, counts, strict=True)), features=features)
    try:
        found, _ = advise(facts, size)
    except ValueError as error:
        assert "--max-size must be at least" in str(error)
        return
    symbols = [facts.features[name].symbols for name in found.attrs]
    assert found.attrs[0] == "NORM"
    if found.rows is None:
        has_limit = NGRAMS in found.attrs and max(symbols) >= MAX_NGRAM_ROWS
        assert found.max_rows == (MAX_NGRAM_ROWS if has_limit else None)
        most = found.max_rows or max(symbols) + 1
        assert 96 * sum(min(count + 1, most) for count in symbols) <= size
        return
    assert 96 * sum(found.rows) <= size
    assert found.num_hashes is not None and set(found.num_hashes) <= {2, 3, 4}
    for num_rows, num_symbols in zip(found.rows, symbols, strict=True):
        assert min(num_symbols, MIN_ROWS) <= num_rows <= max(num_symbols, 14)
