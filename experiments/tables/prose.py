"""Numbers in the prose of pages: comments say what they are, and `collate` puts them in.

    <!-- = f wnut17/ner/test -->0.162<!-- / -->

A comment has one of these forms:

    METRIC NUMBER               the mean over seeds
    METRIC NUMBER - NUMBER      a difference of means, with its 95 % interval
    METRIC NUMBER - report TABLE LINE
                                a difference from the report's mean in a line of a table of its
    report METRIC TABLE DATASET LINE
                                the report's mean in a line of a table of its
    report METRIC TABLE DATASET LINE - LINE
                                a difference of two of them
    METRIC NUMBER / NUMBER      a ratio of means
    spread METRIC NUMBER        the largest number of a seed minus the smallest
    mean METRIC NUMBER ...      the mean of several numbers, such as those of several data sets
    runs PATTERN                the number of runs with results
    count TABLE DATASET COMPARISONS VERDICT ...
                                how many comparisons of a table have one of these verdicts
    every TABLE DATASET COMPARISONS VERDICT ... : WORDS
                                the words, if all of them have
    corpus DATASET PATH         a number of the statistics of a corpus, by its keys
    calibration MODEL PATH      a number of a calibrated model, by its keys
    ner NAME PATH               a number of what batch_ner was compared with, by its keys
    compressed NAME PATH        a number of the report on a compressed pipeline, by its keys
    corpus DATASET PATH / PATH  a ratio of two of them
    benchmark FILE KEY ...      a number of a benchmark, or a median with its 95 % interval
    benchmark ... / ...         a ratio of two of them, or of one and a number
    range benchmark ...         the smallest and the largest of them, with * in a key for any text

METRIC is a key of `METRICS`. NUMBER is DATASET/ARM/SPLIT, then /PART unless that is "all", or
DATASET/ARM for costs. Behind the arm, /VECTORS names static vectors. @SEED, last, takes one seed. A
format may follow behind a colon, as in Python. "sd" is a mean with its standard deviation. Of a
difference, "paired" is that of the seeds that both have, "value" leaves out the interval, "by"
leaves out the sign, which must be +, and "verdict" is the verdict on it, in words.

What has spaces is in quotes. The keys "results" and "ratio" of benchmarks may be left out. In a
list of records, a key is a value of the record that is meant. A list of times counts as its median.
A median with a format of Python's is shown without its interval. "tenths" shows both with one
decimal. In the names and verdicts of comparisons, * stands for any text. Verdicts are those in
words, such as "lower, not seed by seed". Numbers up to twelve are in words, unless a format
follows.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, Optional

from experiments.runs.vector_files import NO_VECTORS, VECTORS
from experiments.tables.benchmark_numbers import (
    benchmark_number,
    benchmark_range,
    format_number,
)
from experiments.tables.claims import COUNT, EVERY, claim
from experiments.tables.conclusions import Key, compare
from experiments.tables.differences import Difference, difference
from experiments.tables.markdown import signed
from experiments.tables.report import REPORT_TABLES
from experiments.tables.report_numbers import report_number
from experiments.tables.statistic_numbers import statistic_number
from experiments.tables.statistics import Results, Stat
from experiments.tables.table import METRICS
from experiments.tables.verdicts import MACHINES, verdict

# The numbers that are not of runs, by "corpus", "calibration", "ner", "compressed" or
# "benchmark", then by name. The verdicts of tables are there by "verdicts".
Statistics = Mapping[str, Mapping[str, Mapping[str, Any]]]
MARKER = re.compile(r"<!-- = ([^\n]+?) -->([^\n]*?)<!-- / -->")
HALF = re.compile(r"<!-- =|<!-- / -->")
# A comment at the beginning of a line makes the line HTML, and its Markdown is not rendered.
FIRST = re.compile(r"^\s*(?:[-*>]\s+|\d+\.\s+)*<!-- (?:=|/)")
PLACE = re.compile(
    rf"(?P<dataset>[^/@]+)/(?P<arm>[^/@]+)(?:/(?P<vectors>{'|'.join(sorted(set(VECTORS.values())))}))?"
    r"(?:/(?P<split>dev|test)(?:/(?P<part>seen|unseen))?)?(?:@(?P<seed>\d+))?"
)
SD, PAIRED, VALUE, BY, VERDICT = "sd", "paired", "value", "by", "verdict"
BENCHMARK, REPORT, TABLE_VERDICTS = "benchmark", "report", "verdicts"


class Place(NamedTuple):
    """A number of ours.

    text (str): How a page names it.
    key (Key): Its key in `Results.stats`.
    seed (Optional[int]): The one seed that is meant, if not all.
    """

    text: str
    key: Key
    seed: Optional[int]


def fill_numbers(page: str, results: Results, statistics: Statistics, path: Path) -> str:
    """Put the numbers between the comments of a page.

    page (str): The text of the page.
    results (Results): The numbers of runs.
    statistics (Statistics): The numbers that do not come from runs.
    path (Path): The file, for the messages.

    Raises ValueError, which names the line, for a comment of no form, a number that no run has, and
    a comment without its end.
    """

    def replace(match: "re.Match[str]") -> str:
        return f"<!-- = {match[1]} -->{evaluate(match[1], results, statistics)}<!-- / -->"

    lines = page.split("\n")
    for number, line in enumerate(lines, start=1):
        if "<!-- =" not in line and "<!-- / -->" not in line:
            continue
        try:
            if HALF.search(MARKER.sub("", line)):
                raise ValueError("a number needs '<!-- = ... -->' before and '<!-- / -->' behind")
            if FIRST.match(line):
                raise ValueError("the comment of a number begins the line. Put a word before it")
            lines[number - 1] = MARKER.sub(replace, line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}.") from error
    return "\n".join(lines)


def find_verdicts(pages: Iterable[str], results: Results) -> dict[str, str]:
    """Return the verdicts in words on the differences of pages, by how the pages name them.

    pages (Iterable[str]): Pages with numbers that `fill_numbers` has put in.
    """
    found = {}
    for match in (match for page in pages for match in MARKER.finditer(page)):
        metric, *words = _difference_name(match).split()
        if words[1:2] != ["-"] or "@" in match[1]:
            continue
        first = _place(metric, words[0])
        found[_difference_name(match)] = (
            verdict(_from_report(results, first, *words[3:]), None, 0.0)
            if words[2] == REPORT
            else compare(results, first.key, _place(metric, words[2]).key).in_words
        )
    return dict(sorted(found.items()))


def turned(page: str, before: Mapping[str, str], after: Mapping[str, str], path: Path) -> list[str]:
    """Name the differences of a page on which the verdict is another one now.

    The words around a number are typed, so that they have to be read again.

    page (str): The page.
    before, after (Mapping[str, str]): The verdicts, as `find_verdicts` returns them.
    path (Path): The file, for the messages.
    """
    found = []
    for match in MARKER.finditer(page):
        name = _difference_name(match)
        one, other = before.get(name), after.get(name)
        if one and other and one != other:
            line = page.count("\n", 0, match.start()) + 1
            found.append(f"{path}, line {line}: {name} is {other}, was {one}")
    return found


def _difference_name(match: "re.Match[str]") -> str:
    """Return what a comment says, without the format."""
    return match[1].partition(" : ")[0].strip()


def evaluate(expression: str, results: Results, statistics: Statistics) -> str:
    """Return the text of a number.

    expression (str): What the number is, in one of the forms above.

    Raises ValueError for another form, and for a number that does not exist.
    """
    body, _, spec = (part.strip() for part in expression.partition(" : "))
    kind, *words = shlex.split(body)
    if kind == "runs" and len(words) == 1:
        return _runs(results, words[0], spec)
    if kind == REPORT:
        return report_number(results.report, words, spec)
    if kind == "spread" and len(words) == 2:
        return _spread(results, words[0], words[1], spec)
    if kind == "mean" and len(words) > 2:
        metric, *names = words
        numbers = (_stat(results, _place(metric, name)).mean for name in names)
        return format_number(fmean(numbers), spec or METRICS[metric].ours)
    if kind in METRICS and len(words) in (1, 3):
        return _metric(results, kind, words, spec)
    if kind in METRICS and len(words) == 5 and words[1:3] == ["-", REPORT] and not spec:
        found = _from_report(results, _place(kind, words[0]), words[3], words[4])
        return signed(found, METRICS[kind].ours, with_margin=True)
    return _of_statistics(statistics, kind, words, spec)


def _of_statistics(statistics: Statistics, kind: str, words: Sequence[str], spec: str) -> str:
    if kind == BENCHMARK and kind in statistics:
        return benchmark_number(statistics[kind], words, spec)
    if kind == "range" and words[:1] == [BENCHMARK] and BENCHMARK in statistics:
        return benchmark_range(statistics[BENCHMARK], words[1:], spec)
    if kind in (COUNT, EVERY) and TABLE_VERDICTS in statistics:
        return claim(statistics[TABLE_VERDICTS], [kind, *words], spec)
    if kind in statistics and words:
        return statistic_number(kind, statistics[kind], words, spec)
    form = " ".join([kind, *words])
    raise ValueError(f"{form!r} is of no known form. See experiments/tables/prose.py")


def _metric(results: Results, metric: str, words: Sequence[str], spec: str) -> str:
    default = METRICS[metric].ours
    first, *others = (_place(metric, word) for word in words[::2])
    stat = _stat(results, first)
    if not others:
        sd = "" if stat.sd is None else f" ± {stat.sd:{default.lstrip('+')}}"
        return (
            f"{stat.mean:{default}}{sd}"
            if spec == SD
            else format_number(stat.mean, spec or default)
        )
    (second,) = others
    conclusion = compare(results, first.key, second.key)
    other = _stat(results, second)
    if conclusion.verdict == MACHINES:
        raise ValueError(f"{first.text} and {second.text} are {MACHINES}")
    if words[1] == "/":
        return format_number(stat.mean / other.mean, spec or ".1f")
    if words[1] != "-":
        raise ValueError(f"expected - or / between two numbers, found {words[1]!r}")
    found = difference(stat, other)
    assert found is not None  # both numbers exist
    if spec in (VERDICT, PAIRED) and {first.seed, second.seed} != {None}:
        raise ValueError(f"what is {spec} is so of all seeds: leave @SEED out")
    if spec == VERDICT:
        return conclusion.in_words
    if spec == PAIRED:
        if conclusion.paired is None:
            raise ValueError(f"{first.text} and {second.text} have no two seeds to be paired")
        return signed(conclusion.paired, default, with_margin=True)
    if spec == BY and found.value < 0:
        raise ValueError(f"{first.text} is lower than {second.text}. Name it second")
    text = signed(found, default, with_margin=spec != VALUE)
    return text[1:] if spec == BY else text


def _from_report(results: Results, place: Place, table: str, line: str) -> Difference:
    dataset, arm, vectors, split, part, metric = place.key
    reported = results.report.get((table, dataset, line, part, metric))
    found_in = REPORT_TABLES.get(f"table-{table}")
    with_vectors = vectors != NO_VECTORS
    groups = found_in.groups if found_in and found_in.vectors == with_vectors else ()
    lines = {(g.split, g.part, g.arms.get(line)) for g in groups if g.report}
    if reported is None or (split, part, arm) not in lines:
        raise ValueError(f"Table {table} of the report has no {line} for {place.text}")
    found = difference(_stat(results, place), reported)
    assert found is not None  # both numbers exist
    return found


def _place(metric: str, text: str) -> Place:
    """Read the name of a number: DATASET/ARM[/VECTORS][/SPLIT[/PART]][@SEED]."""
    match = PLACE.fullmatch(text)
    if match is None:
        raise ValueError(f"expected a number as DATASET/ARM/SPLIT, found {text!r}")
    split, part = match["split"] or "", match["part"] or ""
    factors = (match["dataset"], match["arm"], match["vectors"] or NO_VECTORS)
    key = (*factors, split, part or ("all" if split else ""), metric)
    return Place(text, key, int(match["seed"]) if match["seed"] else None)


def _stat(results: Results, place: Place) -> Stat:
    stat = results.stats.get(place.key)
    if place.seed is None and stat is not None:
        return stat
    value = results.values.get(place.key, {}).get(place.seed if place.seed is not None else -1)
    if value is None:
        raise ValueError(f"no run has the {METRICS[place.key[-1]].header} of {place.text}")
    return Stat(value, None, 1)


def _spread(results: Results, metric: str, word: str, spec: str) -> str:
    place = _place(metric, word)
    if place.seed is not None:
        raise ValueError(f"a spread is that of all seeds, not of {word}: leave @SEED out")
    _stat(results, place)
    values = results.values[place.key].values()
    return format_number(max(values) - min(values), spec or METRICS[metric].ours)


def _runs(results: Results, pattern: str, spec: str) -> str:
    count = sum(fnmatch(name, pattern) for name in results.runs)
    if not count:
        raise ValueError(f"no run matches {pattern}")
    return format_number(count, spec or ",")
