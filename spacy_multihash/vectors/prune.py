"""Tables with fewer words."""

from collections.abc import Sequence
from dataclasses import replace

import numpy

from .table import ChosenRows, VectorTable, need_words
from .vocab import word_keys


def prune(table: VectorTable, words: Sequence[str], *, first: int = 0) -> VectorTable:
    """Keep the words that are given, with their rows, in the order of the table.

    table (VectorTable): The table, which stays as it is.
    words (Sequence[str]): The words to keep, as values of the attribute by which the table finds
        them. Those that the table lacks are left out. A kept word whose text the table lacks gets
        the text given here.
    first (int): How many of the table's first rows to keep besides, with all their words.

    Raises ValueError if the table is of floret, or has none of the words.
    """
    need_words(table, "prune", "none can be left out without changing the words that share it")
    keys = word_keys(words)
    places = table.find(keys)
    keep = table.rows < first
    keep[places[places >= 0]] = True
    if not (places >= 0).any():
        raise ValueError(
            f"{table.name} has none of the {len(keys):,} words to keep. Give words of the same "
            "language and spelling."
        )
    chosen, rows = numpy.unique(table.rows[keep], return_inverse=True)
    texts = dict(zip(places.tolist(), words, strict=True))
    kept = [table.words[place] or texts.get(place) for place in numpy.flatnonzero(keep).tolist()]
    data = ChosenRows(table.data, chosen)
    return replace(table, data=data, keys=table.keys[keep], rows=rows, words=kept)
