"""Keep the contexts of docs in a pipeline, even if a component returns other docs."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Optional, TypeVar

DocT = TypeVar("DocT")
ContextT = TypeVar("ContextT")


def remembered(
    pairs: Iterable[tuple[DocT, ContextT]], contexts: deque[ContextT]
) -> Iterator[tuple[DocT, ContextT]]:
    """Pass docs along with their contexts, and keep the contexts in a queue."""
    for doc, context in pairs:
        contexts.append(context)
        yield doc, context


def with_contexts(
    pairs: Iterable[tuple[DocT, Optional[ContextT]]], contexts: deque[ContextT], where: str
) -> Iterator[tuple[DocT, ContextT]]:
    """Pass docs along with their contexts, even if a component replaced a doc.

    spaCy returns new docs without context. They get the context of the doc they replace.

    pairs (Iterable): What `nlp.pipe(..., as_tuples=True)` yields.
    contexts (deque): What `remembered` kept.
    where (str): The start of the message.

    Raises ValueError in the end if docs were also left out, since it's unknown which.
    """
    is_other = False
    for doc, context in pairs:
        own = contexts.popleft()
        is_other |= context is None
        yield doc, own if context is None else context
    if is_other and contexts:
        raise ValueError(
            f"{where}: a component of the pipeline returned another doc than it was given, and "
            f"left out {len(contexts)}, so nobody knows which doc each of them came from. "
            "Correct the component that failed."
        )
