"""What `accelerate` reports of each layer and recognizer."""

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple


class Replaced(NamedTuple):
    """What was replaced: the path of its section of the config, and both names.

    Of a recognizer, it is the path of the component's factory.

    component (str): Name of the component.
    path (str): Path of the section of the config.
    before, after (str): The registered names of both.
    """

    component: str
    path: str
    before: str
    after: str


class Already(NamedTuple):
    """A layer, or a recognizer, that was ours already.

    component, path, name (str): As in `Replaced`.
    """

    component: str
    path: str
    name: str


class Left(NamedTuple):
    """A layer, or a recognizer, that stays as it is, and why.

    component, path, name (str): As in `Replaced`.
    reason (str): Why it was left.
    """

    component: str
    path: str
    name: str
    reason: str


@dataclass(frozen=True, repr=False)
class Acceleration:
    """What `accelerate` did: what it replaced, what was ours already, and what it left.

    replaced (list[Replaced]): The layers and recognizers that were replaced.
    already (list[Already]): Those that were ours already.
    left (list[Left]): Those that stay as they are, and why.

    Printed, it is a line for each of them.
    """

    replaced: list[Replaced] = field(default_factory=list)
    already: list[Already] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    def __repr__(self) -> str:
        """Write what `str` does, since this is what an interpreter shows."""
        return str(self)

    def _repr_html_(self) -> str:
        """Write a table for a notebook, with a row for each layer and recognizer."""
        rows = self._rows()
        if not rows:
            return f"<p>{escape(str(self))}</p>"
        header = "".join(f"<th>{name}</th>" for name in ("", "section", "name"))
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
        )
        return f"<table><tr>{header}</tr>{body}</table>"

    def __str__(self) -> str:
        """Write a line for each layer and recognizer."""
        lines = [f"{what} {section}: {layer}" for what, section, layer in self._rows()]
        return "\n".join(lines) or "The pipeline has no layer that embeds or encodes tokens."

    def _rows(self) -> list[tuple[str, str, str]]:
        """List what happened to each of them, the path of its section, and its names."""
        replaced = [
            ("replaced", f"{e.component}.{e.path}", f"{e.before} by {e.after}")
            for e in self.replaced
        ]
        already = [("already", f"{e.component}.{e.path}", e.name) for e in self.already]
        left = [("left", f"{e.component}.{e.path}", f"{e.name}: {e.reason}") for e in self.left]
        return [*replaced, *already, *left]
