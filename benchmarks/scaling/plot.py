"""The plot of the results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from benchmarks.common.figures import new_figure, save_figure
from benchmarks.common.layers import OURS, SPACY
from benchmarks.scaling.cases import MILLION, PREDICT, TRAIN
from benchmarks.scaling.measure import Record
from benchmarks.scaling.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = dict(zip([*PREDICT, TRAIN], ["#1b9e77", "#7570b3", "#d95f02", "#e7298a"], strict=True))
LABELS = {
    "tokens": "tokens of one doc",
    "width": "width",
    "rows": "rows of each table",
    "num_hashes": "number of hashes",
    "vocabulary": "distinct words of the doc",
}


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the time along each axis, and the memory below it."""
    panels: dict[str, list[Record]] = {}
    for record in records.values():
        axis = "tokens" if record["axis"] == MILLION else record["axis"]
        panels.setdefault(axis, []).append(record)
    figure = new_figure(1.5 + 3.5 * len(panels), 8)
    axes = figure.subplots(2, len(panels), squeeze=False, sharey="row", sharex="col")
    for column, (axis, group) in enumerate(panels.items()):
        group = sorted(group, key=lambda record: record["value"])
        above, below = axes[:, column]
        draw_lines(above, below, group)
        x = [record["value"] for record in group]
        for ax in (above, below):
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(x, [f"{value:,}" for value in x], rotation=45, ha="right", fontsize=8)
            ax.minorticks_off()
            ax.grid(alpha=0.3)
        above.set_title(LABELS[axis])
        below.set_xlabel(LABELS[axis])
    axes[1, 0].plot([], [], "x", color="black", label="estimated, does not fit")
    if exponents := summarise(records)["exponent"]:
        slopes = [f"{arm} {exponents[f'tok2vec-predict/{arm}']:.2f}" for arm in (SPACY, OURS)]
        text = f"tok2vec-predict, tokens to the power of:\n{', '.join(slopes)}"
        first = axes[0, list(panels).index("tokens")]
        first.text(0.03, 0.9, text, size=8, transform=first.transAxes)
    axes[0, 0].set_ylabel("time (ms)")
    axes[1, 0].set_ylabel("temporary memory (MB)")
    lines, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    figure.suptitle(title)
    save_figure(figure, path)


def draw_lines(above: "Axes", below: "Axes", records: Sequence[Record]) -> None:
    """Draw the times of all layers along one axis, and below them their memory."""
    for what in (*PREDICT, TRAIN):
        for arm, style in ((SPACY, "o--"), (OURS, "o-")):
            name = f"{what}/{arm}"
            here = [record for record in records if name in record["times_ms"]]
            line: dict[str, Any] = {
                "color": COLORS[what],
                "label": name.replace("/", ", "),
                "markersize": 4,
                "markerfacecolor": "white" if arm == SPACY else COLORS[what],
            }
            x = [record["value"] for record in here]
            above.plot(x, [numpy.median(r["times_ms"][name]) for r in here], style, **line)
            below.plot(x, [max(r["temporary_bytes"][name], 1) / 1e6 for r in here], style, **line)
            for record in records:
                if size := record["estimated_bytes"].get(name):
                    below.plot(record["value"], size / 1e6, "x", color=COLORS[what])
    x = [record["value"] for record in records]
    sizes = [record["model_bytes"][OURS] / 1e6 for record in records]
    below.plot(x, sizes, ":", color="black", label="weights of tok2vec, both")
