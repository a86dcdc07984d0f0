"""What a batch of examples teaches: parts of docs, and the gold entities of their tokens."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.errors import Errors
from spacy.training import Example

from ..docs import lengths_of
from ..gold import gold_tags, wrong_entities
from .actions import Actions
from .costs import Gold, gold_of
from .rules import Rules, rules_of
from .starts import Parts, cut, draw_length, has_gold


class Lesson(NamedTuple):
    """What to learn from a batch of N tokens."""

    gold: Gold
    rules: Rules
    actions: Actions
    parts: Parts


def prepare(
    examples: Sequence[Example],
    actions: Actions,
    wrong_key: Optional[str],
    cut_size: int,
) -> Lesson:
    """Read off examples what they teach.

    examples (Sequence[Example]): The batch. At least one has tokens.
    wrong_key (Optional[str]): Where in reference.spans entities are that are known to be wrong.
    cut_size (int): The setting `update_with_oracle_cut_size`.

    Raises ValueError for an entity that is both right and known to be wrong; for labels that begin
    with "!", spaCy's former way to say that; and where docs are cut and no action is right that is
    valid.
    """
    examples = [example for example in examples if len(example.predicted)]
    lengths = lengths_of([example.predicted for example in examples])
    offsets = lengths.cumsum() - lengths
    tags = gold_tags(examples, actions.labels)
    gold = gold_of(tags, len(actions.labels))
    _refuse_negated(gold, actions)
    wrong = None if wrong_key is None else wrong_entities(examples, actions.labels, wrong_key)
    gold = gold._replace(wrong=wrong)
    rules = rules_of([example.predicted for example in examples], actions)
    teaching = [has_gold(example, wrong_key) for example in examples]
    parts = cut(
        [example for example, teaches in zip(examples, teaching, strict=True) if teaches],
        offsets[teaching],
        draw_length(cut_size),
        gold,
        rules,
        actions,
        wrong_key,
    )
    return Lesson(gold, rules, actions, parts)


def _refuse_negated(gold: Gold, actions: Actions) -> None:
    negated = [number for number, label in enumerate(actions.labels) if label.startswith("!")]
    for number in numpy.intersect1d(gold.labels[gold.in_entity], negated).tolist():
        raise ValueError(Errors.E869.format(label=actions.labels[number]))
