"""What workers do, wherever they are, and the error for an item that none of them could do."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Optional, TypeVar

# How often an item is done in all, if it fails.
TRIES = 3

T = TypeVar("T")
R = TypeVar("R")


class ItemError(RuntimeError):
    """An item that failed as often as it may.

    name: The name of the item.
    worker: Where it failed last: "this process", or the address of a worker.
    cause: What it raised there.
    """

    def __init__(self, name: str, worker: str, cause: BaseException) -> None:
        """Write the message; the arguments are the attributes."""
        super().__init__(name, worker, cause)
        self.name, self.worker, self.cause = name, worker, cause

    def __str__(self) -> str:
        """Name the item, the worker and the cause."""
        where = f"in {self.worker}" if "://" not in self.worker else f"on worker {self.worker}"
        return f"{self.name} failed {where}: {type(self.cause).__name__}: {self.cause}"


class Workers(ABC):
    """Processes that each do one item at a time, in one thread.

    Functions, items and results travel between processes. So functions are those of modules, or
    `functools.partial` of them. An item that raises is done again twice, on another worker where
    there is one.
    """

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of workers at this moment."""

    def imap(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        *,
        names: Sequence[str],
        on_error: Optional[Callable[[ItemError], None]] = None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the number of each item and its result, as they are done.

        Few items are under way at a time, and no more are begun than are taken.

        function (Callable): What to do with an item.
        items (Sequence): The items.
        names (Sequence[str]): The name of each item, for messages.
        on_error (Optional[Callable]): Is given the error of each item that failed as often as it
            may, and the others go on. What it raises ends the work.

        Raises ItemError for the first item that failed as often as it may, without on_error.
        Raises ConnectionError if the scheduler is lost, or if the workers do nothing any more, as
        their memory is full. Raises ValueError if there is not a name for each item.
        """
        _check_names(items, names)
        return self._map(function, items, names, on_error)

    def merge_tree(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        merge: Callable[[R, R], R],
        *,
        names: Sequence[str],
        on_done: Optional[Callable[[int], object]] = None,
    ) -> R:
        """Return the results of all items, merged two by two.

        Which results are merged with which depends on the number of items alone. So the merged
        result is the same, to the last bit, in this process and on any number of workers. A worker
        holds at most a few results, the logarithm of their number, and only the last one comes to
        this process.

        function (Callable): What to do with an item.
        items (Sequence): One or more items.
        merge (Callable): Merges the result of earlier items with that of later ones. It returns a
            new result, and changes neither of the two: where a worker is lost, both may be used
            again.
        names (Sequence[str]): The name of each item, for messages.
        on_done (Optional[Callable]): Is given a number of items as often as so many are done.

        Raises what `imap` raises without on_error, and ValueError if there is no item.
        """
        _check_names(items, names)
        if not items:
            raise ValueError("merge_tree: expected one or more items, was given none.")
        return self._merge(function, items, merge, names, on_done or _ignore)

    @abstractmethod
    def _map(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        names: Sequence[str],
        on_error: Optional[Callable[[ItemError], None]],
    ) -> Iterator[tuple[int, R]]:
        """Do what `imap` does with items that have names."""

    @abstractmethod
    def _merge(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        merge: Callable[[R, R], R],
        names: Sequence[str],
        on_done: Callable[[int], object],
    ) -> R:
        """Do what `merge_tree` does with one or more items that have names."""


def _ignore(number: int) -> None:
    """Take the number of items that are done, for nobody."""


def _check_names(items: Sequence[object], names: Sequence[str]) -> None:
    """Raise ValueError if there is not a name for each item."""
    if len(items) != len(names):
        raise ValueError(
            f"names must be a list of length {len(items)}, a name for each item, was one of length "
            f"{len(names)}. Name each item."
        )
