"""Layer normalization of the rows that one thread holds in its cache, forward and back."""

import numpy
from thinc.api import get_array_module

from ..common.types import Array
from .buffers import scratch


def normalize(Y: Array, out: Array) -> Array:
    """Center and scale each row: Y (N, nO) -> out (N, nO). Returns the scale (N, 1)."""
    xp, nO = get_array_module(Y), Y.shape[1]
    mean = Y @ xp.full(nO, 1.0 / nO, dtype="float32")
    xp.subtract(Y, mean[:, None], out=out)
    variance = xp.einsum("ij,ij->i", out, out) / numpy.float32(nO)
    scale = 1.0 / xp.sqrt(variance + numpy.float32(1e-8))
    out *= scale[:, None]
    return scale[:, None]


def denormalize(dY: Array, G: Array, Xhat: Array, scale: Array) -> Array:
    """Go back through the norm: dY (N, nO) -> (N, nO), valid until the next call.

    The result is (dXhat - mean(dXhat) - Xhat * mean(dXhat * Xhat)) * scale, with dXhat = dY * G.
    """
    xp, nO = get_array_module(dY), numpy.float32(dY.shape[1])
    dXhat = xp.multiply(dY, G, out=scratch("dXhat", dY.shape, dY))
    share = xp.einsum("ij,ij->i", dXhat, Xhat) / nO
    dXhat -= (dY @ (G / nO))[:, None]
    dXhat -= xp.multiply(Xhat, share[:, None], out=scratch("share", dY.shape, dY))
    dXhat *= scale
    return dXhat
