"""Measure how much faster than spaCy's our layers and pipelines are, and how near to the limit.

Both arms have the same weights. The limit is the time of the layers' bare matrix products, which
numpy writes to memory that is there already. With the same BLAS, no implementation of the same
function can be much faster than that.
"""
