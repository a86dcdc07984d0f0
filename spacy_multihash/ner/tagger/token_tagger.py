"""Scores for each tag of each token, after each pass of an encoder."""

from collections.abc import Callable
from typing import Optional

from thinc.api import Model
from thinc.types import Floats2d, Floats3d
from thinc.util import ArrayInfo

from ...common.bound import bound
from ...common.memory import check_memory
from ...common.pinned import Pinned
from ...common.types import DocLike, DocsEncoder, TokenTagger
from ...encode.docs import split_docs
from ...encode.iterated_dilated_encoder import NAME as ENCODER
from ...encode.iterated_dilated_encoder import begin_passes
from .resize import resize_output
from .vectors_of_tokens import check_vectors

NAME = "token_tagger"

# Gradients of the vectors of each pass -> nothing, as docs have none.
_Backprop = Callable[[Floats3d], object]


def token_tagger(
    tok2vec: DocsEncoder,
    output: Model[Floats2d, Floats2d],
    *,
    every_pass: bool,
    transitions: bool,
) -> TokenTagger:
    """Score the tags of all tokens at once: an affine function of each token's vector.

    docs with N tokens in all -> scores (P, N, nO) float32.

    If training is on every pass, and `tok2vec` ends with an IteratedDilatedEncoder, P is the number
    of its passes. The function is the same for each pass (Strubell et al. 2017, equations 9 and
    11). In prediction, and otherwise in training, P is 1, and the scores are those of the result.

    tok2vec (DocsEncoder): Docs -> vectors [(len(doc), W) float32].
    output (Model[Floats2d, Floats2d]): (N, W) -> (N, nO).
    every_pass (bool): Whether training asks for the scores of every pass.
    transitions (bool): Whether there are scores of tags that follow each other, the parameter
        `transitions` (nO, nO), from the row's tag to the column's. Loss and decoding use it, not
        this layer.
    """
    # A setting of training is no attr, as thinc would replace it by that of loaded weights.
    return Model(
        NAME,
        bound(forward, every_pass),
        init=init,
        layers=[tok2vec, output],
        refs={"tok2vec": tok2vec, "output_layer": output},
        dims={"nO": output.maybe_get_dim("nO")},
        params={"transitions": None} if transitions else {},
        attrs={
            "transitions": Pinned(int(transitions)),
            "resize_output": resize_output,
        },
    )


def forward(
    every_pass: bool,
    model: TokenTagger,
    docs: list[DocLike],
    is_train: bool,
) -> tuple[Floats3d, Callable]:
    """Encode the docs, and score all tokens of all passes in one product."""
    tok2vec, output = model.layers
    backprop_vectors: _Backprop = _no_way_back
    if not is_train:
        vectors = _join(model, tok2vec.predict(docs))
    else:
        begin = _begin_passes if every_pass and _has_passes(tok2vec) else _begin_result
        vectors, backprop_vectors = begin(model, docs)
    P, N, W = vectors.shape
    nO = output.get_dim("nO")
    scores, backprop_scores = output(model.ops.reshape2f(vectors, P * N, W), is_train)
    scores = model.ops.reshape3f(scores, P, N, nO)
    info = ArrayInfo.from_array(scores)

    def backprop(d_scores: Floats3d) -> list[DocLike]:
        info.check_consistency(d_scores)
        d_vectors = backprop_scores(model.ops.reshape2f(d_scores, P * N, nO))
        backprop_vectors(model.ops.reshape3f(d_vectors, P, N, W))
        return []  # docs have no gradient

    return scores, backprop


def init(
    model: TokenTagger, X: Optional[list[DocLike]] = None, Y: Optional[Floats3d] = None
) -> None:
    """Initialize both layers, and the transitions with zeros. The number of tags must be set.

    Raises ValueError if `tok2vec` has no vectors of tokens, and for weights beyond the memory.
    """
    nO = model.get_dim("nO")
    tok2vec, output = model.layers
    tok2vec.initialize(X=X)
    if X:
        check_vectors(tok2vec, X[:1])
    output.set_dim("nO", nO)
    if tok2vec.has_dim("nO"):
        output.set_dim("nI", tok2vec.get_dim("nO"))
    elif X:
        output.set_dim("nI", tok2vec.predict(X)[0].shape[1])
    shapes = [(nO, output.get_dim("nI")), *([(nO, nO)] if learns_transitions(model) else [])]
    advice = "Take a smaller width or nO, or learn_transitions = false, in the config."
    check_memory(f"Layer '{NAME}'", shapes, advice)
    output.initialize()
    if learns_transitions(model):
        model.set_param("transitions", model.ops.alloc2f(nO, nO))


def learns_transitions(model: Model) -> bool:
    """Tell whether there are scores of tags that follow each other, initialized or not."""
    return model.has_param("transitions") is not False


def _has_passes(tok2vec: DocsEncoder) -> bool:
    """Tell whether there is an embedding, then an IteratedDilatedEncoder, and nothing else.

    spacy.Tok2Vec.v2 has the two as its layers, and a ref to each.
    """
    parts = [tok2vec.maybe_get_ref(name) for name in ("embed", "encode")]
    return tok2vec.layers == parts and tok2vec.layers[1].name == ENCODER


def _begin_passes(model: TokenTagger, docs: list[DocLike]) -> tuple[Floats3d, _Backprop]:
    """Begin an update from the vectors of all tokens after each pass, (P, N, W)."""
    tok2vec = model.layers[0]
    Xs, backprop_embed = tok2vec.get_ref("embed").begin_update(docs)
    passes, backprop_passes = begin_passes(tok2vec.get_ref("encode"), Xs)
    return passes, lambda d_passes: backprop_embed(backprop_passes(list(d_passes)))


def _begin_result(model: TokenTagger, docs: list[DocLike]) -> tuple[Floats3d, _Backprop]:
    """Begin an update from the vectors of all tokens, (1, N, W)."""
    Ys, backprop = model.layers[0].begin_update(docs)
    return _join(model, Ys), lambda d_passes: backprop(split_docs(d_passes[0], Ys))


def _join(model: TokenTagger, Ys: list[Floats2d]) -> Floats3d:
    width = model.layers[1].get_dim("nI")
    Y = model.ops.xp.concatenate([model.ops.alloc2f(0, width), *Ys])
    return model.ops.reshape3f(Y, 1, len(Y), width)


def _no_way_back(d_passes: Floats3d) -> None:
    raise ValueError(
        "Layer 'token_tagger' cannot go back from a prediction. Call begin_update, or the model "
        "with is_train=True."
    )
