"""Progress of long work: a function gets a callable, and a command or a notebook shows a bar."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Yields the items of an iterable, and may show how many there were.

    It's called as tqdm is: `progress(docs, desc="Counting", total=9, unit=" docs")`. So give
    `tqdm.auto.tqdm` for a bar in a terminal or a notebook.
    """

    def __call__(self, iterable: Iterable[T], /, **settings: Any) -> Iterable[T]:  # noqa: ANN401
        """Yield the items. The settings are tqdm's: desc, total, unit, initial."""


def no_progress(iterable: Iterable[T], /, **settings: Any) -> Iterable[T]:  # noqa: ANN401
    """Show nothing: the default."""
    return iterable
