import inspect
import pickle

from spacy_multihash.common.bound import bound


def forward(factor: int, model: object, X: int, is_train: bool) -> int:
    """Multiply."""
    return factor * X


def test_bound_function_is_called_with_what_was_bound() -> None:
    assert bound(forward, 3)(None, 5, is_train=False) == 15


def test_bound_function_has_the_name_of_the_function() -> None:
    function = bound(forward, 3)
    assert function.__name__ == "forward"
    assert function.__doc__ == "Multiply."
    assert function.__module__ == __name__


def test_bound_arguments_are_no_parameters() -> None:
    assert list(inspect.signature(bound(forward, 3)).parameters) == ["model", "X", "is_train"]


def test_bound_function_can_be_pickled() -> None:
    function = pickle.loads(pickle.dumps(bound(forward, 3)))
    assert function(None, 5, True) == 15
    assert function.__name__ == "forward"
