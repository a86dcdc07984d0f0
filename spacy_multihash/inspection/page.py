"""HTML pages of reports: one file without network access, for any screen, light and dark.

A page is made of parts, each a piece of HTML. Plain strings are escaped, and `Html` is not:

    part = section("Scores", html_table(["", "F1"], [["dev", "81.20"]]), "A paragraph.")
    path.write_bytes(render_page("My report", part))
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Union

from markupsafe import Markup

from ..common.templates import render

# The size of a chart, and the room for its labels: left, top, right, bottom.
_WIDTH, _HEIGHT = 480, 250
_ROOM = (46, 14, 16, 40)


class Html(str):
    """Text that's already HTML, and isn't escaped."""

    __slots__ = ()


Part = Union[str, Html]


def join(*parts: Part) -> Html:
    """Concatenate parts, with plain strings escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def tag(name: str, *parts: Part, class_: str = "") -> Html:
    """Put parts into an element."""
    attribute = f' class="{escape(class_)}"' if class_ else ""
    return Html(f"<{name}{attribute}>{join(*parts)}</{name}>")


def section(title: str, *parts: Part) -> Html:
    """Make a section with a heading. Plain strings become paragraphs."""
    return tag("section", tag("h2", title), *map(_block, parts))


def details(summary: str, *parts: Part) -> Html:
    """Make a part that opens when its summary is clicked. Plain strings become paragraphs."""
    return tag("details", tag("summary", summary), *map(_block, parts))


def html_table(
    header: Sequence[Part], rows: Sequence[Sequence[Part]], *, aligns: str = "l"
) -> Html:
    """Make a table, which scrolls by itself on a narrow screen. The first column has row headers.

    aligns (str): "l" or "r" for each column. Further columns are right-aligned.
    """
    sides = aligns.ljust(len(header), "r")

    def line(name: str, cells: Sequence[Part]) -> Html:
        row = [
            tag(name if i else "th", cell, class_="number" if side == "r" else "")
            for i, (cell, side) in enumerate(zip(cells, sides, strict=True))
        ]
        return tag("tr", *row)

    head = tag("thead", line("th", header))
    body = tag("tbody", *(line("td", row) for row in rows))
    return Html(f'<div class="scroll" tabindex="0">{tag("table", head, body)}</div>')


def share_bar(share: float) -> Html:
    """Draw a share, 0 to 1, as a bar, to show beside its number."""
    bar = f'<span style="width:{100 * share:.1f}%"></span>'
    return Html(f'<span class="bar" aria-hidden="true">{bar}</span>')


def code_block(code: str) -> Html:
    """Show code or a command to copy."""
    return tag("pre", tag("code", code))


def line_chart(
    series: Mapping[str, Sequence[tuple[float, float]]], *, x_label: str, description: str
) -> Html:
    """Draw one or two lines, each with its name, over numbers from 0 to 100.

    series (Mapping): The points (x, y) of each line by name, x ascending from 0.
    description (str): What the chart says, for people who can't see it.
    """
    left, top, right, bottom = _ROOM
    last = max(points[-1][0] for points in series.values()) or 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (_WIDTH - left - right) * x / last
        return across, top + (_HEIGHT - top - bottom) * (1 - y / 100)

    shapes = []
    for y in range(0, 101, 25):
        start, height = place(0, y)
        shapes.append(
            f'<line class="grid" x1="{start}" x2="{_WIDTH - right}" y1="{height}" y2="{height}"/>'
            f'<text x="{left - 8}" y="{height + 4}" text-anchor="end">{y}</text>'
        )
    base = _HEIGHT - bottom + 18
    for x, anchor in ((0, "middle"), (last, "end")):
        shapes.append(
            f'<text x="{place(x, 0)[0]}" y="{base}" text-anchor="{anchor}">{x:,.0f}</text>'
        )
    middle = (left + _WIDTH - right) / 2
    shapes.append(f'<text x="{middle}" y="{base}" text-anchor="middle">{escape(x_label)}</text>')
    for i, (name, points) in enumerate(series.items()):
        places = [place(*point) for point in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = "".join(f'<circle class="s{i}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
        dash = ' stroke-dasharray="6 4"' if i else ""
        label = _HEIGHT - bottom - 12 - 18 * (len(series) - 1 - i)
        shapes.append(
            f'<polyline class="series s{i}" points="{line}"{dash} style="fill:none"/>{dots}'
            f'<text class="s{i}" x="{_WIDTH - right - 6}" y="{label}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
    return Html(
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(description)}">{"".join(shapes)}</svg>'
        f"<figcaption>{escape(description)}</figcaption></figure>"
    )


def render_page(title: str, *parts: Part) -> bytes:
    """Make a page, UTF-8. Plain strings become paragraphs."""
    page = render("page.html", title=title, body=Markup(join(*map(_block, parts))))
    return page.encode("utf8")


def _block(part: Part) -> Html:
    return part if isinstance(part, Html) else tag("p", part)
