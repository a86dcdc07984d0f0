"""A stand-in for a Doc: columns of ids, by attribute."""

from types import SimpleNamespace
from typing import Any, Union

import numpy


class FakeDoc:
    """A doc of which only some attributes are known.

    key_attr: The attribute by which its vocab's vectors are looked up.
    """

    def __init__(self, columns: dict[int, Any], key_attr: int | None = None) -> None:
        self.columns = {attr: numpy.array(ids, dtype="uint64") for attr, ids in columns.items()}
        self.vocab: Any = SimpleNamespace(vectors=SimpleNamespace(attr=key_attr))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def to_array(self, attrs: Union[int, list[int]], /) -> numpy.ndarray:
        """Return a column, or several side by side, as spaCy does."""
        attrs = [attrs] if isinstance(attrs, int) else attrs
        ids = numpy.stack([self.columns[attr] for attr in attrs], axis=1)
        return ids if len(attrs) > 1 else ids.ravel()
