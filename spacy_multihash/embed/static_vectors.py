"""Wrapper around spaCy's StaticVectors that handles missing vectors and unknown words."""

from functools import partial
from typing import Callable, Optional

import numpy
from thinc.api import Model
from thinc.types import Ragged

from ..common.bound import bound
from ..common.memory import check_memory
from ..common.types import DocLike, DocsLayer
from .token_types import TokenTypes

FLORET = "floret"  # the mode of spaCy's tables of n-grams


def require_vectors(static_vectors: DocsLayer) -> DocsLayer:
    """Let spaCy's StaticVectors layer be initialized and run only if there are vectors to read.

    Without this check, an attempt without vectors would leave the layer with a vector width of 0.
    A later attempt with vectors would then fail as well. Unknown symbols have a vector of zeros
    from tables of n-grams (floret) too. The layer itself is returned, with its `init` and its
    forward function replaced.

    Raises ValueError at initialization and in each call if the vocab of the docs has no vectors,
    and at initialization for weights beyond the memory.
    """
    static_vectors.init = partial(init, static_vectors.init)
    static_vectors._func = bound(forward, static_vectors._func)
    return static_vectors


def forward(
    embed_vectors: Callable,
    model: Model[list[DocLike], Ragged],
    docs: list[DocLike],
    is_train: bool,
) -> tuple[Ragged, Callable]:
    """Embed the vectors, with zeros for symbols that the vocab has no string of.

    A table of n-grams would ask for the string, and raise KeyError. Only predictions meet them.
    """
    if not docs:
        return embed_vectors(model, docs, is_train)
    vocab = docs[0].vocab
    if not vocab.vectors.shape[1]:
        raise ValueError(
            "The model reads static vectors, but the vocab of the docs has none. Load the pipeline "
            "with its vectors, source the component into a pipeline that has them, and make docs "
            "by the pipeline's own nlp.make_doc."
        )
    if getattr(vocab.vectors, "mode", None) != FLORET:
        return embed_vectors(model, docs, is_train)
    if vocab.vectors.strings is not vocab.strings:  # in a copy, or in another process
        vocab.vectors.strings = vocab.strings
    if is_train:
        return embed_vectors(model, docs, is_train)
    attr = vocab.vectors.attr
    ids = numpy.concatenate([doc.to_array(attr) for doc in docs])
    unknown = numpy.array([id not in vocab.strings for id in ids.tolist()], dtype=bool)
    if not unknown.any():
        return embed_vectors(model, docs, is_train)
    ids[unknown] = 0
    found, backprop = embed_vectors(model, [TokenTypes(ids[:, None], [attr], vocab)], is_train)
    found.data[model.ops.xp.asarray(unknown)] = 0
    return Ragged(found.data, model.ops.asarray1i([len(doc) for doc in docs])), backprop


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
