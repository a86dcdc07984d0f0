"""The table of the results."""

from collections.abc import Mapping

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.tables import judge, print_table, show_ratio
from benchmarks.ner.measure import Record
from benchmarks.ner.targets import PYTHON, find_target

HEADER = (
    *("part", "step", "recognizer", "labels", "docs", "in entities", "entity length", "arm"),
    *("words/s", "spaCy's time / own time", f"target, Python {PYTHON}", "temporary MB"),
)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table, one for each arm."""
    rows = []
    for record in records.values():
        entities = record["entities"]
        for arm, values in record["ratio"].items():
            row = [record[key] for key in ("part", "step", "recognizer")]  # type: ignore[literal-required]
            row += [str(record["labels"]), record["text"]]
            row += [f"{entities['share']:.0%}", f"{entities['mean length']:.2f}", arm]
            row += [f"{record['words_per_second'][arm]:,}"]
            row += ["" if arm == SPACY else show_ratio(values)]
            row += [judge(values, find_target(record)) if arm == OURS else ""]
            rows.append((*row, f"{record['temporary_bytes'][arm] / 1e6:,.1f}"))
    return rows


def show(records: Mapping[str, Record]) -> None:
    """Print the table."""
    print_table(HEADER, table_rows(records), "lllrlrrlrrrr")
