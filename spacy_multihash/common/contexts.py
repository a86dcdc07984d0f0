"""What belongs to docs that go through a pipeline, of which a component may return others."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Optional, TypeVar

DocT = TypeVar("DocT")
ContextT = TypeVar("ContextT")


def remembered(
    pairs: Iterable[tuple[DocT, ContextT]], contexts: deque[ContextT]
) -> Iterator[tuple[DocT, ContextT]]:
    """Pass docs along with what belongs to them, and keep what does in a queue."""
    for doc, context in pairs:
        contexts.append(context)
        yield doc, context


def with_contexts(
    pairs: Iterable[tuple[DocT, Optional[ContextT]]], contexts: deque[ContextT], where: str
) -> Iterator[tuple[DocT, ContextT]]:
    """Pass docs along with what belongs to them, also those that a component made.

    spaCy gives back such a doc without its context. It is then that of the doc in its place.

    pairs (Iterable): What `nlp.pipe(..., as_tuples=True)` yields.
    contexts (deque): What `remembered` kept.
    where (str): What is read or asked, for the message.

    Raises ValueError in the end if docs were left out as well, since nothing tells which ones.
    """
    is_other = False
    for doc, context in pairs:
        own = contexts.popleft()
        is_other |= context is None
        yield doc, own if context is None else context
    if is_other and contexts:
        raise ValueError(
            f"{where}: a component of the pipeline returned another doc than it was given, and "
            f"left out were {len(contexts)}, so that it is unknown which doc each one came from. "
            "Mend the component that failed at them."
        )
