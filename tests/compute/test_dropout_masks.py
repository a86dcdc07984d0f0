import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import NumpyOps, Ops, fix_random_seed, to_numpy

from spacy_multihash.compute.dropout_masks import mask_drawers


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_masks_drop_their_share_and_scale_the_rest(ops: Ops, rate: float) -> None:
    (draw,) = mask_drawers(ops, rate, 1)
    mask = to_numpy(draw((400, 100)))
    assert mask.dtype == "float32"
    assert abs((mask == 0).mean() - rate) < 0.01  # four standard deviations
    assert_allclose(mask[mask > 0], 1 / (1 - rate), rtol=1e-4)


def test_no_rate_needs_no_mask(ops: Ops) -> None:
    assert [draw((2, 2)) for draw in mask_drawers(ops, 0.0, 3)] == [None] * 3


def test_a_rate_of_1_drops_all(ops: Ops) -> None:
    (draw,) = mask_drawers(ops, 1.0, 1)
    assert_array_equal(to_numpy(draw((50, 50))), 0)


def test_masks_follow_the_random_state_and_not_the_order_of_chunks() -> None:
    fix_random_seed(7)
    first = [draw((9, 9)) for draw in mask_drawers(NumpyOps(), 0.5, 3)]
    fix_random_seed(7)
    drawers = mask_drawers(NumpyOps(), 0.5, 3)
    second = [draw((9, 9)) for draw in reversed(drawers)]
    assert_array_equal(numpy.asarray(first), numpy.asarray(second[::-1]))
    assert len({array.tobytes() for array in map(numpy.asarray, first)}) == 3
