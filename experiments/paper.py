"""A run's scores beside the paper's and the project's."""

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any, NamedTuple

from experiments.configs import SOURCES
from experiments.results import RESULTS, read_rows
from experiments.tables import (
    ANEM,
    FEATURES,
    HASH,
    NL,
    REPORT,
    SCORES,
    TABLES,
    VECTORS,
    read_report,
    report_numbers,
)

HEADER = ("", "this run", "the paper", "ours")
# The paper's tables of errors without some features.
ERRORS = {NL: "2", ANEM: "3"}


class Setting(NamedTuple):
    """What identifies scores of the paper: an arm, a data set, and whether there are vectors."""

    arm: str
    dataset: str
    vectors: bool


def setting_of(row: Mapping[str, Any], arm: str) -> Setting:
    """Return the setting of a run.

    row (Mapping[str, Any]): The run's row.
    arm (str): The name of its arm, or of its config in configs/.
    """
    source = SOURCES.get(arm)
    vectors = bool(row["vectors"]) or (source is not None and source.vectors)
    return Setting(source.arm if source else arm, row["dataset"], vectors)


def compare(row: Mapping[str, Any], arm: str) -> list[tuple[str, str, str, str]]:
    """Put a run's scores beside the paper's, and beside the project's in results/.

    row (Mapping[str, Any]): The run's row.
    arm (str): The name of its arm, or of its config in configs/.

    Returns a line for each score, as in HEADER, or no lines if neither has the run's setting.
    """
    if not (RESULTS / REPORT).is_file():
        return []
    setting = setting_of(row, arm)
    paper = paper_scores(setting)
    lines = []
    for score, label in SCORES.items():
        if row.get(score) not in (None, ""):
            theirs = "; ".join(paper.get(score, []))
            lines.append((label, f"{float(row[score]):.3f}", theirs, our_score(setting, score)))
    lines += _compare_errors(row, setting)
    return lines if any(theirs or ours for _, _, theirs, ours in lines) else []


def paper_scores(setting: Setting) -> dict[str, list[str]]:
    """Return the paper's scores with the table of each, by column of the table of runs."""
    report = read_report()
    scores: dict[str, list[str]] = {}
    for table in TABLES.values():
        if bool(table.vectors) == setting.vectors:
            for (line, dataset), number in report_numbers(table, report).items():
                if (table.lines.get(line), dataset) == setting[:2]:
                    text = f"{number} (Table {table.report[line].partition(' ')[0]})"
                    of_score = scores.setdefault(table.scores[0], [])
                    if text not in of_score:
                        of_score.append(text)
    return scores


def our_score(setting: Setting, score: str) -> str:
    """Return the mean of the project's runs, with their standard deviation and their vectors."""
    values = _our_values(setting, score)
    if not values:
        return ""
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    vectors = f", {VECTORS[setting.dataset]}" if setting.vectors else ""
    return f"{fmean(values):.3f}{spread} (n = {len(values)}{vectors})"


def _our_values(setting: Setting, score: str) -> list[float]:
    vectors = VECTORS.get(setting.dataset) if setting.vectors else ""
    key = setting.dataset, setting.arm, vectors, ""
    return [
        float(row[score])
        for row in read_rows(RESULTS)
        if (row["dataset"], row["arm"], row["vectors"], row["after"]) == key and row[score]
    ]


def _compare_errors(row: Mapping[str, Any], setting: Setting) -> list[tuple[str, str, str, str]]:
    """Compare by how many percent errors increase without some features (Tables 2 and 3)."""
    number, names = ERRORS.get(setting.dataset), list(FEATURES.values())
    if number is None or setting.vectors or setting.arm not in names[1:]:
        return []
    table = read_report()[number]
    theirs = list(table.values())[names.index(setting.arm)]
    lines = []
    for part in ("all", "seen", "unseen"):
        score = "test_f" if part == "all" else f"test_{part}_f"
        base, ours = _our_values(setting._replace(arm=HASH), score), _our_values(setting, score)
        if base and ours and row.get(score) not in (None, ""):
            more = [
                f"{100 * ((1 - f) / (1 - fmean(base)) - 1):+.0f} %"
                for f in (float(row[score]), fmean(ours))
            ]
            label = f"Increase of errors on test, {part}"
            lines.append((label, more[0], f"{theirs[part]:+d} % (Table {number})", more[1]))
    return lines
