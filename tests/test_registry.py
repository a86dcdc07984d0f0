"""What the entry points promise, and what importing the package costs."""

import ast
import importlib.metadata
from pathlib import Path
from typing import Any

import pytest
import spacy

import spacy_multihash
from spacy_multihash.common import registered
from tests.helpers.processes import run_python

POINTS = importlib.metadata.distribution("spacy-multihash").entry_points
NAMES = {
    group: sorted(point.name for point in POINTS.select(group=group)) for group in POINTS.groups
}
EMBED = {"width": 8, "attrs": ["NORM", "SHAPE"], "include_static_vectors": False}
REPORT = {
    "spacy.MultiEmbed.v1": {**EMBED, "unk": 0},
    "spacy.MultiFewerHashEmbed.v1": {**EMBED, "rows": [5, 5], "num_hashes": 2},
}
CALLBACKS = {
    "set_attr": {"path": "x", "component": "tok2vec", "attr": "tables", "layer": "multiembed"},
    "spacy-multihash.init_tables.v1": {},
    "spacy-multihash.keep_compressed.v1": {},
    "spacy-multihash.load_vectors.v1": {"tables": {"nl": "x"}},
    "spacy-multihash.require_package.v1": {},
    "spacy-multihash.use_product_ops.v1": {},
}
# The stub gives type checkers each name, and so no list of them.
PUBLIC: list[str] = spacy_multihash.__all__  # type: ignore[attr-defined]


WITHOUT_METADATA = """
import importlib.metadata as metadata, sys
points = metadata.distribution("spacy-multihash").entry_points
points = [p for p in points if p.group != "spacy_cli"]
others = [p for d in metadata.distributions() for p in d.entry_points if p not in points]
kept = metadata.EntryPoints(others)
metadata.entry_points = lambda **names: kept.select(**names)
sys.frozen = True
import spacy, spacy_multihash, thinc.api, srsly.msgpack
spacy.blank("xx").add_pipe("batch_ner")
spacy.blank("xx").add_pipe("batch_parser")
spacy.blank("xx").add_pipe("tagger_ner")
for point in points:
    kind = point.group.removeprefix("spacy_").removeprefix("thinc_")
    if kind == "srsly_msgpack_decoders":
        assert srsly.msgpack.msgpack_decoders.get(point.name) is point.load()
    elif kind != "factories":
        assert spacy.registry.get(kind, point.name) is point.load(), point
"""


def test_importing_the_package_registers_all_in_a_frozen_application() -> None:
    """As in an application that PyInstaller has frozen."""
    run_python(WITHOUT_METADATA, PYTHONWARNINGS="error")


def test_registered_names_are_those_of_the_entry_points() -> None:
    names = [name for key, name in vars(registered).items() if key.isupper() and key != "PREFIX"]
    kinds = ("architectures", "augmenters", "callbacks", "factories", "scorers", "vectors")
    groups = [*(f"spacy_{kind}" for kind in kinds), "thinc_optimizers"]
    assert sorted(names) == sorted(name for group in groups for name in NAMES[group])
    theirs = {*REPORT, registered.SET_ATTR, *NAMES["spacy_factories"]}
    assert {name for name in names if not name.startswith(registered.PREFIX)} == theirs
    others = NAMES["spacy_cli"], NAMES["srsly_msgpack_decoders"]
    assert others == (["multihash"], ["spacy-multihash"])


@pytest.mark.parametrize("name", REPORT)
def test_architecture_refuses_arguments_of_a_wrong_type(name: str) -> None:
    # One name that cannot be imported at run time would switch validation off altogether.
    with pytest.raises(ValueError, match="width"):
        spacy.registry.resolve({"model": {"@architectures": name, **REPORT[name], "width": "wide"}})


SCORERS = {name: {"train": "train.spacy"} for name in NAMES["spacy_scorers"]}


@pytest.mark.parametrize(
    ("kind", "name", "settings", "wrong"),
    [
        # The name of an argument of a wrong type, or of one that isn't the callback's.
        *(("callbacks", name, settings, "component") for name, settings in CALLBACKS.items()),
        *(("scorers", name, settings, "ignore_case") for name, settings in SCORERS.items()),
    ],
)
def test_function_resolves_from_a_config_and_refuses_arguments_of_a_wrong_type(
    kind: str, name: str, settings: dict[str, Any], wrong: str
) -> None:
    config: Any = {f"@{kind}": name, **settings}
    assert callable(spacy.registry.resolve({"function": config})["function"])
    with pytest.raises(ValueError, match=wrong):
        spacy.registry.resolve({"function": {**config, wrong: {"a": 1}}})


def test_all_callbacks_are_here() -> None:
    assert {*CALLBACKS} == {*NAMES["spacy_callbacks"]}


def test_public_names_are_those_that_type_checkers_see() -> None:
    # The stub is beside the module, in a wheel too.
    stub = ast.parse(Path(spacy_multihash.__file__).with_suffix(".pyi").read_text("utf8"))
    seen = [
        (alias.asname, f"spacy_multihash.{node.module}")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert Path(spacy_multihash.__file__).with_name("py.typed").is_file()
    assert seen and sorted(seen) == [
        (name, getattr(spacy_multihash, name).__module__) for name in sorted(PUBLIC)
    ]


def test_public_names_are_documented_and_others_refused() -> None:
    assert [name for name in PUBLIC if not getattr(spacy_multihash, name).__doc__] == []
    with pytest.raises(AttributeError, match="has no attribute 'MultiHash'"):
        spacy_multihash.MultiHash  # type: ignore[attr-defined]  # noqa: B018


def test_version_is_that_of_the_distribution() -> None:
    assert spacy_multihash.__version__ == importlib.metadata.version("spacy-multihash")


def test_importing_the_package_prints_and_loads_nothing() -> None:
    code = (
        "import sys, spacy_multihash; "
        "print([m for m in ('thinc', 'spacy', 'cupy', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("[]\n", "")
