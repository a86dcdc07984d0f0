"""A plugin of pytest that puts our layers and components in the place of spaCy's, for its tests.

`python -m pytest -p tests.helpers.our_parts --pyargs spacy.tests.X` runs some of them. Both the
registered names and the functions of the same names in `spacy.ml.models` build our layers, and so
does `spacy.HashEmbedCNN.v2`, which calls these functions. The factories ner, beam_ner, parser and
beam_parser, and the names of their classes in `spacy.pipeline`, build our components.
"""

from collections import Counter
from typing import Any

import pytest
import spacy.ml.models
import spacy.pipeline
from spacy.ml.models import tok2vec
from spacy.pipeline import dep_parser, factories, ner
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from spacy_multihash import BatchDependencyParser, BatchEntityRecognizer
from spacy_multihash.compute.hashing import spacy_seeds
from spacy_multihash.embed.architectures import build_multi_hash_embed_v1
from spacy_multihash.embed.features import Attrs
from spacy_multihash.encode.architectures import build_maxout_window_encoder_v1

# The tests that must fail with our parts, and why.
EXCEPTIONS = {
    "test_models.py::test_multi_hash_embed": "it looks for nodes with the names of spaCy's layers"
}
COMPONENTS = {
    "recognizers": ("EntityRecognizer", BatchEntityRecognizer, ner),
    "parsers": ("DependencyParser", BatchDependencyParser, dep_parser),
}
COUNTS: Counter[str] = Counter()


def MultiHashEmbed(  # noqa: N802 (spaCy's name)
    width: int, attrs: Attrs, rows: list[int], include_static_vectors: bool
) -> Model[list[Doc], list[Floats2d]]:
    COUNTS["MultiHashEmbed built"] += 1
    seeds = spacy_seeds(len(attrs))
    return build_multi_hash_embed_v1(width, attrs, rows, include_static_vectors, 4, seeds, True)


def MaxoutWindowEncoder(  # noqa: N802 (spaCy's name)
    width: int, window_size: int, maxout_pieces: int, depth: int
) -> Model[list[Floats2d], list[Floats2d]]:
    COUNTS["MaxoutWindowEncoder built"] += 1
    return build_maxout_window_encoder_v1(width, window_size, maxout_pieces, depth)


def count(component: Any, name: str, what: str) -> None:
    """Count the calls of a method of a component of ours."""
    method = getattr(component, name)

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        COUNTS[what] += 1
        return method(self, *args, **kwargs)

    setattr(component, name, counted)


def pytest_configure() -> None:
    registry.ensure_populated()
    for what, (name, component, module) in COMPONENTS.items():
        count(component, "__init__", f"{what} built")
        count(component, "predict", f"predictions_of_{what}")
        for each in (spacy.pipeline, module, factories):
            setattr(each, name, component)
    for function in (MultiHashEmbed, MaxoutWindowEncoder):
        name = function.__name__
        registry.architectures.register(f"spacy.{name}.v2", func=function)
        for module in (spacy.ml.models, tok2vec):
            setattr(module, name, function)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := EXCEPTIONS.get(f"{item.path.name}::{item.name}"):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
            COUNTS["exceptions"] += 1


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    for what, number in COUNTS.items():
        terminalreporter.write_line(f"{number} {what}")
