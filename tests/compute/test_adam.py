"""Adam: the steps of thinc's, and those of the paper."""

import copy
import inspect
import platform
from collections.abc import Iterator
from typing import Any, cast

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Adam as ThincAdam
from thinc.api import constant_then, decaying
from thinc.types import FloatsXd

from spacy_multihash.compute.adam import make_adam_v1
from spacy_multihash.compute.dispatch import chosen_kernels
from tests.helpers.kernels import assert_same_with_threads, using_kernels

# Other machines may fuse a product and a sum in thinc's compiled code, which rounds once.
IS_EXACT = platform.machine() in ("x86_64", "AMD64")
SETTINGS = st.fixed_dictionaries(
    {
        "learn_rate": st.sampled_from([0.001, 0.03]),
        "L2": st.sampled_from([0.0, 0.01]),
        "beta1": st.sampled_from([0.9, 0.5]),
        "beta2": st.sampled_from([0.999, 0.9]),
        "eps": st.sampled_from([1e-8, 1e-3]),
        "grad_clip": st.sampled_from([0.0, 0.5, 100.0]),
        "L2_is_weight_decay": st.booleans(),
        "use_averages": st.booleans(),
    }
)
KEY = (1, "E")


def make_steps(
    shape: tuple[int, ...], steps: int, seed: int
) -> tuple[FloatsXd, Iterator[FloatsXd]]:
    random = numpy.random.default_rng(seed)
    weights = random.standard_normal(shape).astype("float32")
    gradients = (random.standard_normal(shape).astype("float32") for _ in range(steps))
    return weights, gradients


def assert_same(ours: FloatsXd, theirs: FloatsXd, *, clipped: bool = False) -> None:
    if IS_EXACT and not clipped:
        numpy.testing.assert_array_equal(ours, theirs)
    else:
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def assert_same_state(ours: Any, theirs: Any, *, clipped: bool = False) -> None:
    assert_same(ours.mom1[KEY], theirs.mom1[KEY], clipped=clipped)
    assert_same(ours.mom2[KEY], theirs.mom2[KEY], clipped=clipped)
    assert ours.nr_update == theirs.nr_update
    assert (ours.averages is None) == (theirs.averages is None)
    if ours.averages is not None and theirs.averages is not None:
        assert ours.averages[KEY].shape == theirs.averages[KEY].shape
        assert_same(ours.averages[KEY], theirs.averages[KEY], clipped=clipped)


@given(
    SETTINGS,
    st.sampled_from([(1,), (7,), (64,), (3, 5), (2, 3, 31)]),
    st.sampled_from([1.0, 0.25]),
    st.integers(0, 1000),
)
def test_steps_are_those_of_thinc(
    settings: dict[str, Any], shape: tuple[int, ...], lr_scale: float, seed: int
) -> None:
    clipped = settings["grad_clip"] == 0.5
    ours, theirs = make_adam_v1(**settings), ThincAdam(**settings)
    weights, gradients = make_steps(shape, 12, seed)
    expected = weights.copy()
    for gradient in gradients:
        other = gradient.copy()
        result, zeros = ours(KEY, weights, gradient, lr_scale=lr_scale)
        assert result is weights
        assert zeros is gradient
        expected, _ = theirs(KEY, expected, other, lr_scale=lr_scale)
        assert_same(weights, expected, clipped=clipped)
        assert not gradient.any()
    assert_same_state(ours, theirs, clipped=clipped)


