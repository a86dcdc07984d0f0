"""Where the model is trained: parts of docs, and the state that each begins in."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.attrs import ENT_IOB
from spacy.errors import Errors
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.training import Example

from ..docs import lengths_of
from ..gold import same_tokens
from .actions import NO_LABEL, Actions
from .costs import Gold, oracle_decisions, oracle_openings
from .path import Path, follow
from .rules import Rules


class Parts(NamedTuple):
    """S parts of docs, (S,) int64 each, by position in the batch.

    begins, ends: Their first token, and the one after the last.
    starts, labels: The first token of the entity that is open before the first token, and its
        label. If none is open: the first token itself, and `NO_LABEL`.
    """

    begins: numpy.ndarray
    ends: numpy.ndarray
    starts: numpy.ndarray
    labels: numpy.ndarray


def draw_length(cut_size: int) -> int:
    """Draw the length of the parts that docs are cut to in an update, as spaCy's ner does.

    cut_size (int): The setting `update_with_oracle_cut_size`. For 0, and so no cuts, it returns 0.
    """
    if cut_size < 1:
        return 0
    # At 1, spaCy's draw can be 0, at which it raises an error
    return max(1, int(random.uniform(cut_size // 2, cut_size * 2)))


def has_gold(example: Example, key: Optional[str]) -> bool:
    """Tell whether an example teaches anything: of any token, or of entities known to be wrong.

    key (Optional[str]): Where in reference.spans these entities are.
    """
    if not len(example.predicted):
        return False
    if key is not None and len(example.reference.spans.get(key, [])):
        return True
    return bool(example.reference.to_array(ENT_IOB).any())


def part_has_gold(
    example: Example, start: int, end: int, moves: TransitionSystem, key: Optional[str]
) -> bool:
    """Tell whether a part of an example teaches anything, as `has_gold` of spaCy's moves does.

    start, end (int): The predicted tokens, doc[start:end]. If none align, all tokens are meant.
    """
    doc, reference = example.predicted, example.reference
    if not same_tokens(doc, reference):
        return bool(moves.has_gold(example, start, end))
    first, last, _ = slice(start, end).indices(len(doc))
    if first >= last:
        first, last = 0, len(doc)
    wrong = reference.spans.get(key, []) if key is not None else []
    if any(first <= span.start and span.end <= last for span in wrong):
        return True
    return bool(reference.to_array(ENT_IOB)[first:last].any())


def cut(
    examples: Sequence[Example],
    offsets: numpy.ndarray,
    length: int,
    gold: Gold,
    rules: Rules,
    actions: Actions,
    teaches: Callable[[Example, int, int], bool],
) -> Parts:
    """Cut docs of at least `length` tokens into parts of that length; 0 cuts none.

    A part begins in the state that the gold entities lead to. It goes on for one token of the next
    part, as in spaCy's ner. Parts without gold entities are left out.

    offsets (B,) int64: Where each doc begins in the batch.
    teaches (Callable): Tells of an example whether the tokens doc[start:end] have gold entities.

    Raises ValueError where no action is right that is valid.
    """
    lengths = lengths_of([example.predicted for example in examples])
    is_long = lengths >= length if length else numpy.zeros(len(lengths), dtype=bool)
    begins, ends = offsets[~is_long], (offsets + lengths)[~is_long]
    parts = [Parts(begins, ends, begins, numpy.full(len(begins), NO_LABEL))]
    if is_long.any():
        path = _oracle(offsets[is_long], lengths[is_long], gold, rules, actions)
        for number in numpy.flatnonzero(is_long).tolist():
            n, offset = int(lengths[number]), int(offsets[number])
            first = numpy.arange(0, n, length)
            kept = [
                # To spaCy, the end of the last part is -1, the token before the last
                teaches(examples[number], start, start + length if start + length < n else -1)
                for start in first.tolist()
            ]
            begins = offset + first[kept]
            ends = numpy.minimum(begins + length + 1, offset + n)
            parts.append(Parts(begins, ends, *_open_at(path, begins)))
    return Parts(*(numpy.concatenate(columns) for columns in zip(*parts, strict=True)))


def _oracle(
    offsets: numpy.ndarray, lengths: numpy.ndarray, gold: Gold, rules: Rules, actions: Actions
) -> Path:
    """Follow the actions that cost nothing through whole docs."""
    tokens = numpy.concatenate(
        [numpy.arange(start, start + n) for start, n in zip(offsets, lengths, strict=True)]
    )
    path = follow(
        oracle_openings(gold, rules, actions, tokens),
        actions,
        rules.ends,
        lambda states: oracle_decisions(gold, rules, actions, states),
    )
    if path.stuck.any():
        raise ValueError(Errors.E024)
    return path


def _open_at(path: Path, tokens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find the entity that is open before each token: its first token, and its label."""
    if not len(path.starts):
        return tokens, numpy.full(len(tokens), NO_LABEL)
    number = numpy.searchsorted(path.starts, tokens, side="left") - 1
    is_open = (number >= 0) & (path.ends[number] > tokens)
    starts = numpy.where(is_open, path.starts[number], tokens)
    return starts, numpy.where(is_open, path.labels[number], NO_LABEL)
