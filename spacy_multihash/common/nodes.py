"""Nodes of models, made and found by name."""

from collections.abc import Callable
from functools import partial

from thinc.api import Model, noop

# Names that thinc and spaCy give to their own nodes. Those of ours are in their layers' files.
EXPAND_WINDOW = "expand_window"
EXTRACT_FEATURES = "extract_features"
HASH_EMBED = "hashembed"
LAYER_NORM = "layernorm"
LINEAR = "linear"
MAXOUT = "maxout"
SOFTMAX = "softmax"
STATIC_VECTORS = "static_vectors"


def find_nodes(model: Model, *names: str) -> list[Model]:
    """List the nodes of a model that have one of the names, in the order of `model.walk()`."""
    return [node for node in model.walk() if node.name in names]


def is_listener(node: Model) -> bool:
    """Tell whether a node gives the vectors of another component.

    Listeners of spaCy and of spacy-transformers name the component. Those of
    spacy-curated-transformers have an attr as a mark.
    """
    return hasattr(node, "upstream_name") or "_TRANSFORMER_LISTENER" in node.attrs


def has_layers(node: Model, *names: str) -> bool:
    """Tell whether the layers of a node have these names, in this order, and are no more."""
    return tuple(layer.name for layer in node.layers) == names


def start_anew(node: Model) -> None:
    """Take the weights and gradients of a node away, and give it a number of its own.

    What an optimizer keeps of weights goes by this number. It would not fit those of another shape.
    """
    for name in node.param_names:
        empty = node.ops.alloc1f(0)  # thinc keeps what is unset, until something takes its place
        node.set_param(name, empty)
        node.set_grad(name, empty)
        node.set_param(name, None)
    node.id = noop().id


def bound(function: Callable, *settings: object) -> Callable:
    """Fix the first arguments of a forward function, which keeps its name.

    functools.partial does the same without a name, for which thinc's data validation asks.

    function (Callable): A forward function, in a layer's file so that it can be pickled.
    settings (object): Its first arguments. Attrs would be replaced by those of loaded weights.
    """
    fixed = partial(function, *settings)
    # functools.update_wrapper would show the fixed arguments in the signature as well.
    names = ("__module__", "__name__", "__qualname__", "__doc__")
    vars(fixed).update({name: getattr(function, name) for name in names})
    return fixed


def no_backprop(name: str) -> Callable:
    """Return a callback that says why there's no backward pass."""

    def backprop(dY: object) -> object:
        raise ValueError(
            f"Layer '{name}' cannot go back from a prediction. Call begin_update, or call the "
            "model with is_train=True."
        )

    return backprop
