"""Which features count for the gold entities of a corpus: log-odds when they're unknown."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Optional, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..common.arguments import checked
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..corpus.read import Data, examples_of
from ..ner.calibration import find_recognizer
from ..ner.entities import annotate_before
from .explain import (
    FACTORS,
    Explained,
    Key,
    Variant,
    about_factor,
    ask_variants,
    choose_factor,
    prepare,
    signed,
)

Where = Literal["everywhere", "in the entity"]
EVERYWHERE: Where = "everywhere"
IN_ENTITY: Where = "in the entity"
# Docs that the components before the recognizer annotate at once, and docs to ask about at once.
_DOC_BATCH, _BATCH = 256, 128


@dataclass(frozen=True)
class Effect:
    """How much a feature counts for the gold entities of a corpus."""

    label: Optional[str]  # None for all labels
    feature: str
    where: Where  # where it's unknown
    mean: float  # how far their log-odds fall
    error: Optional[float]  # the standard error of the mean, None for a single entity
    entities: int


@dataclass(frozen=True, eq=False)
class Effects(Result):
    """How much each feature counts for the gold entities of a corpus.

    left_out (str): Which gold entities were left out, and why.
    factor (float): What scores were divided by, since probabilities were next to 0 or 1.
    is_exact (bool): Whether log-odds are still too near to the limit.
    """

    effects: Sequence[Effect]
    left_out: str = ""
    factor: float = 1.0
    is_exact: bool = True

    def tables(self) -> Iterable[Table]:
        """A row for each label and feature."""
        rows: dict[tuple[Optional[str], str], dict[str, Any]] = {}
        for effect in self.effects:
            row = rows.setdefault((effect.label, effect.feature), {"n": effect.entities})
            error = "-" if effect.error is None else f"{effect.error:.2f}"
            row[effect.where] = f"{signed(effect.mean, 2)} ± {error}"
        yield Table(
            "By how much the log-odds of gold entities fall",
            ("label", "entities", "unknown feature", EVERYWHERE, IN_ENTITY),
            [
                (label or "all", row["n"], feature, row[EVERYWHERE], row[IN_ENTITY])
                for (label, feature), row in rows.items()
            ],
            aligns="lrlrr",
        )

    def notes(self) -> Iterable[str]:
        """What the numbers mean, and which entities were left out."""
        yield "± is the standard error; a single entity has none."
        if about := about_factor(self.factor, self.is_exact):
            yield about
        if self.left_out:
            yield f"Gold entities are left out: {self.left_out}."


@checked
def explain_corpus(
    nlp: Union[Language, str, Path],
    data: Data,
    *,
    component: Optional[str] = None,
    progress: Progress = no_progress,
) -> Effects:
    """Measure how much each feature counts for the gold entities of a corpus.

    The corpus is read twice for each feature, eight times if tables are hashed, and once more.

        print(explain_corpus("training/model-best", "corpus/dev.spacy"))

    nlp (Union[Language, str, Path]): The pipeline, with a batch_ner or tagger_ner.
    data (Data): The corpus: a .spacy file, a folder of them, or docs with gold entities.
    component (Optional[str]): The recognizer, if the pipeline has several.

    Raises ValueError if there are no entities with the component's labels.
    """
    nlp = loaded(nlp)
    name = find_recognizer(nlp, component)
    explained = prepare(nlp, name)
    labels: tuple[str, ...] = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
    unknown, unaligned = Counter[str](), Counter[str]()

    def gold_entities() -> Iterator[tuple[Doc, list[Key]]]:
        for batch in minibatch(examples_of(nlp, data), _DOC_BATCH):
            for example in annotate_before(nlp, name, batch):
                ents = example.reference.ents
                gold = [ent for ent in ents if ent.label_ in labels]
                spans = example.get_aligned_spans_y2x(gold)
                unknown.update(ent.label_ for ent in ents if ent.label_ not in labels)
                unaligned["entities"] += len(gold) - len(spans)
                if spans:
                    yield example.predicted, [(s.start, s.end, s.label_) for s in spans]

    effects = measure_effects(explained, progress(gold_entities(), desc="Explaining", unit=" docs"))
    reasons = []
    if unknown:
        reasons.append(
            f"{unknown.total():,} have labels that {name} does not know "
            f"({', '.join(sorted(unknown))}; it knows {', '.join(labels) or 'none'})"
        )
    if unaligned.total():
        reasons.append(f"{unaligned.total():,} do not align with the pipeline's tokens")
    left_out = ", and ".join(reasons)
    if not effects.effects:
        others = f" Of those it has, {left_out}." if left_out else ""
        raise ValueError(
            f"The corpus has no gold entities to explain. Give one that has some.{others}"
        )
    return replace(effects, left_out=left_out)


def measure_effects(explained: Explained, examples: Iterable[tuple[Doc, Sequence[Key]]]) -> Effects:
    """Measure the effect of each feature on the entities of a corpus.

    examples (Iterable[tuple[Doc, Sequence[Key]]]): Docs, annotated by the components before the
        recognizer, and the gold entities of each.
    """
    # By label, and of all: for each entity, how far the log-odds fall, (F, 2 * A).
    falls: dict[Optional[str], list[numpy.ndarray]] = defaultdict(list)
    wheres, largest = (EVERYWHERE, IN_ENTITY), numpy.zeros(len(FACTORS))
    for batch in minibatch(examples, max(1, _BATCH // (1 + 2 * len(explained.features)))):
        for (_, keys), values in zip(batch, _log_odds(explained, batch), strict=True):
            largest = numpy.maximum(largest, numpy.abs(values).max(axis=(0, 2), initial=0))
            for (_, _, label), of_entity in zip(keys, values.transpose(2, 1, 0), strict=True):
                for group in (label, None):
                    falls[group].append(of_entity[:, :1] - of_entity[:, 1:])
    effects, (number, is_exact) = list[Effect](), choose_factor(largest)
    columns = [(feature, where) for feature in explained.features for where in wheres]
    for label in sorted(falls, key=lambda label: (label or "all", label or "")):
        of_label = numpy.array([of_entity[number] for of_entity in falls[label]]).T  # (2 * A, E)
        for (feature, where), values in zip(columns, of_label, strict=True):
            many = len(values) > 1
            error = float(values.std(ddof=1) / len(values) ** 0.5) if many else None
            mean, size = float(values.mean()), len(values)
            effects.append(Effect(label, feature, where, mean, error, size))
    return Effects(effects, factor=FACTORS[number], is_exact=is_exact)


def _log_odds(
    explained: Explained, batch: Sequence[tuple[Doc, Sequence[Key]]]
) -> Iterator[numpy.ndarray]:
    """Yield the log-odds (1 + 2 * A, F, E) of each doc's entities: known, by feature and place."""
    variants: list[Variant] = []
    for doc, keys in batch:
        own = numpy.array(sorted({i for start, end, _ in keys for i in range(start, end)}), int)
        variants.append((doc, {}, keys))
        for attr in explained.features.values():
            variants += [(doc, {attr: where}, keys) for where in (numpy.arange(len(doc)), own)]
    values = ask_variants(explained, variants)
    size = len(variants) // len(batch)
    for start in range(0, len(variants), size):
        yield numpy.array(values[start : start + size])
