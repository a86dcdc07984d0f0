"""The candidates for a recipe: their names, their configs, and products of their options."""

from collections.abc import Mapping
from io import StringIO
from itertools import combinations, product
from pathlib import Path

import pytest
import srsly
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_model_from_config

from experiments.arms.recipe import (
    ALL_BUT,
    ALONE,
    APART,
    BASE,
    CHOSEN,
    GROUPS,
    RECIPE,
    make_products,
    named,
    recipe_arm,
)
from experiments.arms.tasks import NER
from experiments.runs.grid import Run, run_config, run_hash
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.paths import ROOT

LAST_OF_EACH = named(list(group)[-1] for group in GROUPS.values())
GAINS = {"hash": 0.02, "weighted": 0.01, "slices": 0.03, "ngrams": 0.02, "all_slices": 0.01}


def test_every_option_is_a_candidate_of_its_own() -> None:
    assert set(RECIPE) == {BASE, *(named([name]) for group in GROUPS.values() for name in group)}
    assert set(RECIPE) <= set(NER.fixed_arms)
    assert len({run_hash(Run("wnut17", arm)) for arm in RECIPE}) == len(RECIPE)


@pytest.mark.parametrize("arm", [*RECIPE, LAST_OF_EACH])
def test_a_candidate_learns_from_a_corpus(arm: str, tmp_path: Path) -> None:
    config = run_config(Run("wnut17", arm))
    corpus = write_corpus(tmp_path / "train.spacy", make_docs())
    config["paths"].update(train=str(corpus), dev=str(corpus))
    config["training"].update(max_steps=10, eval_frequency=5)
    config["training"]["logger"]["output_file"] = str(tmp_path / "log.jsonl")
    output = StringIO()
    nlp, _ = train(init_nlp(config), stdout=output, stderr=output)
    assert nlp.pipe_names == ["tagger_ner"]
    losses = [line["losses"]["tagger_ner"] for line in srsly.read_jsonl(tmp_path / "log.jsonl")]
    assert losses[2] < losses[1]  # both of five steps


@pytest.mark.parametrize(
    ("embedding", "features"), list(product(GROUPS["embedding"], GROUPS["features"]))
)
def test_every_embedding_takes_all_features(embedding: str, features: str) -> None:
    config = run_config(Run("wnut17", named([embedding, features])))
    assert load_model_from_config(config, auto_fill=False).pipe_names == ["tagger_ner"]


# The embedding, its unk_dropout, whether there are n-grams and averages, and the dropout.
NONE, ALL = ("MultiHashEmbed", None, False, False, 0.1), ("MultiEmbed", 0.3, True, True, 0.3)
TAKEN_APART = {
    "none": NONE,
    "MultiEmbed": ("MultiEmbed", 0.0, *NONE[2:]),
    "MultiEmbed, unk_dropout 0.1": ("MultiEmbed", 0.1, *NONE[2:]),
    "MultiEmbed, unk_dropout 0.3": ("MultiEmbed", 0.3, *NONE[2:]),
    "MultiEmbed, unk_dropout 0.5": ("MultiEmbed", 0.5, *NONE[2:]),
    "averages": (*NONE[:3], True, 0.1),
    "dropout 0.3": (*NONE[:4], 0.3),
    "n-grams": (*NONE[:2], True, *NONE[3:]),
    "all": ALL,
    "all but MultiEmbed": (*NONE[:2], *ALL[2:]),
    "all but unk_dropout": ("MultiEmbed", 0.0, *ALL[2:]),
    "all, unk_dropout 0.1": ("MultiEmbed", 0.1, *ALL[2:]),
    "all, unk_dropout 0.5": ("MultiEmbed", 0.5, *ALL[2:]),
    "all but averages": (*ALL[:3], False, 0.3),
    "all but dropout 0.3": (*ALL[:4], 0.1),
    "all but n-grams": (*ALL[:2], False, *ALL[3:]),
}


