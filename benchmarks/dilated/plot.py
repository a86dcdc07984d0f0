"""The plot of the results."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.figures import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, in_words
from benchmarks.dilated.cases import (
    BASES,
    CONSTRAINED,
    CRF,
    CROSS_ENTROPY,
    DILATED,
    EVERY_PASS,
    GREEDY,
    SPACY_MAXOUT,
)
from benchmarks.dilated.measure import Record

COLORS = {
    SPACY_MAXOUT: ORANGE,
    DILATED: BLUE,
    GREEDY: BLUE,
    CONSTRAINED: SKY,
    CRF: GREEN,
    CROSS_ENTROPY: PURPLE,
    EVERY_PASS: RED,
}


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios as bars, with intervals."""
    panels: dict[str, list[Bar]] = {}
    for r in records.values():
        alike, _, pair = r["what"].rpartition(": ")
        label = f"{pair},\n{', '.join(filter(None, (alike, r['text'])))}"
        panels.setdefault(r["part"], []).extend(
            Bar(label, arm, values) for arm, values in r["ratio"].items() if arm != BASES[r["part"]]
        )
    drawn = [
        Panel(
            in_words(part),
            f"time of {BASES[part]} divided by\nthat of the other (above 1: faster)",
            bars,
        )
        for part, bars in panels.items()
    ]
    draw_panels(path, drawn, COLORS, f"Time of dilated convolutions and of tagger_ner\n{title}")
