"""The numbers of all runs and of the report, and the intervals of their differences."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import srsly

from experiments.arms.tasks import CRF, HASH_EMBED, NER
from experiments.runs.files import digests, is_of, read_result
from experiments.runs.grid import Run, parse_run
from experiments.runs.scores import SPLITS, split_after, splits_of
from experiments.tables.bootstrap import Bootstrap, error_increase
from experiments.tables.facts import Facts, Found, read_facts
from experiments.tables.report import REPORT_TABLES
from experiments.tables.table import INCREASE, METRICS, Group, Table, arm_and_step

if TYPE_CHECKING:
    import pandas as pd

FACTORS = ["dataset", "arm", "vectors"]
NUMBER = ["split", "part", "metric"]
LAST_TABLE = 17
REPORT_N = 3  # "the average F1-score across three random seeds"


@dataclass(frozen=True)
class Stat:
    """A mean over n seeds, and the standard deviation (ddof 1), or None if it is unknown."""

    mean: float
    sd: Optional[float]
    n: int


@dataclass(frozen=True)
class Results:
    """All numbers that tables and figures show.

    runs (frozenset[str]): The names of the runs with results.
    stats (Mapping): Our numbers, by data set, arm, vectors, split, part and metric.
    report (Mapping): The report's numbers, by the table's number, data set, line, part and metric.
    values (Mapping): The number of each seed that `stats` is computed of, by the same keys.
    facts (Mapping): What runs say of themselves, by data set, arm and vectors, then by seed.
    bootstrap (Bootstrap): Resamples of sentences.
    """

    runs: frozenset[str]
    stats: Mapping[tuple[str, ...], Stat]
    report: Mapping[tuple[str, ...], Stat]
    values: Mapping[tuple[str, ...], Mapping[int, float]] = field(default_factory=dict)
    facts: Mapping[tuple[str, ...], Mapping[int, Facts]] = field(default_factory=dict)
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def ours(self, table: Table, group: Group, dataset: str, line: str) -> Optional[Stat]:
        """Return our number, or None where there is no run."""
        return self.stats.get(number_key(table, group, dataset, line))

    def facts_of(self, key: tuple[str, ...]) -> Mapping[int, Facts]:
        """Return what the runs of one of our numbers say of themselves, by seed."""
        return self.facts.get(key[: len(FACTORS)], {})

    def reported(self, table: Table, group: Group, dataset: str, line: str) -> Optional[Stat]:
        """Return the report's number, or None if it has none."""
        key = (table.number, dataset, line, group.part, group.metric)
        return self.report.get(key) if group.report else None


def number_key(table: Table, group: Group, dataset: str, line: str) -> tuple[str, ...]:
    """Return the key of one of our numbers: its factors, then its split, part and metric."""
    arm, step = arm_and_step(group.arms[line])
    factors = (dataset, arm, table.vectors_of(dataset))
    return (*factors, split_after(group.split, step), group.part, group.metric)


def read_runs(folder: Path) -> Iterator[Found]:
    """Yield the file, the run and the results of each run.

    folder (Path): A folder of files DATASET/ARM/VECTORS/seedN.json. It may be empty.

    Raises FileNotFoundError if there is no such folder. Raises ValueError for a damaged file, and
    for a file that names another run than its path does, or a run of no experiment.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}. Run: python -m experiments run-grid")
    for path in sorted(folder.rglob("*.json")):
        result = read_result(path)
        yield _check_run(folder, path, result)


def read_results(folder: Path) -> "pd.DataFrame":
    """Read the results of all runs, as `read_runs` does: a row for each number."""
    return make_frame(read_runs(folder))


def make_frame(found: Iterable[Found]) -> "pd.DataFrame":
    """Return a row for each number, with the run's factors and seed.

    Raises ValueError for a result that is not complete.
    """
    import pandas as pd

    lines: list[tuple[Any, ...]] = []
    for path, run, result in found:
        try:
            numbers = list(_numbers(run, result))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is not a complete result: a number is missing or malformed ({error!r}). "
                "Delete it and run it again, or restore it."
            ) from error
        lines += [(run.dataset, run.arm, run.vectors, run.seed, *number) for number in numbers]
    return pd.DataFrame(lines, columns=[*FACTORS, "seed", *NUMBER, "value"])


def _check_run(folder: Path, path: Path, result: Mapping[str, Any]) -> Found:
    found = path.relative_to(folder).with_suffix("").as_posix()
    dataset, arm, vectors, seed = (result.get(key) for key in (*FACTORS, "seed"))
    claimed = f"{dataset}/{arm}/{vectors}/seed{seed}"
    if claimed != found:
        other = folder / f"{claimed}.json"
        also = f", as {other} does" if other.is_file() else ""
        raise ValueError(
            f"{path} names the run {claimed}{also}, but its path names {found}. Delete or move the "
            "wrong file."
        )
    try:
        run = parse_run(claimed)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if not is_of(digests(run), result):
        raise ValueError(
            f"{path} was made with another config than the run has now. Delete it, or run it "
            f"again: python -m experiments run-one {run.name}"
        )
    return Found(path, run, result)


def _numbers(run: Run, result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Yield the split, part, metric and value of each number of a run."""
    after = result.get("after", {}).items()
    splits = {s: result[s] for s in SPLITS if s in result or s in splits_of(run)}
    splits |= {split_after(s, step): found[s] for step, found in after for s in SPLITS}
    for split, parts in splits.items():
        for part, scores in parts.items():
            values = ((metric, scores[metric]) for metric in run.task.metrics)
            yield from (
                (split, part, metric, float(value)) for metric, value in values if value is not None
            )
    for cost in ("train_cpu_seconds", "words_per_second" if run.task is NER else "parameters"):
        yield "", "", cost, float(result[cost])
    yield "", "", "model_mb", result["model_bytes"] / 1e6


