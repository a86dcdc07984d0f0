"""Write results to a file, and as a table and figures for the docs."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypedDict

import numpy

from benchmarks.pipelines import OPENBLAS, OUR_ADAM, OURS, SPACY
from spacy_multihash.common.timing import Ratio, ratio_of
from spacy_multihash.pipelines.measure import cpu_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
FIGURE = ROOT / "docs" / "figures" / "growth.svg"
BARS = ROOT / "docs" / "figures" / "speedups.svg"
STYLE = ROOT / "docs" / "figures.mplstyle"
DETAILS = RESULTS / "README.md"
ABOUT = """# Speed

spaCy's time or memory, and spaCy's divided by that of other pipelines: the median of several
rounds, and in brackets the range of 80 % of them. `docs/performance.md` explains the columns.
Written by `python -m benchmarks report`.
"""
BEGIN, END = "<!-- begin: benchmarks -->\n", "<!-- end: benchmarks -->\n"
RATIOS = (OPENBLAS, OURS, OUR_ADAM)
PACKAGES = ("spacy-multihash", "spacy", "thinc", "numpy", "blis")


class Row(TypedDict):
    """A case in the results.

    values: The median of each arm, in the unit.
    ratios: spaCy's values divided by another arm's, in the same rounds.
    """

    label: str
    unit: str
    threads: int
    rounds: int
    values: dict[str, float]
    ratios: dict[str, dict[str, float]]


# The facts of the run, and the rows by the names of their cases.
Results = dict[str, Any]


def make_row(label: str, unit: str, threads: int, values: Mapping[str, Sequence[float]]) -> Row:
    """Summarize the values of a case."""
    others = [arm for arm in values if arm != SPACY] if SPACY in values else []
    return Row(
        label=label,
        unit=unit,
        threads=threads,
        rounds=max(map(len, values.values())),
        values={arm: float(f"{median(rounds):.5g}") for arm, rounds in values.items()},
        ratios={arm: ratio_of(values[SPACY], values[arm])._asdict() for arm in others},
    )


def describe_run(corpus: str) -> Results:
    """Describe the machine, the versions, and which kernels run."""
    version = [sys.executable, "-m", "spacy", "multihash", "--version"]
    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    prefix = "SPACY_MULTIHASH_"
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in PACKAGES},
        "numpy_blas": f"{blas['name']} {blas['version']}",
        "kernels": subprocess.run(version, capture_output=True, text=True).stdout.splitlines()[-1],
        "environment": {k: v for k, v in os.environ.items() if k.startswith(prefix)},
        "corpus": corpus,
    }


def write_results(path: Path, results: Results) -> None:
    """Write results to a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", "utf8")


def show_row(row: Row) -> str:
    """Write a row for the terminal."""
    parts = [row["label"]]
    for arm, value in row["values"].items():
        ratio = row["ratios"].get(arm)
        shown = str(Ratio(**ratio)) if ratio else show_value(value, row["unit"])
        parts.append(f"{arm}: {shown}")
    return "  ".join(parts)


def show_value(value: float, unit: str) -> str:
    """Write a value with its unit, with three digits or all before the point."""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def make_table(every: Sequence[Results]) -> str:
    """Make a Markdown table of our ratios, a column for each of the results, without growth.

    Training is with our Adam. If spaCy's value was left out, ours replaces the ratio.
    """
    header = ["", *map(title, every)]
    lines = (
        [label, *(our_cell(r["rows"].get(case)) for r in every)] for case, label in cases(every)
    )
    return markdown([header, *lines])


def make_details(results: Results) -> str:
    """Make a Markdown table of results: spaCy's values, and the ratios of the other arms."""
    lines = [[label, *make_cells(results["rows"][case])] for case, label in cases([results])]
    return markdown([["", SPACY, *RATIOS], *lines])


def cases(every: Sequence[Results]) -> list[tuple[str, str]]:
    """List the cases of all results without growth, with their labels."""
    rows = max((results["rows"] for results in every), key=len)
    return [(case, row["label"]) for case, row in rows.items() if "growth" not in case]


def name_cpu(results: Results) -> str:
    """Name the maker of the processor."""
    return str(results["cpu"].split()[0].removesuffix("(R)"))


def title(results: Results) -> str:
    """Name the processor and the version of Python."""
    return f"{name_cpu(results)}, Python {results['python'].rpartition('.')[0]}"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table with its header first."""
    header, *rest = lines
    every = [header, ["---", *["--:"] * (len(header) - 1)], *rest]
    return "".join(f"| {' | '.join(line)} |\n" for line in every)


def make_cells(row: Row) -> Iterator[str]:
    """Yield the cells of a row: spaCy's value, and the ratios of the other arms.

    If spaCy's was left out, our value replaces its ratio.
    """
    values = {arm: show_value(value, row["unit"]) for arm, value in row["values"].items()}
    ratios = {arm: str(Ratio(**ratio)) for arm, ratio in row["ratios"].items()}
    for arm in (SPACY, *RATIOS):
        yield (values | ratios).get(arm, "")


def our_cell(row: Row | None) -> str:
    """Write our ratio, or our value if spaCy's was left out."""
    if row is None:
        return ""
    arm = OUR_ADAM if OUR_ADAM in row["values"] else OURS
    ratio = row["ratios"].get(arm)
    return f"{ratio['median']:.2f}" if ratio else show_value(row["values"][arm], row["unit"])


