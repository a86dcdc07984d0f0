"""Rows for new symbols in tables with ARD, whose noise and counts get rows as well."""

from functools import cache
from pathlib import Path

import numpy
import pytest
import spacy
from numpy.testing import assert_array_equal
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model, to_numpy

from spacy_multihash.embed.ard_table_embed import ArdTableEmbed
from spacy_multihash.tables.extend import extend_tables
from spacy_multihash.tables.prune import Pruning
from spacy_multihash.vectors.kernel_pca import SpellingSettings
from tests.helpers.lookup_ner import reload, tables_of, trained_lookup

NEW = ["annas", "bobs", "osloan"]
TEXT = "annas met bobs in oslo ."


@cache
def _trained() -> Language:
    return trained_lookup(0.1)


@pytest.fixture
def nlp() -> Language:
    return reload(_trained())


def extend(nlp: Language) -> None:
    settings = SpellingSettings(rank=5)
    extend_tables(nlp, NEW, attr="LOWER", source="spelling", settings=settings)


def params(weights: Model) -> dict[str, numpy.ndarray]:
    return {name: to_numpy(weights.get_param(name)) for name in ("E", "log_sigma")}


def test_noise_and_counts_of_new_rows_are_those_of_symbols_never_met(nlp: Language) -> None:
    weights = tables_of(nlp)["LOWER"][1]
    before, counts = params(weights), weights.attrs["counts"].copy()
    extend(nlp)
    after = params(weights)
    assert weights.get_dim("nV") == 16
    for name, rows in before.items():
        assert after[name].shape == (16, 8)
        assert_array_equal(after[name][:13], rows)
    fresh = ArdTableEmbed(8, 3)
    fresh.attrs["counts"] = numpy.ones(3, dtype="float32")
    fresh.initialize()
    assert_array_equal(after["log_sigma"][13:], fresh.get_param("log_sigma"))
    assert_array_equal(weights.attrs["counts"], [*counts, *[numpy.inf] * 3])
    assert weights.attrs["counts"].dtype == "float32"


def test_extended_pipeline_is_saved_trained_further_and_pruned(
    nlp: Language, tmp_path: Path
) -> None:
    extend(nlp)
    expected = [(ent.text, ent.label_) for ent in nlp(TEXT).ents]
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert [(ent.text, ent.label_) for ent in loaded(TEXT).ents] == expected
    weights = [tables_of(each)["LOWER"][1] for each in (nlp, loaded)]
    for name, rows in params(weights[0]).items():
        assert_array_equal(params(weights[1])[name], rows)
    assert_array_equal(weights[1].attrs["counts"], weights[0].attrs["counts"])
    losses: dict[str, float] = {}
    doc = loaded.make_doc(TEXT)
    examples = [Example.from_dict(doc, {"entities": [(0, 5, "PERSON")]})]
    loaded.update(examples, sgd=loaded.resume_training(), losses=losses)
    assert numpy.isfinite(losses["tagger_ner"])
    pruning = Pruning(loaded)
    tables = pruning.prune(pruning.threshold_of(0.5))
    assert tables[0].rows == 16
    assert tables[0].rows_after < 16
    assert len(weights[1].attrs["counts"]) == tables[0].rows_after
    loaded(TEXT)