def error_increases(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Compute by how many percent the F1 error, 1 - F1, exceeds that of MultiHashEmbed.

    frame (pd.DataFrame): Results as `read_results` returns them. A run is compared with that of
        the same seed, and left out if there is none.
    """
    scores = frame[frame["metric"] == "f"]
    base = scores[scores["arm"] == HASH_EMBED].drop(columns=["arm", "metric"])
    both = scores.merge(base, on=["dataset", "vectors", "seed", "split", "part"])
    increase = error_increase(both["value_x"], both["value_y"])
    both = both.assign(value=increase, metric=INCREASE)
    return both.loc[both["value_y"] < 1, list(frame.columns)]


def summarise(frame: "pd.DataFrame") -> dict[tuple[str, ...], Stat]:
    """Compute the mean, the standard deviation and n over seeds.

    A CRF comes out the same with every seed, but does not take the same time.

    frame (pd.DataFrame): Results as `read_results` returns them.
    """
    groups = frame.groupby([*FACTORS, *NUMBER])["value"].agg(["mean", "std", "count"])
    stats = {}
    for key, average, sd, n in groups.itertuples():
        is_crf = key[FACTORS.index("arm")] == CRF
        same_with_every_seed = is_crf and n == 1 and not METRICS[key[-1]].timed
        known = None if n == 1 else float(sd)
        stats[key] = Stat(float(average), 0.0 if same_with_every_seed else known, int(n))
    return stats


def read_report(path: Path) -> dict[str, Any]:
    """Read the report's tables and return them by number.

    Raises ValueError for a file that is damaged or lacks a table.
    """
    try:
        contents = {key.split()[0]: table for key, table in srsly.read_json(path).items()}
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{path} holds no tables as JSON ({error}). Restore it.") from error
    for number in map(str, range(1, LAST_TABLE + 1)):
        if number not in contents:
            raise ValueError(f"{path} has no Table {number}. Restore it.")
    return contents


def report_stats(contents: Mapping[str, Any]) -> dict[tuple[str, ...], Stat]:
    """Return the report's numbers, by the table's number, data set, line, part and metric.

    contents (Mapping[str, Any]): The report's tables by number.
    """
    stats: dict[tuple[str, ...], Stat] = {}
    for table in REPORT_TABLES.values():
        numbers = contents[table.number]
        by_dataset = {table.datasets[0]: numbers} if len(table.datasets) == 1 else numbers
        for dataset, lines in by_dataset.items():
            for line, value in lines.items():
                for part, metric, number in _report_numbers(value, table.groups[-1].part):
                    stats[table.number, dataset, line, part, metric] = number
    return stats


def _report_numbers(value: Any, part: str) -> Iterator[tuple[str, str, Stat]]:  # noqa: ANN401
    """Yield the part, metric and number of an F1, of P, R and F1, or of increases of errors."""
    if not isinstance(value, dict):
        value = {"f": value}
    for name, number in value.items():
        mean, sd = number if isinstance(number, list) else (number, None)
        stat = Stat(mean, sd, REPORT_N)
        yield (part, name, stat) if name in METRICS else (name, INCREASE, stat)


def load_results(folder: Path, report: Path) -> Results:
    """Read our results and the report's."""
    import pandas as pd

    found = list(read_runs(folder))
    frame = make_frame(found)
    facts = read_facts(found)
    frame = pd.concat([frame, error_increases(frame)])
    counts = {
        (*factors, str(seed), split): array
        for factors, seeds in facts.items()
        for seed, run in seeds.items()
        for split, array in run.counts.items()
    }
    return Results(
        frozenset(one.run.name for one in found),
        summarise(frame),
        report_stats(read_report(report)),
        by_seed(frame),
        facts,
        Bootstrap(counts),
    )


def by_seed(frame: "pd.DataFrame") -> dict[tuple[str, ...], dict[int, float]]:
    """Return the value of each seed, by the keys of `summarise`."""
    values: dict[tuple[str, ...], dict[int, float]] = {}
    columns = frame[[*FACTORS, *NUMBER, "seed", "value"]]
    for *key, seed, value in columns.itertuples(index=False):
        values.setdefault(tuple(key), {})[seed] = value
    return values
