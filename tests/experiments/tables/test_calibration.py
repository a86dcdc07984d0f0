"""The table of how true probabilities are."""

from experiments.tables.calibration import render_calibration
from spacy_multihash.ner.calibration import Bin, Calibration, Quality

BEFORE, AFTER = Quality(1200, 0.25, 0.5, 1.5), Quality(1200, 0.25, 0.125, 0.5)


def test_numbers_are_those_of_each_split_and_of_labels_on_test() -> None:
    bins = [Bin(0.5, 0.25, 1200)]
    dev = Calibration("ner", 1.0, 2.345, BEFORE, AFTER, {}, bins, bins)
    labels = {"PER": (Quality(7, 1.0, 0.1, 0.2), Quality(7, 1.0, 0.05, 0.1))}
    test = Calibration("ner", 1.0, 2.345, AFTER, BEFORE, labels, bins, bins)
    lines = render_calibration({"conll-es-batch_ner": {"dev": dev, "test": test}}).splitlines()
    for line in (
        "| conll-es | batch_ner | dev | 2.35 | 1,200 | 25.0 | 50.0 | 12.5 | 1.500 | 0.500 |",
        "| conll-es | batch_ner | test | 2.35 | 1,200 | 25.0 | 12.5 | 50.0 | 0.500 | 1.500 |",
        "| conll-es | batch_ner | PER | 7 | 100.0 | 10.0 | 5.0 | 0.200 | 0.100 |",
    ):
        assert line in lines


def test_table_of_nothing_has_its_header() -> None:
    assert render_calibration({}).startswith("| data set | model | split |")
