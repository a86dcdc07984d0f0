"""Calibration of probabilities: the error, the diagram, and the temperature."""

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_multihash.ner.calibration import (
    HIGHEST,
    LOWEST,
    Uncalibrated,
    check_temperature,
    expected_calibration_error,
    fit_temperature,
    is_at_edge,
    log_loss,
    quality_of,
    reliability,
)

ENTITIES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50)


def by_loop(entities: list[tuple[float, bool]], bins: int) -> float:
    """The expected calibration error, range by range (Guo et al. 2017, eq. 3)."""
    error = 0.0
    for b in range(bins):
        inside = [(p, y) for p, y in entities if min(int(p * bins), bins - 1) == b]
        if inside:
            mean = sum(p for p, _ in inside) / len(inside)
            share = sum(y for _, y in inside) / len(inside)
            error += len(inside) / len(entities) * abs(mean - share)
    return error


@given(ENTITIES, st.integers(2, 20))
def test_error_is_the_mean_distance_over_ranges(
    entities: list[tuple[float, bool]], bins: int
) -> None:
    p, right = (numpy.array(column) for column in zip(*entities, strict=True))
    assert_allclose(expected_calibration_error(p, right, bins), by_loop(entities, bins), atol=1e-9)
    found = reliability(p, right, bins)
    assert sum(one.entities for one in found) == len(entities)
    assert all(0 <= one.share <= 1 and one.entities for one in found)


def test_log_loss_is_that_of_independent_entities_and_finite_at_the_edges() -> None:
    p, right = numpy.array([0.8, 0.3]), numpy.array([True, False])
    assert_allclose(log_loss(p, right), -(math.log(0.8) + math.log(0.7)) / 2)
    assert 10 < log_loss(numpy.array([0.0]), numpy.array([True])) < 20


def test_quality_has_precision_error_and_loss() -> None:
    p, right = numpy.array([0.9, 0.9, 0.4]), numpy.array([True, False, False])
    quality = quality_of(p, right)
    assert quality.entities == 3
    assert_allclose([quality.share, quality.error], [1 / 3, 0.4])
    assert quality.loss == log_loss(p, right)


def test_error_of_no_entities_is_not_a_number() -> None:
    nothing = numpy.zeros(0)
    assert math.isnan(expected_calibration_error(nothing, nothing.astype(bool)))


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.5])
def test_fitted_temperature_is_the_one_that_the_data_were_drawn_with(truth: float) -> None:
    rng = numpy.random.default_rng(0)
    logits = rng.normal(0, 3, 20_000)

    def probabilities(temperature: float) -> numpy.ndarray:
        return 1 / (1 + numpy.exp(-logits / temperature))

    right = rng.random(len(logits)) < probabilities(truth)
    assert_allclose(fit_temperature(probabilities, right), truth, rtol=0.05)


def test_temperature_of_a_model_that_is_always_right_is_the_lowest() -> None:
    found = fit_temperature(
        lambda t: numpy.full(5, 1 / (1 + math.exp(-1 / t))), numpy.ones(5, dtype=bool)
    )
    assert LOWEST <= found < 2 * LOWEST
    assert found < HIGHEST


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "1", True, None])
def test_other_values_than_numbers_above_0_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match='Component "x": temperature must be a number above 0'):
        check_temperature('Component "x"', value)


def test_temperatures_near_the_ends_of_the_range_are_no_results() -> None:
    at_edge = [0.01, LOWEST, 0.0504, 19.9, HIGHEST, 100.0]
    assert all(map(is_at_edge, at_edge))
    assert not any(map(is_at_edge, [0.06, 1.0, 19.0]))


@pytest.mark.parametrize("value", [0, -1.0, math.nan])
def test_probabilities_are_not_asked_for_at_what_is_no_temperature(value: float) -> None:
    found = Uncalibrated.of("x", [], lambda temperature: numpy.full(2, temperature))
    assert found.probabilities(2.0).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match='Component "x": temperature must be a number above 0'):
        found.probabilities(value)
