"""The settings that the root of a text classifier keeps.

They are saved with the weights: an attr of another name or value would refuse every model that was
saved with the old one. The values here never change.
"""

from typing import Any

import pytest

from spacy_multihash.common.pinned import Pinned
from spacy_multihash.textcat.architectures import build_textcat_hash_embed_v1

DEFAULT = {
    "attr": "LOWER",
    "ngram_orders": [1, 2],
    "seed": 0,
    "num_hashes": 2,
    "rows": 40,
    "width": 6,
    "append_importance": False,
    "reduce": "sum",
}
BY_HASH = {"importance_rows": 400}
# Settings, and those that the root keeps, in the order in which they are saved.
CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, DEFAULT | BY_HASH),
    ({"importance_rows": 7}, DEFAULT | {"importance_rows": 7}),
    ({"num_hashes": 5}, DEFAULT | {"num_hashes": 5} | BY_HASH),
    ({"ngram_orders": [3, 1]}, DEFAULT | {"ngram_orders": [1, 3]} | BY_HASH),
    ({"attr": 65}, DEFAULT | {"attr": "ORTH"} | BY_HASH),
    ({"reduce": "mean"}, DEFAULT | {"reduce": "mean"} | BY_HASH),
    ({"append_importance": True}, DEFAULT | {"append_importance": True} | BY_HASH),
    ({"train_importance": False}, DEFAULT),
    ({"seed": 0}, DEFAULT | BY_HASH),
    ({"seed": 2**32 - 1}, DEFAULT | {"seed": 2**32 - 1} | BY_HASH),
    ({"nO": 3}, DEFAULT | BY_HASH),
]


@pytest.mark.parametrize("exclusive_classes", [True, False])
@pytest.mark.parametrize(
    ("settings", "root"), CASES, ids=[str(settings or "default") for settings, _ in CASES]
)
def test_root_of_textcat_hash_embed(
    exclusive_classes: bool, settings: dict[str, Any], root: dict[str, Any]
) -> None:
    model = build_textcat_hash_embed_v1(exclusive_classes, **{"width": 6, "rows": 40} | settings)
    multi_label, resize_output, *pinned = model.attrs.items()
    assert multi_label == ("multi_label", not exclusive_classes)
    assert resize_output[0] == "resize_output"  # a function, which is not saved
    assert all(isinstance(value, Pinned) for _, value in pinned)
    assert [(name, value.value) for name, value in pinned] == list(root.items())
