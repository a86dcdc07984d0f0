import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import NumpyOps, Ops, fix_random_seed, to_numpy

from spacy_multihash.compute.dropout_masks import draw_mask


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_masks_drop_their_share_and_scale_the_rest(ops: Ops, rate: float) -> None:
    mask = to_numpy(draw_mask(ops, (400, 100), rate))
    assert mask.dtype == "float32"
    assert abs((mask == 0).mean() - rate) < 0.01  # four standard deviations
    assert_allclose(mask[mask > 0], 1 / (1 - rate), rtol=1e-4)


def test_no_rate_needs_no_mask(ops: Ops) -> None:
    assert draw_mask(ops, (2, 2), 0.0) is None


def test_a_rate_of_1_drops_all(ops: Ops) -> None:
    assert_array_equal(to_numpy(draw_mask(ops, (50, 50), 1.0)), 0)


def test_masks_follow_the_random_state() -> None:
    fix_random_seed(7)
    first, second = (draw_mask(NumpyOps(), (9, 9), 0.5) for _ in range(2))
    fix_random_seed(7)
    assert_array_equal(first, draw_mask(NumpyOps(), (9, 9), 0.5))
    assert (numpy.asarray(first) != numpy.asarray(second)).any()
