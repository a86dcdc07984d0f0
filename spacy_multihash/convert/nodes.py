"""Nodes of a model that are built alike, and nodes that replace others."""

from typing import Any, Optional

from thinc.api import Model

# Attrs that do not decide what a layer predicts. spaCy sets the dropout rate for each update. From
# the receptive field, Tok2Vec.v1 sets `pad`, which is compared.
_UNCOMPARED = ("dropout_rate", "receptive_field")

# Old nodes, each with the new node that replaces it.
Swaps = list[tuple[Model, Model]]


def swap_nodes(model: Model, swaps: Swaps) -> Model:
    """Replace old nodes by new ones, in layers and in references; return the root.

    thinc's own replace_node raises an error for a node with a reference that is not set.
    """
    new_of = {id(old): new for old, new in swaps}
    for node in list(model.walk()):
        node.layers[:] = [new_of.get(id(layer), layer) for layer in node.layers]
    # Tok2Vec.v1 refers to the layer inside the encoder's with_array.
    new_of.update({id(old.layers[0]): new for old, new in swaps if _is_wrapper(old)})
    root = new_of.get(id(model), model)
    for node in root.walk():
        for name in node.ref_names:
            ref = node.maybe_get_ref(name)
            if id(ref) in new_of:
                node.set_ref(name, new_of[id(ref)])
    return root


def is_built_like(reference: Model, node: Model) -> bool:
    """Tell whether a node computes the same function as a new layer, apart from the weights.

    Names say too little, and they may change. So nodes are compared by their functions, sizes and
    settings, and then their layers in the same way.
    """
    return (
        node._func is reference._func  # thinc has no public name for it
        and node.param_names == reference.param_names
        and not node.shims
        and _has_dims(reference, node)
        and _settings(node) == _settings(reference)
        and len(node.layers) == len(reference.layers)
        and all(map(is_built_like, reference.layers, node.layers))
    )


def ref_hindrance(model: Model, swaps: Swaps) -> Optional[str]:
    """Say which reference of another node hinders a replacement; None if there is none."""
    replaced = [old for old, _ in swaps]
    inside = {id(node) for old in replaced for node in old.walk() if node is not old}
    inside -= {id(old.layers[0]) for old in replaced if _is_wrapper(old)}
    for node in model.walk():
        for name in node.ref_names:
            ref = node.maybe_get_ref(name)
            if id(ref) in inside:
                return f"the layer '{node.name}' refers to a part of it, as '{name}'"
            # set_ref takes only nodes below the layer, but a layer can be built with any.
            if ref in replaced and ref not in node.walk():
                return f"the layer '{node.name}', which is not above it, refers to it as '{name}'"
    return None


def layout_of(model: Model) -> list[tuple[Any, ...]]:
    """Describe what must be the same for a model to load the weights of another."""
    nodes = list(model.walk())
    index = {id(node): i for i, node in enumerate(nodes)}
    return [
        (
            [index[id(layer)] for layer in node.layers],
            {name: index.get(id(node.maybe_get_ref(name))) for name in node.ref_names},
            node.param_names,
            len(node.shims),
        )
        for node in nodes
    ]


def _has_dims(reference: Model, node: Model) -> bool:
    return node.dim_names == reference.dim_names and all(
        not reference.has_dim(dim) or node.maybe_get_dim(dim) == reference.get_dim(dim)
        for dim in reference.dim_names
    )


def _settings(node: Model) -> dict[str, Any]:
    return {key: value for key, value in node.attrs.items() if key not in _UNCOMPARED}


def _is_wrapper(node: Model) -> bool:
    return len(node.layers) == 1 and "pad" in node.attrs
