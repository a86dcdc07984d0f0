"""The scores of runs, by task."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Optional

from spacy.language import Language
from spacy.scorer import Scorer
from spacy.training import Example
from spacy.vocab import Vocab

from experiments.arms.recipe import recipe_arm
from experiments.arms.tasks import NER
from experiments.runs.counts import ALL, Counts, category_counts, part_counts
from experiments.runs.grid import Run
from spacy_multihash.corpus.entities import KnownEntities, known_entities
from spacy_multihash.corpus.evaluation import annotate, predict, score, score_parts
from spacy_multihash.corpus.read import read_docs

# The splits that are scored.
DEV, TEST = SPLITS = ("dev", "test")
# The scores of a split, and of its parts.
Scores = dict[str, dict[str, Optional[float]]]
# Scores, and counts of each sentence by part.
Judged = tuple[Scores, dict[str, Counts]]
# A function that replaces the predicted docs of examples by annotated ones.
Tagger = Callable[[list[Example]], None]


def splits_of(run: Run) -> tuple[str, ...]:
    """Return the splits that a run is scored on after its training.

    Recipes are chosen by dev. What is chosen is scored on test afterwards, and nothing else.
    """
    return SPLITS if recipe_arm(run.arm) is None else (DEV,)


def make_tagger(run: Run, nlp: Language) -> Tagger:
    """Return a function that lets a pipeline annotate examples."""
    return partial(predict if run.task is NER else annotate, nlp)


def make_judge(run: Run, vocab: Vocab) -> Callable[[Sequence[Example]], Judged]:
    """Return a function that scores the predicted docs of a split, and counts what is right.

    run (Run): The run. The entities of its training corpus are the known ones.
    vocab (Vocab): A vocab to read it with.
    """
    if run.task is not NER:
        return lambda examples: (category_scores(examples), {ALL: category_counts(examples)})
    known = known_entities(read_docs(run.corpus("train"), vocab))
    return lambda examples: (entity_scores(examples, known), part_counts(examples, known))


def split_after(split: str, step: str) -> str:
    """Name the scores of a split after an evaluation, as they stand among those of splits."""
    return f"{split} after {step}" if split and step else split


def entity_scores(examples: Sequence[Example], known: KnownEntities) -> Scores:
    """Score all, seen and unseen entities. The report defines which are seen.

    A part without gold entities has no scores.
    """
    parts = {ALL: score(examples), **score_parts(examples, known)}
    return {name: {key: getattr(part, key) for key in "prf"} for name, part in parts.items()}


def category_scores(examples: Sequence[Example]) -> Scores:
    """Score documents with one label each: the accuracy, and the mean F1 of the labels."""
    labels = sorted({label for example in examples for label in example.reference.cats})
    scores: Any = Scorer.score_cats(examples, "cats", labels=labels, multi_label=False)
    # A wrong label is one false positive and one false negative, so micro F1 is the accuracy.
    return {ALL: {"accuracy": scores["cats_micro_f"], "macro_f": scores["cats_macro_f"]}}
