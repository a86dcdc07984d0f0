"""The plots of the results: small multiples of times, and of memory."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from benchmarks.common.curves import LOOKS, draw_legend, set_ticks
from benchmarks.common.figures import in_words, new_figure
from benchmarks.common.layers import OURS
from benchmarks.scaling.cases import MILLION, PREDICT, TRAIN
from benchmarks.scaling.measure import Record
from benchmarks.scaling.summary import LONG, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYERS = (*PREDICT, TRAIN)
ESTIMATED, WEIGHTS = "estimated, does not fit", "weights of tok2vec, both"
LABELS = {
    "tokens": "tokens of one doc",
    "width": "width",
    "rows": "rows of each table",
    "num_hashes": "hash functions",
    "vocabulary": "distinct words of the doc",
}
# Draws the panel of a layer.
DrawT = Callable[["Axes", str, Sequence[Record]], None]


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the times to a file, and the memory to another one beside it."""
    exponents = summarise(records)["exponent"]

    def draw_panel(ax: "Axes", layer: str, group: Sequence[Record]) -> None:
        draw_times(ax, layer, group)
        if group[0]["axis"] in ("tokens", MILLION):
            draw_exponents(ax, layer, exponents)

    draw_figure(
        path, records, f"Time of spaCy's layers and ours by size\n{title}", "time (ms)", draw_panel
    )
    title = f"Temporary memory of spaCy's layers and ours by size\n{title}"
    draw_figure(memory_path(path), records, title, "memory (MB)", draw_memory)


def memory_path(path: Path) -> Path:
    """Return the file of the plot of memory, beside that of times."""
    return path.with_name(f"{path.stem}-memory{path.suffix}")


def draw_figure(
    path: Path, records: Mapping[str, Record], title: str, ylabel: str, draw_panel: DrawT
) -> None:
    """Draw a line of panels for each axis, with a panel for each layer."""
    groups: dict[str, list[Record]] = {}
    for record in sorted(records.values(), key=lambda record: record["value"]):
        axis = "tokens" if record["axis"] == MILLION else record["axis"]
        groups.setdefault(axis, []).append(record)
    groups = {axis: groups[axis] for axis in LABELS if axis in groups}
    with new_figure(path, title, 1.7 * len(groups) + 1) as figure:
        axes = figure.subplots(len(groups), len(LAYERS), squeeze=False, sharey=True, sharex="row")
        for line, (axis, group) in zip(axes, groups.items(), strict=True):
            for ax, layer in zip(line, LAYERS, strict=True):
                draw_panel(ax, layer, group)
                ax.set(xscale="log", yscale="log", xlabel=LABELS[axis])
                ax.grid(visible=True, axis="both")
            set_ticks(line[0], [record["value"] for record in group])
            line[0].set_ylabel(ylabel)
        for ax, layer in zip(axes[0], LAYERS, strict=True):
            ax.set_title(in_words(layer))
        draw_legend(figure)


def draw_times(ax: "Axes", layer: str, records: Sequence[Record]) -> None:
    """Draw the median times of a layer."""
    for arm, look in LOOKS.items():
        name = f"{layer}/{arm}"
        here = [record for record in records if name in record["times_ms"]]
        times = [numpy.median(record["times_ms"][name]) for record in here]
        ax.plot([record["value"] for record in here], times, label=arm, **look)


def draw_exponents(ax: "Axes", layer: str, exponents: Mapping[str, float]) -> None:
    """Write with which power of the number of tokens the times grow, where it is known."""
    names = {arm: f"{layer}/{arm}" for arm in LOOKS}
    known = [f"{arm} {exponents[name]:.2f}" for arm, name in names.items() if name in exponents]
    if known:
        text = "\n".join([f"power from {LONG:,}:", *known])
        ax.text(0.03, 0.97, text, size=7, transform=ax.transAxes, va="top")


def draw_memory(ax: "Axes", layer: str, records: Sequence[Record]) -> None:
    """Draw the temporary memory of a layer, and the weights of tok2vec."""
    for arm, look in LOOKS.items():
        name = f"{layer}/{arm}"
        here = [record for record in records if name in record["temporary_bytes"]]
        sizes = [max(record["temporary_bytes"][name], 1) / 1e6 for record in here]
        ax.plot([record["value"] for record in here], sizes, label=arm, **look)
    for arm, look in LOOKS.items():
        for record in records:
            if size := record["estimated_bytes"].get(f"{layer}/{arm}"):
                ax.plot(record["value"], size / 1e6, "x", color=look["color"], label=ESTIMATED)
    if layer.startswith("tok2vec"):
        x = [record["value"] for record in records]
        sizes = [record["model_bytes"][OURS] / 1e6 for record in records]
        ax.plot(x, sizes, ":", color="black", label=WEIGHTS)
