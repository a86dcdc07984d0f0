"""More tags for a model that is trained: room for new labels, with all that it has learned."""

from typing import Any, Optional

import numpy
from thinc.api import Linear, Model, Ops

from ...common.nodes import start_anew
from ...common.types import Array, TokenTagger
from ..biluo import columns_after_adding


def resize_output(model: TokenTagger, new_nO: int) -> TokenTagger:
    """Append labels to those of a token_tagger, and keep what it has learned of the others.

    The weights of the new tags are 0, and so are the scores of transitions from and to them. A
    model that is not initialized gets the number of tags alone.

    new_nO (int): The number of tags, 4 * C + 1 for C labels. It is at least that of the model.

    Raises ValueError if there are fewer tags than the model has.
    """
    output = model.get_ref("output_layer")
    if not output.has_param("W"):
        output.set_dim("nO", new_nO, force=True)
        model.set_dim("nO", new_nO, force=True)
        return model
    nO = output.get_dim("nO")
    if new_nO < nO:
        raise ValueError(
            f"Layer 'token_tagger': expected at least the {nO} tags that the model has, was: "
            f"{new_nO}. Labels can be added, but not taken away. Train a new component for fewer."
        )
    if new_nO > nO:
        places = columns_after_adding(nO, new_nO)
        larger = _resize_linear(output, places, new_nO)
        model.layers[model.layers.index(output)] = larger
        model.set_ref("output_layer", larger)
        _resize_transitions(model, places, new_nO)
    return model


def _resize_linear(output: Model, places: numpy.ndarray, new_nO: int) -> Model:
    """Return a new layer, for which an optimizer has no moments of another shape."""
    nI = output.get_dim("nI")
    larger: Model = Linear(new_nO, nI)
    larger.name, larger.ops, larger.init = output.name, output.ops, output.init
    for name, shape in (("W", (new_nO, nI)), ("b", (new_nO,))):
        larger.set_param(name, _widen(output.ops, output.get_param(name), shape, places))
        if output.has_grad(name):
            larger.set_grad(name, _widen(output.ops, output.get_grad(name), shape, places))
    return larger


def _widen(ops: Ops, values: Array, shape: tuple[int, ...], places: Any) -> Array:  # noqa: ANN401
    wide: Array = ops.alloc(shape)
    wide[places] = values
    return wide


def _resize_transitions(model: TokenTagger, places: numpy.ndarray, new_nO: int) -> None:
    if not model.has_param("transitions"):
        model.set_dim("nO", new_nO, force=True)
        return
    pairs, shape = (places[:, None], places), (new_nO, new_nO)
    transitions = _widen(model.ops, model.get_param("transitions"), shape, pairs)
    gradient: Optional[Array] = None
    if model.has_grad("transitions"):
        gradient = _widen(model.ops, model.get_grad("transitions"), shape, pairs)
    start_anew(model)  # otherwise nO cannot change
    model.set_dim("nO", new_nO, force=True)
    model.set_param("transitions", transitions)
    if gradient is not None:
        model.set_grad("transitions", gradient)
