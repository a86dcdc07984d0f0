"""The registered architectures of encoders: what they build, and what they refuse."""

from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.ml.models.tok2vec import MaxoutWindowEncoder as SpacyEncoder
from thinc.api import Config, Model, fix_random_seed
from thinc.config import ConfigValidationError

from spacy_multihash import (
    build_iterated_dilated_encoder_v1,
    build_maxout_window_encoder_v1,
    effective_input_width,
)
from spacy_multihash.layers import IteratedDilatedEncoder
from tests.helpers.maxout import random_vectors

WINDOWS = {"width": 4, "window_size": 1, "maxout_pieces": 3, "depth": 2}

CONFIG = """
[model]
@architectures = "spacy-multihash.IteratedDilatedEncoder.v1"
width = 4
"""


def pinned(model: Model) -> dict[str, Any]:
    """Return the settings that decide what a model computes."""
    return {name: value.value for name, value in model.attrs.items() if hasattr(value, "value")}


def test_maxout_window_encoder_is_that_of_spacy() -> None:
    X = random_vectors(9, 4)
    fix_random_seed(7)
    theirs = SpacyEncoder(4, window_size=1, maxout_pieces=3, depth=2).initialize(X=[X])
    fix_random_seed(7)
    ours = build_maxout_window_encoder_v1(**WINDOWS).initialize(X=[X])
    assert_allclose(ours.predict([X])[0], theirs.predict([X])[0], atol=1e-5)


def test_maxout_window_encoder_may_have_no_window() -> None:
    model = build_maxout_window_encoder_v1(**(WINDOWS | {"window_size": 0})).initialize()
    X = random_vectors(3, 4)
    alone = numpy.concatenate([model.predict([X[i : i + 1]])[0] for i in range(3)])
    assert_allclose(model.predict([X])[0], alone, atol=1e-6)


def test_iterated_dilated_encoder_needs_a_width_only() -> None:
    model = spacy.registry.resolve(Config().from_str(CONFIG))["model"]
    assert model.get_dim("nO") == 4
    assert pinned(model) == {
        "dilations": [1, 2, 1],
        "repeats": 1,
        "window_size": 1,
        "residual": 0,
    }
    names = [layer.name for layer in model.layers]
    assert names == ["linear"] * 4  # the first one, and those of the stack


def test_iterated_dilated_encoder_hands_on_all_settings() -> None:
    settings: dict[str, Any] = {
        "dilations": [1, 3],
        "repeats": 2,
        "window_size": 2,
        "share": False,
        "residual": True,
        "normalize": True,
    }
    model = build_iterated_dilated_encoder_v1(4, **settings).initialize()
    other = IteratedDilatedEncoder(4, **settings)
    assert pinned(model) == pinned(other)
    assert [layer.name for layer in model.layers] == ["linear"] * 5 + ["layernorm"] * 5
    other.from_bytes(model.to_bytes())
    X = random_vectors(9, 4)
    assert_array_equal(other.predict([X])[0], model.predict([X])[0])


@pytest.mark.parametrize(("dilations", "repeats", "window_size"), [([1, 2, 1], 3, 1), ([2], 1, 2)])
def test_effective_input_width_is_that_of_the_docstring(
    dilations: list[int], repeats: int, window_size: int
) -> None:
    expected = 1 + 2 * window_size * (1 + repeats * sum(dilations))
    assert effective_input_width(dilations, repeats, window_size) == expected


@pytest.mark.parametrize(
    "line", ["width = null", 'dilations = "wide"', "repeats = null", 'share = "x"', "typo = 1"]
)
def test_config_of_iterated_dilated_encoder_is_validated(line: str) -> None:
    name = line.split(" =")[0]
    text = "\n".join(old for old in CONFIG.splitlines() if not old.startswith(name)) + f"\n{line}"
    with pytest.raises(ConfigValidationError, match=name):
        spacy.registry.resolve(Config().from_str(text))


@pytest.mark.parametrize(
    ("name", "size", "least"),
    [
        ("width", 0, 1),
        ("maxout_pieces", 0, 1),
        ("depth", -2, 1),
        ("window_size", -1, 0),
        ("width", "96", 1),
        ("depth", 3.0, 1),
        ("window_size", True, 0),
        ("width", 2**31, 1),
        ("maxout_pieces", 257, 1),
        ("depth", 101, 1),
        ("window_size", 101, 0),
    ],
)
def test_maxout_window_encoder_refuses_sizes_out_of_range(name: str, size: Any, least: int) -> None:
    most = {"width": 2**31 - 1, "maxout_pieces": 256}.get(name, 100)
    message = f"MaxoutWindowEncoder: {name} must be a whole number from {least} to {most}, was: "
    with pytest.raises(ValueError, match=f"{message}{size!r}. "):
        build_maxout_window_encoder_v1(**(WINDOWS | {name: size}))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("width", 0),
        ("repeats", 0),
        ("window_size", -1),
        ("repeats", "3"),
        ("width", 2**31),
        ("repeats", 101),
        ("window_size", 101),
    ],
)
def test_iterated_dilated_encoder_refuses_sizes_out_of_range(name: str, size: Any) -> None:
    most = 2**31 - 1 if name == "width" else 100
    message = (
        f"IteratedDilatedEncoder: {name} must be a whole number from 1 to {most}, was: {size!r}"
    )
    settings: dict[str, Any] = {"width": 4, name: size}
    with pytest.raises(ValueError, match=message):
        build_iterated_dilated_encoder_v1(**settings)


@pytest.mark.parametrize(
    "dilations", [[], [0], [1, -2, 1], ["1"], [2.0], 2, [10**6 + 1], [1] * 101]
)
def test_iterated_dilated_encoder_refuses_dilations_out_of_range(dilations: Any) -> None:
    with pytest.raises(
        ValueError, match="dilations must be 1 to 100 whole numbers from 1 to 1000000, was: "
    ) as error:
        build_iterated_dilated_encoder_v1(4, dilations)
    assert f"was: {dilations}" in str(error.value)
    assert "Recommended: [1, 2, 1]" in str(error.value)


@pytest.mark.parametrize("name", ["share", "residual", "normalize"])
@pytest.mark.parametrize("value", ["false", 1, None])
def test_iterated_dilated_encoder_refuses_switches_that_are_no_bools(name: str, value: Any) -> None:
    message = f"IteratedDilatedEncoder: {name} must be true or false, was: {value!r}. Change it"
    settings: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=message):
        build_iterated_dilated_encoder_v1(4, **settings)


def test_iterated_dilated_encoders_share_no_dilations() -> None:
    model = build_iterated_dilated_encoder_v1(4)
    model.attrs["dilations"].value.append(9)
    assert build_iterated_dilated_encoder_v1(4).attrs["dilations"].value == [1, 2, 1]


def test_encoder_of_windows_has_input_and_output_of_one_width() -> None:
    model = build_maxout_window_encoder_v1(**WINDOWS)
    assert (model.get_dim("nI"), model.get_dim("nO")) == (4, 4)
