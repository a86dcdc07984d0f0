import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Ops, fix_random_seed, to_numpy
from thinc.types import Ragged

from spacy_multihash.textcat.random_run import random_run
from tests.helpers.ngrams import split

LENGTHS = st.lists(st.integers(0, 30), max_size=10)


def ngrams_of(ops: Ops, lengths: list[int]) -> Ragged:
    """Number the n-grams of all docs."""
    ids = numpy.arange(sum(lengths), dtype="uint64")
    return Ragged(ops.asarray(ids), ops.asarray1i(lengths))


@given(lengths=LENGTHS, shortest=st.integers(1, 9), more=st.integers(0, 9))
def test_random_run_is_a_stretch_of_each_doc(lengths: list[int], shortest: int, more: int) -> None:
    model = random_run(shortest, shortest + more)
    ngrams = ngrams_of(model.ops, lengths)
    runs, _ = model.begin_update(ngrams)
    assert runs.dataXd.dtype == "uint64"
    for run, doc in zip(split(runs), split(ngrams), strict=True):
        assert min(len(doc), shortest) <= len(run) <= min(len(doc), shortest + more)
        assert not run or run == list(range(run[0], run[-1] + 1))
        assert set(run) <= set(doc)


def test_lengths_and_places_are_drawn_uniformly(ops: Ops) -> None:
    model = random_run(2, 5)
    runs = split(model.begin_update(ngrams_of(ops, [6] * 8000))[0])
    found = numpy.zeros((6, 6), dtype="int64")  # by length and start
    for i, run in enumerate(runs):
        found[len(run), run[0] - 6 * i] += 1
    for length in range(2, 6):
        # 2000 runs of each length: 5 standard deviations of a binomial
        assert abs(found[length].sum() - 2000) < 5 * numpy.sqrt(8000 * 0.25 * 0.75)
        share = 1 / (7 - length)
        expected = found[length].sum() * share
        places = found[length, : 7 - length]
        assert (abs(places - expected) < 5 * numpy.sqrt(expected * (1 - share))).all()
    assert found.sum() == sum(found[length, : 7 - length].sum() for length in range(2, 6))


def test_prediction_keeps_all(ops: Ops) -> None:
    ngrams = ngrams_of(ops, [30, 0, 7])
    kept = random_run(1, 2).predict(ngrams)
    assert split(kept) == split(ngrams)


def test_short_docs_are_kept_whole(ops: Ops) -> None:
    ngrams = ngrams_of(ops, [3, 4, 1])
    assert split(random_run(4, 100).begin_update(ngrams)[0]) == split(ngrams)


def test_same_seed_same_runs() -> None:
    model = random_run(4, 100)
    ngrams = ngrams_of(model.ops, [200, 50, 0, 300])
    drawn = []
    for seed in (1, 1, 2):
        fix_random_seed(seed)
        drawn.append(split(model.begin_update(ngrams)[0]))
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_nothing_to_choose_from(ops: Ops, lengths: list[int]) -> None:
    ngrams = ngrams_of(ops, lengths)
    runs, backprop = random_run(4, 100).begin_update(ngrams)
    assert split(runs) == [[] for _ in lengths]
    assert backprop(runs).dataXd.shape == (0,)


def test_gradient_is_zero_and_shaped_like_the_ngrams(ops: Ops) -> None:
    ngrams = ngrams_of(ops, [5, 0, 2])
    runs, backprop = random_run(1, 2).begin_update(ngrams)
    d_ngrams = backprop(runs)
    assert to_numpy(d_ngrams.dataXd).tolist() == [0] * 7
    assert to_numpy(d_ngrams.lengths).tolist() == [5, 0, 2]


@pytest.mark.parametrize(("shortest", "longest"), [(0, 5), (-1, 5), (6, 5)])
def test_bad_range_is_refused(shortest: int, longest: int) -> None:
    match = rf"input_dropout must be two .*numbers.* was: \[{shortest}, {longest}\]"
    with pytest.raises(ValueError, match=match):
        random_run(shortest, longest)
