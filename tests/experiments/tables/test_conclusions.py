"""The paired interval, the machines and the sentences of a comparison."""

from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy
import pytest

from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs.counts import pack
from experiments.runs.grid import Run, same_functions
from experiments.runs.machine import OWN_ADAM
from experiments.runs.record import CODE
from spacy_multihash.common.files import write_json
from tests.helpers.results import REPORT, write_result, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from scipy.stats import t

from experiments.tables.bootstrap import Interval
from experiments.tables.conclusions import Conclusion, compare, conclude
from experiments.tables.differences import Difference
from experiments.tables.markdown import marked
from experiments.tables.results_page import TABLES
from experiments.tables.statistics import load_results

ONES, OTHERS = [0.70, 0.72, 0.77], [0.69, 0.70, 0.76, 0.9]


def found(folder: Path, *arms: str, metric: str = "f") -> Conclusion:
    place = ("", "") if metric in ("train_cpu_seconds", "words_per_second") else ("test", "all")
    one, other = (("anem", arm, "no-vectors", *place, metric) for arm in arms)
    return compare(load_results(folder, REPORT), one, other)


def test_paired_interval_is_that_of_the_seeds_that_both_have(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, ONES)
    write_results(tmp_path, "anem", "multi_embed", OTHERS)
    paired = found(tmp_path, HASH_EMBED, "multi_embed").paired
    differences = [one - other for one, other in zip(ONES, OTHERS, strict=False)]
    assert paired is not None
    assert paired.value == pytest.approx(mean(differences))
    assert paired.margin == pytest.approx(4.3027 * stdev(differences) / sqrt(3), rel=1e-4)


def test_one_pair_has_no_interval(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, ONES)
    write_results(tmp_path, "anem", "multi_embed", [0.6])
    assert found(tmp_path, HASH_EMBED, "multi_embed").paired is None


def test_runs_with_ner_are_paired_with_those_of_the_same_function(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, ONES)
    for seed, f in enumerate(OTHERS[:3]):
        run = Run("anem", "multi_embed", seed=seed)
        new, with_ner = same_functions(run)
        write_result(tmp_path, run, f, config_hash=with_ner if seed == 1 else new)
    paired = found(tmp_path, HASH_EMBED, "multi_embed").paired
    assert paired is not None
    assert paired.value == pytest.approx(mean([0.01, 0.02, 0.01]))


def test_a_crf_has_no_pairs_but_all_seeds_of_sentences(tmp_path: Path) -> None:
    rng = numpy.random.default_rng(0)
    for run in (Run("anem", CRF), *(Run("anem", HASH_EMBED, seed=seed) for seed in range(2))):
        counts = {"test": pack(rng.integers(0, 3, size=(50, 3)))}
        write_result(tmp_path, run, 0.5, counts=counts)
    conclusion = found(tmp_path, CRF, HASH_EMBED)
    assert conclusion.paired is None
    results = load_results(tmp_path, REPORT)
    crf, *others = (
        ("anem", arm, "no-vectors", seed, "test")
        for arm, seed in ((CRF, "0"), (HASH_EMBED, "0"), (HASH_EMBED, "1"))
    )
    assert conclusion.sentences == results.bootstrap.interval([(crf, key) for key in others])


def test_increases_of_the_error_have_an_interval_of_sentences(tmp_path: Path) -> None:
    rng = numpy.random.default_rng(0)
    arms = (HASH_EMBED, "norm", "orth")
    for arm in arms:
        for seed in (0, 1):
            counts = {"dev": pack(rng.integers(1, 4, size=(50, 3)))}
            write_result(tmp_path, Run("anem", arm, seed=seed), 0.5 + 0.1 * seed, counts=counts)
    results = load_results(tmp_path, REPORT)
    f = {
        (arm, seed): results.bootstrap.scores(("anem", arm, "no-vectors", seed, "dev"))
        for arm in arms
        for seed in ("0", "1")
    }
    errors = {names: 1 - scores for names, scores in f.items()}
    norm, orth = (
        numpy.mean(
            [100 * errors[arm, seed] / errors[HASH_EMBED, seed] - 100 for seed in ("0", "1")],
            axis=0,
        )
        for arm in ("norm", "orth")
    )
    first, second = (
        ("anem", arm, "no-vectors", "dev", "all", "error_increase") for arm in ("norm", "orth")
    )
    for found, expected in (
        (compare(results, first, None), norm),
        (compare(results, first, second), norm - orth),
    ):
        low, high = numpy.percentile(expected, [2.5, 97.5])
        assert found.sentences is not None
        assert found.sentences.low == pytest.approx(low)
        assert found.sentences.high == pytest.approx(high)


