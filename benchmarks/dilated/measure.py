"""Times of a case, and its record in the results."""

import random
from collections.abc import Callable
from dataclasses import asdict
from typing import TypedDict

from spacy.language import Language
from thinc.api import CupyOps, fix_random_seed, get_current_ops

from benchmarks.common.text import Text
from benchmarks.common.timing import (
    Step,
    limit_threads,
    list_times,
    ratio,
    time_rounds,
    words_per_second,
)
from benchmarks.dilated.cases import BASES, DECODING, Case, Settings
from benchmarks.dilated.decoding import make_decoding_work
from benchmarks.dilated.encoders import make_encoder_work
from benchmarks.dilated.training import make_training_work

# Gets the number of labels, and returns the pipeline whose components decode.
Trained = Callable[[int], Language]


class Record(TypedDict):
    """A case in the results. A ratio is the time of the first arm divided by that of another."""

    part: str
    what: str
    text: str
    labels: int
    tokens: list[int]
    arms: dict[str, dict[str, float]]
    times_ms: dict[str, list[float]]
    words_per_second: dict[str, float]
    ratio: dict[str, dict[str, float]]


def measure(case: Case, text: Text, settings: Settings, trained: Trained) -> Record:
    """Time all arms of a case in turns."""
    fix_random_seed(0)
    if case.pair is not None:
        work = make_encoder_work(case, case.pair, text, settings)
    elif case.part == DECODING:
        work = make_decoding_work(case, text, settings, trained(case.labels))
    else:
        work = make_training_work(case, text, settings)
    steps = {arm: to_the_end(step) for arm, step in work.steps.items()}
    with limit_threads(1):
        times = time_rounds(steps, rounds=settings.repeats, rng=random.Random(0))
    base = times[BASES[case.part]]
    return Record(
        part=case.part,
        what=case.what,
        text=case.text,
        labels=case.labels,
        tokens=work.tokens,
        arms=work.arms,
        times_ms=list_times(times),
        words_per_second={
            arm: round(words_per_second(work.tokens, each)) for arm, each in times.items()
        },
        ratio={arm: asdict(ratio(base, each)) for arm, each in times.items()},
    )


def to_the_end(step: Step) -> Step:
    """Let a step begin when the GPU is idle, and end when the GPU has finished it."""

    def prepare(i: int) -> Callable[[], object]:
        run = step(i)
        synchronize()

        def run_to_the_end() -> None:
            run()
            synchronize()

        return run_to_the_end

    return prepare


def synchronize() -> None:
    """Wait for the GPU, if there is one in use."""
    ops = get_current_ops()
    if isinstance(ops, CupyOps):
        ops.xp.cuda.get_current_stream().synchronize()
