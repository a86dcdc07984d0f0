"""Products of matrices that are kept as parts, which many rows have in common."""

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.types import Ragged

from spacy_multihash.compute.side_by_side import Part, SideBySide
from spacy_multihash.layers import MaxoutNorm
from tests.helpers.maxout import random_vectors

WIDTHS = [3, 1, 4]


def parts_of(rows: int, distinct: int) -> SideBySide:
    rng = numpy.random.default_rng(0)
    return SideBySide(
        [
            Part(random_vectors(min(distinct, rows), width), rng.integers(0, distinct, rows))
            for width in WIDTHS
        ]
    )


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize(("rows", "distinct"), [(1, 1), (130, 7), (1500, 1500), (5000, 40)])
def test_products_of_parts_equal_those_of_the_matrix(rows: int, distinct: int, pieces: int) -> None:
    layer = MaxoutNorm(5, sum(WIDTHS), nP=pieces).initialize()
    for name in layer.param_names:
        values = numpy.random.normal(size=layer.get_param(name).shape).astype("float32")
        layer.set_param(name, values)
    X = parts_of(rows, distinct)
    Y, backprop = layer(X, False)
    assert_allclose(Y, layer.predict(X.to_array()), atol=1e-4)
    with pytest.raises(ValueError, match="cannot go back from a prediction: train instead"):
        backprop(Y)


def test_parts_have_what_a_ragged_asks_of_an_array() -> None:
    X = parts_of(10, 4)
    assert (X.shape, X.size, X.ndim, len(X), X.dtype) == ((10, 8), 80, 2, 10, "float32")
    assert Ragged(X, numpy.array([10])).dataXd is X


def test_parts_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expects an input of shape \(N, 9\), was given .*\(4, 8"):
        MaxoutNorm(5, 9).initialize().predict(parts_of(4, 2))


def test_parts_are_put_together() -> None:
    X = parts_of(6, 3)
    array = X.to_array()
    for i in range(6):
        expected = [part.vectors[part.places[i]] for part in X.parts]
        assert_array_equal(array[i], numpy.concatenate(expected))
