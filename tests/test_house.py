"""Where everything is, and which part may import which."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from graphlib import CycleError, TopologicalSorter
from importlib import import_module

import spacy_multihash
from spacy_multihash.common import registered
from tests.helpers.imports import imports, is_package, module_of, modules, project_imports, tree
from tests.helpers.paths import ROOT

# What each part of the package may import, besides itself and `common`.
PARTS: dict[str, tuple[str, ...]] = {
    "common": (),
    "scale": ("corpus", "ner", "ner.tagger", "ner.transition"),
    "compute": (),
    "corpus": ("embed",),
    "embed": ("compute", "vectors"),
    "encode": ("compute",),
    "ner": ("compute", "encode"),
    "ner.tagger": ("compute", "encode", "ner"),
    "ner.transition": ("compute", "ner"),
    "textcat": ("compute", "embed"),
    # Its callbacks and its command hand corpora, vocabs and tables to the arithmetic of vectors.
    "tables": ("corpus", "embed", "vectors"),
    "pipelines": ("compute", "embed", "encode", "ner", "ner.tagger", "ner.transition", "vectors"),
    "inspection": ("compute", "corpus", "embed", "encode", "ner", "tables"),
    # What `fit` adds to other commands: training with checkpoints, scores and the report.
    "fit": ("corpus", "inspection", "scale"),
    "vectors": ("compute",),
    "compat": ("compute", "embed", "tables"),
    "layers": ("compute", "embed", "encode", "ner", "ner.tagger", "textcat"),
}
PARTS["cli"] = tuple(set(PARTS) - {"compat", "layers"})
PARTS["register"] = tuple(set(PARTS) - {"cli", "layers"})
WITHOUT_SPACY = ("common", "compute", "encode", "layers")


def none(offences: Iterable[str]) -> None:
    """Fail with the list of all offences, if there are any."""
    found = sorted(offences)
    assert not found, "\n".join(["", *found])


def part_of(module: str) -> str:
    """Return the part of the package that a module is in, "" for the package itself."""
    inside = module.split(".")[1:]
    return ".".join(inside[:2]) if ".".join(inside[:2]) in PARTS else "".join(inside[:1])


def inside(package: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the imports within a package, each with the parts of both modules."""
    for importer, imported in project_imports():
        if importer.split(".")[0] == imported.split(".")[0] == package:
            yield importer, imported, part_of(importer), part_of(imported)


def test_packages_import_no_other_package_of_the_project_but_spacy_multihash() -> None:
    pairs = {(one.split(".")[0], other.split(".")[0]) for one, other in project_imports()}
    names = {"spacy_multihash", "experiments", "benchmarks"}
    allowed = {(name, name) for name in names} | {(name, "spacy_multihash") for name in names}
    assert pairs <= allowed
    assert not [found for found in imports() if found.imported.split(".")[0] == "tests"]


def test_parts_of_the_package_import_no_others_than_they_may() -> None:
    assert {part_of(module) for module in ours()} == set(PARTS)
    none(
        f"{importer} imports {imported}"
        for importer, imported, part, other in inside("spacy_multihash")
        if other not in (part, "common", *PARTS.get(part, ("register",)))
    )


def test_nobody_imports_the_command_line() -> None:
    none(
        f"{importer} imports {imported}"
        for importer, imported in project_imports()
        if imported.startswith("spacy_multihash.cli") and part_of(importer) != "cli"
    )


def test_modules_import_each_other_in_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for importer, imported in project_imports():
        graph.setdefault(importer, set()).add(imported)
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert circle == []


def test_no_private_name_is_imported_or_read_from_another_module() -> None:
    none(
        f"{importer}:{line} imports {imported}"
        for importer, imported, _, line in imports()
        if module_of(imported) and is_private(importer, imported)
    )
    none(
        f"{importer}:{node.lineno} reads {local}.{node.attr}"
        for importer, imported, local, _ in imports()
        if imported in modules()
        for node in ast.walk(tree(importer))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_")
        if isinstance(node.value, ast.Name) and node.value.id == local
    )