def test_counts_of_one_side_give_no_interval_of_sentences(tmp_path: Path) -> None:
    counts = {"test": pack(numpy.ones((5, 3)))}
    write_result(tmp_path, Run("anem", HASH_EMBED), 0.5, counts=counts)
    write_result(tmp_path, Run("anem", "multi_embed"), 0.5)
    assert found(tmp_path, HASH_EMBED, "multi_embed").sentences is None
    write_result(tmp_path, Run("anem", "multi_embed"), 0.5, counts=counts)
    assert found(tmp_path, HASH_EMBED, "multi_embed").sentences == Interval(0.0, 0.0)


@pytest.mark.parametrize(
    ("ours", "paired", "disputed"),
    [
        ((0.02, 0.03), (0.02, 0.01), True),
        ((0.02, 0.01), (0.02, 0.03), True),
        ((0.02, 0.01), (0.02, 0.01), False),
        ((0.02, 0.03), (0.02, 0.02), False),
        ((0.02, None), (0.02, 0.01), False),
        (None, (0.02, 0.01), False),
        ((0.02, 0.03), None, False),
    ],
)
def test_paired_interval_may_decide_otherwise(ours: Any, paired: Any, disputed: bool) -> None:
    one, other = (None if values is None else Difference(*values) for values in (ours, paired))
    assert Conclusion(one, None, other, None, "").disputed == disputed


@pytest.mark.parametrize(
    ("ours", "sentences", "of_these"),
    [
        ((0.02, 0.01), (0.0, 0.04), True),
        ((-0.02, 0.01), (-0.04, 0.0), True),
        ((0.02, 0.01), (0.001, 0.04), False),
        ((0.02, 0.03), (-0.001, 0.04), False),
        ((0.02, 0.03), (0.001, 0.04), False),
        ((0.02, None), (-0.001, 0.04), False),
        ((0.02, 0.01), None, False),
        (None, (-0.001, 0.04), False),
    ],
)
def test_interval_over_sentences_may_hold_0(ours: Any, sentences: Any, of_these: bool) -> None:
    one = None if ours is None else Difference(*ours)
    interval = None if sentences is None else Interval(*sentences)
    conclusion = Conclusion(one, None, None, interval, "higher")
    assert conclusion.of_these_sentences == of_these
    assert marked(conclusion) == ("higher §" if of_these else "higher")
    assert conclusion.in_words == ("higher, not over sentences" if of_these else "higher")


def table_9(folder: Path, ones: list[float], others: list[float], dataset: str) -> Conclusion:
    """Return MultiHashEmbed minus MultiEmbed, as the report's Table 9 has it."""
    write_results(folder, dataset, HASH_EMBED, ones)
    write_results(folder, dataset, "multi_embed", others)
    table = TABLES["table-9"]
    (comparison,) = table.comparisons
    return conclude(load_results(folder, REPORT), table, dataset, comparison)


def test_report_is_apart_by_more_than_both_intervals_and_rounding(tmp_path: Path) -> None:
    # The report has 0.73 and 0.75, whose sd are 0.01 and 0.00.
    ours, other = [0.750, 0.751, 0.752], [0.700, 0.701, 0.702]
    conclusion = table_9(tmp_path, ours, other, "conll-nl")
    margin = t.ppf(0.975, _freedom(0.001, 0.001, 0.01)) * sqrt((2e-6 + 1e-4) / 3)
    assert conclusion.apart is not None and conclusion.misses_report
    assert conclusion.apart.value == pytest.approx(0.05 + 0.02)
    assert conclusion.apart.margin == pytest.approx(margin + 0.01)
    assert (conclusion.in_words, marked(conclusion)) == ("differs", "differs ¶")
    # Less apart than the margin.
    near = table_9(tmp_path, ours, [0.745, 0.746, 0.747], "conll-nl")
    assert near.apart is not None and near.apart.value < margin + 0.01
    assert not near.misses_report and marked(near) == "differs"


def _freedom(*deviations: float) -> float:
    """Return Welch's and Satterthwaite's degrees of freedom, with three seeds each."""
    squares = [sd**2 / 3 for sd in deviations]
    return sum(squares) ** 2 / sum(square**2 / 2 for square in squares)


