"""Progress that Ctrl-C interrupts."""

from collections.abc import Iterable, Iterator
from typing import Any


class Interrupted:
    """Progress of training that's interrupted at a step, and keeps what it was told."""

    def __init__(self, step: int) -> None:
        self.step, self.told = step, list[str]()
        self.items: Iterable[Any] = ()
        self.total = None

    def __call__(self, iterable: Iterable[Any], /, **settings: Any) -> Any:
        if settings["desc"] != "Training":
            return iterable
        self.items, self.total = iterable, settings["total"]
        return self

    def __iter__(self) -> Iterator[Any]:
        for i, item in enumerate(self.items):
            if i == self.step:
                raise KeyboardInterrupt
            yield item

    def set_postfix_str(self, text: str) -> None:
        self.told.append(text)
