"""The settings that the root of an embedding keeps.

They are saved with the weights: an attr of another name or value would refuse every model that was
saved with the old one. The values here never change.
"""

from typing import Any

import pytest
from spacy.attrs import SHAPE
from thinc.api import Model

from spacy_multihash import (
    build_meta_vectors_v1,
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
)
from spacy_multihash.common.pinned import Pinned
from spacy_multihash.compat import (
    build_report_multi_embed_v1,
    build_report_multi_fewer_hash_embed_v1,
)

Settings = dict[str, Any]
# Settings, and the attrs of the root in the order in which they are saved.
Cases = list[tuple[Settings, Settings]]

HASHED = {
    "attrs": ["NORM", "SHAPE"],
    "rows_by": ["hash", "hash"],
    "rows": [50, 20],
    "num_hashes": [4, 4],
    "seeds": [2654435769, 1013904242],
}
LOOKED_UP = {"attrs": ["NORM", "SHAPE"], "rows_by": ["lookup", "lookup"]}
FIXED = HASHED | {"num_hashes": [2, 2]}
BY_HASH = {
    "importance_attrs": ["NORM", "SHAPE"],
    "importance_rows_by": ["hash", "hash"],
    "importance_rows": [500, 200],
    "importance_num_hashes": [1, 1],
    "importance_seeds": [3051791205, 1411259678],
}
MULTI_HASH: Cases = [
    ({}, HASHED),
    ({"width": 4, "include_static_vectors": True}, HASHED),
    ({"attrs": ["norm", SHAPE]}, HASHED),
    ({"rows": [1, 2**31 - 1]}, HASHED | {"rows": [1, 2**31 - 1]}),
    ({"num_hashes": 1}, HASHED | {"num_hashes": [1, 1]}),
    ({"num_hashes": [2, 16]}, HASHED | {"num_hashes": [2, 16]}),
    ({"seeds": [0, 2**32 - 1]}, HASHED | {"seeds": [0, 2**32 - 1]}),
    (
        {"attrs": ["ORTH", "ORTH", "PREFIX"], "rows": [9, 9, 8]},
        {
            "attrs": ["ORTH", "ORTH", "PREFIX"],
            "rows_by": ["hash"] * 3,
            "rows": [9, 9, 8],
            "num_hashes": [4] * 3,
            "seeds": [2654435769, 1013904242, 3668340011],
        },
    ),
]
MULTI_WEIGHTED: Cases = [
    ({}, FIXED | BY_HASH),
    ({"width": 4, "include_static_vectors": True}, FIXED | BY_HASH),
    ({"attrs": ["norm", SHAPE]}, FIXED | BY_HASH),
    (
        {"rows": [1, 3]},
        FIXED | {"rows": [1, 3]} | BY_HASH | {"importance_rows": [10, 30]},
    ),
    ({"num_hashes": 16}, FIXED | {"num_hashes": [16, 16]} | BY_HASH),
    ({"num_hashes": [1, 5]}, FIXED | {"num_hashes": [1, 5]} | BY_HASH),
    ({"importance_rows": [7, 5]}, FIXED | BY_HASH | {"importance_rows": [7, 5]}),
    (
        {"seeds": [0, 7]},
        FIXED | {"seeds": [0, 7]} | BY_HASH | {"importance_seeds": [397355436, 397355443]},
    ),
    ({"append_importance": True}, FIXED | BY_HASH),
    ({"train_importance": False}, FIXED),
    ({"train_importance": False, "append_importance": True}, FIXED),
]
MULTI: Cases = [
    ({}, LOOKED_UP),
    ({"width": 4, "include_static_vectors": True}, LOOKED_UP),
    ({"attrs": ["norm", SHAPE]}, LOOKED_UP),
    ({"unk_dropout": 0.3}, LOOKED_UP),
    ({"attrs": ["ORTH"]}, {"attrs": ["ORTH"], "rows_by": ["lookup"]}),
]


def sizes(**settings: Any) -> Settings:
    given = {"width": 8, "attrs": ["NORM", "SHAPE"], "include_static_vectors": False}
    return given | settings


def names_of(cases: Cases) -> list[str]:
    return [str(settings or "default") for settings, _ in cases]


def attrs_of(model: Model) -> list[tuple[str, Any]]:
    assert all(isinstance(pinned, Pinned) for pinned in model.attrs.values())
    return [(name, pinned.value) for name, pinned in model.attrs.items()]


@pytest.mark.parametrize(("settings", "root"), MULTI_HASH, ids=names_of(MULTI_HASH))
def test_root_of_multi_hash_embed(settings: Settings, root: Settings) -> None:
    model = build_multi_hash_embed_v1(**sizes(rows=[50, 20]) | settings)
    assert attrs_of(model) == list(root.items())


@pytest.mark.parametrize(("settings", "root"), MULTI_WEIGHTED, ids=names_of(MULTI_WEIGHTED))
def test_root_of_multi_weighted_hash_embed(settings: Settings, root: Settings) -> None:
    model = build_multi_weighted_hash_embed_v1(**sizes(rows=[50, 20]) | settings)
    assert attrs_of(model) == list(root.items())


@pytest.mark.parametrize(("settings", "root"), MULTI, ids=names_of(MULTI))
def test_root_of_multi_embed(settings: Settings, root: Settings) -> None:
    assert attrs_of(build_multi_embed_v1(**sizes() | settings)) == list(root.items())


def test_root_of_the_embeddings_of_the_report() -> None:
    looked_up = build_report_multi_embed_v1(["NORM", SHAPE], 8, 0, dropout=0.2, maxout_pieces=2)
    assert attrs_of(looked_up) == list(LOOKED_UP.items())
    hashed = build_report_multi_fewer_hash_embed_v1(8, 2, ["NORM", "SHAPE"], [50, 20], False)
    assert attrs_of(hashed) == list((HASHED | {"num_hashes": [2, 2], "seeds": [8, 9]}).items())


def test_root_keeps_values_of_its_own() -> None:
    attrs, rows = ["NORM", "SHAPE"], [50, 20]
    model = build_multi_hash_embed_v1(8, attrs, rows, False)
    attrs[0], rows[0] = "ORTH", 1
    assert attrs_of(model) == list(HASHED.items())


def test_root_keeps_the_settings_of_several_tables() -> None:
    vectors = build_meta_vectors_v1(8, {"vocab": None, "nl": "x"}, "mme", {"nl": "LOWER"})
    model = build_multi_hash_embed_v1(8, ["NORM"], [50], False, vectors=vectors)
    assert attrs_of(model)[-3:] == [
        ("vectors", ["nl", "vocab"]),
        ("vectors_mode", ["mme"]),
        ("vectors_key_attrs", ["LOWER", ""]),
    ]
