"""What the entry points promise, and what importing the package costs."""

import ast
import importlib.metadata
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import spacy
from thinc.api import Model

import spacy_multihash
from spacy_multihash.common import registered

ENTRY_POINTS = {
    "spacy_architectures": [
        "spacy-multihash.IteratedDilatedEncoder.v1",
        "spacy-multihash.MaxoutWindowEncoder.v1",
        "spacy-multihash.MetaVectors.v1",
        "spacy-multihash.MultiEmbed.v1",
        "spacy-multihash.MultiHashEmbed.v1",
        "spacy-multihash.MultiWeightedHashEmbed.v1",
        "spacy-multihash.TextCatEnsemble.v1",
        "spacy-multihash.TextCatHashEmbed.v1",
        "spacy-multihash.TokenTagger.v1",
        "spacy.MultiEmbed.v1",
        "spacy.MultiFewerHashEmbed.v1",
    ],
    "spacy_augmenters": ["spacy-multihash.char_noise.v1"],
    "spacy_callbacks": [
        "set_attr",
        "spacy-multihash.init_tables.v1",
        "spacy-multihash.keep_compressed.v1",
        "spacy-multihash.kpca_rows.v1",
        "spacy-multihash.kpca_vectors.v1",
        "spacy-multihash.load_vectors.v1",
        "spacy-multihash.unfreeze.v1",
        "spacy-multihash.use_product_ops.v1",
    ],
    "spacy_cli": ["multihash"],
    "spacy_factories": ["batch_ner", "indexed_attribute_ruler", "tagger_ner"],
    "spacy_scorers": ["spacy-multihash.seen_unseen_scorer.v1"],
    "spacy_vectors": ["spacy-multihash.CompressedVectors.v1"],
    "srsly_msgpack_decoders": ["spacy-multihash"],
    "thinc_optimizers": ["spacy-multihash.Adam.v1"],
}
EMBED = {"width": 8, "attrs": ["NORM", "SHAPE"], "include_static_vectors": False}
META = {"width": 8, "tables": {"vocab": None, "nl": "x"}}
TEXTCAT = {"exclusive_classes": True, "width": 8, "nO": 8}
ARCHITECTURES = {
    "spacy-multihash.IteratedDilatedEncoder.v1": {"width": 8},
    "spacy-multihash.MaxoutWindowEncoder.v1": {
        "width": 8,
        "window_size": 1,
        "maxout_pieces": 3,
        "depth": 2,
    },
    "spacy-multihash.MetaVectors.v1": META,
    "spacy-multihash.MultiEmbed.v1": EMBED,
    "spacy-multihash.MultiHashEmbed.v1": {**EMBED, "rows": [5, 5]},
    "spacy-multihash.MultiWeightedHashEmbed.v1": {**EMBED, "rows": [5, 5]},
    "spacy-multihash.TextCatHashEmbed.v1": TEXTCAT,
    "spacy-multihash.TokenTagger.v1": {
        "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "*"},
        "nO": 8,
    },
    "spacy.MultiEmbed.v1": {**EMBED, "unk": 0},
    "spacy.MultiFewerHashEmbed.v1": {**EMBED, "rows": [5, 5], "num_hashes": 2},
}
CALLBACKS = {
    "set_attr": {"path": "x", "component": "tok2vec", "attr": "tables", "layer": "multiembed"},
    "spacy-multihash.init_tables.v1": {},
    "spacy-multihash.keep_compressed.v1": {},
    "spacy-multihash.load_vectors.v1": {"tables": {"nl": "x"}},
    "spacy-multihash.use_product_ops.v1": {},
}
# The stub gives type checkers each name, and so no list of them.
PUBLIC: list[str] = spacy_multihash.__all__  # type: ignore[attr-defined]

