"""The arms of static vectors: each differs from the base in what it is named for alone."""

import re
from typing import Any

import numpy
import pytest
import spacy
import srsly
from thinc.api import Config

from experiments.arms.configs import make_config
from experiments.arms.recipe import BASE, RECIPE
from experiments.arms.vectors import (
    LAYERS,
    LONE,
    LONE_MODES,
    MERGES,
    MODES,
    OTHER,
    OWN,
    PAIR,
    PAIR_MODES,
    PRETRAINING,
    QUANTIZED,
    TRANSFORMS,
    VECTOR_ARMS,
    WORD2VEC,
)
from experiments.runs.after import CHANGES, NOISE_LEVELS
from experiments.runs.make_vectors import made_names
from experiments.runs.plan import make_grid
from experiments.runs.vector_files import VECTOR_SETS, sets_of
from experiments.tables.vectors import VECTOR_TABLES
from spacy_multihash.convert.model_layers import layers_of
from spacy_multihash.layers import MaxoutNorm
from tests.helpers.paths import ROOT

EMBED = "components.tagger_ner.model.tok2vec.embed"
STATIC = (f"{EMBED}.include_static_vectors",)
PRETRAINED = ("pretraining", "training.before_update")
# What each arm has otherwise than the base.
NAMED_FOR = {
    "none": (),
    **dict.fromkeys((OWN, OTHER, WORD2VEC, *TRANSFORMS, *MERGES), STATIC),
    **dict.fromkeys(
        (*MODES, *(f"{PAIR}{mode}" for mode in PAIR_MODES)), (f"{EMBED}.vectors", "paths")
    ),
    **dict.fromkeys((f"{LONE}{mode}" for mode in LONE_MODES), (f"{EMBED}.vectors",)),
    "kpca": (*STATIC, "initialize.after_init", "paths"),
    "kpca_rows": (*STATIC, "initialize.after_init"),
    "none_kpca_rows": ("initialize.after_init",),
    "own_plain": (*STATIC, f"{EMBED}.unk_dropout"),
    **dict.fromkeys(
        ("min_freq_5", "min_freq_10"),
        ("initialize.before_init.min_freq", f"{EMBED}.unk_dropout"),
    ),
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
        assert {arm.table, *arm.others, *arm.tables_after} <= {*made, OWN, None}


def test_every_evaluation_after_training_is_known() -> None:
    steps = {step for arm in VECTOR_ARMS.values() for step in arm.after}
    assert steps == {*CHANGES, *NOISE_LEVELS}
    assert VECTOR_ARMS["vectors_shape"].tables_after == ("other", "procrustes", "cca")
    assert VECTOR_ARMS["vectors_shape_alone"].tables_after == ()
    assert VECTOR_ARMS["vectors_own"].tables_after == QUANTIZED


def section(name: str, path: str) -> Any:
    found: Any = Config().from_str(
        make_config(VECTOR_ARMS[f"vectors_{name}"].arm), interpolate=False
    )
    for key in path.split("."):
        found = found[key]
    return found


def test_noise_leaves_every_text_and_adds_a_copy() -> None:
    augmenter = section("noise", "corpora.train.augmenter")
    names = ("keep_original", "share_of_docs", "copies")
    assert [augmenter[name] for name in names] == [True, 1.0, 1]


def test_symbols_that_are_left_out_train_the_row_of_unknown_ones() -> None:
    for count in (5, 10):
        assert section(f"min_freq_{count}", "initialize.before_init")["min_freq"] == count
        assert section(f"min_freq_{count}", EMBED)["unk_dropout"] == 0.0


def test_page_says_how_many_parameters_the_mixes_have() -> None:
    results = ROOT / "results" / "runs" / "conll-es"
    models = [
        srsly.read_json(results / f"vectors_{name}" / "no-vectors" / "seed0.json")["parameters"]
        for name in ("none", "tucker")
    ]
    embed = section("none", EMBED)
    nI = embed["width"] * len(embed["attrs"])
    mix = MaxoutNorm(embed["width"], nI, nP=3).initialize(X=numpy.zeros((1, nI), dtype="f"))
    maxout = sum(mix.get_param(name).size for name in mix.param_names)
    note = VECTOR_TABLES["vectors-fusion"].note
    sizes = [maxout, maxout - models[0] + models[1]]
    assert re.findall(r"\d+,\d+", note) == [f"{size:,}" for size in sizes]


@pytest.mark.parametrize(
    ("dataset", "all_rows", "min_5", "min_10"),
    [("conll-es", 28481, 7050, 3954), ("wnut17", 20903, 2763, 1647)],
)
def test_page_says_how_much_larger_tables_with_noise_are(
    dataset: str, all_rows: int, min_5: int, min_10: int
) -> None:
    results = ROOT / "results" / "runs" / dataset
    rows = {"none": all_rows, "min_freq_5": min_5, "min_freq_10": min_10}
    others = {
        srsly.read_json(results / f"vectors_{name}" / "no-vectors" / "seed0.json")["parameters"]
        - 96 * number
        for name, number in rows.items()
    }
    assert len(others) == 1  # the rest of the model is the same
    assert f"{2 * min_10 / min_5 - 1:.0%}".replace("%", " %") in VECTOR_TABLES["vectors-sizes"].note


def test_a_pair_of_languages_is_tried_where_there_are_two() -> None:
    assert sets_of(VECTOR_ARMS["vectors_pair_mme"]) == ("conll-es", "conll-nl")
    assert sets_of(VECTOR_ARMS["vectors_lone_linear"]) == VECTOR_SETS
    tables = section("pair_mme", EMBED)["vectors"]["tables"]
    assert tables == {"vocab": None, "other": "${paths.other}"}
    assert section("lone_concat", EMBED)["vectors"]["tables"] == {"vocab": None}


def test_centring_is_tried_where_it_changes_the_table() -> None:
    assert sets_of(VECTOR_ARMS["vectors_centre"]) == ("wnut17",)
    assert sets_of(VECTOR_ARMS["vectors_unit"]) == VECTOR_SETS
    grid = {run.dataset for run in make_grid() if run.arm == "vectors_centre"}
    assert grid == {"wnut17"}


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
