"""Tables in the terminal: ratios, and targets."""

from collections.abc import Mapping, Sequence
from typing import Optional

from wasabi import msg

from benchmarks.common.timing import Ratio


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], aligns: str) -> None:
    """Print a table.

    header (Sequence[str]): The name of each column.
    rows (Sequence[Sequence[str]]): The cells of each row.
    aligns (str): The side to which each column is aligned, "l" or "r".
    """
    msg.table(rows, header=header, divider=True, aligns=tuple(aligns))


def show_ratio(values: Optional[Mapping[str, float]]) -> str:
    """Show a ratio of the results, and nothing for none."""
    return "" if values is None else str(Ratio(**values))


def judge(values: Mapping[str, float], least: Optional[float]) -> str:
    """Show a target, and whether a ratio of the results reaches it. Show nothing without a target.

    values (Mapping[str, float]): The ratio.
    least (Optional[float]): The target, which the median should at least reach.
    """
    if least is None:
        return ""
    return f"{least} {'met' if values['median'] >= least else 'missed'}"
