"""Scores of an entity recognizer on texts with noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Callable, Optional

import numpy
from spacy.language import Language
from spacy.training import Example

from .entities import KnownEntities
from .evaluation import Evaluation, Scores, annotate, evaluate_entities
from .noise import CharNoise, with_text

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class NoiseScores:
    """Scores under noise that was drawn several times.

    level (float): The probability that a character is changed.
    seeds (Sequence[int]): The seed of each draw.
    mean (Evaluation): The mean of each score over the draws that have it.
    sd (Evaluation): Their standard deviation, with n - 1 in the denominator. None of one draw.
    draws (Sequence[Evaluation]): The scores of each draw.
    """

    level: float
    seeds: Sequence[int]
    mean: Evaluation
    sd: Evaluation
    draws: Sequence[Evaluation]


@dataclass(frozen=True)
class NoisyEvaluation(Evaluation):
    """Scores of a corpus as it is, and under noise.

    noise (NoiseScores): The scores under noise. The others are those of the corpus as it is.
    """

    noise: NoiseScores


def evaluate_noise(
    nlp: Language,
    examples: Sequence[Example],
    known: KnownEntities,
    noise: CharNoise,
    seeds: Sequence[int],
) -> NoiseScores:
    """Score the entities that a pipeline finds in texts with noise, once for each seed.

    The pipeline gets the tokens of the texts, with noise. The entities that it finds are scored on
    the texts without noise, which decide what is seen and unseen.

    nlp (Language): The pipeline.
    examples (Sequence[Example]): Gold docs, and predicted docs without annotation, which stay so.
    known (KnownEntities): The entities of the training corpus.
    noise (CharNoise): The noise.
    seeds (Sequence[int]): The seed of each draw.

    Raises ValueError if there are no seeds, or no doc has gold annotation of entities.
    """
    if not seeds:
        raise ValueError("Noise has to be drawn at least once, found no seeds. Give one or more.")
    draws = [evaluate_entities(predict_noisy(nlp, examples, noise, seed), known) for seed in seeds]
    return NoiseScores(
        noise.level, seeds, _combine(draws, mean, 1), _combine(draws, stdev, 2), draws
    )


def predict_noisy(
    nlp: Language, examples: Sequence[Example], noise: CharNoise, seed: int
) -> list[Example]:
    """Let a pipeline annotate texts with noise, and give the texts without noise its entities.

    nlp (Language): The pipeline.
    examples (Sequence[Example]): Gold docs, and predicted docs without annotation, which stay so.
    noise (CharNoise): The noise.
    seed (int): The seed of its draw.
    """
    generator = numpy.random.default_rng(seed)
    noisy = [Example(with_text(e.x, noise.change(e.x.text, generator)), e.y) for e in examples]
    annotate(nlp, noisy)
    return [
        Example(with_text(each.x, example.x.text), example.y)
        for each, example in zip(noisy, examples, strict=True)
    ]


def _combine(draws: Sequence[Evaluation], statistic: Statistic, least: int) -> Evaluation:
    """Compute a statistic of each score of which there are values enough."""

    def combine(parts: Sequence[Optional[Scores]]) -> Scores:
        scores = [part for part in parts if part is not None]
        values = {key: [v for s in scores if (v := getattr(s, key)) is not None] for key in "prf"}
        labels = sorted({label for each in scores for label in each.per_label})
        return Scores(
            scores[0].entities,
            **{key: statistic(v) if len(v) >= least else None for key, v in values.items()},
            per_label={
                label: combine([s.per_label.get(label) for s in scores]) for label in labels
            },
        )

    def combine_parts(name: str) -> dict[str, Scores]:
        parts = [getattr(draw, name) for draw in draws]
        return {key: combine([part[key] for part in parts]) for key in parts[0]}

    return Evaluation(
        combine([draw.overall for draw in draws]),
        *(combine_parts(name) for name in ("masked", "once", "by_frequency")),
    )
