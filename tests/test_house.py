"""Where everything is, and which part may import which."""

import ast
import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

import spacy_multihash
from tests.helpers.imports import imports, module_of, modules, project_imports, tree
from tests.helpers.paths import ROOT
from tests.helpers.processes import run_python

TABLE = re.findall(
    r"^\| `(\w+)` \| .* \| (.*?) ?\|$", (ROOT / "CONTRIBUTING.md").read_text("utf8"), re.M
)
# What each part of the package may import, besides itself and `common`.
PARTS = {part: {*re.findall(r"`(\w+)`", imported)} for part, imported in TABLE}
for imported in PARTS.values():
    if "ner" in imported:
        imported |= {"ner.tagger", "ner.transition"}
PARTS |= {
    "ner.tagger": {"compute", "encode", "ner"},
    "ner.transition": {"compute", "ner"},
    "compat": {"compute", "embed", "tables"},
    "layers": {"compute", "embed", "encode", "ner", "ner.tagger", "textcat"},
}
PARTS["cli"] = {*PARTS} - {"compat", "layers"}
PARTS["register"] = {*PARTS} - {"cli", "layers"}
WITHOUT_SPACY = ("common", "compute", "encode", "layers")
# The modules of `common` that load pipelines.
WITH_SPACY = ("spacy_multihash.common.load", "spacy_multihash.common.outputs")


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


def test_no_part_of_the_package_has_the_name_of_a_public_function() -> None:
    # Importing it would set it as an attribute of the package, in place of the function.
    direct = {module.split(".")[1] for module in ours()}
    assert direct & set(spacy_multihash.__all__) == set()  # type: ignore[attr-defined]


def test_parts_know_nothing_of_spacy() -> None:
    none(
        f"{importer}:{line}"
        for importer, imported, _, line in imports()
        if importer.startswith("spacy_multihash.") and part_of(importer) in WITHOUT_SPACY
        if imported.split(".")[0] == "spacy" and importer not in WITH_SPACY
    )


def test_only_commands_print() -> None:
    none(
        f"{importer}:{line} imports {imported}"
        for importer, imported, _, line in imports()
        if importer.startswith("spacy_multihash.") and part_of(importer) != "cli"
        if imported.split(".")[0] in ("tqdm", "typer", "wasabi")
    )


def test_only_operations_call_the_compiled_kernels() -> None:
    allowed = tuple(
        f"spacy_multihash.compute.{name}" for name in ("adam", "dispatch", "ops", "plans")
    )
    none(
        f"{importer}:{line}"
        for importer, imported, _, line in imports()
        if importer.startswith("spacy_multihash.") and importer not in allowed
        if re.fullmatch(r"spacy_multihash\.compute(\.dispatch)?\.kernels(\..*)?", imported)
    )


def test_no_function_of_a_layer_is_replaced() -> None:
    none(
        f"{module}:{node.lineno}"
        for module in ours()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute) and node.attr == "_func"
        if isinstance(node.ctx, ast.Store)
    )


def test_factory_that_spacy_always_imports_is_light() -> None:
    code = (
        "import sys, spacy.pipeline; before = set(sys.modules)\n"
        "import spacy_multihash.ner.tagger.factory; print(*set(sys.modules) - before)"
    )
    names = run_python(code).stdout.split()
    parts = {part_of(name) for name in names if name.startswith("spacy_multihash.")}
    assert parts == {"common", "ner", "ner.tagger"}
    tagger = [name for name in names if name.startswith("spacy_multihash.ner.tagger.")]
    assert tagger == ["spacy_multihash.ner.tagger.factory"]
    assert not {name.split(".")[0] for name in names} & {"torch", "pandas"}


def ours() -> list[str]:
    return [module for module in modules() if module.startswith("spacy_multihash.")]
