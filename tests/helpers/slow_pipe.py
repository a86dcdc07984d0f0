"""A component that takes its time, for pipelines that are stopped in the middle."""

import time

from spacy.language import Language
from spacy.tokens import Doc


@Language.component("slow_for_tests")
def slow_for_tests(doc: Doc) -> Doc:
    """Take a while for a doc."""
    time.sleep(0.04)
    return doc
