"""Measure spaCy's layers and ours side by side, on the same weights: time, and share of the limit.

The limit is the time of the bare matrix products of the encoder, by numpy, into memory that is
there already: what no implementation of the same function by the same BLAS can beat by much.
"""
