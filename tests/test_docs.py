"""What README and docs say is run, and they name what there is."""

import ast
import builtins
import dataclasses
import doctest
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from pydoc import locate
from types import FunctionType, ModuleType
from typing import Any, Union

import numpy
import pytest
import spacy
import srsly
import typer
from spacy import errors
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc import model
from thinc.api import Config

import spacy_multihash
from spacy_multihash import layers
from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.embed.feature_symbols import model_features
from spacy_multihash.ner.setting import Setting
from tests.helpers.paths import ROOT

COMPAT = "The report's own names"
Definition = Union[ast.FunctionDef, ast.ClassDef]
PUBLIC = {name: getattr(spacy_multihash, name) for name in vars(spacy_multihash)["__all__"]}
OURS = {
    name: value
    for path, module in [*sys.modules.items()]
    if path.startswith("spacy_multihash.")
    for name, value in vars(module).items()
}
# The pages of the components' classes.
COMPONENTS = {
    "EntityTagger": "entity-tagger",
    "BatchEntityRecognizer": "batch-entity-recognizer",
}
# A name whose docstring stands here on the site: a link to its file.
REFERENCE = r"\[(spacy_multihash[\w.]+)\]\(\.\./(spacy_multihash/[\w/]+\.py)\)"
# Of spaCy, thinc, numpy and the standard library.
KNOWN_TYPES = {
    "Counter",
    "Doc",
    "Example",
    "Floats2d",
    "Floats3d",
    "Ints1d",
    "Language",
    "Model",
    "Optimizer",
    "Path",
    "Span",
    "T",
    "TransitionSystem",
    "Vocab",
    "numpy",
}


def read(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text("utf8")


def section(page: str, heading: str) -> str:
    """Return what a page says under a heading, up to the next one of the same level or above."""
    text = read(page)
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.M)
    if found is None:
        return ""
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.M)
    return rest[: end.start()] if end else rest


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("api", 80),
        ("batch-entity-recognizer", 12),
        ("convert-weights", 20),
        ("dilated", 12),
        ("entity-tagger", 20),
        ("how-it-works", 20),
        ("layers", 20),
        ("weighted", 20),
    ],
)
@pytest.mark.usefixtures("all_exceptions")
def test_worked_example_is_true(name: str, least: int) -> None:
    path = ROOT / "docs" / f"{name}.md"
    results = doctest.testfile(str(path), module_relative=False)
    assert results.attempted > least
    assert results.failed == 0


def test_config_excerpt_of_the_readme_resolves() -> None:
    (excerpt,) = re.findall(r"```ini\n(.*?)```", (ROOT / "README.md").read_text("utf8"), re.S)
    config = Config().from_str(
        "[components]\n[components.tok2vec]\n[components.tok2vec.model]\n" + excerpt
    )
    embed = config["components"]["tok2vec"]["model"]["embed"]
    model = spacy.registry.resolve({"embed": embed})["embed"]
    assert model.name == "multi_hash_embed"
    assert {"ORTH[:2]", "LOWER{3,5}"} <= model_features(model).keys()


def test_config_of_a_listening_tagger_ner_trains_without_a_warning() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf8")
    (excerpt,) = re.findall(r"```ini\n(.*?)```", text, re.S)
    nlp = load_model_from_config(Config().from_str(excerpt), auto_fill=True)
    examples = [Example.from_dict(nlp.make_doc("Anna left"), {"entities": [(0, 4, "PER")]})]
    sgd = nlp.initialize(lambda: examples)
    losses: dict[str, float] = {}
    nlp.update(examples, sgd=sgd, losses=losses)
    assert losses["tagger_ner"] > 0
    assert nlp.get_pipe("tok2vec").listening_components == ["tagger_ner"]  # type: ignore[attr-defined]


def registered() -> dict[str, Callable]:
    """List what spaCy finds of ours, without the commands."""
    setup = (ROOT / "setup.cfg").read_text("utf8")
    setup = setup.partition("srsly_msgpack_decoders")[0]  # which no config names
    points = re.findall(r"^[ \t]+(\S+) = (spacy_multihash\.(?!cli)[\w.]+:\w+)", setup, re.M)
    return {name: metadata.EntryPoint(name, place, "").load() for name, place in points}


def test_every_registered_name_is_documented() -> None:
    text, names = read("reference"), registered()
    assert len(names) == 24
    assert [name for name in names if f"| `{name}`" not in text and f", `{name}`" not in text] == []


