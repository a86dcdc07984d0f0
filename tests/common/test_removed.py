"""Configs that name removed parts and settings."""

from typing import Any

import pytest
import spacy

from spacy_multihash.common import removed
from spacy_multihash.common.removed import (
    RemovedPart,
    RemovedSetting,
    with_removed_settings,
)
from spacy_multihash.pipelines.config import drop_removed_settings

PARTS = {name: part for name, part in vars(removed).items() if isinstance(part, RemovedPart)}


@with_removed_settings(
    "Part",
    depth=RemovedSetting(1, "Leave it out."),
    noise=RemovedSetting(0.0, "Use dropout.", in_training_only=True),
)
def build_part(width: int = 3) -> int:
    """Return the width."""
    return width


@pytest.fixture
def part() -> Any:
    """A registered function with removed settings, as a section of a config."""
    spacy.registry.misc.register("test_removed.v1", func=build_part)
    return {"@misc": "test_removed.v1"}


def resolve(section: dict[str, Any]) -> Any:
    return spacy.registry.resolve({"part": section})["part"]


@pytest.mark.parametrize("name", sorted(PARTS))
@pytest.mark.parametrize("do", [spacy.registry.resolve, spacy.registry.fill])
def test_removed_part_raises_whatever_its_settings_are(name: str, do: Any) -> None:
    spacy.registry.misc.register("test_removed_part.v1", func=PARTS[name])
    with pytest.raises(ValueError, match="spacy-multihash.*was removed"):
        do({"part": {"@misc": "test_removed_part.v1", "width": 1, "*": {"a": 2}}})


def test_removed_settings_may_be_left_out_or_off(part: Any) -> None:
    assert resolve(part) == 3
    assert resolve({**part, "width": 5, "depth": 1, "noise": 0.0}) == 5


def test_removed_settings_are_dropped_if_they_are_off(part: Any) -> None:
    filled = spacy.registry.fill({"part": {**part, "noise": 0.1}})
    assert filled["part"]["depth"] == 1
    drop_removed_settings(filled)
    assert filled == {"part": {**part, "width": 3, "noise": 0.1}}


def test_other_value_raises(part: Any) -> None:
    with pytest.raises(ValueError, match=r"Part: depth was removed, was: 2. Leave it out."):
        resolve({**part, "depth": 2})


def test_other_value_of_a_setting_for_training_warns(part: Any) -> None:
    with pytest.warns(UserWarning, match=r"noise = 0.1 is ignored, .* Use dropout."):
        assert resolve({**part, "noise": 0.1}) == 3


@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner"])
def test_other_kinds_of_confidence_raise(factory: str) -> None:
    with pytest.raises(ValueError, match=r"confidence was removed, was: 'product'. Leave it out"):
        spacy.blank("en").add_pipe(factory, config={"confidence": "product"})


def test_types_of_the_other_settings_are_checked(part: Any) -> None:
    with pytest.raises(ValueError, match="width"):
        resolve({**part, "width": "wide"})
    with pytest.raises(ValueError, match="unexpected argument: 'height'"):
        resolve({**part, "height": 1})
