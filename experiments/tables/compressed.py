"""The table of docs/smaller-pipelines.md: what compressing brings and costs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from experiments.runs.files import read_json
from experiments.tables.markdown import markdown

Cells = tuple[str, str]
# The reports of the table, and the headers of their pipelines before and after. The corpus of the
# second one alone is annotated with the labels of its pipeline, and has an F1.
COLUMNS = {
    "en_core_web_md": ("`en_core_web_md` before", "`en_core_web_md` after"),
    "multi_hash_embed": ("MultiHashEmbed before", "MultiHashEmbed after `--weights int8`"),
}
SCORED = "multi_hash_embed"
# What changes: its name in a report, the factor of its unit, and its format.
CHANGES = {
    "MB on disk": ("bytes", 1e-6, ".1f"),
    "MB of memory": ("memory", 1e-6, ".0f"),
    "seconds to load": ("load_seconds", 1.0, ".2f"),
    "tokens a second": ("tokens_per_second", 1.0, ",.0f"),
}
KEPT = {"tags": "TAG", "heads": "HEAD", "labels of heads": "DEP", "lemmas": "LEMMA"}


def read_reports(folder: Path) -> dict[str, Any]:
    """Read the reports of a folder, NAME.json, as `compress --report` writes them.

    Raises ValueError for a damaged file, and for a report of no corpus.
    """
    found = {path.stem: read_json(path, "compress again") for path in sorted(folder.glob("*.json"))}
    for name, report in found.items():
        if not report.get("predictions"):
            raise ValueError(
                f"{folder / name}.json has no predictions: it is of no corpus. Compress again "
                "with --data."
            )
    return found


def render_compressed(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Render what changed, and what was kept, as Markdown: a row for each measure.

    reports (Mapping[str, Mapping[str, Any]]): The reports, by the names in `COLUMNS`.
    """
    found = {name: reports[name] for name in COLUMNS if name in reports}
    rows = [
        (label, [_change(report[name], factor, spec) for report in found.values()])
        for label, (name, factor, spec) in CHANGES.items()
    ]
    predictions = {name: report["predictions"] for name, report in found.items()}
    every = predictions.values()
    rows.append(("entities found before", [(f"{one['entities']:,}", "") for one in every]))
    rows.append(("entities kept", [_share(one["entities_kept"]) for one in every]))
    rows.append(("F1 of entities", [_f(one["f"], name) for name, one in predictions.items()]))
    for label, name in KEPT.items():
        kept = (one["attributes_kept"].get(name) for one in every)
        rows.append((f"{label} kept", [_share(share) for share in kept]))
    header = [title for name in found for title in COLUMNS[name]]
    lines = [(label, *(cell for pair in pairs for cell in pair)) for label, pairs in rows]
    return markdown(("", *header), lines, left=(0,))


def _change(change: Mapping[str, float], factor: float, spec: str) -> Cells:
    """Show a measure before, and after with their ratio."""
    before, after = (f"{factor * change[when]:{spec}}" for when in ("before", "after"))
    return before, f"{after} ({change['ratio']:.3g})"


def _share(share: Optional[float]) -> Cells:
    return "", "" if share is None else f"{share:.2%}".replace("%", " %")


def _f(change: Mapping[str, float], name: str) -> Cells:
    if name != SCORED:
        return "", ""
    return f"{change['before']:.4f}", f"{change['after']:.4f}"
