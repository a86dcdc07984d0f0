"""What a recipe was to reach on test, and what it reached."""

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple, Optional

from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs.vector_files import NO_VECTORS
from experiments.tables.conclusions import Key, compare
from experiments.tables.differences import mean_difference
from experiments.tables.markdown import markdown, signed
from experiments.tables.recipe import DATASETS
from experiments.tables.statistics import Results, Stat
from experiments.tables.table import METRICS, SECONDS, STAND_IN
from experiments.tables.verdicts import HIGHER, MACHINES, MISSING

# F1 on the set whose words inflect most, the mean gain in F1 over the report's settings, the sets
# on which the mean is above that of the CRF, and the training time, as a multiple of the report's.
LEAST_F, LEAST_GAIN, LEAST_AHEAD, MOST_TIME = 0.80, 0.04, 5, 1.5
NO_RECIPE = "No recipe is chosen yet."
F = "f"


class _Goal(NamedTuple):
    """A goal, what was asked, what was found, and whether that is enough."""

    name: str
    asked: str
    found: str
    reached: Optional[bool]


def render_goals(results: Results, winner: Optional[str]) -> str:
    """Render what the recipe was to reach, and what it reached, as Markdown.

    winner (Optional[str]): The arm that was chosen, or None.
    """
    if winner is None:
        return NO_RECIPE
    header = ("goal, on test", "asked", "found", "reached")
    answers = {None: "unknown", True: "yes", False: "no"}
    lines = [(*goal[:3], answers[goal.reached]) for goal in _goals(results, winner)]
    return markdown(header, lines, left=(0, 1, 2, 3))


def _goals(results: Results, winner: str) -> Iterator[_Goal]:
    stat, asked = results.stats.get(_key(STAND_IN, winner, F)), f"at least {LEAST_F:.2f}"
    found = MISSING if stat is None else _with_sd(stat)
    yield _Goal(f"F1 on {STAND_IN}", asked, found, None if stat is None else stat.mean >= LEAST_F)
    yield _gain(results, winner)
    yield _ahead(results, winner)
    yield _time(results, winner)


def _with_sd(stat: Stat) -> str:
    return f"{stat.mean:.3f}" if stat.sd is None else f"{stat.mean:.3f} ± {stat.sd:.3f} (sd)"


def _gain(results: Results, winner: str) -> _Goal:
    gain = mean_difference(
        [
            (
                results.stats.get(_key(dataset, winner, F)),
                results.stats.get(_key(dataset, HASH_EMBED, F)),
            )
            for dataset in DATASETS
        ]
    )
    name = f"mean F1 of the {len(DATASETS)} sets minus that of the report's settings"
    asked = f"at least {LEAST_GAIN:+.2f}"
    if gain is None:
        return _Goal(name, asked, MISSING, None)
    found = signed(gain, METRICS[F].ours, with_margin=True)
    return _Goal(name, asked, found, gain.value >= LEAST_GAIN)


def _ahead(results: Results, winner: str) -> _Goal:
    name, asked = "sets with a higher F1 than the CRF", f"at least {LEAST_AHEAD} of {len(DATASETS)}"
    ahead, clear = [], []
    for dataset in DATASETS:
        found = compare(results, _key(dataset, winner, F), _key(dataset, CRF, F))
        if found.ours is None:
            return _Goal(name, asked, MISSING, None)
        ahead += [dataset] if found.ours.value > 0 else []
        clear += [dataset] if found.verdict == HIGHER else []
    text = f"{len(ahead)} ({', '.join(ahead)}), on {len(clear)} of them by more than noise"
    return _Goal(name, asked, text, len(ahead) >= LEAST_AHEAD)


def _time(results: Results, winner: str) -> _Goal:
    name, asked = "training time divided by that of the report's settings", f"at most {MOST_TIME}"
    shares = {}
    for dataset in DATASETS:
        ours, theirs = (_key(dataset, arm, SECONDS) for arm in (winner, HASH_EMBED))
        found = compare(results, ours, theirs)
        if found.verdict == MACHINES:
            return _Goal(name, asked, MACHINES, None)
        if found.ours is None:
            return _Goal(name, asked, MISSING, None)
        shares[dataset] = results.stats[ours].mean / results.stats[theirs].mean
    average, most = fmean(shares.values()), max(shares, key=lambda name: shares[name])
    text = f"{average:.2f} in the mean, at most {shares[most]:.2f} ({most})"
    return _Goal(name, asked, text, average <= MOST_TIME)


def _key(dataset: str, arm: str, metric: str) -> Key:
    place = ("test", "all") if metric == F else ("", "")
    return (dataset, arm, NO_VECTORS, *place, metric)
