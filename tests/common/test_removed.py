"""Configs of 1.0 that name removed settings."""

from typing import Any

import pytest
import spacy

from spacy_multihash.common import removed
from spacy_multihash.common.removed import accept_removed_settings
from spacy_multihash.pipelines.config import drop_removed_settings

NAME = "test_removed.v1"
PART = {"@misc": NAME}


@pytest.fixture(autouse=True)
def part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a function with two removed settings."""
    monkeypatch.setitem(removed.REMOVED, NAME, {"depth": 1, "sizes": []})

    def build_part(width: int = 3) -> int:
        return width

    spacy.registry.misc.register(NAME, func=accept_removed_settings(NAME)(build_part))


def resolve(**settings: object) -> Any:
    return spacy.registry.resolve({"part": {**PART, **settings}})["part"]


def test_removed_settings_may_be_left_out_or_off() -> None:
    assert resolve() == 3
    assert resolve(width=5, depth=1, sizes=[]) == 5


def test_removed_settings_are_dropped_from_filled_configs() -> None:
    filled = spacy.registry.fill({"part": PART})
    assert filled["part"]["depth"] == 1
    drop_removed_settings(filled)
    assert filled == {"part": {**PART, "width": 3}}


@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner"])
def test_other_values_raise_in_components(factory: str) -> None:
    with pytest.raises(ValueError, match=f"{factory}: confidence = 'product' was removed"):
        spacy.blank("en").add_pipe(factory, config={"confidence": "product"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 2}, f"{NAME}: depth = 2 was removed"),
        ({"width": "wide"}, "width"),
        ({"height": 1}, "unexpected argument: 'height'"),
    ],
)
def test_other_values_and_settings_raise(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve(**settings)