def describe_results(results: Results) -> str:
    """Say in a sentence where results come from."""
    r = results
    return (
        f"Python {r['python']}, {r['cpu']} ({r['cores']} cores), spaCy {r['spacy']}, "
        f"spacy-multihash {r['spacy-multihash']}, {r['numpy_blas']}, {r['kernels']}, texts of "
        f"{r['corpus']}, {r['seconds']:g} s a case."
    )


def report(paths: Sequence[Path]) -> None:
    """Put the table of results into the docs, list all their values, and draw their figures."""
    every = [json.loads(path.read_text("utf8")) for path in paths]
    text = PAGE.read_text("utf8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} must have the lines {BEGIN.strip()} and {END.strip()}.")
    block = "\n".join([make_table(every), *(f"- {describe_results(r)}" for r in every), ""])
    PAGE.write_text(before + begin + block + end + after, "utf8")
    parts = [f"## {title(r)}\n\n{describe_results(r)}\n\n{make_details(r)}" for r in every]
    DETAILS.write_text("\n".join([ABOUT, *parts]), "utf8")
    draw_growth(FIGURE, every[0])
    draw_speedups(BARS, every)


def draw_speedups(path: Path, every: Sequence[Results]) -> None:
    """Draw how many times as fast as spaCy we are, a bar for each case and processor.

    Of several results of a processor, the first counts. Training is with our Adam, as in the table.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    of_cpus = {name_cpu(results): results for results in every[::-1]}
    rows = {case: row for results in every for case, row in results["rows"].items()}
    labels = {
        case: label.replace("`", "")
        for case, label in cases(every)
        if rows[case]["unit"].endswith(("a token", "a step"))
    }
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(5.5, 0.6 + 0.42 * len(labels)))
        ax = figure.subplots()
        for i, (cpu, results) in enumerate(sorted(of_cpus.items())):
            found = [
                (y, (row["ratios"].get(OUR_ADAM) or row["ratios"][OURS])["median"])
                for y, case in enumerate(labels)
                if (row := results["rows"].get(case))
            ]
            ys, ratios = zip(*found, strict=True)
            places = [y + (i - 0.5) * 0.38 for y in ys]
            bars = ax.barh(places, ratios, 0.34, color=("C0", "C3")[i % 2], label=cpu)
            ax.bar_label(bars, fmt="%.1f", padding=2, fontsize=7)
        ax.axvline(1, color="black", linewidth=0.8)
        ax.set_yticks(range(len(labels)), [fold(label) for label in labels.values()])
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.grid(axis="x")
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("spaCy's time divided by ours")
        figure.legend(loc="outside lower center", ncols=2)
        figure.savefig(path, metadata={"Date": None})


def fold(label: str) -> str:
    """Write the last part of a label on a line of its own."""
    before, _, last = label.rpartition(", ")
    return f"{before},\n{last}"


def draw_growth(path: Path, results: Results) -> None:
    """Draw how the time of tok2vec grows with tokens, width, rows and hashes."""
    from matplotlib import style
    from matplotlib.figure import Figure

    curves: dict[str, dict[int, dict[str, float]]] = {}
    for name, row in results["rows"].items():
        if name.startswith("growth/"):
            _, what, size = name.split("/")
            curves.setdefault(what, {})[int(size)] = row["values"]
    with style.context(["default", STYLE]):  # not the user's settings
        figure = Figure(figsize=(5.5, 4.4))  # letters stay readable on a phone
        panels = figure.subplots(-(-len(curves) // 2), 2, squeeze=False, sharey=True)
        for ax, (what, points) in zip(panels.flat, curves.items(), strict=False):
            draw_curve(ax, what, points)
        for ax in panels[:, 0]:
            ax.set_ylabel("µs a token")
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def draw_curve(ax: "Axes", what: str, points: Mapping[int, Mapping[str, float]]) -> None:
    """Draw the values of the arms over the sizes, on logarithmic axes."""
    from matplotlib.ticker import EngFormatter

    for arm, color, marker in ((SPACY, "C1", "s"), (OURS, "C0", "o")):
        sizes = [size for size, values in points.items() if arm in values]
        ax.plot(sizes, [points[n][arm] for n in sizes], color=color, marker=marker, label=arm)
    ax.set(title=what, xscale="log", yscale="log")
    ax.set_xticks([], minor=True)
    ax.set_xticks(list(points), [EngFormatter(sep="")(size) for size in points])
    ax.set_yticks([], minor=True)
    ax.set_yticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    ax.minorticks_off() if len(points) < 2 else ax.tick_params(
        axis="x", which="minor", bottom=False
    )
