"""The tables that commands print, in the 80 columns of a terminal where they can."""

import re
from collections.abc import Sequence
from itertools import pairwise
from textwrap import TextWrapper, wrap

from wasabi import table

from ..embed.find import embedding_name
from ..inspection.rows import Collisions
from ._messages import WIDTH, echo, msg

# Blanks between two columns, and where there is no room for them.
_SPACING, NARROW = 3, 2
# The least width of a column whose words are broken anywhere.
LEAST = 10
# The same where words stay whole, which are broken only if they are longer.
_LEAST = {"l": LEAST, "L": 30}
# Stands for a blank at which no cell is broken; repr never writes it.
_FIXED = "\u00a0"
# Between words, and within words after punctuation.
_PIECES = re.compile(r"( +)|(?<=[^\w\s]|_)(?=[^\W_])")


class _PieceWrapper(TextWrapper):
    """Break lines after punctuation too, where they would be too long."""

    wordsep_simple_re = _PIECES


def show_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, aligns: str = "l"
) -> None:
    """Print a table, if it has rows.

    Where a table is too wide, headers are broken at their blanks, then cells, and then the words
    of texts: after punctuation, or last anywhere. Nothing is left out.

    title (str): What is printed above the table.
    header (Sequence[str]): Names of the columns.
    rows (Sequence[Sequence[str]]): The cells of each row.
    aligns (str): "l" for each column of texts, "L" for each one of texts whose words stay whole up
        to 30 characters, and "r" for each one of numbers, in order. Columns that it does not reach
        are of numbers.
    """
    if not rows:
        return
    sides = aligns.ljust(len(header), "r")
    widths, spacing = _lay_out(header, rows, sides)
    lines = [*_lines(header, widths, is_header=True), ["-" * width for width in widths]]
    for row in rows:
        lines += _lines(row, widths)
    msg.heading(title)
    echo(table(lines, widths=widths, spacing=spacing, aligns=[*sides.lower()]))


def signed(value: float, digits: int = 3) -> str:
    """Write a number with its sign, and what would be rounded to 0 without one."""
    return f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def unbroken(text: str) -> str:
    """Mark a text that no cell may break."""
    return text.replace(" ", _FIXED)


def visible(word: str) -> str:
    """Write a word as it is, or as Python does if it has line feeds and the like, or is blank."""
    return word if word.strip() and word.isprintable() else repr(word)


def show_collisions(title: str, collisions: Sequence[Collisions]) -> None:
    """Print a table of the symbols that embeddings cannot tell apart.

    It has a row for each kind of rows that symbols may share: all components, the row of
    importance, and both. An embedding with fixed importance has components alone.
    """
    rows = [row for found in collisions for row in _collision_rows(found)]
    header = ("embedding", "symbols", "rows of", "in collision", "by chance", "p_col")
    show_table(title, header, rows, aligns="lrl")
    if rows:
        msg.text(
            "In collision: symbols that have these rows in common with another one. p_col: the "
            "probability of that by chance."
        )


def _collision_rows(found: Collisions) -> list[list[str]]:
    name = embedding_name(found.component, found.member, found.attr)
    counts = {"components": found.components, "importance": found.importance, "both": found.both}
    rows = []
    for kind, count in counts.items():
        if count is not None:
            mean = "-" if count.mean is None else f"{count.mean:,.3g}"
            rows.append([name, f"{found.num_symbols:,}", kind, f"{count.actual:,}", mean, ""])
    # The probability is that of the last kind.
    rows[-1][-1] = "-" if found.probability is None else f"{found.probability:.3g}"
    return rows


def _lay_out(
    header: Sequence[str], rows: Sequence[Sequence[str]], sides: str
) -> tuple[list[int], int]:
    """Choose the widths of columns, and the blanks between them, so that a table fits if it can."""
    columns = list(zip(header, *rows, strict=True))
    whole = [max(map(len, column)) for column in columns]
    of_cells = [max(_longest_word(name), *map(len, cells)) for name, *cells in columns]
    of_words = [max(map(_longest_word, column)) for column in columns]
    gaps = len(columns) - 1
    of_pieces = [
        max(map(_longest_piece, column)) if side == "l" else width
        for column, width, side in zip(columns, of_words, sides, strict=True)
    ]
    of_letters = [
        min(width, _LEAST.get(side, width)) for width, side in zip(of_pieces, sides, strict=True)
    ]
    steps = [whole, of_cells, of_words, of_pieces, of_letters]
    for widths, least in pairwise(steps):
        for spacing in (_SPACING, NARROW):
            shrunk = _shrink(widths, least, WIDTH - spacing * gaps)
            if sum(shrunk) + spacing * gaps <= WIDTH:
                return [_broken(*column) for column in zip(columns, shrunk, strict=True)], spacing
    return of_letters, NARROW


def _broken(column: Sequence[str], width: int) -> int:
    """Return how wide the lines of a column are, when its cells are broken at a width."""
    return max(len(line) for cell in column for line in _break(cell, width))


def _longest_word(cell: str) -> int:
    return max(map(len, cell.split(" ")))


def _longest_piece(cell: str) -> int:
    return max(len(piece) for piece in _PIECES.split(cell) if piece is not None)


def _shrink(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Make the widest columns narrower, until all have room or the least width."""
    shrunk = list(widths)
    while sum(shrunk) > room and shrunk != least:
        wide = [i for i, width in enumerate(shrunk) if width > least[i]]
        shrunk[max(wide, key=shrunk.__getitem__)] -= 1
    return shrunk


def _lines(
    row: Sequence[str], widths: Sequence[int], *, is_header: bool = False
) -> list[list[str]]:
    """Break the cells of a row into lines. Those of a header stand on its last lines."""
    cells = [_break(cell, width) for cell, width in zip(row, widths, strict=True)]
    height = max(map(len, cells))
    columns = []
    for cell in cells:
        blanks = [""] * (height - len(cell))
        columns.append(blanks + cell if is_header else cell + blanks)
    return [list(line) for line in zip(*columns, strict=True)]


def _break(cell: str, width: int) -> list[str]:
    lines = [cell]
    if len(cell) > width:
        lines = wrap(cell, width, break_long_words=False, break_on_hyphens=False) or [""]
    if any(len(line) > width for line in lines):
        wrapper = _PieceWrapper(width, break_on_hyphens=False)
        lines = [part for line in lines for part in wrapper.wrap(line)]
    return [line.replace(_FIXED, " ") for line in lines]
