"""Means and differences of runs, beside scipy's; counts of sentences; choices of settings."""

import numpy
import pandas
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from spacy.tokens import Doc, Span
from spacy.training import Example

from experiments.choice import choose, leave_one_out
from experiments.results import COLUMNS, entity_counts, label_counts
from experiments.statistics import Cell, Runs, student_interval
from spacy_multihash.corpus.evaluation import score

ONE, OTHER = Cell("d", "one", "dev_f"), Cell("d", "other", "dev_f")


def runs_of(scores: dict[str, list[float]], counts: dict[str, numpy.ndarray] | None = None) -> Runs:
    rows = [
        {"dataset": "d", "arm": arm, "vectors": "", "after": "", "seed": seed, "dev_f": f}
        for arm, of_arm in scores.items()
        for seed, f in enumerate(of_arm)
    ]
    return Runs(pandas.DataFrame(rows, columns=list(COLUMNS)), counts or {})


def f_of(counts: numpy.ndarray, gold: numpy.ndarray) -> float:
    right, made_up = counts.sum(axis=1)
    return float(2 * right / (right + made_up + gold.sum()))


def sentences(runs: int = 6, n: int = 300, seed: int = 0) -> dict[str, numpy.ndarray]:
    """Draw counts of sentences of two arms with as many seeds each."""
    rng = numpy.random.default_rng(seed)
    gold = rng.integers(0, 4, size=n)
    right = rng.binomial(gold[:, None], rng.uniform(0.5, 0.8, size=runs))
    counts = numpy.stack([right, rng.integers(0, 2, size=(n, runs))]).astype("uint8")
    names = [f"{arm}//{seed}" for arm in ("one", "other") for seed in range(runs // 2)]
    stem = "d/dev/all"
    return {
        f"{stem}/runs": numpy.array(names),
        f"{stem}/gold": gold.astype("uint8"),
        f"{stem}/counts": counts,
    }


def test_interval_of_a_mean_is_that_of_a_t_test() -> None:
    values = [0.71, 0.74, 0.72]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    mean, low, high, n, _ = student_interval(values)
    assert_allclose([mean, low, high], [numpy.mean(values), expected.low, expected.high])
    assert n == 3
    assert student_interval([0.5]) == (0.5, None, None, 1, False)


def test_difference_over_seeds_is_that_of_a_paired_t_test() -> None:
    one, other = [0.71, 0.74, 0.72, 0.9], [0.70, 0.70, 0.71]
    found = runs_of({"one": one, "other": other}).difference(ONE, OTHER)
    expected = stats.ttest_rel(one[:3], other).confidence_interval(0.95)
    assert found is not None and found.n == 3 and not found.over_sentences
    assert_allclose([found.low, found.high], [expected.low, expected.high])


def test_difference_over_sentences_is_a_bootstrap_of_both() -> None:
    counts = sentences(runs=2)
    gold, pairs = counts["d/dev/all/gold"], counts["d/dev/all/counts"]
    scores = [f_of(pairs[:, :, run], gold) for run in (0, 1)]
    runs = runs_of({"one": scores[:1], "other": scores[1:]}, counts)
    found = runs.difference(ONE, OTHER)

    def statistic(index: numpy.ndarray) -> float:
        drawn = index.astype(int)
        first, second = (f_of(pairs[:, drawn, run], gold[drawn]) for run in (0, 1))
        return first - second

    expected = stats.bootstrap(
        (numpy.arange(len(gold)),), statistic, method="percentile", vectorized=False, rng=0
    ).confidence_interval
    assert found is not None and found.over_sentences
    assert found.mean == pytest.approx(scores[0] - scores[1])
    assert_allclose([found.low, found.high], [expected.low, expected.high], atol=0.008)


def test_pooled_interval_is_that_of_hartung_and_knapp() -> None:
    # Differences of 0.1, 0.2 and 0.6. By hand, with equal weights: the mean is 0.3, the variance
    # of the mean (0.04 + 0.01 + 0.09) / (2 * 3), and t(2) is 4.3027.
    scores = [("x", [0.5, 0.7], [0.4, 0.6]), ("y", [0.6], [0.4]), ("z", [0.7], [0.1])]
    rows = [
        {"dataset": name, "arm": arm, "vectors": "", "after": "", "seed": seed, "dev_f": f}
        for name, *arms in scores
        for arm, of_arm in zip(("one", "other"), arms, strict=True)
        for seed, f in enumerate(of_arm)
    ]
    runs = Runs(pandas.DataFrame(rows, columns=list(COLUMNS)), {})
    cells = [[(Cell(name, "one", "dev_f"), Cell(name, "other", "dev_f"))] for name in "xyz"]
    pooled = runs.pooled(cells)
    assert pooled is not None and pooled.n == 1
    error = 4.3027 * (0.14 / 6) ** 0.5
    assert_allclose(pooled[:3], [0.3, 0.3 - error, 0.3 + error], atol=1e-4)
    one_set = runs.pooled([[*cells[0], *cells[0]]])
    assert one_set is not None and one_set.n == 2 and one_set.low is None
    assert one_set.mean == pytest.approx(0.1)
    missing = Cell("z", "none", "dev_f")
    assert runs.pooled([*cells, [(missing, missing)]]) is None


# The counts of each sentence add up to spaCy's scores


NLP = spacy.blank("en")
SpanT = tuple[int, int, str]
WORDS = ["ab", "cd", "ef", "gh", "ij", "kl"]
SPANS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(["A", "B"])), max_size=4
)


