"""The settings of a weighted hash embedding, and the layer that is built from them."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from thinc.api import zero_init

from spacy_multihash.embed.weighted_layer import weighted_layer
from spacy_multihash.embed.weighting import Weighting


def make(**settings: Any) -> Weighting:
    return Weighting(**({"attr": "NORM", "width": 4, "rows": 50, "seed": 7} | settings))


def test_settings_never_change() -> None:
    with pytest.raises(FrozenInstanceError):
        make().rows = 5


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, 500), ({"rows": 3}, 30), ({"importance_rows": 3}, 3)],
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("importance_by", "lookup"),
        ("independent", False),
        ("importance_rows", 7),
        ("importance_init", zero_init),
    ],
)
def test_setting_without_effect_is_refused(name: str, value: Any) -> None:
    message = f"of NORM: {name} has no effect with train_importance = false.* Leave {name} out"
    with pytest.raises(ValueError, match=message):
        make(**{name: value}, train_importance=False)


def test_number_of_rows_that_a_table_of_symbols_decides_is_refused() -> None:
    with pytest.raises(ValueError, match='importance_rows has no effect with importance_by = "l'):
        make(importance_by="lookup", importance_rows=7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": "96"}, "width must be a whole number from 1 to 2147483647, was: '96'"),
        ({"rows": 2**31}, "rows must be a whole number from 1 to 2147483647, was: 2147483648"),
        ({"num_hashes": "2"}, "num_hashes must be a whole number from 1 to 16, was: '2'"),
        ({"seed": "7"}, "seeds must be a whole number from 0 to 4294967295, was: '7'"),
        ({"aggregate": "max"}, "aggregate must be one of sum, mean, concatenate, was: 'max'"),
        ({"importance_by": "luck"}, "importance_by must be one of hash, lookup, was: 'luck'"),
        ({"independent": "no"}, "independent must be true or false, was: 'no'"),
        ({"append_importance": 1}, "append_importance must be true or false, was: 1"),
        ({"train_importance": None}, "train_importance must be true or false, was: None"),
        ({"embed_init": "zero"}, "embed_init must be a function, or null, was: 'zero'"),
        ({"importance_init": 0}, "importance_init must be a function, or null, was: 0"),
    ],
)
def test_settings_of_another_kind_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"Weighted embedding of NORM: {message}"):
        make(**settings)


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