@pytest.mark.parametrize("name", registered())
def test_every_setting_of_a_registered_name_is_documented(name: str) -> None:
    is_component = name in ("batch_ner", "tagger_ner")
    is_ours = is_component or name.startswith("spacy-multihash.")
    text = section("reference", name if is_ours else COMPAT)
    if not is_ours:
        text = text.partition(f"**`{name}`**")[2].partition("\n**`")[0]
    assert text
    arguments = set(inspect.signature(registered()[name]).parameters)
    if is_component:
        arguments -= {"nlp", "name"}
    in_tables = set(re.findall(r"`\*?(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.M))))
    assert in_tables == arguments


def commands_of(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command of a group and of the groups in it, by its name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(commands_of(typer.main.get_command(multihash_cli)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_documented(name: str) -> None:
    text = section("commands", f"multihash {name}")
    options = [
        option
        for parameter in COMMANDS[name].params
        if parameter.param_type_name == "option" and parameter.name != "help"
        for option in parameter.opts
    ]
    rows = "".join(re.findall(r"^\| (`.*?) \|", text, re.M))
    assert sorted(re.findall(r"`(--?[\w-]+)`", rows)) == sorted(options)
    arguments = [p for p in COMMANDS[name].params if p.param_type_name == "argument"]
    assert len(re.findall(r"^\| `[A-Z]", text, re.M)) == len(arguments)


def definitions(text: str) -> dict[str, Definition]:
    """Read the definitions in the blocks of Python of a page."""
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    nodes = [node for block in blocks for node in ast.parse(block).body]
    return {node.name: node for node in nodes if isinstance(node, Definition)}


def source(value: Callable) -> Definition:
    """Read the definition of a function or class."""
    node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    assert isinstance(node, Definition)
    return node


def fields(node: Definition) -> list[tuple[str, str, str]]:
    """List names, types and defaults of a function's arguments, or of a class's fields."""
    if isinstance(node, ast.ClassDef):
        lines = [line for line in node.body if isinstance(line, ast.AnnAssign)]
        found = [(ast.unparse(line.target), line.annotation, line.value) for line in lines]
    else:
        plain, named = node.args.args, node.args.kwonlyargs
        defaults = [*[None] * (len(plain) - len(node.args.defaults)), *node.args.defaults]
        found = [(a.arg, a.annotation, d) for a, d in zip(plain, defaults, strict=True)]
        if node.args.vararg:
            found.append((f"*{node.args.vararg.arg}", node.args.vararg.annotation, None))
        elif named:
            found.append(("*", None, None))
        found += [
            (a.arg, a.annotation, d) for a, d in zip(named, node.args.kw_defaults, strict=True)
        ]
        found.append(("returns", node.returns, None))
    return [(name, *(ast.unparse(part) if part else "" for part in rest)) for name, *rest in found]


def evaluated(default: str, module: ModuleType) -> str:
    """Write the value of a default, whatever name it has in the code."""
    value = eval(default, {"numpy": numpy, **vars(module)}) if default else default
    if isinstance(value, dataclasses.Field):
        assert callable(value.default_factory)
        value = value.default_factory()
    return repr(value)


def assert_documented(page: str, heading: str, value: Callable) -> None:
    """Hold that a section has the definition of a function or class, with its types."""
    found = definitions(section(page, heading)).get(value.__name__)
    assert found, f"docs/{page}.md must define {value.__name__} under the heading '{heading}'"
    module = sys.modules[value.__module__]
    documented, actual = (
        [(name, kind, evaluated(default, module)) for name, kind, default in fields(node)]
        for node in (found, source(value))
    )
    assert documented == actual


def referenced() -> dict[str, str]:
    """Map the headings of the reference for Python to the names whose docstrings stand there."""
    found = re.findall(rf"^###+ (\w+)\n\n{REFERENCE}$", read("api"), re.M)
    return {heading: name for heading, name, _ in found}


def test_every_public_name_is_in_the_reference() -> None:
    expected = {n: f"spacy_multihash.{n}" for n in PUBLIC if n not in COMPONENTS}
    assert {n: referenced().get(n) for n in expected} == expected


def test_names_of_the_reference_are_there_and_lead_to_their_files() -> None:
    found = re.findall(rf"^{REFERENCE}$", read("api"), re.M)
    assert len(found) == len(referenced()) == len(re.findall(r"^###+ ", read("api"), re.M))
    for name, path in found:
        source_file = inspect.getsourcefile(locate(name))
        assert source_file == str(ROOT / path), f"docs/api.md: {name} is in {source_file}"


def explained(value: Callable) -> set[str]:
    """List what a docstring explains, in the form `name (type): meaning`."""
    doc = inspect.getdoc(value) or ""
    lines = re.findall(r"^(\*{0,2}\w+\b[^:\n]*(?:\n[^:\n]+)*\): )", doc, re.M)
    return {name for line in lines for name in re.findall(r"(\w+)(?= \(|, \w)", line)}


@pytest.mark.parametrize("name", referenced())
def test_docstring_of_the_reference_explains_all_arguments(name: str) -> None:
    value: Any = locate(referenced()[name])
    if inspect.isclass(value):
        expected = {*vars(value).get("__annotations__", {})}
    else:
        signature = inspect.signature(value)
        expected = {*signature.parameters}
        if signature.return_annotation is not None and not name.startswith("build_"):
            expected.add("RETURNS")
    assert expected <= explained(value)


@pytest.mark.parametrize("name", layers.__all__)
def test_every_layer_is_documented_with_its_types(name: str) -> None:
    value = getattr(layers, name)
    text = section("layers", name)
    assert text
    if name in PUBLIC:
        assert f"(api.md#{name})" in text
    elif inspect.isfunction(value) or inspect.isclass(value):
        assert_documented("layers", name, value)


@pytest.mark.parametrize("page", ["api", *COMPONENTS.values(), "layers"])
def test_names_of_types_are_explained(page: str) -> None:
    used: set[str] = set()
    nodes = [*definitions(read(page)).values()]
    if page == "api":
        nodes = [source(locate(name)) for name in referenced().values()]
    for node in nodes:
        for _, kind, _ in fields(node):
            used |= {n.id for n in ast.walk(ast.parse(kind)) if isinstance(n, ast.Name)}
    explained = {*re.findall(r"^\| `(\w+)` \|", section(page, "Types"), re.M)}
    plain = {*vars(builtins), *vars(typing)}
    known = {*definitions(read(page)), *re.findall(r"^###+ (\w+)$", read(page), re.M), *KNOWN_TYPES}
    assert used & {*OURS} - plain - known <= explained


def public_members(owner: type) -> dict[str, Any]:
    """List the methods and attributes that our own classes give to a class."""
    ours = [base for base in owner.__mro__ if base.__module__.startswith("spacy_multihash.")]
    members = {name: value for base in reversed(ours) for name, value in vars(base).items()}
    return {
        name: value
        for name, value in members.items()
        if not name.startswith("_") and isinstance(value, (FunctionType, Setting, property))
    }


@pytest.mark.parametrize(
    ("component", "name"),
    [(component, name) for component in COMPONENTS for name in public_members(PUBLIC[component])],
)
def test_every_member_of_a_component_is_documented(component: str, name: str) -> None:
    value, page = public_members(PUBLIC[component])[name], COMPONENTS[component]
    if inspect.isfunction(value):
        assert_documented(page, f"{component}.{name}", value)
    else:
        assert f"\n| `{name}` |" in section(page, "Attributes")


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_setting_of_a_component_is_documented(component: str) -> None:
    value, page = PUBLIC[component], COMPONENTS[component]
    assert_documented(page, "Settings", value.__init__)
    rows = "".join(re.findall(r"^\| (`.*?) \|", section(page, "Settings"), re.M))
    assert [name for name in inspect.signature(value).parameters if f"`{name}`" not in rows] == []


def test_messages_of_troubleshooting_are_in_the_code() -> None:
    messages = re.findall(r"^```text\n(.*?)\n```$", read("troubleshooting"), re.M | re.S)
    assert len(messages) > 20
    sources = [
        *(ROOT / "spacy_multihash").rglob("*.py"),
        *(Path(m.__file__) for m in (errors, model)),
        *Path(inspect.getfile(Config)).parent.glob("*.py"),
    ]
    texts = "\n".join(text for path in sources for text in strings(path))
    parts = [part.strip() for message in messages for part in message.split("...")]
    assert [part for part in parts if part not in texts] == []


def strings(path: Path) -> Iterator[str]:
    """Yield the strings of a module, with nothing in the place of what is filled in."""
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{\w+\}", "\n", node.value)


def test_citation_of_the_page_is_that_of_the_file() -> None:
    citation = srsly.yaml_loads((ROOT / "CITATION.cff").read_text("utf8"))
    page, paper = read("cite"), citation["preferred-citation"]
    ascii_page = re.sub(r"\{\\['o](?:(\w)\}|\})|\{\\o\}", lambda found: found[1] or "o", page)
    for name in ("title", "version", "license"):
        assert f"{name} = {{{citation[name]}}}" in page
    assert f"title = {{{paper['title']}}}" in page and f"url = {{{paper['url']}}}" in page
    families = [author["family-names"] for author in paper["authors"]]
    plain = [family.replace("á", "a").replace("ø", "o") for family in families]
    assert [name for name in plain if f"{name}, " not in ascii_page] == []


def anchor(heading: str) -> str:
    """Make the anchor of a heading as GitHub does."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_links_lead_to_files_and_headings() -> None:
    elsewhere = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    pages = [*(ROOT / name for name in elsewhere), *(ROOT / "docs").glob("*.md")]
    texts = {page.resolve(): page.read_text("utf8") for page in pages}
    anchors = {p: {anchor(h) for h in re.findall(r"^#+ (.*)$", t, re.M)} for p, t in texts.items()}
    wrong = []
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)\s:]+)\)", text):
            name, _, heading = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (heading and heading not in anchors[target]):
                wrong.append(f"{page.name}: {link}")
    assert wrong == []
