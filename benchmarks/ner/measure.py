"""Times and memory of a case, and its record in the results."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TypedDict

import numpy
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.api import fix_random_seed

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.memory import temporary_bytes
from benchmarks.common.pipelines import check_same_entities, entity_share
from benchmarks.common.text import count_tokens
from benchmarks.common.timing import limit_threads, list_times, ratio, time_rounds, words_per_second
from benchmarks.ner.cases import UPDATE, Case, Recognizer, Settings
from benchmarks.ner.same import check_same_update, check_scored, find_entities
from benchmarks.ner.subjects import EXTRA, Subject
from benchmarks.ner.work import Batch, make_sets, make_step


class Record(TypedDict):
    """A case in the results.

    labels: The number of labels.
    value: The value along the axis, for the parts of GROWTH.
    entities: The share of tokens that are in entities, and how many tokens an entity has, on
        average: of those that were found, or of those to learn from.
    ratio: spaCy's time divided by that of each arm.
    """

    part: str
    step: str
    recognizer: str
    text: str
    labels: int
    value: int
    tokens: list[int]
    entities: dict[str, float]
    times_ms: dict[str, list[float]]
    temporary_bytes: dict[str, int]
    words_per_second: dict[str, int]
    ratio: dict[str, dict[str, float]]


def measure(case: Case, settings: Settings, subject_of: Callable[[Recognizer], Subject]) -> Record:
    """Check that both arms do the same, and measure their memory, and then their times in turns.

    Raises ValueError if the arms do not do the same.
    """
    fix_random_seed(0)
    subject = subject_of(case.recognizer)
    with limit_threads(1):
        sets = make_sets(case, subject, settings)
        arms = subject.arms(case)
        batches = [batch for each in sets for batch in each]
        docs: Sequence[Doc] = [doc for docs, _ in batches for doc in docs]
        if case.step == UPDATE:
            check_same_update(subject, arms[SPACY], arms[OURS], sets[0], case.name)
        else:
            docs = check_arms(subject, arms, batches, case.name)
        steps = {arm: make_step(case, subject, pipe, sets) for arm, pipe in arms.items()}
        temporary = {arm: temporary_bytes(step(0)) for arm, step in steps.items()}
        times = time_rounds(steps, rounds=settings.repeats, rng=random.Random(0))
    tokens = [sum(count_tokens(docs) for docs, _ in each) for each in sets]
    return Record(
        part=case.part,
        step=case.step,
        recognizer=case.recognizer.what,
        text=case.docs.text,
        labels=len(subject.ner.labels),
        value=case.value,
        tokens=tokens,
        entities=describe_entities(docs),
        times_ms=list_times(times),
        temporary_bytes=temporary,
        words_per_second={
            arm: round(words_per_second(tokens, each)) for arm, each in times.items()
        },
        ratio={arm: asdict(ratio(times[SPACY], each)) for arm, each in times.items()},
    )


def check_arms(
    subject: Subject,
    arms: Mapping[str, EntityRecognizer],
    batches: Sequence[Batch],
    where: str,
) -> Sequence[Doc]:
    """Check that arms find the same entities, but for the best sequence, and return the docs.

    Raises ValueError if they do not, or if probabilities are missing that were asked for.
    """
    found = {arm: find_entities(subject, pipe, batches) for arm, pipe in arms.items()}
    for arm, docs in found.items():
        config = EXTRA.get(arm, {})
        if "decoder" not in config:
            check_same_entities(found[SPACY], docs, f"{where}, {arm}")
        if "spans_key" in config:
            check_scored(docs, f"{where}, {arm}")
    return found[SPACY]


def describe_entities(docs: Sequence[Doc]) -> dict[str, float]:
    """Compute the share of tokens that are in entities, and the mean number of tokens of those."""
    lengths = [len(ent) for doc in docs for ent in doc.ents]
    return {
        "share": entity_share(docs),
        "mean length": round(float(numpy.mean(lengths)), 2) if lengths else 0.0,
    }
