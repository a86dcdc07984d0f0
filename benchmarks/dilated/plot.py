"""The plot of the results."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.common.bars import Bar, Panel, draw_panels
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
from benchmarks.dilated.targets import find_target

COLORS = {
    SPACY_MAXOUT: "#d9d9d9",
    DILATED: "#6baed6",
    GREEDY: "#6baed6",
    CONSTRAINED: "#9ecae1",
    CRF: "#c6dbef",
    CROSS_ENTROPY: "#6baed6",
    EVERY_PASS: "#9ecae1",
}


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios as bars, with intervals and targets."""
    panels: dict[tuple[str, str], list[Bar]] = {}
    for r in records.values():
        bars = panels.setdefault((r["part"], BASES[r["part"]]), [])
        for arm, values in r["ratio"].items():
            if arm != BASES[r["part"]]:
                label = f"{r['what']},\n{r['text']}"
                bars.append(Bar(label, arm, values, find_target(r, arm)))
    drawn = [
        Panel(name, f"time of {base} / of the arm (above 1: faster)", bars)
        for (name, base), bars in panels.items()
    ]
    draw_panels(path, drawn, COLORS, title, size=(15, 6))
