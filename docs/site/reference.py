"""Pages of reference, written from the code when the site is built."""

import re
import sys
import typing
from configparser import ConfigParser
from inspect import getdoc, isclass, isfunction
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from thinc.api import Config
from typer.testing import CliRunner

import spacy_multihash
from spacy_multihash import layers
from spacy_multihash.cli.group import multihash_cli

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "python -m spacy multihash"
WIDE = 10_000  # columns, so that help breaks no line
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
# A registered function is headed by its name in configs, not by its name in Python.
SETTINGS = "    options:\n      show_root_heading: false\n"


def commands() -> str:
    """Describe each command and its options, from its help."""
    return "\n".join(describe([]))


def describe(path: list[str]) -> list[str]:
    """Describe a command, and those of a group."""
    runner = CliRunner(env={"NO_COLOR": "1"})
    width: dict[str, Any] = {"terminal_width": WIDE, "max_content_width": WIDE}
    text = runner.invoke(multihash_cli, [*path, "--help"], prog_name=PROGRAM, **width).output
    usage, _, rest = text.partition("\n\n")
    parts = dict(re.findall(r"^(\w+):\n(.*?)(?=^\w+:\n|\Z)", f"Help:\n{rest}", re.M | re.S))
    lines = [f"\n{'#' * (len(path) + 1)} {' '.join(['multihash', *path])}\n"] if path else []
    prose = re.sub(r"^ +", "", parts.pop("Help").partition("DOCS:")[0].strip(), flags=re.M)
    lines += [escape(prose), ""] if path else []
    group = parts.pop("Commands", "")
    if not group:
        lines += [f"    {usage.removeprefix('Usage: ')}", ""]
        lines += ["| argument or option | meaning |", "| --- | --- |"]
        entries = re.sub(r"\n {9,}", "  ", "".join(parts.values())).splitlines()
        lines += [row(entry) for entry in entries if entry and entry.split()[0] != "--help"]
    for entry in group.splitlines():
        lines += describe([*path, entry.split()[0]]) if entry else []
    return lines


def row(entry: str) -> str:
    """Make a row of a table of a line of help: an argument or option, and its meaning."""
    name, meaning = re.split(r"\s{2,}", entry.strip(), maxsplit=1)
    name = name.replace("|", "\\|")
    return f"| `{name}` | {escape(meaning)} |"


def escape(text: str) -> str:
    """Keep Markdown from reading signs in plain text."""
    return re.sub(r"([\\*_\[\]<>|{}])", r"\\\1", text)


def settings() -> str:
    """Describe each registered name and its settings, from docstrings and default configs."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf8")
    points = setup["options.entry_points"]
    lines = []
    for registry, title in REGISTRIES.items():
        lines += [f"\n## {title}\n"]
        for point in points.get(registry, "").strip().splitlines():
            name, _, place = point.partition(" = ")
            path = place.replace(":", ".")
            is_factory = registry == "spacy_factories"
            lines += [
                f"\n### {name}\n",
                component(name) if is_factory else f"::: {path}\n{SETTINGS}",
            ]
    return "\n".join(lines)


def component(name: str) -> str:
    """Describe a component: its class, and the settings that spaCy fills in."""
    owner = type(spacy.blank("xx").add_pipe(name)).__name__
    meta = Language.get_factory_meta(name)
    default = Config({"components": {name: {"factory": name, **(meta.default_config or {})}}})
    text = default.to_str().partition("[components]")[2].strip()
    return f"[{owner}](api.md#{owner.lower()}) explains the settings.\n\n```ini\n{text}\n```\n"


def api() -> str:
    """Describe each public name, and the classes that public functions take or return."""
    public = {name: getattr(spacy_multihash, name) for name in vars(spacy_multihash)["__all__"]}
    homes: dict[str, list[str]] = {}
    for name, value in public.items():
        homes.setdefault(home(value), []).append(name)
    lines, known = [], {*public.values()}
    for package, names in sorted(homes.items()):
        summary = (getdoc(sys.modules[f"spacy_multihash.{package}"]) or "").partition("\n\n")[0]
        lines += [f"\n## {package}\n", summary, ""]
        for name in names:
            lines += [f"\n### {name}\n", f"::: spacy_multihash.{name}", ""]
            for part in parts_of(public[name], known):
                lines += [f"\n#### {part.__name__}\n", f"::: {part.__module__}.{part.__name__}", ""]
    lines += ["\n## layers\n", (getdoc(layers) or ""), ""]
    for name in layers.__all__:
        if name not in public:
            lines += [f"\n### {name}\n", f"::: spacy_multihash.layers.{name}", ""]
    return "\n".join(lines)


def home(value: Any) -> str:  # noqa: ANN401 (a function or a class)
    """Return the sub-package that has a public name."""
    return value.__module__.split(".")[1]


def parts_of(value: Any, known: set[Any]) -> list[type]:  # noqa: ANN401
    """List our classes in the annotations of a function or class that have no entry yet."""
    found: list[type] = []
    if isfunction(value) or isclass(value):
        for hint in typing.get_type_hints(value).values():
            for kind in flat(hint):
                if kind.__module__.startswith("spacy_multihash.") and kind not in known:
                    known.add(kind)
                    found += [kind, *parts_of(kind, known)]
    return found


def flat(hint: Any) -> list[type]:  # noqa: ANN401 (a type, or one of typing's)
    """List the classes in a type."""
    if isclass(hint) and not typing.get_args(hint):
        return [hint]
    return [kind for part in typing.get_args(hint) for kind in flat(part)]


PAGES = {"commands.md": commands, "settings.md": settings, "api.md": api}
