"""From vectors of docs to probabilities of labels."""

from functools import partial
from typing import Callable, Optional

from spacy.ml.models.textcat import resize_and_set_ref
from spacy.tokens import Doc
from thinc.api import LayerNorm, Linear, Logistic, Model, Relu, Softmax, chain, resizable
from thinc.layers.resizable import resize_linear_weighted
from thinc.types import Floats2d

from ..common.memory import check_memory

# Bias of a label that is added later, for softmax. Until it is trained, predictions of other labels
# change by a few parts in 10**9. With spaCy's -5000, it is never learnt behind hidden layers with
# normalization.
_NEW_LABEL = -20


def classify(
    layers: list[Model],
    nI: int,
    *,
    hidden: list[int],
    exclusive_classes: bool,
    nO: Optional[int],
) -> Model[list[Doc], Floats2d]:
    """Build a classifier from the layers that embed docs: hidden layers follow, and the output.

    Labels can be added later, as in spaCy's own classifiers.

    docs -> probabilities (B, nO) float32.

    layers (list[Model]): From docs to vectors (B, nI) float32.
    nI (int): Width of these vectors.
    hidden (list[int]): Widths of the hidden layers.
    exclusive_classes (bool): Whether a doc has exactly one label.
    nO (Optional[int]): Number of labels. None leaves it to the component.
    """
    width = [nI, *hidden][-1]
    output: Model[Floats2d, Floats2d] = (Softmax if exclusive_classes else Linear)(nO, width)
    filled = {"W": 0, "b": _NEW_LABEL if exclusive_classes else 0}
    resize = partial(resize_linear_weighted, fill_defaults=filled)
    resizable_output: Model = resizable(output, resize_layer=resize)
    layers = [*layers, *_hidden_layers(nI, hidden), resizable_output]
    if not exclusive_classes:
        layers.append(Logistic())
    model: Model[list[Doc], Floats2d] = chain(*layers)
    if nO is not None:
        model.set_dim("nO", nO)
    model.set_ref("output_layer", output)
    model.attrs["multi_label"] = not exclusive_classes
    model.attrs["resize_output"] = partial(resize_and_set_ref, resizable_layer=resizable_output)
    widths = [nI, *hidden, *([] if nO is None else [nO])]
    model.init = partial(_init, model.init, exclusive_classes, widths)
    return model


def _hidden_layers(nI: int, widths: list[int]) -> list[Model]:
    """Build rectified linear units, with layer normalization before the first and after each."""
    if not widths:
        return []
    sizes = zip([nI, *widths], widths, strict=False)
    relus = [Relu(nO, before, normalize=True, dropout=0.0) for before, nO in sizes]
    return [LayerNorm(nI), *relus]


def _init(
    init: Callable,
    exclusive_classes: bool,
    widths: list[int],
    model: Model,
    X: Optional[list[Doc]] = None,
    Y: Optional[Floats2d] = None,
) -> None:
    """Initialize a classifier, and check that its docs may have the labels that they have.

    Y has the labels of the first ten docs of the training corpus only, which are all that spaCy
    gives to a model.

    widths (list[int]): Widths of the vectors of docs, of the hidden layers, and of the output if
        the number of labels is given.

    Raises ValueError for a doc with several labels where classes exclude each other, and for
    weights beyond the memory.
    """
    if exclusive_classes and Y is not None and (Y.sum(axis=1) > 1).any():
        raise ValueError(
            "TextCatHashEmbed: with exclusive_classes = true each document has one label, but a "
            "document of the training data has several. Set exclusive_classes = false in the model "
            "of textcat_multilabel."
        )
    shapes = list(zip(widths[1:], widths[:-1], strict=True))
    advice = "Take a smaller width, smaller hidden layers, or a smaller nO, in the config."
    check_memory("Classifier of TextCatHashEmbed", shapes, advice)
    init(model, X, Y)
