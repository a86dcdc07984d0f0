"""Write the reference, the second part of settings.md, commands.md and api.md, from the code.

python docs/site/reference.py
"""

import inspect
import re
import sys
import typing
from configparser import ConfigParser
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.language import Language
from thinc.api import Config
from typer.models import ArgumentInfo, ParameterInfo

import spacy_multihash
from spacy_multihash import layers
from spacy_multihash.cli.group import COMMANDS, EXAMPLES, PROGRAM, WITH_OVERRIDES

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- From here on, written by python docs/site/reference.py -->\n"
# Registries of spaCy, and what their functions are in a config.
REGISTRIES = {
    "spacy_architectures": "Architectures",
    "spacy_factories": "Components",
    "spacy_callbacks": "Callbacks",
    "spacy_augmenters": "Augmenters",
    "spacy_scorers": "Scorers",
    "spacy_vectors": "Vectors",
    "thinc_optimizers": "Optimizers",
}
# What a docstring says of one argument, of several with a type each, or of several with one type.
ARGUMENT = re.compile(r"\*{0,2}\w+(?: \([^\n]+?\))?(?:,\s+\w+(?: \([^\n]+?\))?)* \([^\n]+?\): ")
EMPTY = inspect.Parameter.empty


def main() -> None:
    """Write the pages."""
    for name in PAGES:
        (ROOT / "docs" / name).write_text(page(name), "utf8")


def page(name: str) -> str:
    """Return a page: its first part as it is, and its second part from the code."""
    before = (ROOT / "docs" / name).read_text("utf8").partition(MARK)[0]
    text = re.sub(r"\n{3,}", "\n\n", PAGES[name]())
    return f"{before}{MARK}\n{text.strip()}\n"


# Commands


def commands() -> str:
    """Describe each command and its options."""
    lines = []
    for name in COMMANDS:
        module = name.replace("-", "_")
        cli = getattr(import_module(f"spacy_multihash.cli.{module}"), f"{module}_cli")
        if isinstance(cli, typer.Typer):
            lines += [f"\n## multihash {name}\n", prose(cli.info.help or "")]
            for each in cli.registered_commands:
                lines += command(f"{name} {each.name}", each.callback, "###")
        else:
            lines += command(name, cli, "##")
    return "\n".join(lines)


def command(name: str, function: Any, level: str) -> list[str]:  # noqa: ANN401
    """Describe a command by the signature of its function."""
    usage, rows = [PROGRAM, name], []
    for parameter in inspect.signature(function).parameters.values():
        info = parameter.default
        if isinstance(info, ParameterInfo):
            names, default = names_of(parameter), info.default
            needed = default is ...
            if isinstance(info, ArgumentInfo) or needed:
                usage.append(names[0] if needed else f"[{names[0]}]")
            meaning = str(info.help)
            if default not in (..., None, "", False) and not isinstance(default, list):
                meaning += f". Default: {'yes' if default is True else default}"
            code = ", ".join(f"`{each}`" for each in names).replace("|", "\\|")
            rows.append(f"| {code} | {escape(meaning)}{'. Required' if needed else ''} |")
    usage += ["[OPTIONS]", *["[SETTINGS OF THE CONFIG]"] * (name in WITH_OVERRIDES)]
    table = ["| argument or option | meaning |", "| --- | --- |", *rows, ""]
    text = prose(inspect.getdoc(function) or "")
    example = f"For example: `{PROGRAM} {name} {EXAMPLES[name]}`"
    return [
        f"\n{level} multihash {name}\n",
        text,
        "",
        f"    {' '.join(usage)}\n",
        example,
        "",
        *table,
    ]


