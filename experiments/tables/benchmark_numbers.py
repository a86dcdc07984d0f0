"""Numbers of the files of benchmarks, as pages name them."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e\d+)?")
TENTHS = "tenths"
# What a benchmark says of a ratio.
RATIO = "ratio"
INTERVAL = ("median", "low", "high")


def benchmark_number(
    files: Mapping[str, Mapping[str, Any]], words: Sequence[str], spec: str
) -> str:
    """Return the text of a result of a benchmark, or of a ratio of two numbers.

    files (Mapping): What the files hold, by their names.
    words (Sequence[str]): The name of a file and keys in it, perhaps "/", and a divisor.
    spec (str): The format.

    Raises ValueError for what is not there, or is no number.
    """
    over = words.index("/") if "/" in words else len(words)
    found = _result(files, words[:over])
    if over < len(words):
        return format_number(found["median"] / _divisor(files, words[over + 1 :]), spec or ".1f")
    if set(INTERVAL) <= set(found) and spec in ("", TENTHS):
        digits = 1 if spec == TENTHS else 2
        middle, low, high = (f"{found[name]:.{digits}f}" for name in INTERVAL)
        return f"{middle} ({low}-{high})"
    return format_number(found["median"], spec or ",")


def benchmark_range(files: Mapping[str, Mapping[str, Any]], words: Sequence[str], spec: str) -> str:
    """Return the smallest and the largest of several results, or of ratios of them.

    The arguments are those of `benchmark_number`, but a * in a key stands for any text. Both sides
    of a ratio name equally many results, which are divided in their order.

    Raises ValueError for what is not there, or is no number, and for sides that differ.
    """
    over = words.index("/") if "/" in words else len(words)
    numbers = [_result(files, keys)["median"] for keys in _named_by(files, words[:over])]
    if over < len(words):
        divisors = [_divisor(files, keys) for keys in _named_by(files, words[over + 1 :])]
        if len(divisors) != len(numbers):
            raise ValueError(f"{len(numbers)} numbers cannot be divided by {len(divisors)}")
        numbers = [number / by for number, by in zip(numbers, divisors, strict=True)]
    low, high = (format_number(end, spec or ".1f") for end in (min(numbers), max(numbers)))
    return f"{low} to {high}"


def _named_by(files: Mapping[str, Mapping[str, Any]], keys: Sequence[str]) -> list[list[str]]:
    """List the keys of all results that keys with * stand for."""
    names: list[list[str]] = [[]]
    for key in keys:
        names = [[*name, one] for name in names for one in _alike(_find(files, name), key)]
    if not names:
        raise ValueError(f"the benchmarks have none of {' '.join(keys)}")
    return names


def _alike(found: Any, key: str) -> list[str]:  # noqa: ANN401
    if "*" not in key or not isinstance(found, Mapping):
        return [key]
    return [one for one in found.get("results", found) if fnmatchcase(one, key)]


def _divisor(files: Mapping[str, Mapping[str, Any]], words: Sequence[str]) -> float:
    """Return a number that is written, or the median of a result."""
    if len(words) > 1:
        return _result(files, words)["median"]
    if not words or not NUMBER.fullmatch(words[0]) or not float(words[0]):
        raise ValueError(f"expected a number behind '/', found {' '.join(words)!r}")
    return float(words[0])


def _result(files: Mapping[str, Mapping[str, Any]], keys: Sequence[str]) -> Mapping[str, float]:
    """Find a result by the name of its file and the keys in it, as a median."""
    found = _find(files, keys)
    if isinstance(found, Mapping):
        found = found.get(RATIO, found)
    if isinstance(found, list) and found and not isinstance(found[0], Mapping):
        found = median(found)
    if isinstance(found, (int, float)):
        return {"median": found}
    if not isinstance(found, Mapping) or not set(INTERVAL) <= set(found):
        raise ValueError(f"{' '.join(keys)} of the benchmarks is no number, nor an interval")
    return found


def _find(files: Mapping[str, Mapping[str, Any]], keys: Sequence[str]) -> Any:  # noqa: ANN401
    """Return what is at the name of a file and the keys in it."""
    found: Any = files
    for key in keys:
        if isinstance(found, Mapping) and key not in found:
            found = found.get("results", found.get(RATIO))
        found = _records(found, key) if isinstance(found, list) else get_key(found, key)
        if found is None:
            raise ValueError(f"the benchmarks have no {key!r} of {' '.join(keys)}")
    return found


def get_key(found: Any, key: str) -> Any:  # noqa: ANN401
    """Return the value of a key, or None without it."""
    return found.get(key) if isinstance(found, Mapping) else None


def _records(found: Sequence[Any], key: str) -> Any:  # noqa: ANN401
    """Return the record with a value of a list, several if there are more, or None."""
    records = [
        each for each in found if isinstance(each, Mapping) and key in map(str, each.values())
    ]
    return records[0] if len(records) == 1 else records or None


def format_number(value: float, spec: str) -> str:
    """Return a number as text. Raises ValueError for a format that is not one of numbers."""
    try:
        return f"{value:{spec}}".replace("%", " %")
    except ValueError as error:
        raise ValueError(f"{spec!r} is no format of this number ({error})") from error