def test_without_deviations_of_the_report_ours_decide_alone(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-nl", "multi_embed", [0.70, 0.71, 0.72])
    write_results(tmp_path, "conll-nl", "multi_embed_min1", [0.70, 0.71, 0.72])
    table = TABLES["table-15"]
    (comparison,) = (
        one for one in table.comparisons if one.label.endswith("=1 – MultiEmbed min_freq=10")
    )
    conclusion = conclude(load_results(tmp_path, REPORT), table, "conll-nl", comparison)
    assert conclusion.ours is not None and conclusion.ours.margin is not None
    assert conclusion.apart is not None and conclusion.report is not None
    assert conclusion.report.value == pytest.approx(0.03)
    assert conclusion.apart.margin == pytest.approx(conclusion.ours.margin + 0.01)


def test_an_increase_is_apart_by_more_than_the_rounding_of_one_number(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-nl", HASH_EMBED, [0.7, 0.7])
    write_results(tmp_path, "conll-nl", "norm", [0.61, 0.60])
    table = TABLES["table-2"]
    (comparison,) = (one for one in table.comparisons if one.label == "all: NORM")
    conclusion = conclude(load_results(tmp_path, REPORT), table, "conll-nl", comparison)
    assert comparison.second is None
    assert conclusion.ours is not None and conclusion.ours.margin is not None
    assert conclusion.apart is not None and conclusion.report is not None
    assert conclusion.apart.value == pytest.approx(conclusion.ours.value - conclusion.report.value)
    assert conclusion.apart.margin == pytest.approx(conclusion.ours.margin + 0.5)


def test_one_seed_is_not_apart_from_the_report(tmp_path: Path) -> None:
    conclusion = table_9(tmp_path, [0.9], [0.1], "conll-nl")
    assert conclusion.apart is None and not conclusion.misses_report


def test_verdict_in_words_says_what_the_paired_interval_holds() -> None:
    wide, narrow = Difference(0.02, 0.03), Difference(0.02, 0.01)
    sentences = Interval(-0.01, 0.05)
    found = Conclusion(narrow, None, wide, sentences, "higher")
    assert found.in_words == "higher, not seed by seed, not over sentences"
    assert marked(found) == "higher ‡ §"
    found = Conclusion(wide, None, narrow, sentences, "within noise")
    assert found.in_words == "within noise, but higher seed by seed"
    assert marked(found) == "within noise ‡"
    below = Difference(-0.02, 0.01)
    found = Conclusion(Difference(-0.02, 0.03), None, below, sentences, "within noise")
    assert found.in_words == "within noise, but lower seed by seed"


def test_seconds_of_trainings_with_another_adam_are_not_compared(tmp_path: Path) -> None:
    write_json(tmp_path / CODE.name / "new.json", {OWN_ADAM: "1"})
    write_json(tmp_path / CODE.name / "old.json", {"spacy_multihash.embed.rows": "1"})
    record = {"cpu": "a CPU", "corpus": {"train": "anem"}}
    runs = tmp_path / "runs"
    for arm, codes in ((HASH_EMBED, ("new", "new")), ("multi_embed", ("new", "old"))):
        for seed, code in enumerate(codes):
            write_result(runs, Run("anem", arm, seed=seed), 0.5, record={**record, "code": code})
    same = found(runs, HASH_EMBED, HASH_EMBED, metric="train_cpu_seconds")
    assert same.verdict == "within noise"
    assert found(runs, HASH_EMBED, "multi_embed", metric="train_cpu_seconds").ours is None
    assert found(runs, HASH_EMBED, "multi_embed", metric="words_per_second").ours is not None


def test_costs_of_unknown_machines_are_not_compared(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, ONES)
    write_results(tmp_path, "anem", "multi_embed", OTHERS)
    assert found(tmp_path, HASH_EMBED, "multi_embed", metric="train_cpu_seconds").ours is not None
    write_result(tmp_path, Run("anem", "multi_embed", seed=1), 0.7, record=None)
    conclusion = found(tmp_path, HASH_EMBED, "multi_embed", metric="train_cpu_seconds")
    assert (conclusion.ours, conclusion.verdict) == (None, "not comparable")
    assert found(tmp_path, HASH_EMBED, "norm", metric="train_cpu_seconds").verdict == "missing"