def names_of(parameter: inspect.Parameter) -> list[str]:
    """List what a command line calls a parameter, with the kind of its value."""
    info = parameter.default
    if isinstance(info, ArgumentInfo):
        return [info.metavar or parameter.name.upper()]
    hint = parameter.annotation  # perhaps optional
    kind = next(iter(typing.get_args(hint))) if typing.get_origin(hint) is typing.Union else hint
    value = {bool: "", int: " N", float: " X", Path: " PATH"}.get(kind, " TEXT")
    if typing.get_origin(kind) is typing.Literal:
        value = f" {'|'.join(typing.get_args(kind))}"
    default_name = f"--{parameter.name.replace('_', '-')}"
    names = [*getattr(info, "param_decls", ())] or [default_name]
    if kind is bool and info.default:
        names.append(f"--no{default_name[1:]}")
    return [f"{name}{value}" if name.startswith("--") else name for name in names]


# Settings


def settings() -> str:
    """Describe each registered name and its settings, from docstrings and default configs."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf8")
    lines = []
    for registry, title in REGISTRIES.items():
        lines += [f"\n## {title}\n"]
        points = setup["options.entry_points"].get(registry, "").strip().splitlines()
        for name, _, place in (point.partition(" = ") for point in points):
            module, _, function = place.partition(":")
            lines += [f"\n### {name}\n"]
            if registry == "spacy_factories":
                lines += [component(name)]
            else:
                lines += [describe(getattr(import_module(module), function))]
    return "\n".join(lines)


def component(name: str) -> str:
    """Describe a component: its class, and the settings that spaCy fills in."""
    owner = type(spacy.blank("xx").add_pipe(name)).__name__
    meta = Language.get_factory_meta(name)
    default = Config({"components": {name: {"factory": name, **(meta.default_config or {})}}})
    text = default.to_str().partition("[components]")[2].strip()
    return f"[{owner}](api.md#{owner.lower()}) explains the settings.\n\n```ini\n{text}\n```\n"


# Python API


def api() -> str:
    """Describe each public name, and the classes that public functions take or return."""
    public = {name: getattr(spacy_multihash, name) for name in vars(spacy_multihash)["__all__"]}
    homes: dict[str, list[str]] = {}
    for name, value in public.items():
        homes.setdefault(value.__module__.split(".")[1], []).append(name)
    lines, known = [], {*public.values()}
    for package, names in sorted(homes.items()):
        lines += [f"\n## {package}\n"]
        lines += [summary(sys.modules[f"spacy_multihash.{package}"]), ""]
        for name in names:
            lines += [f"\n### {name}\n", signature(public[name], name), describe(public[name])]
            for part in parts_of(public[name], known):
                lines += [f"\n#### {part.__name__}\n", describe(part)]
    lines += ["\n## layers\n", summary(layers), ""]
    for name in layers.__all__:
        if name not in public:
            value = getattr(layers, name)
            lines += [f"\n### {name}\n", signature(value, name), describe(value)]
    return "\n".join(lines)


def parts_of(value: Any, known: set[Any]) -> list[type]:  # noqa: ANN401
    """List our classes in the annotations of a function or class that have no entry yet."""
    found: list[type] = []
    if inspect.isfunction(value) or inspect.isclass(value):
        for hint in typing.get_type_hints(value).values():
            for kind in flat(hint):
                if kind.__module__.startswith("spacy_multihash.") and kind not in known:
                    known.add(kind)
                    found += [kind, *parts_of(kind, known)]
    return found


def flat(hint: Any) -> list[type]:  # noqa: ANN401 (a type, or one of typing's)
    """List the classes in a type."""
    if inspect.isclass(hint) and not typing.get_args(hint):
        return [hint]
    return [kind for part in typing.get_args(hint) for kind in flat(part)]


# Docstrings


def signature(value: Any, name: str) -> str:  # noqa: ANN401 (a function or a class)
    """Return how a function is called. Fields of a dataclass are listed below it anyway."""
    if not callable(value) or is_dataclass(value) or getattr(value, "_is_protocol", False):
        return ""
    parts: list[str] = []
    keyword_only = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts, keyword_only = [*parts, "*"], True
        parts.append(str(parameter.replace(annotation=EMPTY, default=EMPTY)))
        if parameter.default is not EMPTY and (default := show(parameter.default)):
            parts[-1] += f"={default}"
        keyword_only |= parameter.kind is parameter.VAR_POSITIONAL
    return f"`{name}({', '.join(parts)})`\n"


def show(default: Any) -> str:  # noqa: ANN401 (any default)
    """Write a default as code."""
    return getattr(default, "__name__", "") if callable(default) else repr(default)


def summary(value: Any) -> str:  # noqa: ANN401 (a module)
    """Return the first paragraph of a docstring."""
    return prose((inspect.getdoc(value) or "").partition("\n\n")[0])


def describe(value: Any) -> str:  # noqa: ANN401 (a function, a class or a constant)
    """Write a docstring as Markdown, and those of a class's public methods below it."""
    if not callable(value):
        return f"The constant `{value!r}`.\n"
    parts = [prose(inspect.getdoc(value) or "", defaults_of(value))]
    if inspect.isclass(value):
        for name, member in vars(value).items():
            function = member.fget if isinstance(member, property) else member
            if isinstance(function, (classmethod, staticmethod)):
                function = function.__func__
            if inspect.isfunction(function) and not name.startswith("_") and function.__doc__:
                head = f"**`{name}`**" if isinstance(member, property) else f"**`{name}()`**"
                parts.append(f"{head}: {prose(inspect.getdoc(function) or '')}")
    return "\n\n".join(parts) + "\n"


