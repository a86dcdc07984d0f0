"""The entities that a recognizer finds in a corpus, with whether each is right."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from .asked import annotate_before
from .calibration import Calibration, Uncalibrated, fit_temperature, quality_of, reliability

# Docs whose scores are computed at once.
_BATCH = 256


class Judged(NamedTuple):
    """The E entities that a component finds where there is gold annotation.

    component: Its name.
    former: The temperature that it has.
    right (E,) bool: Whether each entity is right.
    labels (E,) str: What each entity counts as.
    probabilities (Callable): Temperature -> (E,) float.
    """

    component: str
    former: float
    right: numpy.ndarray
    labels: numpy.ndarray
    probabilities: Callable[[float], numpy.ndarray]


def judge_entities(
    nlp: Language,
    name: str,
    examples: Sequence[Example],
    same: Optional[Mapping[str, str]] = None,
) -> Judged:
    """Find the entities of a corpus, and judge them. The pipeline stays as it is.

    An entity that other components set, or with a token whose gold annotation is missing, does not
    count.

    name (str): The component, a batch_ner or tagger_ner.
    examples (Sequence[Example]): The corpus, not annotated yet.
    same (Optional[Mapping[str, str]]): What each label counts as, that of a found entity and that
        of a gold one. Entities with other labels do not count. Null is for all labels as they are.

    Raises ValueError if no entity is found that counts.
    """
    recognizer: Any = nlp.get_pipe(name)
    right: list[bool] = []
    labels: list[str] = []
    parts: list[tuple[Uncalibrated, list[int]]] = []
    for batch in minibatch(examples, _BATCH):
        pairs = annotate_before(nlp, name, batch)
        docs, batch = [doc for doc, _ in pairs], [example for _, example in pairs]
        found = recognizer.uncalibrated(docs)
        present = [{(span.start, span.end, span.label_) for span in doc.ents} for doc in docs]
        gold, known = _gold_of(batch, same)
        kept = []
        for number, (i, (start, end, label)) in enumerate(found.keys):
            counted = _counts_as(label, same)
            is_new = (start, end, label) not in present[i]
            if counted is not None and is_new and all(known[i][start:end]):
                kept.append(number)
                right.append((start, end, counted) in gold[i])
                labels.append(counted)
        parts.append((found, kept))
    if not right:
        raise ValueError(
            f'Component "{name}" finds no entity in the corpus where it has gold annotation, so '
            "that there is nothing to calibrate. Expected a dev corpus of the kind of text that "
            "the pipeline was trained on."
        )

    def probabilities(temperature: float) -> numpy.ndarray:
        return numpy.concatenate([one.probabilities(temperature)[kept] for one, kept in parts])

    return Judged(
        name, recognizer.temperature, numpy.array(right), numpy.array(labels), probabilities
    )


def _gold_of(
    examples: Sequence[Example], same: Optional[Mapping[str, str]]
) -> tuple[list[set[tuple[int, int, Optional[str]]]], list[list[bool]]]:
    """Return the gold entities of each doc, and which of its tokens have gold annotation."""
    gold, known = [], []
    for example in examples:
        aligned = example.get_aligned_spans_y2x(example.reference.ents)
        gold.append({(span.start, span.end, _counts_as(span.label_, same)) for span in aligned})
        known.append([tag is not None for tag in example.get_aligned_ner()])
    return gold, known


def _counts_as(label: str, same: Optional[Mapping[str, str]]) -> Optional[str]:
    """Return what a label counts as, None if it does not count."""
    return label if same is None else same.get(label)


def best_temperature(judged: Judged) -> float:
    """Find the temperature of the lowest log loss, in thousandths. Needs scipy.

    Raises ValueError if all entities are right, or none: the lowest temperature that there is, or
    the highest, would be the best.
    """
    number, right = len(judged.right), int(judged.right.sum())
    if right in (0, number):
        raise ValueError(
            f'Component "{judged.component}": {"all" if right else "none"} of the {number} '
            "entities that it finds in the corpus are right, so that no temperature is the best. "
            "Expected some right and some wrong ones. Take a larger dev corpus, one that the "
            "pipeline was not trained on, with the labels of the pipeline."
        )
    return round(fit_temperature(judged.probabilities, judged.right), 3)


def compare(judged: Judged, temperature: float, *, bins: int = 10) -> Calibration:
    """Compare the probabilities of entities with those of another temperature.

    judged (Judged): The entities.
    temperature (float): The other temperature.
    bins (int): The number of ranges of probability.
    """
    old, new = judged.probabilities(judged.former), judged.probabilities(temperature)
    of_labels = {}
    for label in numpy.unique(judged.labels).tolist():
        own = judged.labels == label
        right = judged.right[own]
        of_labels[label] = (
            quality_of(old[own], right, bins),
            quality_of(new[own], right, bins),
        )
    return Calibration(
        judged.component,
        judged.former,
        temperature,
        quality_of(old, judged.right, bins),
        quality_of(new, judged.right, bins),
        of_labels,
        reliability(old, judged.right, bins),
        reliability(new, judged.right, bins),
    )
