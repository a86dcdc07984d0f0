"""The registered architectures of encoders of tokens in context: wiring only."""

from typing import List

from thinc.api import Model
from thinc.types import Floats2d

from ..common.checks import MAX_SIZE, are_whole, check_flag, check_whole, setting_error
from ..compute.maxout_norm import MAX_PIECES
from .iterated_dilated_encoder import IteratedDilatedEncoder
from .maxout_window_encoder import MaxoutWindowEncoder

_DILATIONS = [1, 2, 1]
# Nobody trains larger encoders. Larger numbers are mistakes that take hours to build or to run.
MAX_DEPTH = 100
MAX_WINDOW = 100
MAX_DILATION = 10**6


def build_maxout_window_encoder_v1(
    width: int, window_size: int, maxout_pieces: int, depth: int
) -> Model[List[Floats2d], List[Floats2d]]:
    """Encode tokens in context, by convolutions with maxout activation and residual connections.

    It's equivalent to spacy.MaxoutWindowEncoder.v2, with the same initial weights under the same
    random seed, in less time and memory (docs/performance.md).

    width (int): Width of the input and of the result. Recommended values are between 64 and 300.
    window_size (int): Number of neighbours on each side that a layer sees, 0 to 100. The
        recommended value is 1.
    maxout_pieces (int): Number of maxout pieces, 1 to 256. Recommended values are 2 or 3.
    depth (int): Number of layers, 1 to 100. Recommended values are between 2 and 8.
    RETURNS (Model): (len(doc), width) float32 of each doc to arrays of the same shapes.

    Raises ValueError if a number is out of range.
    """
    name = "MaxoutWindowEncoder"
    check_whole(name, "width", width, 1, MAX_SIZE)
    check_whole(name, "window_size", window_size, 0, MAX_WINDOW)
    check_whole(name, "maxout_pieces", maxout_pieces, 1, MAX_PIECES)
    check_whole(name, "depth", depth, 1, MAX_DEPTH)
    return MaxoutWindowEncoder(width, window_size=window_size, nP=maxout_pieces, depth=depth)


def build_iterated_dilated_encoder_v1(
    width: int,
    dilations: List[int] = _DILATIONS,
    repeats: int = 1,
    window_size: int = 1,
    share: bool = True,
    residual: bool = False,
    normalize: bool = False,
) -> Model[List[Floats2d], List[Floats2d]]:
    """Encode tokens in wide context, by a stack of dilated convolutions applied repeatedly.

    Iterated dilated convolutions (Strubell et al. 2017, section 4) begin with a convolution of
    dilation 1. Then come `repeats` passes through a stack, which has a convolution with ReLU for
    each dilation. A token's vector depends on
    1 + 2 * window_size * (1 + repeats * sum(dilations)) tokens. Each layer pads docs with zeros.

    width (int): Width of the vectors. Recommended values are between 64 and 300.
    dilations (List[int]): For each convolution of the stack, the distance between the tokens it
        reads, 1 to 1,000,000. The list has 1 to 100 entries. Recommended values are [1, 2, 1], or
        [1, 2, 4, 1] for long documents.
    repeats (int): Number of passes through the stack, 1 to 100. Recommended values are between 1
        and 4.
    window_size (int): Number of tokens on each side that a convolution reads, 1 to 100. The
        recommended value is 1.
    share (bool): Whether all passes have the same parameters. The recommended value is true.
    residual (bool): Whether each convolution of the stack adds its result to its input.
    normalize (bool): Whether the result of each convolution gets layer normalization. By default,
        tagger_ner uses both.
    RETURNS (Model): (len(doc), nI) float32 of each doc to (len(doc), width).

    Raises ValueError if a number is out of range or a switch isn't a bool.
    """
    name = "IteratedDilatedEncoder"
    check_whole(name, "width", width, 1, MAX_SIZE)
    check_whole(name, "repeats", repeats, 1, MAX_DEPTH)
    check_whole(name, "window_size", window_size, 1, MAX_WINDOW)
    if not are_whole(dilations, 1, MAX_DILATION) or not 1 <= len(dilations) <= MAX_DEPTH:
        expected = f"1 to {MAX_DEPTH} integers from 1 to {MAX_DILATION:,}"
        advice = f"Change it in the config. Recommended: {_DILATIONS}."
        raise setting_error(name, "dilations", expected, dilations, advice)
    for switch, value in {"share": share, "residual": residual, "normalize": normalize}.items():
        check_flag(name, switch, value)
    return IteratedDilatedEncoder(
        width,
        dilations=list(dilations),
        repeats=repeats,
        window_size=window_size,
        share=share,
        residual=residual,
        normalize=normalize,
    )
