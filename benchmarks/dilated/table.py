"""The table of the results."""

from collections.abc import Mapping

from benchmarks.common.tables import judge, show_ratio
from benchmarks.dilated.measure import Record
from benchmarks.dilated.targets import find_target

HEADER = (
    "part",
    "case",
    "text",
    "arm",
    "facts",
    "words/s",
    "first arm's time / own time",
    "target",
)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table, one for each arm."""
    rows = []
    for record in records.values():
        for arm, values in record["ratio"].items():
            known = record["arms"][arm]
            row = [record["part"], record["what"], record["text"], arm]
            row += [", ".join(f"{key} {value:,}" for key, value in known.items())]
            row += [f"{record['words_per_second'][arm]:,}", show_ratio(values)]
            rows.append((*row, judge(values, find_target(record, arm))))
    return rows
