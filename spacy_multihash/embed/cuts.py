"""Symbols cut from the strings of a vocab: once for each string, and kept."""

import os
from array import array
from collections.abc import Sequence
from itertools import chain
from threading import Lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy

from ..common.features import Feature

# What is kept for a vocab and a set of features: the symbols of 200,000 to 400,000 strings.
MAX_BYTES = 2**26
# Bytes of a string's entry in a dict, beside those of its symbols.
ENTRY = 160
_SYMBOL = 8  # bytes


class Strings(Protocol):
    """What is asked of spaCy's StringStore."""

    def __getitem__(self, string_or_id: Any, /) -> Any:  # noqa: ANN401 (the other of the two)
        """Give the id of a string, or the string of an id."""


class Cuts:
    """The symbols of strings, as bytes of uint64, by the ids of the strings.

    Any number of threads may use it. When it is full, it starts anew. Nothing that it has given is
    changed by that.

    features (Sequence[Feature]): Features with one base. The symbols of a string are those of the
        first feature, then those of the second, and so on.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        """Start without symbols."""
        self.features = tuple(features)
        self.kept: dict[int, bytes] = {}
        self.size = 0  # bytes

    def of(self, strings: Strings, ids: numpy.ndarray) -> list[bytes]:
        """Give the symbols of strings with ids (N,) uint64, and cut those that are new."""
        keys = ids.tolist()
        found = list(map(self.kept.get, keys))
        if None not in found:
            return found  # type: ignore[return-value]
        missing = {key for key, symbols in zip(keys, found, strict=True) if symbols is None}
        texts = {key: self._text(strings, key) for key in missing}
        new = {key: self._cut(strings, text) for key, text in texts.items()}
        self._keep(new)
        return [new[key] if each is None else each for key, each in zip(keys, found, strict=True)]

    def _text(self, strings: Strings, key: int) -> str:
        try:
            return strings[key]
        except KeyError as error:
            raise ValueError(
                f"The vocab of a batch has no string for the id {key}, from which "
                f"{', '.join(feature.name for feature in self.features)} should be cut. Make all "
                "docs of one vocab, the pipeline's: nlp.make_doc(...) or Doc(nlp.vocab, ...)."
            ) from error

    def _cut(self, strings: Strings, text: str) -> bytes:
        # The store's own ids: it gives names of attributes, such as X or DET, small numbers.
        pieces = chain.from_iterable(feature.pieces(text) for feature in self.features)
        return pack([strings[piece] for piece in pieces])

    def _keep(self, new: dict[int, bytes]) -> None:
        size = sum(map(len, new.values())) + ENTRY * len(new)
        with _locks[0]:
            if self.size + size > MAX_BYTES:
                self.kept, self.size = {}, 0
            if size <= MAX_BYTES:
                known = new.keys() & self.kept.keys()  # another thread has been faster
                self.size += size - sum(len(new[key]) + ENTRY for key in known)
                self.kept.update(new)


def cuts_of(vocab: Any, features: Sequence[Feature]) -> Cuts:  # noqa: ANN401 (spaCy's Vocab)
    """Find the symbols that are kept for a vocab and features of one base.

    They are kept as long as the vocab is. A Vocab itself has no weak references, its lookups have.
    """
    key, of_vocab = tuple(features), _kept.get(vocab.lookups, {})
    if key not in of_vocab:
        with _locks[0]:
            of_vocab = _kept.setdefault(vocab.lookups, {})
            of_vocab.setdefault(key, Cuts(key))
    return of_vocab[key]


def pack(symbols: Sequence[int]) -> bytes:
    """Write ids as bytes of uint64."""
    return array("Q", symbols).tobytes()


def unpack_bags(bags: Sequence[bytes]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Read the symbols of U tokens: ids (M,) uint64, and how many each has, (U,) int32."""
    lengths = numpy.fromiter(map(len, bags), dtype="int32", count=len(bags)) // _SYMBOL
    return numpy.frombuffer(b"".join(bags), dtype="uint64"), lengths


_kept: WeakKeyDictionary[Any, dict[tuple[Feature, ...], Cuts]] = WeakKeyDictionary()
_locks = [Lock()]


def _forget_lock() -> None:
    """Make a new lock in a forked process: another thread may have held the old one."""
    _locks[0] = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
