"""Call a function on many items: in this process, or on the workers of Dask.

The same function and the same items give the same results wherever they run, in any order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar, Union

# How often to try an item in total.
TRIES = 3

T = TypeVar("T")
R = TypeVar("R")
# The index of each item, whether it succeeded, and its result or error message.
Outcomes = Generator[tuple[int, bool, Any], None, None]


class ItemError(ValueError):
    """An item failed on every try: its name, and the last error."""

    def __init__(self, name: str, reason: str) -> None:
        """Keep the name and the reason."""
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        """Name the item and the reason."""
        return f"{self.name} failed: {self.reason}"


class Workers(ABC):
    """Processes that work on one item at a time each.

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
        for i, result in self.try_each(function, items, names=names):
            if isinstance(result, ItemError):
                raise result
            yield i, result

    def try_each(
        self, function: Callable[[T], R], items: Sequence[T], *, names: Sequence[str]
    ) -> Iterator[tuple[int, Union[R, ItemError]]]:
        """Yield the index of each item and its result or its error, as `imap` does."""
        with closing(self._run(function, items)) as outcomes:
            for i, succeeded, result in outcomes:
                yield i, result if succeeded else ItemError(names[i], result)

    @abstractmethod
    def _run(self, function: Callable[[T], R], items: Sequence[T]) -> Outcomes:
        """Call a function on items."""


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


def attempt(function: Callable[[T], R], item: T) -> tuple[bool, Any]:
    """Call a function, and return whether it succeeded, and its result or error message."""
    try:
        return True, function(item)
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


class Here(Workers):
    """This process, which works on items one by one."""

    def _run(self, function: Callable[[T], R], items: Sequence[T]) -> Outcomes:
        for i, item in enumerate(items):
            for _ in range(TRIES):
                succeeded, result = attempt(function, item)
                if succeeded:
                    break
            yield i, succeeded, result
