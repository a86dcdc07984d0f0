"""Results of the tools: text for a terminal, JSON for a program, HTML for a notebook."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy

from .templates import in_notebook, render

_WIDTH = 80


@dataclass(frozen=True)
class Table:
    """A table. Its cells are texts: integers get commas, and None is shown as "-".

    title (str): What the rows are.
    header (Sequence[str]): The names of the columns.
    rows (Sequence[Sequence[Any]]): The cells, as many in each row as there are columns.
    aligns (str): "l" or "r" for each column. Further columns are right-aligned.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    aligns: str = "l"

    def __post_init__(self) -> None:
        """Write the cells."""
        shown = [tuple(map(_shown, row)) for row in self.rows]
        object.__setattr__(self, "rows", shown)  # it's frozen

    @property
    def sides(self) -> str:
        """The alignment of each column."""
        return self.aligns.ljust(len(self.header), "r")[: len(self.header)]

    def __str__(self) -> str:
        """Return the table as plain text: title, header, a line, rows."""
        lines = [list(row) for row in (self.header, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines.insert(1, ["-" * width for width in widths])

        def row(cells: Sequence[str]) -> str:
            columns = zip(cells, widths, self.sides, strict=True)
            padded = [c.rjust(w) if side == "r" else c.ljust(w) for c, w, side in columns]
            return "   ".join(padded).rstrip()

        return "\n".join([f"{f' {self.title} ':=^{_WIDTH}}", *map(row, lines)])


def _words(name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", " ", name).capitalize()


def _shown(cell: object) -> str:
    is_number = isinstance(cell, Integral) and not isinstance(cell, bool)
    return f"{cell:,}" if is_number else "-" if cell is None else str(cell)


class Result:
    """What a tool returns: a frozen dataclass that prints well.

    `print(result)` shows its tables and notes, `to_json()` returns all fields for `json.dumps`, and
    a notebook shows the tables as HTML. Fields with `repr=False`, such as a pipeline, are neither
    in the JSON nor in the representation.

    template, heading (str): The template of its page, and the page's title.
    """

    template: ClassVar[str] = "result_page.html"
    heading: ClassVar[str] = ""

    def cautions(self) -> Iterable[str]:
        """Sentences above the tables: why they may be wrong."""
        return ()

    def tables(self) -> Iterable[Table]:
        """The tables to show. Tables without rows aren't shown."""
        return ()

    def notes(self) -> Iterable[str]:
        """Sentences below the tables."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields as dicts, lists, strings and numbers. NaN and infinity become None."""
        return to_json(self)

    def __eq__(self, other: object) -> bool:
        """Compare what both results say. Pipelines and docs are not compared."""
        return type(self) is type(other) and self.to_json() == cast(Result, other).to_json()

    def __hash__(self) -> int:
        """Hash what `==` compares."""
        return hash(json.dumps(self.to_json(), sort_keys=True, default=str))

    def page(self, title: str = "") -> str:
        """Return the result as a complete HTML page."""
        return render(
            self.template, result=self, title=title or self.heading or _words(type(self).__name__)
        )

    def __str__(self) -> str:
        """Return the cautions, tables and notes as plain text."""
        tables = [str(table) for table in self.tables() if table.rows]
        return "\n\n".join([*self.cautions(), *tables, *self.notes()])

    def _repr_html_(self) -> str:
        """Return its own page, or else the cautions, tables and notes, as HTML for notebooks."""
        if self.template != Result.template:
            return in_notebook(self.page())
        return render("result.html", result=self)


def to_json(value: Any) -> Any:  # noqa: ANN401 (any result, any JSON)
    """Return dataclasses, arrays and named tuples as dicts, lists, strings and numbers."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        value = value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value) if field.repr}
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted(map(to_json, value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
