from functools import cache
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.training import Example
from thinc.api import to_numpy

from spacy_multihash.tables.prune import Pruning, row_scores
from tests.helpers.corpora import make_docs
from tests.helpers.lookup_ner import reload, tables_of, trained_lookup

WORDS = ["anna", "met", "bob", "in", "rome", ".", "left", "likes", "oslo", "they", "like", "rain"]


@cache
def _trained(ard: Optional[float]) -> Language:
    return trained_lookup(ard)


@pytest.fixture(params=[None, 0.1], ids=["plain", "ard"])
def nlp(request: pytest.FixtureRequest) -> Language:
    return reload(_trained(request.param))


def examples(nlp: Language) -> list[Example]:
    return [Example(nlp.make_doc(" ".join(t.text for t in doc)), doc) for doc in make_docs()]


def vectors(nlp: Language, words: list[str]) -> dict[str, numpy.ndarray]:
    """Look words up in the table of LOWER."""
    lookup, weights = tables_of(nlp)["LOWER"]
    ids = numpy.array([nlp.vocab.strings.add(word) for word in words], dtype="uint64")
    return dict(zip(words, to_numpy(weights.predict(lookup.predict(ids))), strict=True))


def scores(nlp: Language, attr: str = "LOWER") -> dict[str, float]:
    """Score the symbols of a table, from the formula."""
    lookup, weights = tables_of(nlp)[attr]
    symbols, E = lookup.attrs["symbols"], to_numpy(weights.get_param("E")).astype("float64")
    each = numpy.log((E**2).mean(axis=1))
    assert_allclose(row_scores(weights), each, rtol=1e-5)
    return {
        nlp.vocab.strings[int(key)]: each[row]
        for key, row in zip(symbols.keys, symbols.rows, strict=True)
    }


def test_symbols_below_the_threshold_become_unknown_and_others_stay(nlp: Language) -> None:
    before, of_words = vectors(nlp, [*WORDS, "zebra"]), scores(nlp)
    pruning = Pruning(nlp)
    threshold = pruning.threshold_of(0.6)
    tables = pruning.prune(threshold)
    after = vectors(nlp, [*WORDS, "zebra"])
    gone = [word for word in WORDS if of_words[word] < threshold - 1e-6]
    assert 0 < len(gone) < len(WORDS)
    for word in WORDS:
        assert_array_equal(after[word], before["zebra" if word in gone else word])
    assert [(t.attr, t.rows) for t in tables] == [("LOWER", 13), ("SHAPE", 7)]
    assert tables[0].rows_after == 13 - len(gone)
    per_row = 16 if tables_of(nlp)["LOWER"][1].name == "ard_table_embed" else 8
    assert [(t.parameters, t.parameters_after) for t in tables] == [
        (per_row * t.rows, per_row * t.rows_after) for t in tables
    ]


def test_rows_without_use_go_whatever_their_noise_is() -> None:
    nlp = reload(_trained(0.1))
    lookup, weights = tables_of(nlp)["LOWER"]
    E = numpy.full((13, 8), 1e-3, dtype="float32")
    E[1:7, 0] = 0.5  # one entry of use, and seven without
    weights.set_param("E", E)
    weights.set_param("log_sigma", numpy.where(E > 0.1, -9, -2).astype("float32"))
    symbols = lookup.attrs["symbols"]
    used = set(symbols.keys[numpy.isin(symbols.rows, range(1, 7))].tolist())
    Pruning(nlp).prune(-7.0)
    assert set(tables_of(nlp)["LOWER"][0].attrs["symbols"].keys.tolist()) == used


def test_counts_stay_with_their_symbols() -> None:
    nlp = reload(_trained(0.1))

    def counts() -> dict[int, float]:
        lookup, weights = tables_of(nlp)["LOWER"]
        symbols, found = lookup.attrs["symbols"], weights.attrs["counts"]
        assert len(found) == weights.get_dim("nV")
        return dict(zip(symbols.keys.tolist(), found[symbols.rows].tolist(), strict=True))

    before, pruning = counts(), Pruning(nlp)
    pruning.prune(pruning.threshold_of(0.5))
    assert counts().items() < before.items()


