"""How time and memory grow, and our target."""

from collections.abc import Mapping

import numpy

from benchmarks.common.layers import OURS, SPACY
from benchmarks.scaling.cases import MILLION, PREDICT, TRAIN
from benchmarks.scaling.measure import Record

# Our target: predicting the longest doc takes at most this share of spaCy's temporary memory.
MEMORY_TARGET = 0.25
# The least number of tokens of docs that tell how time grows.
LONG = 1000


def summarise(records: Mapping[str, Record]) -> dict[str, dict[str, float]]:
    """Compute how time grows with tokens, and how much memory the longest doc takes.

    The summary has two parts. "exponent" is the slope of log time over log tokens, from LONG tokens
    on, which is 1 for linear time. "memory" is our temporary memory divided by spaCy's.
    """
    exponents, memory = {}, {}
    for name in [f"{what}/{arm}" for what in (*PREDICT, TRAIN) for arm in (SPACY, OURS)]:
        long = [
            (record["value"], numpy.median(record["times_ms"][name]))
            for record in records.values()
            if record["axis"] in ("tokens", MILLION) and record["value"] >= LONG
            if name in record["times_ms"]
        ]
        if len(long) > 1:
            tokens, times = numpy.log(long).T
            exponents[name] = round(float(numpy.polyfit(tokens, times, 1)[0]), 3)
    for record in records.values():
        if record["axis"] == MILLION:
            used = {**record["temporary_bytes"], **record["estimated_bytes"]}
            memory = {
                what: round(used[f"{what}/{OURS}"] / used[f"{what}/{SPACY}"], 4) for what in PREDICT
            }
    return {"exponent": exponents, "memory": memory}
