"""Measure the speed, the load time and the memory of two pipelines, in turns."""

import json
import os
import platform
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple, Union

import numpy
from spacy.language import Language
from spacy.util import is_package

from ..common.progress import Progress, no_progress
from ..common.timing import MAX_ROUNDS, Ratio, Step, ratio_of, time_arms
from ..compute.dispatch import NONE, available_kernels, chosen_kernels
from ..compute.dispatch import VARIABLE as KERNELS
from ..compute.threads import num_threads

# The rounds that a sample of texts is chosen for. Shorter texts get more rounds.
_ROUNDS = 12
# Tokens that `tokens_per_second` annotates at most, about.
_SPEED_TOKENS = 10_000
_MEGA = 10**6


def cpu_name() -> str:
    """Return the model of the CPU, or its architecture if the model is unknown."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf8").splitlines() if path.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())


@dataclass(frozen=True)
class Machine:
    """Where speed was measured: this machine, and what's set for this process.

    threads (int): The threads that share a batch in our layers.
    kernels (str): The compiled kernels in use, or "none".
    """

    cpu: str = field(default_factory=cpu_name)
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    threads: int = field(default_factory=num_threads)
    kernels: str = field(default_factory=chosen_kernels)
    system: str = field(default_factory=platform.system)
    python: str = field(default_factory=platform.python_version)
    spacy: str = field(default_factory=partial(metadata.version, "spacy"))
    spacy_multihash: str = field(default_factory=partial(metadata.version, "spacy-multihash"))

    def __str__(self) -> str:
        """Return all of it in a line."""
        return (
            f"{self.cpu}, {self.cores} cores, threads: {self.threads}, kernels: {self.kernels}, "
            f"{self.system}, Python {self.python}, spaCy {self.spacy}, spacy-multihash "
            f"{self.spacy_multihash}"
        )

    @property
    def advice(self) -> str:
        """What to do about missing kernels, or ""."""
        if self.kernels != NONE:
            return ""
        if available_kernels() != [NONE]:
            advice = f"The environment variable {KERNELS} turns them off: unset it."
        else:
            advice = (
                "The package was installed without a C compiler. Install one (on Debian and "
                "Ubuntu: apt install gcc python3-dev), then install the package again with: python "
                "-m pip install --force-reinstall --no-deps --no-cache-dir PACKAGE. To check: "
                "python -m spacy multihash --version"
            )
        return (
            "Without compiled kernels, batches of en_core_web_md are only about 1.2 times as fast, "
            f"and single texts no faster (0.96). {advice}"
        )


class Figure(NamedTuple):
    """Something that was measured before and after, in turns.

    name, unit (str): Such as "one text, median" and "ms".
    before, after (float): The medians of the rounds.
    gain (Ratio): How many times faster or smaller, of each round: the median, and the range of the
        middle 80 %.
    rounds (int): The number of rounds.
    """

    name: str
    unit: str
    before: float
    after: float
    gain: Ratio
    rounds: int

    def cells(self) -> list[str]:
        """Return the row of a table."""
        low, _, high = self.gain
        values = [show_value(value) for value in (self.before, self.after)]
        gain = f"{self.gain.median:.2f}"
        return [f"{self.name} ({self.unit})", *values, gain, f"{low:.2f} to {high:.2f}"]


# The header of a table of figures.
FIGURES = ("", "before", "after", "gain", "middle 80 %")


def show_value(value: float) -> str:
    """Write a number with three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _figure(
    name: str, unit: str, costs: Sequence[Sequence[float]], value: Callable[[float], float] = float
) -> Figure:
    """Make a figure of the costs of each round, before and after: the lower, the better."""
    before, after = (value(median(rounds)) for rounds in costs)
    return Figure(name, unit, before, after, ratio_of(*costs), len(costs[0]))


# Speed


def tokens_per_second(pipelines: Sequence[Language], texts: Sequence[str]) -> list[float]:
    """Annotate a sample of texts with pipelines in turns, and return the speed of each.

    The first speed is the median of the rounds, and the others' follow from the median of the
    rounds' ratios, since other work on a machine slows all pipelines of a round.

    Raises ValueError if there are no tokens.
    """
    texts = spread(texts, min(1.0, _SPEED_TOKENS / count_tokens(pipelines[0], texts)))
    costs = _time_batches(pipelines, texts, 2, max_rounds=15)
    return [ratio_of(costs[0], arm).median / median(costs[0]) for arm in costs]


def count_tokens(nlp: Language, texts: Sequence[str]) -> int:
    """Count the tokens of texts. Raises ValueError if there are none."""
    tokens = sum(len(nlp.make_doc(text)) for text in texts)
    if not tokens:
        raise ValueError("The texts have no tokens. Give texts with words.")
    return tokens


