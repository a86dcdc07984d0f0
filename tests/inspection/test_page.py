"""Pages of reports."""

import re
from html.parser import HTMLParser

from spacy_multihash.inspection.page import (
    Html,
    code_block,
    details,
    html_table,
    join,
    line_chart,
    render_page,
    section,
    share_bar,
    tag,
)

VOID = {"meta", "link", "line", "circle", "polyline"}


class Reader(HTMLParser):
    """Reads a page, and fails where an element isn't closed in its turn."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page.decode())
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def full_page() -> bytes:
    cells = [["<b>", Html("<mark>Rome</mark>")], ["&", share_bar(0.5)]]
    lines = {"ours <": [(0, 3.0), (200, 70.0)], "other": [(0, 2.0), (200, 61.0)]}
    return render_page(
        'A "title" <x>',
        "A paragraph with <script>alert(1)</script>",
        section("Tables", html_table(["a", "<i>"], cells), "more & more"),
        details("Commands", code_block("python -m x < y")),
        line_chart(lines, x_label="steps", description='F1 of "dev" <rises>'),
    )


def test_page_is_well_formed_and_texts_stay_texts() -> None:
    page = Reader(full_page())
    text = "".join(page.texts)
    for literal in ("<script>alert(1)</script>", "<b>", "<i>", "python -m x < y", "ours <"):
        assert literal in text
    assert ("aria-label", 'F1 of "dev" <rises>') in page.attributes
    assert "<mark>" not in text


def test_page_loads_nothing_and_forbids_it() -> None:
    page = full_page().decode()
    assert "default-src 'none'" in page
    assert not re.findall(r"https?:|//|@import|url\(|<script", page)


def test_page_holds_any_text() -> None:
    assert "&#56320;" in render_page("broken \udc00").decode()


def test_line_goes_from_the_left_below_to_the_right_above() -> None:
    chart = line_chart({"F1": [(0, 0.0), (50, 100.0)]}, x_label="steps", description="")
    (points,) = re.findall(r'points="([^"]+)"', chart)
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in points.split())
    assert (x0, y0) == (46, 210)
    assert (x1, y1) == (464, 14)


def test_chart_of_one_step_is_drawn() -> None:
    assert "nan" not in line_chart({"F1": [(0, 3.0)]}, x_label="steps", description="")


def test_join_escapes_only_plain_strings() -> None:
    assert join("<", Html("<br>"), tag("p", ">")) == "&lt;<br><p>&gt;</p>"
