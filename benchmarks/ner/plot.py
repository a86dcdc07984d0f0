"""The plots of the results: bars of ratios, and small multiples of how time and memory grow."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.curves import LOOKS, draw_legend, set_ticks
from benchmarks.common.figures import BLUE, GREEN, PURPLE, SKY, new_figure
from benchmarks.common.layers import OURS, SPACY
from benchmarks.ner.cases import (
    ANNOTATE,
    BATCH,
    GROWTH,
    LABELS,
    LENGTH,
    PREDICT,
    PROBABILITIES,
    UPDATE,
)
from benchmarks.ner.measure import Record
from benchmarks.ner.subjects import BEST, CANDIDATES, SCORED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {OURS: BLUE, BEST: GREEN, SCORED: SKY, CANDIDATES: PURPLE}
RATIO = "spaCy's time divided by ours\n(above 1: ours is faster)"
TITLES = {
    PREDICT: "prediction",
    ANNOTATE: "prediction, entities set",
    UPDATE: "update",
    PROBABILITIES: "probabilities, entities set",
}
AXES = {LABELS: "labels", LENGTH: "tokens of an entity", BATCH: "docs in a batch"}
TIME, MEMORY = "µs a word", "memory (MB)"
COLUMNS = [(step, unit) for unit in (TIME, MEMORY) for step in (PREDICT, UPDATE)]


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios to a file, and growth to another one beside it, or to the same if alone."""
    compared = [record for record in records.values() if record["part"] not in GROWTH]
    growing = [record for record in records.values() if record["part"] in GROWTH]
    if compared:
        draw_ratios(path, compared, f"Speed of batch_ner compared with spaCy's ner\n{title}")
    if growing:
        subject = "Time and temporary memory of spaCy's ner and batch_ner"
        draw_growth(growth_path(path) if compared else path, growing, f"{subject}\n{title}")


def growth_path(path: Path) -> Path:
    """Return the file of the plot of growth, beside that of ratios."""
    return path.with_name(f"{path.stem}-growth{path.suffix}")


def draw_ratios(path: Path, records: Sequence[Record], title: str) -> None:
    """Draw a panel of bars for each part."""
    panels: dict[str, list[Bar]] = {}
    for r in records:
        label = f"{r['labels']} labels,\n{r['text']}"
        bars = panels.setdefault(TITLES[r["part"]], [])
        bars += [Bar(label, arm, values) for arm, values in r["ratio"].items() if arm != SPACY]
    drawn = [Panel(name, RATIO, bars) for name, bars in panels.items()]
    draw_panels(path, drawn, COLORS, title)


def draw_growth(path: Path, records: Sequence[Record], title: str) -> None:
    """Draw a line of panels for each axis: the time and the memory of each step."""
    groups = {axis: [r for r in records if r["part"] == axis] for axis in AXES}
    groups = {axis: group for axis, group in groups.items() if group}
    with new_figure(path, title, 1.7 * len(groups) + 1) as figure:
        axes = figure.subplots(len(groups), len(COLUMNS), squeeze=False, sharex="row")
        for line, (axis, group) in zip(axes, groups.items(), strict=True):
            for i, (step, unit) in enumerate(COLUMNS):
                ax, here = line[i], [r for r in group if r["step"] == step]
                ax.sharey(axes[0, i - i % 2])  # all of a unit
                ax.set(xscale="log", yscale="log", xlabel=AXES[axis])
                ax.grid(visible=True, axis="both")
                if i % 2:
                    ax.tick_params(axis="y", labelleft=False)
                else:
                    ax.set_ylabel(unit)
                draw_curves(ax, here, unit)
            set_ticks(line[0], sorted({r["value"] for r in group}))
        for ax, (step, unit) in zip(axes[0], COLUMNS, strict=True):
            ax.set_title(f"{TITLES[step]}, {'time' if unit == TIME else 'memory'}")
        for ax in axes.flat:
            if not ax.lines:
                ax.remove()
        draw_legend(figure)


def draw_curves(ax: "Axes", records: Sequence[Record], unit: str) -> None:
    """Draw the median time of a word, or the memory of a step, of both arms."""
    for arm, look in LOOKS.items() if records else ():
        if unit == TIME:
            sizes = [_microseconds(record, arm) for record in records]
        else:
            sizes = [max(record["temporary_bytes"][arm], 1) / 1e6 for record in records]
        ax.plot([record["value"] for record in records], sizes, label=arm, **look)


def _microseconds(record: Record, arm: str) -> float:
    times = numpy.array(record["times_ms"][arm])
    return float(numpy.median(times / numpy.resize(record["tokens"], len(times)))) * 1000
