"""How true the probabilities of entities are, and the temperature that makes them truer.

Probabilities are calibrated if of all entities with a probability of about p a share of p is right.
A temperature T, by which scores are divided before they become probabilities, changes how sure a
model is and not what it finds (Guo et al. 2017, "On calibration of modern neural networks").
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from ..common.checks import is_number, refusal
from .docs import EntityKey

# The temperatures among which the best is looked for.
LOWEST, HIGHEST = 0.05, 20.0
# The share by which a temperature is at least away from them, if it is a result.
_FROM_EDGE = 0.01
# Probabilities are kept this far from 0 and 1 in logarithms.
_EDGE = 1e-7


class Uncalibrated(NamedTuple):
    """E entities of docs, and how their probabilities depend on the temperature.

    keys: Of each entity, the number of its doc, and its start, end and label.
    probabilities (Callable): Temperature -> (E,) float.
    """

    keys: Sequence[tuple[int, EntityKey]]
    probabilities: Callable[[float], numpy.ndarray]

    @classmethod
    def of(
        cls,
        component: str,
        keys: Sequence[tuple[int, EntityKey]],
        probabilities: Callable[[float], numpy.ndarray],
    ) -> "Uncalibrated":
        """Let a function refuse what is no temperature.

        component (str): The name of the component, for the message.
        """

        def checked(temperature: float) -> numpy.ndarray:
            check_temperature(f'Component "{component}"', temperature)
            return probabilities(temperature)

        return cls(keys, checked)


class Bin(NamedTuple):
    """The entities whose probabilities are in a range.

    probability: Their mean probability.
    share: The share of them that is right.
    entities: How many there are.
    """

    probability: float
    share: float
    entities: int


def check_temperature(where: str, temperature: object) -> None:
    """Raise ValueError for a setting that is no temperature.

    where (str): The component, for the message.
    """
    if not (is_number(temperature) and 0 < temperature < math.inf):
        raise refusal(where, "temperature", "a number above 0", temperature)


def reliability(probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10) -> list[Bin]:
    """Sort entities into ranges of probability of equal width, without ranges that are empty.

    probabilities (E,) float: In [0, 1].
    right (E,) bool: Whether each entity is right.
    """
    number = numpy.minimum((probabilities * bins).astype("int64"), bins - 1)
    found = []
    for range_ in numpy.unique(number).tolist():
        inside = number == range_
        mean, share = probabilities[inside].mean(), right[inside].mean()
        found.append(Bin(float(mean), float(share), int(inside.sum())))
    return found


def expected_calibration_error(
    probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10
) -> float:
    """Return the mean distance of probability and share, over entities (Guo et al. 2017, eq. 3).

    The arguments are those of `reliability`. Without entities it is NaN.
    """
    if not len(probabilities):
        return math.nan
    found = reliability(probabilities, right, bins)
    distances = [abs(one.probability - one.share) * one.entities for one in found]
    return sum(distances) / len(probabilities)


def log_loss(probabilities: numpy.ndarray, right: numpy.ndarray) -> float:
    """Return the mean of -log p of right entities, and of -log(1 - p) of wrong ones."""
    p = numpy.clip(probabilities.astype("float64"), _EDGE, 1 - _EDGE)
    return float(-numpy.log(numpy.where(right, p, 1 - p)).mean())


def fit_temperature(probabilities: Callable[[float], numpy.ndarray], right: numpy.ndarray) -> float:
    """Find the temperature of the lowest log loss, between `LOWEST` and `HIGHEST`.

    probabilities (Callable): Temperature -> (E,) float, E >= 1.
    right (E,) bool.

    Needs scipy.
    """
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log: log_loss(probabilities(math.exp(log)), right),
        bounds=(math.log(LOWEST), math.log(HIGHEST)),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(math.exp(found.x))


def is_at_edge(temperature: float) -> bool:
    """Tell whether a temperature is about the lowest or the highest that is looked at."""
    return not LOWEST * (1 + _FROM_EDGE) < temperature < HIGHEST * (1 - _FROM_EDGE)


class Quality(NamedTuple):
    """How true probabilities of entities are.

    entities: How many entities were found.
    share: The share of them that is right: the precision.
    error: The expected calibration error.
    loss: The log loss.
    """

    entities: int
    share: float
    error: float
    loss: float


def quality_of(probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10) -> Quality:
    """Measure how true probabilities are; the arguments are those of `reliability`."""
    return Quality(
        len(right),
        float(right.mean()),
        expected_calibration_error(probabilities, right, bins),
        log_loss(probabilities, right),
    )


@dataclass(frozen=True)
class Calibration:
    """How true the probabilities of the entities of a corpus are, with two temperatures.

    component: The recognizer.
    former, temperature: The temperature that it had, and the other one.
    before, after: How true the probabilities are, with each temperature.
    labels: The same two for each label.
    bins_before, bins_after: The ranges of probability, for the diagram.
    """

    component: str
    former: float
    temperature: float
    before: Quality
    after: Quality
    labels: Mapping[str, tuple[Quality, Quality]]
    bins_before: Sequence[Bin]
    bins_after: Sequence[Bin]

    def as_json(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {
            "component": self.component,
            "former": self.former,
            "temperature": self.temperature,
            "before": self.before._asdict(),
            "after": self.after._asdict(),
            "labels": {
                label: {"before": old._asdict(), "after": new._asdict()}
                for label, (old, new) in self.labels.items()
            },
            "bins_before": [one._asdict() for one in self.bins_before],
            "bins_after": [one._asdict() for one in self.bins_after],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Calibration":
        """Return what `as_json` made the data of."""
        return cls(
            data["component"],
            data["former"],
            data["temperature"],
            Quality(**data["before"]),
            Quality(**data["after"]),
            {
                label: (Quality(**both["before"]), Quality(**both["after"]))
                for label, both in data["labels"].items()
            },
            [Bin(**one) for one in data["bins_before"]],
            [Bin(**one) for one in data["bins_after"]],
        )
