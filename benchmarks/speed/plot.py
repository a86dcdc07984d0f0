"""The plot of the results."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.timing import ALL, ONE
from benchmarks.speed.measure import Record
from benchmarks.speed.targets import find_target

COLORS = {
    ONE: "#c6dbef",
    ALL: "#6baed6",
    SPACY: "#d9d9d9",
    OURS: "#6baed6",
}


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios and the shares of the limit as bars, with their intervals."""
    panels: dict[str, list[Bar]] = {}
    shares: list[Bar] = []
    for r in records.values():
        group = panels.setdefault(f"width {r['width']}, {r['text']} docs", [])
        group.append(Bar(r["what"], r["threads"], r["ratio"], find_target(r, "ratio")))
        label = f"{r['what']}, {r['width']}, {r['text']}, {r['threads']}"
        targets = {SPACY: None, OURS: find_target(r, "share")}
        shares += [Bar(label, arm, share, targets[arm]) for arm, share in r["share"].items()]
    drawn = [
        Panel(name, "spaCy's time / ours (above 1: faster)", bars) for name, bars in panels.items()
    ]
    if shares:
        by = "the bare matrix products' time / the layer's"
        drawn.append(Panel("share of the machine's limit", by, shares))
    draw_panels(path, drawn, COLORS, title, size=(13, 4.5))
