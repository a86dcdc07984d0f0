"""Nodes of a model are found by name, layers by their order."""

import inspect
import pickle

from spacy_multihash.common.nodes import bound


def forward(factor: int, model: object, X: int, is_train: bool) -> int:
    """Multiply."""
    return factor * X


def test_bound_function_keeps_its_name_and_can_be_pickled() -> None:
    for function in (bound(forward, 3), pickle.loads(pickle.dumps(bound(forward, 3)))):
        assert function(None, 5, is_train=False) == 15
        assert (function.__name__, function.__module__) == ("forward", __name__)
    assert list(inspect.signature(bound(forward, 3)).parameters) == ["model", "X", "is_train"]
