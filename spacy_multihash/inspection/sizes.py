"""How large models and tables are, and how many tokens an encoder sees."""

from dataclasses import dataclass
from typing import Optional

from thinc.api import Model

from ..common.nodes import find_nodes
from ..encode.iterated_dilated_encoder import NAME as DILATED
from ..encode.iterated_dilated_encoder import effective_input_width
from ..encode.maxout_window_encoder import NAME as MAXOUT

FLOAT_BYTES = 4
SYMBOL_BYTES = 8 + 4  # of a key and of its row, as MultiEmbed keeps them


@dataclass(frozen=True)
class Size:
    """Number of parameters, and bytes of all arrays."""

    parameters: int
    bytes: int


def model_size(*models: Model) -> Optional[Size]:
    """Add up the parameters of models, counting shared layers once.

    Static vectors belong to the vocab and aren't counted. Returns None if a model isn't
    initialized.
    """
    nodes = {id(node): node for model in models for node in model.walk()}.values()
    named = [(node, name) for node in nodes for name in node.param_names]
    if not all(node.has_param(name) for node, name in named):
        return None
    params = [node.get_param(name) for node, name in named]
    return Size(sum(p.size for p in params), sum(p.nbytes for p in params))


def input_width(model: Model) -> Optional[int]:
    """Return the number of tokens that a vector of a model's encoder depends on, its own included.

    None for a model without an IteratedDilatedEncoder or a MaxoutWindowEncoder of this package.
    """
    settings = ("dilations", "repeats", "window_size")
    widths = [
        effective_input_width(*(node.attrs[name].value for name in settings))
        for node in find_nodes(model, DILATED)
    ]
    widths += [
        1 + 2 * node.attrs["window_size"].value * len(node.layers)
        for node in find_nodes(model, MAXOUT)
    ]
    return max(widths, default=None)


def table_size(num_rows: int, width: int, further_bytes: int = 0) -> Size:
    """Return the size of a table of rows, and of what is kept with it."""
    return Size(num_rows * width, num_rows * width * FLOAT_BYTES + further_bytes)
