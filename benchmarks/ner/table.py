"""The table of the results."""

from collections.abc import Mapping

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.tables import judge, print_table, show_ratio
from benchmarks.ner.measure import Record
from benchmarks.ner.targets import PYTHON, find_target

HEADER = (
    *("part", "step", "recognizer", "labels", "docs", "in entities", "entity length", "arm"),
    *("spaCy, words/s", "arm, words/s", "spaCy's time / arm's", f"target, Python {PYTHON}"),
    *("spaCy, temporary MB", "arm, temporary MB"),
)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table, one for each arm but spaCy's."""
    rows = []
    for record in records.values():
        entities, speed = record["entities"], record["words_per_second"]
        used = {arm: f"{size / 1e6:,.1f}" for arm, size in record["temporary_bytes"].items()}
        case = [record["part"], record["step"], record["recognizer"], str(record["labels"])]
        case += [record["text"], f"{entities['share']:.0%}", f"{entities['mean length']:.2f}"]
        for arm, values in record["ratio"].items():
            if arm != SPACY:
                row = [*case, arm, f"{speed[SPACY]:,}", f"{speed[arm]:,}", show_ratio(values)]
                row += [judge(values, find_target(record)) if arm == OURS else ""]
                rows.append((*row, used[SPACY], used[arm]))
    return rows


def show(records: Mapping[str, Record]) -> None:
    """Print the table."""
    print_table(HEADER, table_rows(records), "lllrlrrlrrrrrr")
