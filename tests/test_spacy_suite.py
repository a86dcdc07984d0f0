"""Tests that ship with spaCy pass with our layers in the place of its own."""

from pathlib import Path

from tests.helpers.our_layers import EXCEPTIONS
from tests.helpers.spacy_suite import needs_tests, run_spacys_tests

# Those that build, train and save models, and take a minute or so in all on one core.
OF_LAYERS = [
    "test_models",
    "pipeline.test_annotates_on_update",
    "pipeline.test_initialize",
    "pipeline.test_models",
    "pipeline.test_morphologizer",
    "pipeline.test_senter",
    "pipeline.test_span_finder",
    "pipeline.test_spancat",
    "pipeline.test_tagger",
    "pipeline.test_textcat",
    "training.test_pretraining",
]


@needs_tests
def test_spacys_own_tests_pass_with_our_layers(tmp_path: Path) -> None:
    numbers = run_spacys_tests(["our_layers"], OF_LAYERS, tmp_path)
    assert numbers["passed"] > 150
    assert numbers["MultiHashEmbed"] > 100
    assert numbers["MaxoutWindowEncoder"] > 150
    assert numbers["exceptions"] == len(EXCEPTIONS)
