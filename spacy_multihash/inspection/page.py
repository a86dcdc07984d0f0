"""HTML pages of reports: one file without network access, for any screen, light and dark.

A page is made of parts, each a piece of HTML. Plain strings are escaped, and `Html` is not:

    part = section("Scores", html_table(["", "F1"], [["dev", "81.20"]]), "A paragraph.")
    path.write_bytes(render_page("My report", part))
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Union

# Browsers load nothing from elsewhere, and run no scripts, whatever a corpus contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --back: #fff; --fore: #1b1f24; --soft: #59636e; --line: #d8dee4;
  --fill: #f4f6f8; --blue: #0a62a9; --orange: #a84300; --green: #1a7f37; --red: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #14181d; --fore: #e4e8ec; --soft: #9aa5b1;
  --line: #343b44; --fill: #1e242b; --blue: #6cb6ff; --orange: #f0a35e; --green: #5fc873;
  --red: #ff8f85; } }
* { box-sizing: border-box; }
body { background: var(--back); color: var(--fore); font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 60rem; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { border-top: 1px solid var(--line); font-size: 1.2rem; margin: 2rem 0 0.5rem;
  padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
p { margin: 0.5rem 0; max-width: 44rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.6rem 2.5rem; margin: 1rem 0; }
.facts dt { color: var(--soft); font-size: 0.9rem; }
.facts dd { font-size: 1.25rem; font-weight: 600; margin: 0; }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
.scroll { margin: 0.7rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.95rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.9rem 0.25rem 0; text-align: left;
  vertical-align: top; }
th { font-weight: 600; }
thead th { color: var(--soft); font-weight: 500; }
@media (max-width: 40rem) { th, td { font-size: 0.85rem; padding-right: 0.55rem; } }
.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.bar { background: var(--fill); display: inline-block; height: 0.7rem; width: 7rem; }
.bar span { background: var(--blue); display: block; height: 100%; }
figure { margin: 0.7rem 0; max-width: 34rem; }
svg { display: block; height: auto; width: 100%; }
svg text { fill: var(--soft); font: 14px system-ui, sans-serif; }
svg .grid { stroke: var(--line); }
svg .series { fill: none; stroke-width: 2; }
svg circle { stroke: none; }
.s0 { fill: var(--blue); stroke: var(--blue); } .s1 { fill: var(--orange); stroke: var(--orange); }
svg text.s0, svg text.s1 { font-weight: 600; stroke: none; }
svg text.s0 { fill: var(--blue); } svg text.s1 { fill: var(--orange); }
pre { background: var(--fill); font-size: 0.9rem; padding: 0.6rem 0.8rem;
  white-space: pre-wrap; }
pre, code { font-family: ui-monospace, monospace; }
summary { cursor: pointer; font-weight: 600; }
mark { background: var(--fill); border-bottom: 2px solid var(--blue); color: inherit;
  padding: 0 0.15rem; }
ul { margin: 0.3rem 0; padding-left: 1.2rem; }
mark small { color: var(--soft); margin-left: 0.3rem; }
mark.right { border-color: var(--green); } mark.wrong { border-color: var(--red); }
mark.missed { border-bottom-style: dashed; border-color: var(--orange); }
.warn { border-left: 3px solid var(--orange); padding-left: 0.7rem; }
"""
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
    body = join(tag("h1", title), *map(_block, parts))
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body><main>
{body}
</main></body>
</html>
"""
    # A lone surrogate, as in broken input, has no UTF-8.
    return page.encode("utf8", "xmlcharrefreplace")


def _block(part: Part) -> Html:
    return part if isinstance(part, Html) else tag("p", part)
