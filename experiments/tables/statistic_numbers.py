"""Numbers of corpora, calibrations and other files that are not of runs, for the prose of pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.tables.benchmark_numbers import format_number, get_key


def statistic_number(
    kind: str, of_kind: Mapping[str, Mapping[str, Any]], words: Sequence[str], spec: str = ""
) -> str:
    """Return a number of a file, or the ratio of two of its numbers.

    kind (str): What the files are of, such as "corpus", for messages.
    of_kind (Mapping[str, Mapping[str, Any]]): The contents of each file by its name.
    words (Sequence[str]): NAME PATH or NAME PATH / PATH. A path is keys with points between them.
    spec (str): A format of Python's.

    Raises ValueError for other words, and for a number that does not exist.
    """
    name, *paths = words
    if name not in of_kind:
        raise ValueError(f"there are no statistics of the {kind} {name!r}")
    numbers = [_number(of_kind[name], path, name) for path in paths[::2]]
    if len(numbers) == 1 and len(paths) == 1:
        return format_number(numbers[0], spec or ",")
    if len(numbers) == 2 and paths[1] == "/":
        return format_number(numbers[0] / numbers[1], spec or ".2f")
    raise ValueError(f"expected one path or two with / between them, found {' '.join(paths)!r}")


def _number(stats: Mapping[str, Any], path: str, name: str) -> float:
    found: Any = stats
    for key in path.split("."):
        found = get_key(found, key)
    if not isinstance(found, (int, float)):
        raise ValueError(f"the statistics of {name} have no number {path!r}")
    return found
