"""Sequences of a batch, packed for loops over time: all first tokens, all second tokens, ..."""

from typing import NamedTuple

import numpy


class Packed(NamedTuple):
    """Where the tokens of all sequences lie, step by step. Step t has the t-th token of each.

    The longest sequences come first, and those of equal length in the order of the batch. So the
    sequences that have a step t are the first sizes[t] of step t - 1:

        sequences   a0 a1    b0    c0 c1 c2     positions 0 to 5 in the batch
        steps       c0 a0 b0 | c1 a1 | c2
        order        3  0  2 |  4  1 |  5       sizes [3, 2, 1], bounds [0, 3, 5, 6]

    X[packed.order] brings an array of tokens into packed order, in which `packed.step(t)` is the
    slice of step t. Y[packed.order] = X brings it back.

    order (N,) int64: The position of each token in the batch, step by step.
    sizes (T,) int64: How many sequences have a step t: never more than one step before.
    bounds (T + 1,) int64: Step t is order[bounds[t] : bounds[t + 1]].
    """

    order: numpy.ndarray
    sizes: numpy.ndarray
    bounds: numpy.ndarray

    @property
    def num_steps(self) -> int:
        """The number of steps, T: the length of the longest sequence, 0 without tokens."""
        return len(self.sizes)

    @property
    def num_sequences(self) -> int:
        """The number of sequences with tokens."""
        return int(self.sizes[0]) if self.num_steps else 0

    def step(self, t: int) -> slice:
        """Find the tokens of step t in an array in packed order."""
        return slice(int(self.bounds[t]), int(self.bounds[t + 1]))


def pack(lengths: numpy.ndarray) -> Packed:
    """Pack sequences that lie one after the other in a batch, leaving out those without tokens.

    lengths (B,) int: The number of tokens of each sequence.
    """
    lengths = numpy.asarray(lengths, dtype="int64")
    ranked = numpy.argsort(-lengths, kind="stable")
    firsts = (numpy.cumsum(lengths) - lengths)[ranked]
    # How many sequences are longer than t: all but those of up to t tokens
    longest = int(lengths.max(initial=0))
    sizes = len(lengths) - numpy.cumsum(numpy.bincount(lengths, minlength=1))[:longest]
    bounds = numpy.concatenate([[0], numpy.cumsum(sizes)])
    steps = numpy.repeat(numpy.arange(longest), sizes)
    ranks = numpy.arange(len(steps)) - bounds[steps]
    return Packed(firsts[ranks] + steps, sizes, bounds)
