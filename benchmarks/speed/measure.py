"""Times of a case, and its record in the results."""

import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import TypedDict

from thinc.api import fix_random_seed

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.text import Text
from benchmarks.common.timing import (
    ONE,
    Times,
    limit_threads,
    list_times,
    ratio,
    time_rounds,
    words_per_second,
)
from benchmarks.speed.cases import LIMIT, LOADED, MD, Case, Settings
from benchmarks.speed.layers import make_layer_work
from benchmarks.speed.pipelines import make_md_work, make_pipeline_work


class Record(TypedDict):
    """A case in the results.

    ratio: spaCy's time divided by ours.
    share: The time of the limit divided by that of each arm, where the limit is known.
    """

    what: str
    width: int
    text: str
    threads: str
    num_threads: int
    tokens: list[int]
    times_ms: dict[str, list[float]]
    tokens_per_second: dict[str, float]
    ratio: dict[str, float]
    share: dict[str, dict[str, float]]


def measure(case: Case, text: Text, settings: Settings) -> Record:
    """Time both arms, and the limit where it is known."""
    fix_random_seed(0)
    if case.what == MD:
        work = make_md_work(settings)
    elif case.what.startswith("pipeline"):
        work = make_pipeline_work(case, text, settings)
    else:
        work = make_layer_work(case, text, settings)
    threads = limit_threads(1 if case.threads == ONE else None)
    load = keep_a_core_busy() if case.what.endswith(LOADED) else nullcontext()
    with threads as num_threads, load:
        times = time_rounds(work.steps, rounds=settings.repeats, rng=random.Random(0))
    return make_record(case, num_threads, work.tokens, times)


def make_record(case: Case, num_threads: int, tokens: Sequence[int], times: Times) -> Record:
    """Make the record of a case, with ratios of times of the same rounds."""
    arms = (SPACY, OURS)
    shares = {arm: asdict(ratio(times[LIMIT], times[arm])) for arm in arms if LIMIT in times}
    return Record(
        what=case.what,
        width=case.width,
        text=case.text,
        threads=case.threads,
        num_threads=num_threads,
        tokens=list(tokens),
        times_ms=list_times(times),
        tokens_per_second={arm: round(words_per_second(tokens, times[arm])) for arm in arms},
        ratio=asdict(ratio(times[SPACY], times[OURS])),
        share=shares,
    )


@contextmanager
def keep_a_core_busy() -> Iterator[None]:
    """Run another process in the meantime, which takes as much of a core as it gets."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()
