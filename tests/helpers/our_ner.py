"""A plugin of pytest: batch_ner in the place of ner, for a run of spaCy's own tests.

`python -m pytest -p tests.helpers.our_ner --pyargs spacy.tests.X` runs some of them. The factories
ner and beam_ner, and the name `spacy.pipeline.EntityRecognizer`, build our component.
"""

from collections import Counter
from typing import Any

import pytest
import spacy.pipeline
from spacy.pipeline import factories, ner
from spacy.util import registry

from spacy_multihash import BatchEntityRecognizer

NAME = "EntityRecognizer"
COUNTS: Counter[str] = Counter()


def count(name: str, what: str) -> None:
    """Count the calls of a method."""
    method = getattr(BatchEntityRecognizer, name)

    def counted(self: BatchEntityRecognizer, *args: Any, **kwargs: Any) -> Any:
        COUNTS[what] += 1
        return method(self, *args, **kwargs)

    setattr(BatchEntityRecognizer, name, counted)


def pytest_configure() -> None:
    registry.ensure_populated()
    count("__init__", "built")
    count("predict", "predictions")
    for module in (spacy.pipeline, ner, factories):
        setattr(module, NAME, BatchEntityRecognizer)


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    for what, number in COUNTS.items():
        terminalreporter.write_line(f"{number} {what}")
