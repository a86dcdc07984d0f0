"""The plot of the results."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.figures import BLUE, ORANGE, SKY, in_words
from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.timing import ALL, ONE
from benchmarks.speed.measure import Record

COLORS = {ONE: SKY, ALL: BLUE, SPACY: ORANGE, OURS: BLUE}
RATIO = "spaCy's time divided by ours\n(above 1: ours is faster)"
LIMIT_SHARE = "time of bare matrix products\ndivided by the layer's"


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios and the shares of the limit as bars, with their intervals."""
    panels: dict[str, list[Bar]] = {}
    shares: list[Bar] = []
    for r in records.values():
        what, sizes = in_words(r["what"]), f"width {r['width']}, {r['text']} docs"
        panels.setdefault(sizes, []).append(Bar(what, r["threads"], r["ratio"]))
        label = f"{what}, {r['threads']},\n{sizes}"
        shares += [Bar(label, arm, share) for arm, share in r["share"].items()]
    drawn = [Panel(sizes, RATIO, bars) for sizes, bars in panels.items()]
    if shares:
        drawn.insert(1, Panel("share of the machine's limit", LIMIT_SHARE, shares))
    draw_panels(path, drawn, COLORS, f"Speed compared with spaCy\n{title}")