HASHED = ["hash_rows", "table_embed"]
LOOKED_UP = ["lookup_rows", "table_embed"]
WEIGHTED = ["weighted_embed", "hash_rows", "weighted_table_embed", "table_embed"]
DOCS = [
    "with_token_types",
    "dropout",
    "multi_embed",
    "maxout_norm",
    "extract_features>>list2ragged>>with_array(multi_embed)",
]
NGRAMS = ["extract_ngrams", "reduce_ngrams"]
# thinc writes the names of nodes into saved models, and from_bytes sets them: they never change.
# Each case: an architecture, settings, the name of the whole, and the names of our nodes in it.
NODE_NAMES: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("spacy-multihash.IteratedDilatedEncoder.v1", {}, "iterated_dilated_encoder", []),
    ("spacy-multihash.MaxoutWindowEncoder.v1", {}, "maxout_window_encoder", ["maxout_norm"]),
    ("spacy-multihash.MetaVectors.v1", {}, "read_vectors", ["meta_vectors"]),
    (
        "spacy-multihash.MetaVectors.v1",
        {"mode": "concat", "width": 8},
        "read_vectors",
        ["meta_vectors"],
    ),
    ("spacy-multihash.MultiEmbed.v1", {}, "multi_embed", [*DOCS, *LOOKED_UP]),
    (
        "spacy-multihash.MultiEmbed.v1",
        {"vectors": {"@architectures": "spacy-multihash.MetaVectors.v1", **META}},
        "multi_embed",
        [*DOCS, *LOOKED_UP, "read_vectors", "meta_vectors"],
    ),
    ("spacy-multihash.MultiHashEmbed.v1", {}, "multi_hash_embed", [*DOCS, *HASHED]),
    (
        "spacy-multihash.MultiWeightedHashEmbed.v1",
        {},
        "multi_weighted_hash_embed",
        [*DOCS, *WEIGHTED],
    ),
    (
        "spacy-multihash.MultiWeightedHashEmbed.v1",
        {"train_importance": False, "append_importance": True},
        "multi_weighted_hash_embed",
        [*DOCS, "weighted_embed", "hash_rows", "unit_importance", "weighted_table_embed"],
    ),
    ("spacy-multihash.TextCatHashEmbed.v1", {}, "textcat_hash_embed", [*NGRAMS, *WEIGHTED]),
    ("spacy-multihash.TokenTagger.v1", {}, "token_tagger", []),
    ("spacy.MultiEmbed.v1", {}, "multiembed", [*DOCS, *LOOKED_UP]),
    ("spacy.MultiFewerHashEmbed.v1", {}, "multi_hash_embed", [*DOCS, *HASHED]),
]


def test_entry_points_are_the_golden_list() -> None:
    installed: dict[str, list[str]] = {}
    for entry_point in importlib.metadata.distribution("spacy-multihash").entry_points:
        installed.setdefault(entry_point.group, []).append(entry_point.name)
    assert {group: sorted(names) for group, names in installed.items()} == ENTRY_POINTS


WITHOUT_METADATA = """
import importlib.metadata as metadata, json
points = metadata.distribution("spacy-multihash").entry_points
points = [p for p in points if p.group != "spacy_cli"]
others = [p for d in metadata.distributions() for p in d.entry_points if p not in points]
kept = metadata.EntryPoints(others)
metadata.entry_points = lambda **names: kept.select(**names)
import spacy, spacy_multihash, thinc.api, srsly.msgpack
spacy.blank("xx").add_pipe("batch_ner")
spacy.blank("xx").add_pipe("tagger_ner")
for point in points:
    kind = point.group.removeprefix("spacy_").removeprefix("thinc_")
    if kind == "srsly_msgpack_decoders":
        assert srsly.msgpack.msgpack_decoders.get(point.name) is point.load()
    elif kind != "factories":
        assert spacy.registry.get(kind, point.name) is point.load(), point
"""


def test_importing_the_package_registers_all_where_there_is_no_metadata() -> None:
    """As in an application that PyInstaller has frozen."""
    code = [sys.executable, "-W", "error", "-c", WITHOUT_METADATA]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_registered_names_are_those_of_the_entry_points() -> None:
    names = [name for key, name in vars(registered).items() if key.isupper() and key != "PREFIX"]
    kinds = ("architectures", "augmenters", "callbacks", "scorers", "vectors")
    groups = [*(f"spacy_{kind}" for kind in kinds), "thinc_optimizers"]
    assert sorted(names) == sorted(name for group in groups for name in ENTRY_POINTS[group])
    theirs = {registered.REPORT_MULTI_EMBED, registered.REPORT_MULTI_FEWER_HASH_EMBED}
    theirs.add(registered.SET_ATTR)
    assert {name for name in names if not name.startswith(registered.PREFIX)} == theirs


@pytest.mark.parametrize(("name", "settings", "whole", "inside"), NODE_NAMES)
def test_node_names_are_the_golden_list(
    name: str, settings: dict[str, Any], whole: str, inside: list[str]
) -> None:
    config = {"model": {"@architectures": name, **ARCHITECTURES[name], **settings}}
    root, *nodes = spacy.registry.resolve(config)["model"].walk()
    assert root.name == whole
    assert {node.name for node in nodes if is_ours(node)} == set(inside)


