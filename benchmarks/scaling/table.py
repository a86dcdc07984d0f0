"""The tables of the results."""

from collections.abc import Mapping

import numpy
from wasabi import msg

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.tables import print_table
from benchmarks.scaling.measure import Record
from benchmarks.scaling.summary import MEMORY_TARGET, summarise

HEADER = (
    *("axis", "value", "layer", "spaCy, ms", "ours, ms"),
    *("spaCy, temporary MB", "ours, temporary MB", "weights, MB"),
)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table, one for each case and layer."""
    rows = []
    for record in records.values():
        used = {**record["temporary_bytes"], **record["estimated_bytes"]}
        for what in dict.fromkeys(name.split("/")[0] for name in used):
            names = [f"{what}/{arm}" for arm in (SPACY, OURS)]
            times = [record["times_ms"].get(name) for name in names]
            row = [record["axis"], f"{record['value']:,}", what]
            row += ["" if ms is None else f"{numpy.median(ms):,.1f}" for ms in times]
            for name in names:
                sign = "about " if name in record["estimated_bytes"] else ""
                row.append(f"{sign}{used[name] / 1e6:,.1f}" if name in used else "")
            rows.append((*row, f"{record['model_bytes'][OURS] / 1e6:,.1f}"))
    return rows


def show(records: Mapping[str, Record]) -> None:
    """Print the table and the summary."""
    print_table(HEADER, table_rows(records), "lrlrrrrr")
    summary = summarise(records)
    if summary["exponent"]:
        msg.text("Time grows with the number of tokens to the power of:")
        msg.table(summary["exponent"])
    if summary["memory"]:
        target = f"our target: at most {MEMORY_TARGET}"
        msg.text(f"Our temporary memory divided by spaCy's, for the longest doc ({target}):")
        msg.table(summary["memory"])
