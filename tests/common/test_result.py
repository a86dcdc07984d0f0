"""Results: what a person, a program and a notebook see of them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from spacy_multihash.common.result import Result, Table
from spacy_multihash.common.templates import in_notebook


class Gain(NamedTuple):
    before: float
    after: Any


@dataclass(frozen=True)
class Example(Result):
    path: Path
    gain: Gain
    scores: dict[Any, Any]
    labels: frozenset[str]
    nlp: Any = field(default=None, repr=False)

    def tables(self) -> Iterator[Table]:
        yield Table("Labels & <b>", ("", "F1 <i>"), [("<script>", "81.20"), ("PER", "9.00")])
        yield Table("Empty", ("",), [])

    def notes(self) -> Iterator[str]:
        yield "1 < 2 \udc00"


EXAMPLE = Example(
    Path("out"),
    Gain(1.5, numpy.float32(3)),
    {1: float("nan"), "x": numpy.arange(2)},
    frozenset("ba"),
    object(),
)


def test_numbers_are_right_aligned_and_empty_tables_left_out() -> None:
    title, *lines = str(EXAMPLE).splitlines()
    assert title.strip("=") == " Labels & <b> "
    assert lines[0] == "           F1 <i>"
    assert lines[2:4] == ["<script>    81.20", "PER          9.00"]
    assert "Empty" not in str(EXAMPLE)


def test_json_has_the_fields() -> None:
    assert json.loads(json.dumps(EXAMPLE.to_json(), allow_nan=False)) == {
        "path": "out",
        "gain": {"before": 1.5, "after": 3},
        "scores": {"1": None, "x": [0, 1]},
        "labels": ["a", "b"],
    }


def test_html_escapes_texts_and_a_page_forbids_scripts() -> None:
    for html in (EXAMPLE._repr_html_(), EXAMPLE.page()):
        assert "&lt;script&gt;" in html and "<script" not in html
        assert "F1 &lt;i&gt;" in html and "Labels &amp; &lt;b&gt;" in html
        assert "1 &lt; 2 &#56320;" in html
        assert html.count('<td class="number">') == 2 and "Empty" not in html
    assert "default-src 'none'" in EXAMPLE.page()


def test_page_in_a_notebook_stays_in_its_frame() -> None:
    framed = in_notebook('<p title="x">')
    assert 'srcdoc="&lt;p title=&#34;x&#34;&gt;"' in framed and " sandbox" in framed
