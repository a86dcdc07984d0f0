"""The mix of a token's attribute vectors into one vector."""

from typing import Callable, Optional, Tuple

from thinc.api import Maxout, Model
from thinc.types import Floats2d


def mix(nO: int, nI: int, *, nP: int = 3) -> Model[Floats2d, Floats2d]:
    """Mix the vectors of all attributes into one: Maxout, then layer normalization.

    The same function and parameters as in spacy.MultiHashEmbed.v2, which 0 tokens pass as well.

    vectors (U, nI) float32 -> vectors (U, nO) float32.

    nO (int): Width of the result.
    nI (int): Width of the attributes' vectors together.
    nP (int): Number of maxout pieces.
    """
    return Model(
        "mix",
        forward,
        init=init,
        layers=[Maxout(nO, nI, nP=nP, normalize=True)],
        dims={"nO": nO, "nI": nI},
    )


def forward(
    model: Model[Floats2d, Floats2d], X: Floats2d, is_train: bool
) -> Tuple[Floats2d, Callable]:
    """Apply the inner layers, unless there are no tokens."""
    return model.layers[0](X, is_train) if len(X) else _handle_empty(model)


def init(
    model: Model[Floats2d, Floats2d], X: Optional[Floats2d] = None, Y: Optional[Floats2d] = None
) -> None:
    """Initialize the inner layers, with a sample: without one, thinc's chain does it twice."""
    model.layers[0].initialize(X=X)


def _handle_empty(model: Model[Floats2d, Floats2d]) -> Tuple[Floats2d, Callable]:
    # The backprop of both Maxout and LayerNorm raises on 0 rows.
    d_empty = model.ops.alloc2f(0, model.get_dim("nI"))
    return model.ops.alloc2f(0, model.get_dim("nO")), lambda d_vectors: d_empty
