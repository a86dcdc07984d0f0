"""The arms of static vectors: each differs from the base in what it is named for alone."""

import pytest
import spacy
from thinc.api import Config

from experiments.arms.configs import make_config
from experiments.arms.recipe import BASE, RECIPE
from experiments.arms.vectors import (
    LAYERS,
    MERGES,
    MODES,
    OTHER,
    OWN,
    PRETRAINING,
    TRANSFORMS,
    VECTOR_ARMS,
    WORD2VEC,
)
from experiments.runs.after import CHANGES, NOISE_LEVELS
from experiments.runs.make_vectors import made_names
from experiments.runs.vector_files import VECTOR_SETS
from spacy_multihash.convert.model_layers import layers_of
from tests.helpers.paths import ROOT

EMBED = "components.tagger_ner.model.tok2vec.embed"
STATIC = (f"{EMBED}.include_static_vectors",)
PRETRAINED = ("pretraining", "training.before_update")
# What each arm has otherwise than the base.
NAMED_FOR = {
    "none": (),
    **dict.fromkeys((OWN, OTHER, WORD2VEC, *TRANSFORMS, *MERGES), STATIC),
    **dict.fromkeys(MODES, (f"{EMBED}.vectors", "paths")),
    "kpca": (*STATIC, "initialize.after_init", "paths"),
    "kpca_rows": (*STATIC, "initialize.after_init"),
    **dict.fromkeys(("min_freq_5", "min_freq_10"), ("initialize.before_init.min_freq",)),
    "ard": (f"{EMBED}.ard", f"{EMBED}.ard_warmup"),
    "tucker": (f"{EMBED}.tucker_ranks",),
    "noise": ("corpora.train.augmenter",),
    "shape": (*STATIC, f"{EMBED}.attrs"),
    "shape_alone": (f"{EMBED}.attrs",),
    "tuned": PRETRAINED[:1],
    **dict.fromkeys(("unfrozen", "frozen"), PRETRAINED),
}


def config_without(text: str, *paths: str) -> Config:
    config = Config().from_str(text, interpolate=False)
    for path in paths:
        *parents, last = path.split(".")
        section = config
        for parent in parents:
            section = section[parent]
        section.pop(last, None)
    return config


def test_arms_are_those_that_are_named_here() -> None:
    assert {f"vectors_{name}" for name in NAMED_FOR} == set(VECTOR_ARMS)


@pytest.mark.parametrize("name", NAMED_FOR)
def test_an_arm_differs_from_the_base_in_all_that_it_is_named_for_alone(name: str) -> None:
    texts = [make_config(arm) for arm in (VECTOR_ARMS[f"vectors_{name}"].arm, RECIPE[BASE])]
    parts = NAMED_FOR[name]
    ours, base = (config_without(text, *parts) for text in texts)
    assert ours == base
    for part in parts:
        others = [other for other in parts if other != part]
        ours, base = (config_without(text, *others) for text in texts)
        assert ours != base, part


def test_every_table_of_an_arm_is_made() -> None:
    made = {name for dataset in VECTOR_SETS for name in made_names(dataset)}
    for arm in VECTOR_ARMS.values():
        assert {arm.table, *arm.others, *arm.zero_shot_tables} <= {*made, OWN, None}


def test_every_evaluation_after_training_is_known() -> None:
    steps = {step for arm in VECTOR_ARMS.values() for step in arm.after}
    assert steps == {*CHANGES, *NOISE_LEVELS}
    assert VECTOR_ARMS["vectors_shape"].zero_shot_tables == ("other", "procrustes", "cca")
    assert VECTOR_ARMS["vectors_shape_alone"].zero_shot_tables == ()


def test_frozen_layers_are_all_but_the_output() -> None:
    arm = VECTOR_ARMS["vectors_frozen"].arm
    callback = arm.values["training.before_update"]
    component = (PRETRAINING["component"], PRETRAINING["layer"])
    assert component == (callback["component"], "tok2vec")
    config = Config().from_str(make_config(arm), interpolate=False)
    section = config["components"][callback["component"]]["model"]
    model = spacy.registry.resolve({"model": section})["model"]
    factors = dict.fromkeys({*layers_of(model)} - {"output"}, 0.0)
    assert callback["factors"] == factors == dict.fromkeys(LAYERS, 0.0)


def test_page_of_vectors_makes_the_corpora_before_their_tables() -> None:
    page = (ROOT / "docs" / "vectors-results.md").read_text("utf8")
    before, made, _ = page.partition("experiments make-vectors\n")
    assert made
    for dataset in VECTOR_SETS:
        assert f"experiments convert {dataset} assets corpus/{dataset}\n" in before
