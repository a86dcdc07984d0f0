"""The one worker that needs no cluster: this process."""

from collections.abc import Callable, Iterator, Sequence
from typing import Optional, TypeVar

from .base import TRIES, ItemError, Workers
from .tree import fold

HERE = "this process"

T = TypeVar("T")
R = TypeVar("R")


class Here(Workers):
    """This process, which does one item after the other."""

    @property
    def count(self) -> int:
        """The number of workers: 1."""
        return 1

    def _map(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        names: Sequence[str],
        on_error: Optional[Callable[[ItemError], None]],
    ) -> Iterator[tuple[int, R]]:
        for i, (item, name) in enumerate(zip(items, names, strict=True)):
            try:
                result = _try(function, item, name)
            except ItemError as error:
                if on_error is None:
                    raise
                on_error(error)
            else:
                yield i, result

    def _merge(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        merge: Callable[[R, R], R],
        names: Sequence[str],
        on_done: Callable[[int], object],
    ) -> R:
        return fold(_told(self._map(function, items, names, None), on_done), merge)


def _told(done: Iterator[tuple[int, R]], on_done: Callable[[int], object]) -> Iterator[R]:
    """Yield results, and tell of each."""
    for _, result in done:
        on_done(1)
        yield result


def _try(function: Callable[[T], R], item: T, name: str) -> R:
    for tries in range(1, TRIES + 1):
        try:
            return function(item)
        except Exception as error:
            if tries == TRIES:
                raise ItemError(name, HERE, error) from error
    raise AssertionError("TRIES is 1 or more")
