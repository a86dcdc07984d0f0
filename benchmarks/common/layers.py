"""spaCy's layers and ours, and steps of them that can be timed."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Union

import numpy
from spacy.ml.models.tok2vec import MaxoutWindowEncoder, MultiHashEmbed, build_Tok2Vec_model
from spacy.tokens import Doc
from thinc.api import Model, to_numpy

import spacy_multihash
from benchmarks.common.timing import Step
from spacy_multihash.inspection.sizes import model_size

SPACY, OURS = "spaCy", "ours"
ATTRS: list[Union[str, int]] = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [5000, 2500, 2500, 2500]
# Models under the names "embed", "encoder" and "tok2vec".
Layers = dict[str, Model]


def spacy_layers(
    width: int, *, depth: int, sample: Sequence[Doc], rows: Sequence[int] = ROWS
) -> Layers:
    """Build spaCy's layers, with random weights."""
    embed = MultiHashEmbed(width, ATTRS, list(rows), include_static_vectors=False)
    embed.initialize(X=list(sample))
    encoder = MaxoutWindowEncoder(width, window_size=1, maxout_pieces=3, depth=depth)
    encoder.initialize()
    return with_tok2vec(embed, encoder)


def our_layers(layers: Layers) -> Layers:
    """Build our layers with a copy of the weights of spaCy's."""
    embed = spacy_multihash.embed_from_spacy(layers["embed"])
    return with_tok2vec(embed, spacy_multihash.encoder_from_spacy(layers["encoder"]))


def with_tok2vec(embed: Model, encoder: Model) -> Layers:
    """Put an embedding and an encoder together."""
    tok2vec = build_Tok2Vec_model(embed, encoder)
    return {"embed": embed, "encoder": encoder, "tok2vec": tok2vec}


def check_same_vectors(
    models: Iterable[Model], batch: Sequence[object], *, tolerance: float = 1e-3
) -> None:
    """Check that models predict the same vectors of a batch.

    Raises AssertionError if one differs from the first of them by more than the tolerance.
    """
    first, *others = ([to_numpy(vectors) for vectors in m.predict(batch)] for m in models)
    for other in others:
        for expected, vectors in zip(first, other, strict=True):
            numpy.testing.assert_allclose(vectors, expected, rtol=tolerance, atol=tolerance)


def count_parameters(*models: Model) -> int:
    """Count the parameters of initialized models."""
    size = model_size(*models)
    return 0 if size is None else size.parameters


def predict_step(model: Model, batches: Sequence[object]) -> Step:
    """Make a step that predicts the batches in turn."""
    return lambda i: partial(model.predict, batches[i % len(batches)])


def training_step(
    model: Model, batches: Sequence[object], gradients: Sequence[Sequence[numpy.ndarray]]
) -> Step:
    """Make a step that goes forward and backward through the batches in turn.

    There is no optimizer, so the weights stay equal.
    """

    def forward_backward(batch: object, gradient: Sequence[numpy.ndarray]) -> tuple[object, object]:
        Y, backprop = model.begin_update(batch)
        return Y, backprop(gradient)

    def prepare(i: int) -> Callable[[], object]:
        n = i % len(batches)
        return partial(forward_backward, batches[n], gradients[n])

    return prepare


def random_gradients(docs: Sequence[Doc], width: int) -> list[numpy.ndarray]:
    """Draw a gradient [(len(doc), width) float32] for the vectors of a batch."""
    return [numpy.random.uniform(-1, 1, (len(doc), width)).astype("float32") for doc in docs]
