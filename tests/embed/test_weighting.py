"""The settings of a weighted hash embedding, and the layer that is built from them."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from spacy_multihash.embed.weighted_layer import weighted_layer
from spacy_multihash.embed.weighting import Weighting


def make(**settings: Any) -> Weighting:
    return Weighting(**({"attr": "NORM", "width": 4, "rows": 50, "seed": 7} | settings))


def test_settings_never_change() -> None:
    with pytest.raises(FrozenInstanceError):
        make().rows = 5


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, 500), ({"rows": 3}, 30), ({"importance_rows": 3}, 3), ({"rows": "20"}, 10)],
    ids=str,
)
def test_importance_has_ten_rows_for_each_component_vector(
    settings: dict[str, Any], expected: int
) -> None:
    assert make(**settings).num_importance_rows == expected


@pytest.mark.parametrize("importance_by", ["hash", "lookup"])
@pytest.mark.parametrize("train_importance", [True, False])
@pytest.mark.parametrize("importance_rows", [0, -3, "50", 2.5, 2**31, True])
def test_number_of_importance_rows_is_checked_wherever_it_is_given(
    importance_rows: Any, train_importance: bool, importance_by: str
) -> None:
    message = f"of NORM: importance_rows must be a whole number .*, was: {importance_rows!r}. Set"
    with pytest.raises(ValueError, match=message):
        make(
            importance_rows=importance_rows,
            train_importance=train_importance,
            importance_by=importance_by,
        )


def test_ten_times_too_many_rows_are_refused_only_where_they_are_used() -> None:
    rows = 3 * 10**8
    with pytest.raises(ValueError, match="importance_rows must be .*, was: 3000000000"):
        make(rows=rows)
    assert make(rows=rows, importance_by="lookup").rows == rows
    assert make(rows=rows, train_importance=False).rows == rows


@pytest.mark.parametrize(("name", "value"), [("importance_by", "lookup"), ("independent", False)])
def test_setting_without_effect_is_refused(name: str, value: Any) -> None:
    message = f"of NORM: {name} has no effect with train_importance = false.* Leave {name} out"
    with pytest.raises(ValueError, match=message):
        make(**{name: value}, train_importance=False)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["hash_rows", "hash_rows>>table_embed", "weighted_table_embed"]),
        (
            {"importance_by": "lookup"},
            ["hash_rows", "lookup_rows>>table_embed", "weighted_table_embed"],
        ),
        (
            {"train_importance": False, "aggregate": "mean"},
            ["hash_rows", "unit_importance", "weighted_table_embed"],
        ),
        ({"train_importance": False}, ["hash_rows", "table_embed"]),
    ],
    ids=str,
)
def test_layer_has_the_parts_that_its_settings_need(
    settings: dict[str, Any], names: list[str]
) -> None:
    layer = weighted_layer(make(**settings))
    assert [part.name for part in layer.layers] == names
    assert layer.get_dim("nO") == 4
