"""A check in front of spaCy's StaticVectors."""

from functools import partial
from typing import Callable, Optional

from thinc.api import Model
from thinc.types import Ragged

from ..common.memory import check_memory
from ..common.types import DocLike, DocsLayer


def require_vectors(static_vectors: DocsLayer) -> DocsLayer:
    """Let spaCy's StaticVectors layer be initialized only if there are vectors to read.

    Without this check, an attempt without vectors would leave the layer with a vector width of 0.
    A later attempt with vectors would then fail as well. The layer itself is returned, with its
    `init` replaced.

    Raises ValueError at initialization if the vocab of the docs has no vectors, and for weights
    beyond the memory.
    """
    static_vectors.init = partial(init, static_vectors.init)
    return static_vectors


def init(
    init_vectors: Callable,
    model: Model[list[DocLike], Ragged],
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Check the vectors, then initialize."""
    nM = X[0].vocab.vectors.shape[1] if X else 0
    if X and nM == 0:
        raise ValueError(
            "Static vectors were asked for (include_static_vectors = true), but the vocab has "
            "none. Name a pipeline or folder with vectors in [initialize] vectors, "
            "or set include_static_vectors = false."
        )
    advice = "Take a smaller width in the config."
    check_memory("Static vectors", [(model.get_dim("nO"), nM)], advice)
    init_vectors(model, X, Y)
