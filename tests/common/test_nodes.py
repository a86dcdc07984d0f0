"""Nodes of a model are found by name, layers by their order."""

import inspect
import pickle

from thinc.api import Linear, Model, Relu, chain, noop

from spacy_multihash.common.nodes import bound, find_nodes, has_layers


def test_nodes_are_found_by_name_at_any_depth_in_the_order_of_walk() -> None:
    first, second = Linear(2, 2), Linear(2, 2)
    relu: Model = Relu(2, 2)
    model = chain(first, chain(relu, second))
    assert find_nodes(model, "linear") == [first, second]
    assert find_nodes(model, "relu", "linear") == [first, relu, second]
    assert find_nodes(first, "linear") == [first]
    assert find_nodes(model, "softmax") == []


def test_node_is_found_once_where_it_is_shared() -> None:
    shared = Linear(2, 2)
    assert find_nodes(chain(shared, noop(), shared), "linear") == [shared]


def test_layers_are_compared_by_name_order_and_number() -> None:
    model = chain(Linear(2, 2), Relu(2, 2))
    assert has_layers(model, "linear", "relu")
    assert not has_layers(model, "relu", "linear")
    assert not has_layers(model, "linear")
    assert not has_layers(chain(model, Linear(2, 2)), "linear", "relu")
    assert has_layers(Linear(2, 2))


def forward(factor: int, model: object, X: int, is_train: bool) -> int:
    """Multiply."""
    return factor * X


def test_bound_function_keeps_its_name_and_can_be_pickled() -> None:
    for function in (bound(forward, 3), pickle.loads(pickle.dumps(bound(forward, 3)))):
        assert function(None, 5, is_train=False) == 15
        assert (function.__name__, function.__module__) == ("forward", __name__)
    assert list(inspect.signature(bound(forward, 3)).parameters) == ["model", "X", "is_train"]
