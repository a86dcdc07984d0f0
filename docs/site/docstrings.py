"""Let griffe read docstrings with `name (type): meaning`, as in spaCy, and show defaults."""

import re
from importlib import import_module

import griffe

# One argument, several with a type each, or several with one type.
ARGUMENT = re.compile(r"\*{0,2}\w+(?: \([^\n]+?\))?(?:,\s+\w+(?: \([^\n]+?\))?)* \([^\n]+?\): ")
ERROR = re.compile(r"(?<!`)\b(\w+Error)\b")


class SpacyStyle(griffe.Extension):
    """Rewrites docstrings in Google's style, and defaults that are constants as their values."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of a class or a function, and the defaults of a function."""
        if obj.docstring and not obj.is_module:
            obj.docstring.value = google_style(obj.docstring.value, is_class=obj.is_class)
        if isinstance(obj, griffe.Function):
            show_defaults(obj)


def show_defaults(function: griffe.Function) -> None:
    """Put the values of constants in the place of their names."""
    for parameter in function.parameters:
        if isinstance(parameter.default, griffe.ExprName):
            value = getattr(import_module(function.module.path), parameter.default.name)
            if not callable(value):
                parameter.default = repr(value)


def google_style(text: str, *, is_class: bool) -> str:
    """Put arguments and results into sections, and code into what is raised.

    text (str): The docstring.
    is_class (bool): Whether it is that of a class, whose arguments are attributes.
    """
    prose, entries, errors = [], [], []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("Raises "):
            errors.append(ERROR.sub(r"`\1`", paragraph))
        elif ARGUMENT.match(paragraph):
            entries += re.split(r"\n(?! )", paragraph)
        else:
            prose.append(paragraph)
    results = [entry for entry in entries if entry.startswith("RETURNS ")]
    arguments = [line for entry in entries if entry not in results for line in each(entry)]
    parts = ["\n\n".join(prose)]
    if arguments:
        parts.append("\n".join(["Attributes:" if is_class else "Args:", *arguments]))
    for result in results:
        kind, _, meaning = result.removeprefix("RETURNS (").partition("): ")
        parts.append(f"Returns:\n    {kind}: {meaning}")
    return "\n\n".join(parts + errors)


def each(entry: str) -> list[str]:
    """Give each of several arguments that are explained together a line of its own."""
    head, _, meaning = entry.partition("): ")
    found = re.findall(r"(\*{0,2}\w+)(?: \((.+?)\))?(?:,\s+|$)", f"{head})")
    meaning = meaning.replace("\n", "\n    ")
    return [f"    {name} ({kind or found[-1][1]}): {meaning}" for name, kind in found]
