"""What the modules of the project import, read from their sources."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.helpers.paths import ROOT

PACKAGES = ("spacy_multihash", "experiments", "benchmarks")


class Import(NamedTuple):
    """An import, wherever it is in a module: in a function, or for type checkers only.

    importer: Dotted name of the module that imports.
    imported: Dotted name of what it imports, with the name after `import`, if there is one.
    local: What the importer calls it.
    line: Where.
    """

    importer: str
    imported: str
    local: str
    line: int


@cache
def modules() -> dict[str, Path]:
    """Map the dotted names of all modules, packages included, to their files."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {_name(path): path for path in sorted(paths)}


@cache
def tree(module: str) -> ast.Module:
    """Parse a module."""
    return ast.parse(modules()[module].read_text("utf8"))


@cache
def imports() -> list[Import]:
    """List all imports of all modules."""
    return [found for module in modules() for found in _imports(module)]


def project_imports() -> list[tuple[str, str]]:
    """List the pairs of modules of the project one of which imports the other."""
    pairs = [(found.importer, module_of(found.imported)) for found in imports()]
    return sorted({(importer, imported) for importer, imported in pairs if imported})


def module_of(imported: str) -> str:
    """Return the module that an import takes something from, "" if it is of another project."""
    while imported and imported not in modules():
        imported = imported.rpartition(".")[0]
    return imported


def is_package(module: str) -> bool:
    """Tell whether a module is a package."""
    return modules()[module].name == "__init__.py"


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imports(module: str) -> Iterator[Import]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            source = ""
        elif isinstance(node, ast.ImportFrom):
            source = _source(module, node)
        else:
            continue
        for alias in node.names:
            local = alias.asname or alias.name.rpartition(".")[2]
            yield Import(module, f"{source}{alias.name}", local, node.lineno)


def _source(module: str, node: ast.ImportFrom) -> str:
    """Return what stands before the names that are imported, with the dot behind it."""
    parents = module.split(".") if is_package(module) else module.split(".")[:-1]
    above = parents[: len(parents) + 1 - node.level] if node.level else []
    return ".".join([*above, *filter(None, [node.module]), ""])