def test_arms_of_the_settings_taken_apart_are_what_their_lines_say() -> None:
    rest = []
    for line, arm in (ALONE | ALL_BUT).items():
        config = run_config(Run("wnut17", arm))
        embed = config["components"]["tagger_ner"]["model"]["tok2vec"].pop("embed")
        found = (
            embed["@architectures"].split(".")[1],
            embed.get("unk_dropout"),
            "LOWER{3,5}" in embed["attrs"],
            config["training"]["optimizer"].pop("use_averages"),
            config["training"].pop("dropout"),
        )
        assert found == TAKEN_APART[line], line
        tables = config["initialize"].pop("before_init")
        assert (tables is None) == (found[0] == "MultiHashEmbed")
        assert tables is None or tables["min_freq"] == 1
        config["training"].pop("logger")
        rest.append(config.to_str(interpolate=False))
    assert len({*rest}) == 1 and len(rest) == len(TAKEN_APART)
    assert ALL_BUT["all"] == CHOSEN


def test_settings_taken_apart_are_no_candidates_of_halving() -> None:
    names = {name for group in APART.values() for name in group}
    assert not names & {name for group in GROUPS.values() for name in group}
    assert not {named([name]) for name in names} & set(RECIPE)


def test_page_says_what_every_option_changes() -> None:
    text = (ROOT / "docs" / "recipe-results.md").read_text("utf8").partition("<!-- begin:")[0]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for group, options in GROUPS.items():
        cells = [row.split("|")[2] for row in rows if row.startswith(f"| {group} ")]
        named_there = {name.strip(" `") for cell in cells for name in cell.split(",")}
        assert named_there == set(options)


def test_options_of_different_groups_set_different_things() -> None:
    arguments = [{key for option in group.values() for key in option} for group in GROUPS.values()]
    for first, second in combinations(arguments, 2):
        assert not first & second


def test_a_product_has_the_settings_of_all_its_options() -> None:
    name = "recipe-hash_rows_4-slices-dropout_40-width_128"
    config = run_config(Run("conll-es", name))
    model = config["components"]["tagger_ner"]["model"]["tok2vec"]
    assert model["embed"]["@architectures"] == "spacy-multihash.MultiHashEmbed.v1"
    assert model["embed"]["rows"] == [20_000] + 7 * [10_000]
    assert model["embed"]["attrs"][-4:] == ["ORTH[:2]", "ORTH[:3]", "ORTH[-2:]", "ORTH[-4:]"]
    assert (model["embed"]["width"], model["encode"]["width"]) == (128, 128)
    assert config["training"]["dropout"] == 0.4


def test_tables_of_ngrams_are_cut() -> None:
    config = run_config(Run("conll-es", "recipe-ngrams"))
    assert config["initialize"]["before_init"]["max_rows"] == 30_000
    assert config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]["unk_dropout"] == 0.3


@pytest.mark.parametrize(
    "name",
    [
        "recipe-",
        "recipe_slices",
        "tagger-slices",
        "recipe-slices-slices",
        "recipe-slices-ngrams",  # of one group
        "recipe-dropout_40-slices",  # the other way round
        "recipe-recipe",
    ],
)
def test_a_name_of_other_options_is_none_of_a_candidate(name: str) -> None:
    assert recipe_arm(name) is None
    with pytest.raises(ValueError, match=f"Unknown arm '{name}' on wnut17"):
        Run("wnut17", name)


@pytest.mark.parametrize(
    ("gains", "products"),
    [
        ({}, []),
        ({"hash": 0.0, "slices": -0.1}, []),
        ({"slices": 0.1}, ["slices"]),
        (GAINS, ["hash-slices", "weighted-slices", "slices", "ngrams"]),
        (
            {**GAINS, "slices": 0.2, "dropout_40": 0.1, "width_128": 0.1, "maxout_4": 0.05},
            [
                "hash-slices-dropout_40-width_128",
                "slices-dropout_40",
                "slices-width_128",
                "slices-maxout_4",
                "hash-slices",
                "slices",
                "ngrams",
            ],
        ),
    ],
)
def test_the_best_option_is_tried_alone_with_each_of_the_others_and_with_all(
    gains: Mapping[str, float], products: list[str]
) -> None:
    expected = [f"{BASE}-{name}" for name in products]
    assert make_products(gains, {}, most_time=1.0) == expected


def test_products_that_would_train_too_long_are_left_out() -> None:
    gains = {"slices": 0.03, "unk_50": 0.02, "width_128": 0.01}
    times = {"slices": 1.3, "width_128": 1.3}
    found = make_products(gains, times, most_time=1.6)
    assert found == ["recipe-unk_50-slices", "recipe-slices"]
    assert make_products(gains, times, most_time=1.7)[0] == "recipe-unk_50-slices-width_128"