def test_share_of_all_rows_is_kept(nlp: Language) -> None:
    pruning = Pruning(nlp)
    for keep, kept in ((1, 18), (0.5, 9), (2 / 3, 12)):
        tables = pruning.prune(pruning.threshold_of(keep))  # of the first tables each time
        assert sum(table.rows_after - 1 for table in tables) == kept


def test_pruned_pipeline_is_saved_and_trained_further(nlp: Language, tmp_path: Path) -> None:
    pruning = Pruning(nlp)
    pruning.prune(pruning.threshold_of(0.5))
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for one, other in zip(
        vectors(nlp, WORDS).values(), vectors(loaded, WORDS).values(), strict=True
    ):
        assert_array_equal(one, other)
    losses: dict[str, float] = {}
    loaded.update(examples(loaded), sgd=loaded.resume_training(), losses=losses)
    assert numpy.isfinite(losses["tagger_ner"])
    assert scores(loaded) != scores(nlp)


def test_a_table_keeps_its_best_symbol(nlp: Language) -> None:
    of_words = scores(nlp)
    before = vectors(nlp, WORDS)
    tables = Pruning(nlp).prune(1000.0)
    assert [table.rows_after for table in tables] == [2, 2]
    best = max(of_words, key=lambda word: of_words[word])
    assert_array_equal(vectors(nlp, WORDS)[best], before[best])
    assert nlp("Anna met Bob") is not None


def test_effect_is_that_on_f1_and_on_the_entities_found(nlp: Language) -> None:
    pruning, corpus = Pruning(nlp), examples(nlp)
    effect = pruning.effect(corpus, pruning.threshold_of(1))
    assert effect == (1.0, 1.0, 1.0)
    worse = pruning.effect(corpus, 1000.0)
    assert worse.f == 1.0
    assert worse.f_after is not None
    assert worse.f_after < 1
    assert worse.same is not None
    assert worse.same < 1
    assert not any(example.predicted.ents for example in corpus)  # as they were
    assert pruning.effect(corpus, pruning.threshold_of(1)) == effect  # before is before
    assert pruning.effect([], 0.0) == (None, None, None)


def test_search_drops_most_rows_that_f1_allows(nlp: Language) -> None:
    pruning, corpus = Pruning(nlp), examples(nlp)
    threshold = pruning.search(corpus, 0.0)
    assert pruning.effect(corpus, threshold).f_after == 1.0
    higher = [pruning.threshold_of(0.05 * i) for i in range(1, 20)]
    for other in (each for each in higher if each > threshold):
        f_after = pruning.effect(corpus, other).f_after
        assert f_after is not None
        assert f_after < 1
    assert pruning.search(corpus, 1.0) == pruning.threshold_of(0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.prune(float("nan")), "threshold must be a finite number, was: nan"),
        (lambda p: p.threshold_of(0), "keep must be a share, 0 < keep <= 1, was: 0"),
        (lambda p: p.threshold_of(1.5), "keep must be a share, 0 < keep <= 1, was: 1.5"),
        (lambda p: p.search([], 0.1), "no gold entities, so that no F1 tells how many rows may go"),
        (lambda p: p.search([], -0.1), "max_loss must be a number from 0 to 1, was: -0.1"),
        (lambda p: p.search([], 2), "max_loss must be a number from 0 to 1, was: 2"),
    ],
)
def test_settings_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(Pruning(reload(_trained(None))))


def test_pipeline_without_lookup_is_refused() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner")
    with pytest.raises(ValueError, match="has no table to prune: only MultiEmbed looks rows up"):
        Pruning(nlp)


def test_weights_that_are_not_finite_are_refused() -> None:
    nlp = reload(_trained(None))
    _, weights = tables_of(nlp)["SHAPE"]
    weights.set_param("E", to_numpy(weights.get_param("E")) * numpy.float32("nan"))
    with pytest.raises(ValueError, match="weights of the tables are not finite. Train anew"):
        Pruning(nlp)