def test_golden_list_of_node_names_has_all_architectures() -> None:
    assert {name for name, *_ in NODE_NAMES} == set(ARCHITECTURES)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture_refuses_arguments_of_a_wrong_type(name: str) -> None:
    # One name that cannot be imported at run time would switch validation off altogether.
    number = "nO" if "Tagger" in name else "width"
    config = {"model": {"@architectures": name, **ARCHITECTURES[name], number: "wide"}}
    with pytest.raises(ValueError, match=number):
        spacy.registry.resolve(config)


@pytest.mark.parametrize("name", CALLBACKS)
def test_callback_resolves_from_a_config(name: str) -> None:
    config = {"callback": {"@callbacks": name, **CALLBACKS[name]}}
    assert callable(spacy.registry.resolve(config)["callback"])


@pytest.mark.parametrize("name", CALLBACKS)
def test_callback_refuses_arguments_of_a_wrong_type(name: str) -> None:
    config = {"callback": {"@callbacks": name, **CALLBACKS[name], "component": {"a": 1}}}
    # The name of the argument, whether it is of a wrong type or none of the callback's.
    with pytest.raises(ValueError, match="component"):
        spacy.registry.resolve(config)


# Registered parts, settings, and the error about what was removed.
REMOVED: list[tuple[str, str, dict[str, Any], str]] = [
    ("architectures", "spacy-multihash.TextCatEnsemble.v1", {}, "was removed. Train a single"),
    ("callbacks", "spacy-multihash.unfreeze.v1", {}, "was removed. Name the components in froz"),
    ("callbacks", "spacy-multihash.kpca_rows.v1", {}, "was removed. For unknown words, set unk"),
    ("callbacks", "spacy-multihash.kpca_vectors.v1", {}, "was removed. For words without vectors"),
    (
        "architectures",
        "spacy-multihash.MultiEmbed.v1",
        {**EMBED, "ard": 1.0},
        "MultiEmbed: ard was removed, was: 1.0. Leave it out, and set min_freq or max_rows of the",
    ),
    (
        "architectures",
        "spacy-multihash.MetaVectors.v1",
        {**META, "mode": "scalar"},
        'mode = "scalar" was removed. Train with "concat" or "mme".',
    ),
]


@pytest.mark.parametrize(("registry", "name", "settings", "message"), REMOVED)
def test_removed_parts_and_settings_say_what_to_use(
    registry: str, name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        spacy.registry.resolve({"part": {f"@{registry}": name, **settings}})


def test_all_registered_parts_are_here() -> None:
    assert {*ARCHITECTURES, *CALLBACKS, *(name for _, name, _, _ in REMOVED)} == {
        *ENTRY_POINTS["spacy_architectures"],
        *ENTRY_POINTS["spacy_callbacks"],
    }


def test_scorer_resolves_from_a_config_and_refuses_arguments_of_a_wrong_type() -> None:
    (name,) = ENTRY_POINTS["spacy_scorers"]
    config = {"scorer": {"@scorers": name, "train": "train.spacy"}}
    assert callable(spacy.registry.resolve(config)["scorer"])
    config["scorer"]["ignore_case"] = "perhaps"
    with pytest.raises(ValueError, match="ignore_case"):
        spacy.registry.resolve(config)


def test_public_names_are_those_that_type_checkers_see() -> None:
    # The stub is beside the module, in a wheel too.
    stub = ast.parse(Path(spacy_multihash.__file__).with_suffix(".pyi").read_text("utf8"))
    seen = [
        (alias.asname, f"spacy_multihash.{node.module}")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert seen and sorted(seen) == [
        (name, getattr(spacy_multihash, name).__module__) for name in sorted(PUBLIC)
    ]


def test_package_says_that_it_is_typed() -> None:
    assert Path(spacy_multihash.__file__).with_name("py.typed").is_file()


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(spacy_multihash, name).__doc__


def test_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'MultiHash'"):
        spacy_multihash.MultiHash  # type: ignore[attr-defined]  # noqa: B018


def test_version_is_that_of_the_distribution() -> None:
    assert spacy_multihash.__version__ == importlib.metadata.version("spacy-multihash")


def test_importing_the_package_prints_and_loads_nothing() -> None:
    code = (
        "import sys, spacy_multihash; "
        "print([m for m in ('thinc', 'spacy', 'cupy', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def is_ours(node: Model) -> bool:
    """Tell whether a node computes a function of this package, whatever its name is."""
    forward = node._func
    while isinstance(forward, partial):
        forward = forward.func
    return forward.__module__.startswith("spacy_multihash.")
