"""Score the tags of each token, after each pass of an encoder, and add tags later."""

from collections.abc import Callable
from typing import Any, Optional, cast

from thinc.api import Linear, Model
from thinc.types import Floats2d, Floats3d
from thinc.util import ArrayInfo

from ...common.nodes import Pinned, bound, forget_weights, no_backprop
from ...common.types import Array, DocLike, DocsEncoder, TokenTagger
from ...compute.array_ops import split_docs
from ...compute.ops import operations
from ...encode.iterated_dilated_encoder import NAME as DILATED
from ...encode.iterated_dilated_encoder import begin_passes
from ...encode.maxout_window_encoder import NAME as WINDOWS
from ..biluo import columns_after_adding

NAME = "token_tagger"

# Gradients of each pass's vectors -> nothing, because docs have no gradient.
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

    In training on every pass, if `tok2vec` ends with an IteratedDilatedEncoder, P is the number of
    its passes. The function is the same for each pass (Strubell et al. 2017, equations 9 and 11).
    Otherwise, and in prediction, P is 1, for the encoder's result.

    tok2vec (DocsEncoder): Docs -> vectors [(len(doc), W) float32].
    output (Model[Floats2d, Floats2d]): (N, W) -> (N, nO).
    every_pass (bool): Whether to train on the scores of every pass.
    transitions (bool): Whether there are scores of consecutive tags, the parameter `transitions`
        (nO, nO), from the row's tag to the column's. Loss and decoding use it, not this layer.
    """
    # Training settings aren't attrs, because thinc would replace them when loading weights.
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
    if not is_train:
        vectors = join_vectors(model, tok2vec.predict(docs))
        W, b = (cast(Any, output.get_param(name)) for name in ("W", "b"))
        scores = cast(Array, operations(model.ops).affine(cast(Any, vectors), W, b))
        return cast(Floats3d, scores[None]), no_backprop(NAME)
    vectors, backprop_vectors = _begin(every_pass, model, docs)
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
    """Initialize both layers, and the transitions with zeros. The number of tags must be set."""
    nO = model.get_dim("nO")
    tok2vec, output = model.layers
    tok2vec.initialize(X=X)
    output.set_dim("nO", nO)
    if tok2vec.has_dim("nO"):
        output.set_dim("nI", tok2vec.get_dim("nO"))
    elif X:
        output.set_dim("nI", tok2vec.predict(X)[0].shape[1])
    output.initialize()
    if learns_transitions(model):
        model.set_param("transitions", model.ops.alloc2f(nO, nO))


def learns_transitions(model: Model) -> bool:
    """Check if there are scores of consecutive tags, initialized or not."""
    return model.has_param("transitions") is not False


def _begin(every_pass: bool, model: TokenTagger, docs: list[DocLike]) -> tuple[Floats3d, _Backprop]:
    """Begin an update from the vectors of all tokens, (P, N, W).

    Passes are known of an embedding, then an IteratedDilatedEncoder, and nothing else:
    spacy.Tok2Vec.v2 has the two as its layers, and a ref to each.
    """
    tok2vec = model.layers[0]
    layers = [tok2vec.maybe_get_ref(name) for name in ("embed", "encode")]
    if every_pass and tok2vec.layers == layers and tok2vec.layers[1].name == DILATED:
        Xs, backprop_embed = tok2vec.layers[0].begin_update(docs)
        passes, backprop_passes = begin_passes(tok2vec.layers[1], Xs)
        stacked = model.ops.xp.stack(passes)
        return stacked, lambda d_passes: backprop_embed(backprop_passes(list(d_passes)))
    Ys, backprop = tok2vec.begin_update(docs)
    lengths = [*map(len, Ys)]
    return join_vectors(model, Ys)[None], lambda d: backprop(split_docs(d[0], lengths))


def join_vectors(model: TokenTagger, Ys: list[Floats2d]) -> Array:
    """Join the vectors of docs, (N, W)."""
    if len(Ys) == 1:
        return cast(Array, Ys[0])
    width = model.layers[1].get_dim("nI")
    return model.ops.xp.concatenate([model.ops.alloc2f(0, width), *Ys])


def resize_output(model: TokenTagger, new_nO: int) -> TokenTagger:
    """Append labels to a token_tagger, and keep the weights of its existing labels.

    The weights of the new tags are 0, and so are the scores of transitions from and to them. A
    model that isn't initialized only gets the number of tags.

    new_nO (int): The number of tags, 4 * C + 1 for C labels: more than before.
    """
    output = model.get_ref("output_layer")
    if not output.has_param("W"):
        output.set_dim("nO", new_nO, force=True)
        model.set_dim("nO", new_nO, force=True)
        return model
    nO = output.get_dim("nO")
    places: Any = columns_after_adding(nO, new_nO)
    nI = output.get_dim("nI")
    # A new layer, for which an optimizer has no moments of another shape
    larger: Model = Linear(new_nO, nI)
    larger.name, larger.ops, larger.init = output.name, output.ops, output.init
    for name, shape in (("W", (new_nO, nI)), ("b", (new_nO,))):
        _set_arrays(larger, name, _widen(output, name, places, shape))
    model.layers[model.layers.index(output)] = larger
    model.set_ref("output_layer", larger)
    transitions = []
    if model.has_param("transitions"):
        transitions = _widen(model, "transitions", (places[:, None], places), (new_nO, new_nO))
        forget_weights(model)  # otherwise nO cannot change
    model.set_dim("nO", new_nO, force=True)
    _set_arrays(model, "transitions", transitions)
    return model


def _widen(node: Model, name: str, places: Any, shape: tuple[int, ...]) -> list[Array]:  # noqa: ANN401
    """Put a parameter, and its gradient if any, at places among zeros."""
    arrays = [node.get_param(name)]
    if node.has_grad(name):
        arrays.append(node.get_grad(name))
    widened: list[Array] = []
    for values in arrays:
        widened.append(node.ops.alloc(shape))
        widened[-1][places] = values
    return widened


def _set_arrays(node: Model, name: str, arrays: list[Array]) -> None:
    for set_array, values in zip((node.set_param, node.set_grad), arrays, strict=False):
        set_array(name, values)


# Name prefixes of thinc's layers that take arrays, such as spaCy's encoders.
_TAKE_ARRAYS = ("with_array(", "with_padded(")


def check_tok2vec(tok2vec: Model) -> None:
    """Raise ValueError if tok2vec is an encoder without an embedding."""
    if tok2vec.name in (DILATED, WINDOWS) or tok2vec.name.startswith(_TAKE_ARRAYS):
        raise ValueError(
            "model.tok2vec must be a tok2vec, which turns docs into vectors of tokens, got the "
            f"encoder '{tok2vec.name}', which takes vectors (TokenTagger). Set it to a "
            "spacy.Tok2Vec.v2, with this encoder as its `encode`, and an embedding as its `embed`."
        )
