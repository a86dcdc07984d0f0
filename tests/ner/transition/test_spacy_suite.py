"""Tests that ship with spaCy pass with batch_ner, which has our layers, in the place of ner."""

from pathlib import Path

from tests.helpers.spacy_suite import needs_tests, run_spacys_tests

OF_NER = [
    "doc.test_add_entities",
    "parser.test_add_label",
    "parser.test_ner",
    "parser.test_nn_beam",
    "pipeline.test_tok2vec",
    "serialize.test_serialize_pipeline",
    "training.test_rehearse",
]


@needs_tests
def test_spacys_own_tests_pass_with_batch_ner(tmp_path: Path) -> None:
    numbers = run_spacys_tests(["our_layers", "our_ner"], OF_NER, tmp_path)
    assert numbers["passed"] > 80
    assert numbers["built"] > 60
    assert numbers["predictions"] > 40
    assert numbers["MultiHashEmbed"] > 80
    assert numbers["MaxoutWindowEncoder"] > 90