def make_doc(spans: list[SpanT], starts: list[bool] | None = None, *, whole: bool = True) -> Doc:
    """Make a doc of six words, or of three that each join two of them."""
    words = (
        WORDS if whole else [one + two for one, two in zip(WORDS[::2], WORDS[1::2], strict=True)]
    )
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words), sent_starts=starts)
    ents = [
        Span(doc, start, min(start + length, len(words)), label)
        for start, length, label in spans
        if start < len(words)
    ]
    doc.set_ents(spacy.util.filter_spans(ents))
    return doc


def test_entities_are_counted_in_the_sentence_of_their_first_token() -> None:
    gold = make_doc(
        [(0, 2, "A"), (3, 1, "B"), (5, 1, "B")], [True, False, False, True, False, False]
    )
    predicted = make_doc([(0, 2, "A"), (2, 2, "A"), (3, 1, "A"), (5, 1, "B")])
    assert [ent.start for ent in predicted.ents] == [0, 2, 5]
    counts = entity_counts([Example(predicted, gold)])
    assert counts.tolist() == [[1, 1, 1], [1, 0, 2]]


def test_docs_without_sentences_are_one_and_those_without_annotation_are_none() -> None:
    gold = make_doc([(1, 1, "A")])
    bare = Doc(NLP.vocab, words=WORDS)
    empty = Doc(NLP.vocab)
    examples = [Example(make_doc([]), each) for each in (gold, bare)]
    assert entity_counts(examples).tolist() == [[0, 0, 1]]
    assert entity_counts([Example(empty, empty)]).shape == (0, 3)


@given(
    st.lists(
        st.tuples(SPANS, SPANS, st.booleans(), st.lists(st.booleans(), min_size=6, max_size=6))
    )
)
def test_counts_add_up_to_spacys_scores(
    drawn: list[tuple[list[SpanT], list[SpanT], bool, list[bool]]],
) -> None:
    examples = [
        Example(make_doc(predicted, whole=whole), make_doc(gold, [True, *starts[1:]]))
        for predicted, gold, whole, starts in drawn
    ]
    right, made_up, golds = entity_counts(examples).sum(0, dtype=int).tolist()
    scores = score(examples)
    assert scores.entities == golds
    if scores.p is not None:
        assert scores.p == pytest.approx(right / (right + made_up or 1), abs=1e-9)
        assert scores.r == pytest.approx(right / (golds or 1), abs=1e-9)


def test_labels_are_counted_by_doc() -> None:
    docs = []
    for cats in ({"x": 1.0, "y": 0.0}, {"x": 0.2, "y": 0.8}):
        docs.append(Doc(NLP.vocab, words=["a"]))
        docs[-1].cats = cats
    right, wrong = (docs[0], docs[0]), (docs[1], docs[0])
    assert label_counts([right, wrong]).tolist() == [[1, 0, 1], [0, 1, 1]]


# Settings on corpora that didn't choose them, beside a count by hand


GAINS = pandas.DataFrame(
    {"x": [0.9, 0.0, -1.0], "y": [0.0, 0.3, -1.0], "z": [0.0, 0.3, 0.3]}, index=["a", "b", "c"]
)


def test_each_corpus_is_left_out_in_turn() -> None:
    # x: the others' means are 0 (a), 0.3 (b) and -0.35 (c), so b, which gains 0 on x.
    # y: 0.45 (a), 0.15 and -0.35, so a, with 0. z: 0.45, 0.15 and -1, so a, with 0.
    choice = leave_one_out(GAINS)
    assert choice.candidates.to_dict() == {"x": "b", "y": "a", "z": "a"}
    assert choice.gains.to_dict() == {"x": 0.0, "y": 0.0, "z": 0.0}
    assert GAINS.mean(axis=1).max() == pytest.approx(0.3)  # what choosing on all would promise


def test_candidates_without_runs_on_a_corpus_cannot_be_chosen() -> None:
    gains = GAINS.copy()
    gains.loc["a", "y"] = numpy.nan
    choice = choose(gains)
    assert choice is not None and set(choice.candidates) == {"b"}
    assert choice.gains.to_dict() == {"x": 0.0, "y": 0.3, "z": 0.3}
    gains.loc["b", "y"] = numpy.nan
    assert choose(gains) is None
