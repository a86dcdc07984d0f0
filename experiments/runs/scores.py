"""What a run is measured by: the scores of each task."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Optional

from spacy.language import Language
from spacy.scorer import Scorer
from spacy.training import Example
from spacy.vocab import Vocab

from experiments.arms.tasks import NER
from experiments.runs.grid import Run
from spacy_multihash.corpus.entities import KnownEntities, known_entities
from spacy_multihash.corpus.evaluation import annotate, predict, score, score_parts
from spacy_multihash.corpus.read import read_docs

# Of a split: the scores of all, and of parts of it.
Scores = dict[str, dict[str, Optional[float]]]
# Replaces the predicted docs of examples by annotated ones.
Tagger = Callable[[list[Example]], None]


def make_tagger(run: Run, nlp: Language) -> Tagger:
    """Return what lets a pipeline annotate examples."""
    return partial(predict if run.task is NER else annotate, nlp)


def make_scorer(run: Run, vocab: Vocab) -> Callable[[Sequence[Example]], Scores]:
    """Return what scores the predicted docs of a split.

    run (Run): The run, whose training corpus tells which entities are known.
    vocab (Vocab): A vocab to read it with.
    """
    if run.task is NER:
        known = known_entities(read_docs(run.corpus("train"), vocab))
        return partial(entity_scores, known=known)
    return category_scores


def entity_scores(examples: Sequence[Example], known: KnownEntities) -> Scores:
    """Score all, seen and unseen entities, the latter two in the report's way.

    A part without gold entities has no scores.
    """
    parts = {"all": score(examples), **score_parts(examples, known)}
    return {name: {key: getattr(part, key) for key in "prf"} for name, part in parts.items()}


def category_scores(examples: Sequence[Example]) -> Scores:
    """Score labels of which each document has one: accuracy, and the mean F1 of the labels."""
    labels = sorted({label for example in examples for label in example.reference.cats})
    scores: Any = Scorer.score_cats(examples, "cats", labels=labels, multi_label=False)
    # One wrong label is one false positive and one false negative: micro F1 is the accuracy.
    return {"all": {"accuracy": scores["cats_micro_f"], "macro_f": scores["cats_macro_f"]}}
