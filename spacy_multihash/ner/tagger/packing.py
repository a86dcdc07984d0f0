"""Chains of a batch, packed for loops over time: all first tokens, all second tokens, ..."""

from typing import NamedTuple

import numpy


class Chains(NamedTuple):
    """Where the tokens of all chains lie, step by step: step t is the t-th token of each chain.

    The longest chains come first, of equal ones the earlier, so that those that have a step t are
    the first ones of step t - 1: its arrays [:sizes[t]]. An array in the order of the steps,
    X[chains.order], holds step t as one slice, `chains.step(t)`, and goes back to the order of
    tokens by Y[chains.order] = X.

    order (N,) int64: The position of each token in the batch, step by step.
    sizes (T,) int64: How many chains have a step t: never more than one step before.
    bounds (T + 1,) int64: Step t is order[bounds[t] : bounds[t + 1]].
    """

    order: numpy.ndarray
    sizes: numpy.ndarray
    bounds: numpy.ndarray

    @property
    def steps(self) -> int:
        """The number of steps, T: the length of the longest chain, 0 without tokens."""
        return len(self.sizes)

    @property
    def num_chains(self) -> int:
        """The number of chains with tokens."""
        return int(self.sizes[0]) if self.steps else 0

    def step(self, t: int) -> slice:
        """Find the tokens of step t in an array that is in the order of the steps."""
        return slice(int(self.bounds[t]), int(self.bounds[t + 1]))


def pack_chains(lengths: numpy.ndarray) -> Chains:
    """Pack chains that lie one after the other in a batch, leaving out those without tokens.

    lengths (B,) int: The number of tokens of each chain.
    """
    lengths = numpy.asarray(lengths, dtype="int64")
    ranked = numpy.argsort(-lengths, kind="stable")
    firsts = (numpy.cumsum(lengths) - lengths)[ranked]
    # Of the chains, how many are longer than t: all but those of up to t tokens
    longest = int(lengths.max(initial=0))
    sizes = len(lengths) - numpy.cumsum(numpy.bincount(lengths, minlength=1))[:longest]
    bounds = numpy.concatenate([[0], numpy.cumsum(sizes)])
    steps = numpy.repeat(numpy.arange(longest), sizes)
    ranks = numpy.arange(len(steps)) - bounds[steps]
    return Chains(firsts[ranks] + steps, sizes, bounds)
