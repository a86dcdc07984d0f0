"""Tables that several commands print."""

from collections.abc import Sequence

from wasabi import msg

from ..embed.find import embedding_name
from ..inspection.reports import Collisions

_KINDS = ("in components", "in importance", "in both")


def show_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1
) -> None:
    """Print a table, if it has rows, whose first columns are text and the others numbers."""
    if rows:
        msg.divider(title)
        aligns = ["l" if i < text else "r" for i in range(len(header))]
        longest = max(len(cell) for row in (header, *rows) for cell in row)
        msg.table(rows, header=header, divider=True, aligns=aligns, max_col=longest)


def show_collisions(title: str, collisions: Sequence[Collisions]) -> None:
    """Print a table of the symbols that embeddings cannot tell apart, a line for each embedding."""
    show_table(
        f"{title}: in all components, in the row of importance, and in both",
        (
            "embedding",
            "seed",
            "symbols",
            "in components",
            "in importance",
            "in both",
            "by chance",
            "p_col",
        ),
        [_row(found) for found in collisions],
    )


def _row(found: Collisions) -> tuple[str, ...]:
    counts = (found.components, found.importance, found.both)
    actual = ("-" if count is None else f"{count.actual:,}" for count in counts)
    means = ("-" if c is None or c.mean is None else f"{c.mean:,.3g}" for c in counts)
    name = embedding_name(found.component, found.member, found.attr)
    p_col = "-" if found.probability is None else f"{found.probability:.3g}"
    return (name, str(found.seed), f"{found.num_symbols:,}", *actual, " ".join(means), p_col)
