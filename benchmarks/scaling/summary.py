"""How costs grow, and our target."""

from collections.abc import Mapping

import numpy

from benchmarks.common.layers import OURS, SPACY
from benchmarks.scaling.cases import MILLION, PREDICT, TRAIN
from benchmarks.scaling.measure import Record

# Our target, at most: of spaCy's temporary memory, to predict a doc of a million tokens.
MEMORY_TARGET = 0.25


def summarise(records: Mapping[str, Record]) -> dict[str, dict[str, float]]:
    """Say how cost grows with tokens, and how our memory compares for the longest doc.

    exponent: Slope of log time over log tokens, from 1000 tokens on: 1 is linear.
    memory: Our temporary memory by spaCy's, of "million".
    """
    exponents, memory = {}, {}
    for name in [f"{what}/{arm}" for what in (*PREDICT, TRAIN) for arm in (SPACY, OURS)]:
        long = [
            (record["value"], numpy.median(record["times_ms"][name]))
            for record in records.values()
            if record["axis"] in ("tokens", MILLION) and record["value"] >= 1000
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