def is_private(importer: str, imported: str) -> bool:
    """Tell whether something is private to another module, or in a module of another package."""
    module = module_of(imported)
    package, _, name = module.rpartition(".")
    foreign = not importer.startswith(f"{package}.")
    return imported.removeprefix(module).startswith("._") or (name.startswith("_") and foreign)


def test_init_of_a_package_is_a_docstring() -> None:
    packages = [name for name in modules() if is_package(name) and name != "spacy_multihash"]
    assert len(packages) > 10
    for package in packages:
        assert ast.get_docstring(tree(package)), package
        assert len(tree(package).body) == 1, package


def test_registered_architectures_are_built_in_architectures() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options.entry_points"]["spacy_architectures"].split("\n")
    builders = [line.partition("=")[2].strip() for line in lines if line and "removed:" not in line]
    assert len(builders) > 5
    homes = {builder.partition(":")[0] for builder in builders}
    assert {home for home in homes if not home.endswith(".architectures")} == {
        "spacy_multihash.compat"
    }
    built = {
        f"{module}:{node.name}"
        for module in modules()
        for node in tree(module).body
        if isinstance(node, ast.FunctionDef)
    }
    assert {name for name in built if ":build_" in name and name.endswith("_v1")} == set(builders)


def test_no_part_of_the_package_has_the_name_of_a_public_function() -> None:
    # Importing it would set it as an attribute of the package, in place of the function.
    direct = {module.split(".")[1] for module in ours()}
    assert direct & set(spacy_multihash.__all__) == set()  # type: ignore[attr-defined]


def test_registered_names_are_written_once() -> None:
    names = [name for key, name in vars(registered).items() if key.isupper()]
    names = [name for name in names if name.endswith(".v1")]
    assert len(names) > 10
    none(
        f"{module}:{line} has {text!r}"
        for module in set(ours()) - {registered.__name__}
        for line, text in strings(module)
        if any(name in text for name in names)
    )


def strings(module: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the strings of a module that are no docstrings."""
    nodes = list(ast.walk(tree(module)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            if isinstance(node.value, str):
                yield node.lineno, node.value


def test_nodes_are_named_by_the_constants_of_their_files() -> None:
    built = {
        (module, ast.unparse(node.args[0]))
        for module in ours()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Model"
    }
    none(f"{module} builds Model({name})" for module, name in built if not name.endswith("NAME"))
    names = [getattr(import_module(module), name) for module, name in built]
    assert len(names) > 10
    assert sorted(set(names)) == sorted(names)


def test_nodes_are_found_by_constants() -> None:
    none(
        f"{module}:{node.lineno} has {ast.unparse(node)}"
        for module in ours()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left).endswith(".name")
        and any(isinstance(getattr(part, "value", None), str) for part in ast.walk(node))
    )


def test_parts_know_nothing_of_spacy() -> None:
    none(
        f"{importer}:{line}"
        for importer, imported, _, line in imports()
        if importer.startswith("spacy_multihash.") and part_of(importer) in WITHOUT_SPACY
        if imported.split(".")[0] == "spacy"
    )


def test_importing_tables_loads_no_spacy() -> None:
    assert {name.split(".")[0] for name in loaded_by("spacy_multihash.tables.tables")} & {
        "spacy",
        "cupy",
        "pandas",
    } == set()


def test_factory_that_spacy_always_imports_is_light() -> None:
    names = loaded_by("spacy_multihash.ner.tagger.factory", after="spacy.pipeline")
    assert {part_of(name) for name in names if name.startswith("spacy_multihash.")} == {
        "common",
        "ner",
        "ner.tagger",
    }
    assert {name for name in names if name.startswith("spacy_multihash.ner.tagger.")} == {
        "spacy_multihash.ner.tagger.factory",
        "spacy_multihash.ner.tagger.settings",
    }
    assert {name.split(".")[0] for name in names} & {"torch", "pandas"} == set()


def loaded_by(module: str, *, after: str = "sys") -> list[str]:
    """List the modules that importing one loads, after another one."""
    code = (
        f"import sys, {after}; before = set(sys.modules); import {module}; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert module in done.stdout.split()
    return done.stdout.split()


def ours() -> list[str]:
    """List the modules of the package, without the package itself."""
    return [module for module in modules() if module.startswith("spacy_multihash.")]