def defaults_of(value: Any) -> dict[str, str]:  # noqa: ANN401 (a function or a class)
    """List the defaults of arguments."""
    if not inspect.isfunction(value):
        return {}
    parameters = inspect.signature(value).parameters.values()
    return {p.name: show(p.default) for p in parameters if p.default is not EMPTY}


def prose(text: str, defaults: typing.Mapping[str, str] = {}) -> str:
    """Write a docstring as Markdown: arguments as a list, types, results and errors as code."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if ARGUMENT.match(paragraph):
            entries = re.split(r"\n(?! )", paragraph)
            arguments = [entry for entry in entries if not entry.startswith("RETURNS ")]
            results = [entry for entry in entries if entry.startswith("RETURNS ")]
            paragraphs += ["\n".join(argument(entry, defaults) for entry in arguments)]
            paragraphs += [result(entry) for entry in results]
        elif paragraph.startswith(("    ", "- ")) or not paragraph:
            paragraphs.append(paragraph)
        else:
            errors = re.sub(r"(?<!`)\b(\w+Error)\b", r"`\1`", escape(paragraph))
            paragraphs.append(errors.replace(":\n    ", ":\n\n    "))
    return "\n\n".join(filter(None, paragraphs))


def argument(entry: str, defaults: typing.Mapping[str, str]) -> str:
    """Write what a docstring says of an argument as an item of a list."""
    head, _, meaning = entry.partition("): ")
    meaning = re.sub(r"\s*\n\s+", " ", meaning)
    default = defaults.get(head.partition(" (")[0], "None")
    end = f" Default: `{default}`." if default != "None" else ""
    names = re.sub(r"(\*{0,2}\w+) \((.+?)\)(?=,\s|$)", r"`\1` (`\2`)", f"{head})")
    names = re.sub(r"^\w+(?=,)|(?<=, )\w+(?=,)", r"`\g<0>`", names)
    return f"- {names}: {escape(meaning)}{end}"


def result(entry: str) -> str:
    """Write what a docstring says of the result."""
    kind, _, meaning = entry.removeprefix("RETURNS (").partition("): ")
    return f"Returns `{kind}`: {escape(' '.join(meaning.split()))}"


def escape(text: str) -> str:
    """Keep Markdown from reading signs in plain text, but for code between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        plain = re.sub(r"([*\[\]|{}])|(?<!\w)(_)|(_)(?!\w)", r"\\\g<0>", parts[i])
        parts[i] = plain.replace("<", "&lt;").replace(">", "&gt;")
    return "".join(parts)


PAGES = {"commands.md": commands, "settings.md": settings, "api.md": api}

if __name__ == "__main__":
    main()
