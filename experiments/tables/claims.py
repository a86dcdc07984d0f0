"""What a sentence says of several comparisons of tables at once, for the prose of pages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from experiments.tables.conclusions import conclude_all
from experiments.tables.statistics import Results
from experiments.tables.table import Table
from experiments.tables.verdicts import MACHINES, MISSING, ONE_SEED

# The verdicts in words, by the names of tables, data sets and comparisons.
Verdicts = Mapping[str, Mapping[str, Mapping[str, str]]]
COUNT, EVERY = "count", "every"
# Verdicts from which nothing is concluded. Such comparisons are not counted.
OPEN = (MISSING, ONE_SEED, MACHINES)
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()


class Named(NamedTuple):
    """A comparison of a table.

    name (str): The names of the table and of the data set, and the label.
    verdict (str): The verdict in words.
    """

    name: str
    verdict: str


def table_verdicts(
    results: Results, tables: Iterable[Table]
) -> dict[str, dict[str, dict[str, str]]]:
    """Return the verdicts in words on all comparisons of tables.

    Raises ValueError if two tables have one name.
    """
    found: dict[str, dict[str, dict[str, str]]] = {}
    for table in tables:
        if table.name in found:
            raise ValueError(f"Two tables have the name {table.name!r}. Rename one of them.")
        found[table.name] = {dataset: {} for dataset in table.datasets}
        for dataset, comparison, conclusion in conclude_all(results, table):
            found[table.name][dataset][comparison.label] = conclusion.in_words
    return found


def claim(verdicts: Verdicts, words: Sequence[str], spec: str) -> str:
    """Return the text of a claim.

    verdicts (Verdicts): The verdicts of all tables.
    words (Sequence[str]): "count" or "every", then TABLE DATASET COMPARISONS VERDICT ..., in which
        a * stands for any text. Several verdicts are alternatives.
    spec (str): The words of "every". Of "count", a format of Python's; without one, the number is
        in words up to twelve.

    Raises ValueError for other words, for comparisons that no table has, and if a comparison of
    "every" has none of the verdicts.
    """
    kind, *patterns = words
    if len(patterns) < 4:
        found = " ".join(patterns)
        raise ValueError(f"expected TABLE DATASET COMPARISONS VERDICT, found {found!r}")
    place, wanted = patterns[:3], patterns[3:]
    named = list(_named_by(verdicts, place))
    if not named:
        raise ValueError(f"no table has comparisons named {' '.join(map(repr, place))}")
    others = [one for one in named if not any(fnmatchcase(one.verdict, each) for each in wanted)]
    if kind == COUNT:
        number = sum(one.verdict not in OPEN and one not in others for one in named)
        text = format(number, spec or ",")
        return text if spec or number >= len(NUMBERS) else NUMBERS[number]
    if not spec:
        raise ValueError("expected the words of the page behind a colon, found none")
    if others:
        raise ValueError(
            f"{len(others)} of {len(named)} comparisons are not {spec!r}: {others[0].name} is "
            f"{others[0].verdict}. Change the words, or what they are of"
        )
    return spec


def _named_by(verdicts: Verdicts, place: Sequence[str]) -> Iterator[Named]:
    """Yield the comparisons that the patterns of a table, a data set and a label stand for."""
    for table, datasets in verdicts.items():
        for dataset, comparisons in datasets.items():
            for label, verdict in comparisons.items():
                names = (table, dataset, label)
                if all(map(fnmatchcase, names, place)):
                    yield Named(" ".join(names), verdict)