@pytest.mark.parametrize("use_averages", [True, False])
@pytest.mark.parametrize("L2", [0.0, 0.01])
def test_rows_without_gradient_take_the_steps_of_thinc(L2: float, use_averages: bool) -> None:
    random = numpy.random.default_rng(0)
    shape = (40, 96)
    weights = random.standard_normal(shape).astype("float32")
    expected = weights.copy()
    settings: dict[str, Any] = {"L2": L2, "use_averages": use_averages, "grad_clip": 0.0}
    ours, theirs = make_adam_v1(**settings), ThincAdam(**settings)
    for step in range(30):
        gradient = numpy.zeros(shape, dtype="float32")
        rows = random.integers(0, 1 + step // 2, 3)  # some are never reached, some come late
        gradient[rows, : 96 if step % 2 else 1] = random.standard_normal()
        if step == 5:
            gradient[:] = -0.0
        kernels = "none" if step == 20 else chosen_kernels()
        other = gradient.copy()
        with using_kernels(kernels):
            ours(KEY, weights, gradient)
        expected, _ = theirs(KEY, expected, other)
        assert_same(weights, expected)
        assert not gradient.any()
    assert_same_state(ours, theirs)


@pytest.mark.parametrize("change", ["copied", "set", "restored"])
def test_moments_that_others_set_are_read(change: str) -> None:
    ours = make_adam_v1(grad_clip=0.0)
    weights, gradients = make_steps((3, 64), 3, 0)
    for gradient in gradients:
        gradient[1:] = 0.0
        ours(KEY, weights, gradient)
    expected = ThincAdam(grad_clip=0.0)
    for made in (ours.mom1, ours.mom2) if change != "copied" else ():
        made[KEY] = cast(Any, numpy.full(made[KEY].size, 0.5, dtype="float32"))
    if change == "restored":  # as if the steps so far were another process's
        ours.moving.clear()
    for name in ("mom1", "mom2", "averages", "nr_update"):
        setattr(expected, name, copy.deepcopy(getattr(ours, name)))
    stepping = copy.deepcopy(ours) if change == "copied" else ours
    theirs = weights.copy()
    for _ in range(2):
        stepping(KEY, weights, numpy.zeros_like(weights))
        expected(KEY, theirs, numpy.zeros_like(weights))
    assert_same(weights, theirs)
    assert_same(stepping.mom1[KEY], expected.mom1[KEY])


def test_results_do_not_depend_on_threads() -> None:
    def compute() -> list[FloatsXd]:
        ours = make_adam_v1(L2=0.01)
        weights, gradients = make_steps((700, 431), 3, 0)
        for gradient in gradients:
            gradient[::3] = 0.0
            ours(KEY, weights, gradient)
        assert ours.averages is not None
        return [weights, ours.mom1[KEY], ours.mom2[KEY], ours.averages[KEY]]

    assert_same_with_threads(compute)


@pytest.mark.skipif(chosen_kernels() == "none", reason="thinc's own steps keep them")
@pytest.mark.skipif(not IS_EXACT, reason="other processors are as fast with tiny numbers")
def test_tiny_moments_become_0_and_stay_exact_otherwise() -> None:
    ours, theirs = make_adam_v1(grad_clip=0.0), ThincAdam(grad_clip=0.0)
    weights, gradients = make_steps((128,), 1, 0)
    expected, gradient = weights.copy(), next(gradients)
    other = gradient.copy()
    for _ in range(900):
        ours(KEY, weights, gradient)
        theirs(KEY, expected, other)
    assert 0 < abs(theirs.mom1[KEY]).min() < numpy.finfo("float32").tiny
    assert not ours.mom1[KEY].any()
    assert_same(ours.mom2[KEY], theirs.mom2[KEY])
    assert_same(weights, expected)
    assert numpy.float32(1e-40) * numpy.float32(1) > 0  # elsewhere they are as before


def test_learning_rate_follows_a_schedule() -> None:
    ours, theirs = (
        make(learn_rate=constant_then(0.1, 3, decaying(0.1, 0.5)), L2=0.01, grad_clip=0.0)
        for make in (make_adam_v1, ThincAdam)
    )
    weights, gradients = make_steps((9,), 8, 0)
    expected = weights.copy()
    for gradient in gradients:
        other = gradient.copy()
        ours(KEY, weights, gradient)
        expected, _ = theirs(KEY, expected, other)
        ours.step_schedules()
        theirs.step_schedules()
    assert ours.learn_rate == theirs.learn_rate != 0.1
    assert_same(weights, expected)


def test_gaps_and_a_beta_of_0_take_the_steps_of_thinc() -> None:
    ours, theirs = (make(beta1=0.0, beta2=0.0) for make in (make_adam_v1, ThincAdam))
    weights, gradients = make_steps((4, 4), 2, 0)
    gradient = next(gradients)
    result, _ = ours(KEY, weights.copy(), gradient.copy())
    expected, _ = theirs(KEY, weights.copy(), gradient.copy())
    assert_same(result, expected)
    assert not ours.mom1

    ours, theirs = make_adam_v1(), ThincAdam()
    result, _ = ours(KEY, weights.T, gradient.T.copy())
    expected, _ = theirs(KEY, weights.T, gradient.T.copy())
    assert_same(result, expected)
    result, _ = ours(KEY, weights[:, 0].copy(), numpy.zeros(0, dtype="float32"))
    assert_same(result, weights[:, 0])
    assert ours.nr_update[KEY] == 1


@pytest.mark.parametrize("sizes", [(3, 50), (50, 3)])
def test_arrays_of_other_sizes_are_refused_as_by_thinc(sizes: tuple[int, int]) -> None:
    ours = make_adam_v1()
    for optimizer in (ours, ThincAdam()):
        optimizer(KEY, *numpy.ones((2, sizes[0]), dtype="float32"))
        with pytest.raises(ValueError, match="incompatible shapes"):
            optimizer(KEY, *numpy.ones((2, sizes[1]), dtype="float32"))
    other = numpy.ones(2, dtype="float32")
    with pytest.raises(ValueError, match="incompatible shapes"):
        ours((2, "E"), numpy.ones(3, dtype="float32"), other)


def test_arguments_and_defaults_are_those_of_thinc() -> None:
    def defaults(function: Any) -> dict[str, Any]:
        parameters = inspect.signature(function).parameters.values()
        return {p.name: (p.default, p.kind) for p in parameters}

    assert defaults(make_adam_v1) == defaults(ThincAdam)


def test_gradient_that_is_not_a_number_is_refused() -> None:
    gradient = numpy.full((2, 3), numpy.nan, dtype="float32")
    weights = numpy.ones((2, 3), dtype="float32")
    with pytest.raises(ValueError, match="W .2, 3. is NaN"):
        make_adam_v1()((1, "W"), weights, gradient)
    assert weights.all()
