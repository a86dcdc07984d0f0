"""Components that tell what becomes of them on workers, whose processes import this as --code."""

import time

from spacy.language import Language
from spacy.tokens import Doc


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


@Language.component("slow_for_tests")
def slow_down(doc: Doc) -> Doc:
    """Take a while for a doc."""
    time.sleep(0.04)
    return doc
