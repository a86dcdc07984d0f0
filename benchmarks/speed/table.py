"""The table of the results."""

from collections.abc import Mapping

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.tables import judge, show_ratio
from benchmarks.speed.measure import Record
from benchmarks.speed.targets import find_target

HEADER = (
    *("layer or pipeline", "width", "docs", "threads", "spaCy, tokens/s", "ours, tokens/s"),
    *("spaCy's time / ours", "target", "limit / spaCy's time", "limit / our time", "target"),
)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table, one for each case."""
    rows = []
    for record in records.values():
        cells = [record["what"], str(record["width"]), record["text"], record["threads"]]
        cells += [f"{record['tokens_per_second'][arm]:,.0f}" for arm in (SPACY, OURS)]
        cells += [show_ratio(record["ratio"]), judge(record["ratio"], find_target(record, "ratio"))]
        share = record["share"]
        cells += [show_ratio(share.get(arm)) for arm in (SPACY, OURS)]
        rows.append((*cells, judge(share[OURS], find_target(record, "share")) if share else ""))
    return rows
