"""Scaling of columns and of rows."""

import numpy

from .affine import AffineMap
from .principal import Moments, check_differ


def z_norm(found: Moments, *, unit: bool = True) -> AffineMap:
    """Make the map that gives each column mean 0 and deviation 1, and each row the length 1.

    Eger, Rücklé and Gurevych (RepL4NLP 2019) advise it before vectors are compared. A column that
    is constant becomes 0.

    found (Moments): Mean and covariance of the vectors.
    unit (bool): Scale rows too, which a floret table cannot have.

    Raises ValueError if the vectors do not differ.
    """
    check_differ(found)
    deviation = found.deviations
    constant = deviation == 0
    scale = numpy.where(constant, 0, 1 / numpy.where(constant, 1, deviation))
    with numpy.errstate(over="ignore"):  # the rows are refused where they are computed
        matrix = numpy.diag(scale).astype("float32")
    return AffineMap(found.mean.astype("float32"), matrix, unit=unit)
