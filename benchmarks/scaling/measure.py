"""Times and memory of a case, and its record in the results."""

import random
from dataclasses import asdict, replace
from typing import Optional, TypedDict

from thinc.api import fix_random_seed

from benchmarks.common.memory import available_bytes, model_bytes, temporary_bytes
from benchmarks.common.text import Text, count_types
from benchmarks.common.timing import limit_threads, list_times, time_rounds
from benchmarks.scaling.cases import MILLION, PREDICT, TRAIN, Case, Settings
from benchmarks.scaling.layers import build_arms, make_doc, make_steps


class Record(TypedDict):
    """A case in the results.

    times_ms, temporary_bytes: By step and arm, under names such as "tok2vec-predict/ours".
    estimated_bytes: The temporary memory of steps that are not run, since it would be over half of
        the free memory. It is a hundred times that for a hundredth of the tokens.
    model_bytes: The bytes of the weights of tok2vec, by arm.
    """

    axis: str
    value: int
    point: dict[str, Optional[int]]
    types: int
    times_ms: dict[str, list[float]]
    temporary_bytes: dict[str, int]
    estimated_bytes: dict[str, int]
    model_bytes: dict[str, int]


def measure(case: Case, text: Text, settings: Settings) -> Record:
    """Measure the memory of each step, and then the times in turns.

    On the longest doc, each step is timed once, and training steps are left out.
    """
    axis, value = case
    fix_random_seed(0)
    once = axis == MILLION
    point = replace(settings.base, **{"tokens" if once else axis: value})
    doc = make_doc(text, point)
    arms = build_arms(point, settings.depth, text.docs[:10])
    for layers in arms.values():
        # What stays after the first call is no temporary memory.
        layers["tok2vec"].predict(text.docs[:1])
    whats = PREDICT if once else [*PREDICT, TRAIN]
    estimated: dict[str, int] = {}
    with limit_threads(1):
        if once:
            part = make_steps(whats, arms, make_doc(text, replace(point, tokens=value // 100)))
            sizes = {name: temporary_bytes(step(0)) * 100 for name, step in part.items()}
            most = available_bytes() // 2
            estimated = {name: size for name, size in sizes.items() if size > most}
        steps = make_steps(whats, arms, doc)
        for name in estimated:
            del steps[name]
        temporary = {name: temporary_bytes(step(0)) for name, step in steps.items()}
        rounds, warm_up = (1, 0) if once else (settings.repeats, 1)
        times = time_rounds(steps, rounds=rounds, rng=random.Random(0), warm_up=warm_up)
    return Record(
        axis=axis,
        value=value,
        point=asdict(point),
        types=count_types([doc]),
        times_ms=list_times(times),
        temporary_bytes=temporary,
        estimated_bytes=estimated,
        model_bytes={arm: model_bytes(layers["tok2vec"]) for arm, layers in arms.items()},
    )