def compare_speed(
    before: Language,
    after: Language,
    texts: Sequence[str],
    seconds: float,
    all_seconds: float,
    progress: Progress = no_progress,
) -> list[Figure]:
    """Measure two pipelines in turns: in batches, and text by text.

    texts (Sequence[str]): Texts with tokens. A part of them, evenly spread, is measured.
    seconds (float): The time to spend: half of it on batches. There are at least 5 rounds.
    all_seconds (float): How long `before` takes to annotate all texts.
    """
    pipelines = [before, after]
    part = min(1.0, seconds / 4 / _ROUNDS / max(all_seconds, 1e-3))

    def in_batches() -> list[Figure]:
        costs = _time_batches(pipelines, spread(texts, part), seconds / 2)
        return [_figure("batches", "tokens a second", costs, lambda cost: 1 / cost)]

    def one_by_one() -> list[Figure]:
        rounds = _time_single(pipelines, spread(texts, part / 2), seconds / 2)
        return [
            _figure(name, "ms", [numpy.percentile(arm, rank, axis=1).tolist() for arm in rounds])
            for name, rank in (("one text, median", 50), ("one text, 95th percentile", 95))
        ]

    stages = progress((in_batches, one_by_one), desc="Measuring speed", unit=" stages")
    return [figure for measure in stages for figure in measure()]


def _time_batches(
    pipelines: Sequence[Language],
    texts: Sequence[str],
    seconds: float,
    max_rounds: int = MAX_ROUNDS,
) -> list[list[float]]:
    """Annotate texts in batches, in turns. Returns the seconds a token of each round."""
    tokens = count_tokens(pipelines[0], texts)
    steps: dict[str, Step] = {
        str(i): partial(lambda nlp: deque(nlp.pipe(texts), maxlen=0), nlp)
        for i, nlp in enumerate(pipelines)
    }
    rounds = time_arms(steps, seconds, warm_up=1, max_rounds=max_rounds).values()
    return [[cost / tokens for cost in arm] for arm in rounds]


def _time_single(
    pipelines: Sequence[Language], texts: Sequence[str], seconds: float
) -> list[list[list[float]]]:
    """Annotate texts one by one, in turns. Returns the milliseconds of each round's texts."""
    rounds: list[list[list[float]]] = [[] for _ in pipelines]

    def one_by_one(arm: int) -> None:
        times = []
        for text in texts:
            start = perf_counter()
            pipelines[arm](text)
            times.append(1e3 * (perf_counter() - start))
        rounds[arm].append(times)

    steps: dict[str, Step] = {str(i): partial(one_by_one, i) for i, _ in enumerate(pipelines)}
    time_arms(steps, seconds, warm_up=1)
    return [arm[1:] for arm in rounds]


def spread(texts: Sequence[str], part: float) -> list[str]:
    """Take a part of the texts, at least one, from all places."""
    number = max(1, round(part * len(texts)))
    return [texts[i * len(texts) // number] for i in range(number)]


# Loading


def compare_loads(
    before: Union[str, Path],
    after: Union[str, Path],
    rounds: int,
    *,
    code: Union[str, Path, None] = None,
    progress: Progress = no_progress,
) -> tuple[list[Figure], str]:
    """Load two pipelines in new processes, in turns, and measure time and memory.

    code (Union[str, Path, None]): Python file to import first. A package is imported, too.

    Returns what was measured, and why it couldn't be, or "".
    """
    models = {"before": before, "after": after}
    needed = [] if code is None else [str(Path(code).absolute())]
    needed += [str(model) for model in models.values() if is_package(str(model))]
    seconds: dict[str, list[float]] = {arm: [] for arm in models}
    memory: dict[str, list[float]] = {arm: [] for arm in models}
    turns = [arm for i in range(rounds) for arm in list(models)[:: -1 if i % 2 else 1]]
    for arm in progress(turns, desc="Loading in new processes", unit=" loads"):
        call = [sys.executable, "-m", "spacy_multihash.pipelines.load_once", str(models[arm])]
        done = subprocess.run([*call, *needed], capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["nothing"]
            why = next((line for line in said if re.match(r"[\w.]+Error: ", line)), said[-1])
            return [], (
                "Load time and memory weren't measured, because a new process can't load the "
                f"pipeline. If it needs a Python file, give it as code (--code). It says: {why}"
            )
        time, size = json.loads(done.stdout.splitlines()[-1])
        seconds[arm].append(time)
        if size is not None:
            memory[arm].append(size / _MEGA)
    figures = [_figure("load", "s", [*seconds.values()])] if rounds else []
    if memory["before"]:
        figures.append(_figure("memory", "MB", [*memory.values()]))
    return figures, ""
