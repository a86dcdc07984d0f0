"""Numbers of the report, for the prose of pages."""

from collections.abc import Mapping, Sequence

from experiments.tables.benchmark_numbers import format_number
from experiments.tables.statistics import Stat
from experiments.tables.table import METRICS

# Some tables of the report are of unseen entities alone.
_PARTS = ("all", "unseen")


def report_number(
    report: Mapping[tuple[str, ...], Stat], words: Sequence[str], spec: str = ""
) -> str:
    """Return a mean that the report prints, or the difference of two means of one table.

    report (Mapping): The report's numbers, as `Results` has them.
    words (Sequence[str]): METRIC TABLE DATASET LINE, or METRIC TABLE DATASET LINE - LINE.
    spec (str): A format of Python's. Without it, as many decimals as the report has.

    Raises ValueError for other words, and for a number that the report does not have.
    """
    if len(words) not in (4, 6) or words[4:5] not in ([], ["-"]) or words[0] not in METRICS:
        raise ValueError(f"expected METRIC TABLE DATASET LINE [- LINE], found {' '.join(words)!r}")
    metric, table, dataset, *lines = (*words[:4], *words[5:])
    means = []
    for line in lines:
        keys = [(table, dataset, line, part, metric) for part in _PARTS]
        stat = next((report[key] for key in keys if key in report), None)
        if stat is None:
            raise ValueError(
                f"Table {table} of the report has no {METRICS[metric].header} of {dataset}, {line}"
            )
        means.append(stat.mean)
    default = METRICS[metric].report
    if len(means) == 1:
        return format_number(means[0], spec or default)
    return format_number(means[0] - means[1], spec or f"+{default.lstrip('+')}")
