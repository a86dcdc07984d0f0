"""Where a tagger has its vectors of tokens from: a tok2vec of its own, or another component."""

import warnings
from collections.abc import Iterable, Sequence

from thinc.api import Model

from ...common.checks import refusal
from ...common.nodes import is_listener
from ...common.types import DocLike, DocsEncoder
from ...encode.iterated_dilated_encoder import NAME as DILATED
from ...encode.maxout_window_encoder import NAME as WINDOWS

# How the names of thinc's layers begin that take arrays. spaCy's encoders are such layers.
_TAKE_ARRAYS = ("with_array(", "with_padded(")


def listens(model: Model) -> bool:
    """Tell whether a model reads the vectors of another component."""
    return any(map(is_listener, model.walk()))


def check_tok2vec(tok2vec: Model) -> None:
    """Raise ValueError for what is no model, and for an encoder without an embedding before it."""
    if not isinstance(tok2vec, Model):
        expected = "a model, from docs to vectors of tokens"
        advice = "Write it as a section of its own, with @architectures."
        raise refusal("TokenTagger", "tok2vec", expected, tok2vec, advice)
    if tok2vec.name in (DILATED, WINDOWS) or tok2vec.name.startswith(_TAKE_ARRAYS):
        raise ValueError(
            "TokenTagger: expected a tok2vec, which turns docs into vectors of tokens, was given "
            f"the encoder '{tok2vec.name}', which takes vectors. Set model.tok2vec to a "
            "spacy.Tok2Vec.v2, with this encoder as its `encode`, and an embedding as its `embed`."
        )


def check_vectors(tok2vec: DocsEncoder, docs: Sequence[DocLike]) -> None:
    """Raise ValueError if an initialized tok2vec has no vector for each token of docs.

    The vectors of other components may not be there yet, so that listeners are not asked.
    """
    if listens(tok2vec):
        return
    found = tok2vec.predict(list(docs))
    if not isinstance(found, (list, tuple)):
        came = f"{type(found).__name__} of shape {getattr(found, 'shape', 'unknown')}"
    else:
        shapes: list[tuple[int, ...]] = [getattr(Y, "shape", ()) for Y in found]
        expected = [len(doc) for doc in docs]
        if all(len(s) == 2 for s in shapes) and [s[0] for s in shapes] == expected:
            return
        came = f"arrays of the shapes {shapes} for docs of {expected} tokens"
    raise ValueError(
        f"TokenTagger: expected of model.tok2vec, '{tok2vec.name}', a list with an array "
        f"(len(doc), width) for each doc, was: {came}. Set model.tok2vec to a spacy.Tok2Vec.v2, or "
        "to a listener."
    )


def warn_of_unheard(pipeline: Iterable[tuple[str, object]], name: str) -> None:
    """Warn of components that share vectors of tokens, and to which no component listens.

    pipeline (Iterable[tuple[str, object]]): The names of components, and the components.
    name (str): The component that would listen.
    """
    for other, pipe in pipeline:
        if not getattr(pipe, "listening_components", True):
            warnings.warn(
                f'Component "{name}": no component listens to "{other}", so that nothing trains '
                f'"{other}", and its vectors are not used. To use them, set '
                f"[components.{name}.model.tok2vec] to a listener, such as "
                f'spacy.Tok2VecListener.v1 with upstream = "{other}", and place "{other}" before '
                f'"{name}". Otherwise take it out of [nlp] pipeline.',
                stacklevel=2,
            )
