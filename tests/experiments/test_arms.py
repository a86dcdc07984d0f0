"""Each arm, and each config, loads."""

from pathlib import Path
from typing import Any

import pytest
from spacy.util import load_model_from_config

from experiments.arms import ARMS, OPTIONS, RECIPE, Arm, arm_config, find_arm
from experiments.choice import CANDIDATES
from tests.helpers.paths import ROOT

CONFIGS = [path.relative_to(ROOT / "configs") for path in ROOT.glob("configs/**/*.cfg")]


def build(arm: Arm) -> Any:
    config = arm_config(arm)
    config["nlp"]["lang"] = "en"
    config["corpora"]["train"]["augmenter"] = None  # which reads the corpus
    return load_model_from_config(config, auto_fill=True).config


def settings_of(value: Any) -> Any:
    """The names of settings in overrides, and the registered functions."""
    if not isinstance(value, dict):
        return None
    return tuple((key, value[key] if key[0] == "@" else settings_of(value[key])) for key in value)


# One of the arms with the same settings, whatever their values.
KINDS = {
    (arm.config, settings_of(arm.overrides)): name
    for name in (
        *ARMS,
        *CANDIDATES.values(),
        *(f"{RECIPE}-{option}" for option in OPTIONS),
        *(path.with_suffix("").as_posix() for path in CONFIGS),
    )
    for arm in [find_arm(name)]
}


@pytest.mark.parametrize("name", KINDS.values())
def test_arm_loads(name: str) -> None:
    assert build(find_arm(name))


def test_recommended_config_is_the_recipe_with_n_grams() -> None:
    assert build(find_arm("recipe-ngrams_sum")) == build(Arm("recommended"))
    assert build(find_arm("recipe")) != build(Arm("recommended"))


def test_unknown_arms_and_sections_are_errors() -> None:
    with pytest.raises(ValueError, match="Unknown arm 'recipe-nothing'"):
        find_arm("recipe-nothing")
    with pytest.raises(KeyError, match="no section for training.no.such"):
        arm_config(Arm(overrides={"training.no.such": 1}))


def test_arm_may_be_the_path_of_a_config(tmp_path: Path) -> None:
    path = tmp_path / "mine.cfg"
    path.write_text((ROOT / "configs" / "report.cfg").read_text("utf8"), encoding="utf8")
    assert arm_config(find_arm(str(path))) == arm_config(Arm("report"))
