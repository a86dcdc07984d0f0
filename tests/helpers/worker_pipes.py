"""Components that tell what becomes of them on workers, whose processes import this as --code."""

import os
from collections.abc import Callable
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc


@Language.factory("notes_process_for_tests")
def make_noting(nlp: Language, name: str, notes: str) -> Callable[[Doc], Doc]:
    """Write the number of the process that loads it to a file, and do nothing else."""
    with Path(notes).open("a") as file_:
        file_.write(f"{os.getpid()}\n")
    return _return


def _return(doc: Doc) -> Doc:
    return doc


@Language.component("strips_spaces_for_tests")
def strip_spaces(doc: Doc) -> Doc:
    """Return another doc, as components may, without tokens of whitespace."""
    kept = [token for token in doc if not token.is_space]
    spaces = [bool(token.whitespace_) for token in kept]
    return Doc(doc.vocab, words=[token.text for token in kept], spaces=spaces)


@Language.component("fails_at_bob_for_tests")
def fail_at_bob(doc: Doc) -> Doc:
    """Fail at texts with Bob."""
    if "Bob" in doc.text:
        raise ValueError("no")
    return doc
