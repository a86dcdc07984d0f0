"""Keep the contexts of docs in a pipeline, even if a component returns other docs."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Optional, TypeVar

from spacy.language import Language
from spacy.tokens import Doc

ContextT = TypeVar("ContextT")


def pipe_with_contexts(
    nlp: Language,
    pairs: Iterable[tuple[Doc, ContextT]],
    where: str,
    batch_size: Optional[int] = None,
) -> Iterator[tuple[Doc, ContextT]]:
    """Annotate docs, and pass their contexts along, even if a component replaces a doc.

    spaCy returns new docs without context. They get the context of the doc they replace.

    where (str): The start of the message.

    Raises ValueError in the end if docs were also left out, since it's unknown which.
    """
    contexts = deque[ContextT]()

    def remembered() -> Iterator[tuple[Doc, ContextT]]:
        for doc, context in pairs:
            contexts.append(context)
            yield doc, context

    is_other = False
    for doc, context in nlp.pipe(remembered(), as_tuples=True, batch_size=batch_size):
        own = contexts.popleft()
        is_other |= context is None
        yield doc, own if context is None else context
    if is_other and contexts:
        raise ValueError(
            f"{where}: a component of the pipeline returned another doc than it was given, and "
            f"left out {len(contexts)}, so nobody knows which doc each of them came from. "
            "Correct the component that failed."
        )
