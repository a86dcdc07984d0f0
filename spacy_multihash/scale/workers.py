"""Call a function on many items: in this process, or on the workers of Dask.

The same function and the same items give the same results wherever they run, in any order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar, cast

# How often to try an item in total.
TRIES = 3

T = TypeVar("T")
R = TypeVar("R")


class ItemError(ValueError):
    """An item failed on every try."""

    def __init__(self, name: str, reason: str) -> None:
        """Keep the last error as the reason."""
        super().__init__(name, reason)  # which is how an error is pickled
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        """Say what failed, and why."""
        return f"{self.name} failed: {self.reason}"


class Workers:
    """This process, which works on items one by one. `Cluster` has more processes.

    Functions, items and results are pickled, so functions must belong to a module, or be a
    `functools.partial` of a module's function. An item that fails is tried again twice.
    """

    def imap(
        self, function: Callable[[T], R], items: Sequence[T], *, names: Sequence[str]
    ) -> Iterator[tuple[int, R]]:
        """Yield the index of each item and its result, as they finish.

        Only a few items are started ahead of the caller.

        names (Sequence[str]): The name of each item, for error messages.

        Raises ItemError for the first failed item, and ConnectionError if the Dask scheduler is
        lost.
        """
        with closing(cast(Any, self.try_each(function, items, names=names))) as results:
            for i, result in results:
                if isinstance(result, ItemError):
                    raise result
                yield i, result

    def try_each(
        self, function: Callable[[T], Any], items: Sequence[T], *, names: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the index of each item and its result or its ItemError, as `imap` does."""
        for i, item in enumerate(items):
            for _ in range(TRIES):
                try:
                    result = function(item)
                    break
                except Exception as error:
                    result = ItemError(names[i], described(error))
            yield i, result


def described(error: Exception) -> str:
    """Return an error as text."""
    return f"{type(error).__name__}: {error}"


def fold(results: Iterable[R], merge: Callable[[R, R], R]) -> R:
    """Merge results as they arrive. The order must not matter.

    Results of equal size are merged, like the bits of a counter: each is merged few times, and the
    number of results in memory is logarithmic.
    """
    stack: list[tuple[int, R]] = []
    for result in results:
        size = 1
        while stack and stack[-1][0] == size:
            result = merge(stack.pop()[1], result)
            size *= 2
        stack.append((size, result))
    _, merged = stack.pop()
    while stack:
        merged = merge(stack.pop()[1], merged)
    return merged
