"""The layers of a component's model, by name, for settings that differ from layer to layer.

    output     whatever is outside of embed and encode, such as the layers of the component itself
    encode2    the last layer of the encoder
    encode1    the first one
    embed      the embedding

A model without the parts "embed" and "encode" has layer1, layer2 and so on, from its input on.
"""

from typing import Optional

from thinc.api import Model

from ..common.nodes import LINEAR, find_nodes, is_residual
from ..encode.iterated_dilated_encoder import NAME as DILATED

EMBED, ENCODE = "embed", "encode"
OUTPUT = "output"
LAYER = "layer"

Nodes = list[Model]


def layers_of(model: Model) -> dict[str, Nodes]:
    """Name the layers of a model, from its output to its input, with the nodes of each.

    Nodes without parameters belong to no layer, and a node belongs to one layer at most.

    model (Model): The model of a component.
    """
    tok2vec = _find_tok2vec(model)
    if tok2vec is None:
        layers = _number(LAYER, _parts_of(model))
    else:
        embed, encode = tok2vec.get_ref(EMBED), tok2vec.get_ref(ENCODE)
        layers = {EMBED: _nodes(embed), **_number(ENCODE, _parts_of(encode))}
    taken = {node.id for nodes in layers.values() for node in nodes}
    layers[OUTPUT] = [node for node in _nodes(model) if node.id not in taken]
    return {name: layers[name] for name in reversed(layers) if layers[name]}


def _find_tok2vec(model: Model) -> Optional[Model]:
    nodes = (node for node in model.walk() if node.has_ref(EMBED) and node.has_ref(ENCODE))
    return next(nodes, None)


def _nodes(model: Model) -> Nodes:
    """List the nodes of a model that have parameters, their own or those of another library."""
    return [node for node in model.walk() if node.param_names or node.shims]


def _number(name: str, parts: list[Nodes]) -> dict[str, Nodes]:
    return {f"{name}{number}": nodes for number, nodes in enumerate(parts, 1)}


def _parts_of(model: Model) -> list[Nodes]:
    """Return the nodes of each part of a model, from its input to its output."""
    while len(model.layers) == 1 and not is_residual(model):
        model = model.layers[0]
    if model.name == DILATED:
        # The convolutions come first, and then the normalization of each of them, if there is any.
        size = len(find_nodes(model, LINEAR))
        return [model.layers[start::size] for start in range(size)]
    layers = [model] if is_residual(model) or not model.layers else model.layers
    return [nodes for nodes in map(_nodes, layers) if nodes]
