"""Where the model is trained: parts of docs, and the state that each begins in."""

import random
from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.attrs import ENT_IOB
from spacy.errors import Errors
from spacy.tokens import Span
from spacy.training import Example

from ...compute.chunks import row_chunks
from ..docs import lengths_of
from ..gold import same_tokens
from .actions import NO_LABEL, Actions
from .costs import Gold, oracle_decisions, oracle_openings
from .path import Openings, Path, follow
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


def parts_with_gold(
    example: Example, starts: numpy.ndarray, ends: numpy.ndarray, key: Optional[str]
) -> numpy.ndarray:
    """Tell which parts of an example teach anything, as `has_gold` of spaCy's moves does.

    Both docs are read once, however many parts there are.

    starts, ends (P,) int64: The predicted tokens of each part, doc[start:end]. If none align, all
        tokens are meant.
    key (Optional[str]): Where in reference.spans entities are that are known to be wrong.

    Returns (P,) bool.
    """
    reference = example.reference
    firsts, lasts = _aligned_parts(example, starts, ends)
    counts = numpy.append(0, (reference.to_array(ENT_IOB) != 0).cumsum())
    found: numpy.ndarray = counts[lasts] > counts[firsts]
    wrong = reference.spans.get(key, []) if key is not None else []
    spans = numpy.array(sorted((span.start, span.end) for span in wrong)).reshape(-1, 2)
    # Of the spans that begin with a token or later, the first end; after the last, none ends
    nearest = numpy.append(numpy.minimum.accumulate(spans[::-1, 1])[::-1], len(reference) + 1)
    found |= nearest[numpy.searchsorted(spans[:, 0], firsts)] <= lasts
    return found


def _aligned_parts(
    example: Example, starts: numpy.ndarray, ends: numpy.ndarray
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Find the reference tokens of parts of the predicted doc, (P,) int64 each.

    As in spaCy's `get_aligned_spans_x2y`, a part aligns if it has the text of these tokens.
    """
    doc, reference = example.predicted, example.reference
    ends = numpy.minimum(numpy.where(ends < 0, len(doc) + ends, ends), len(doc))
    firsts, lasts = numpy.zeros_like(starts), numpy.full_like(ends, len(reference))
    if same_tokens(doc, reference):
        some = starts < ends
        firsts[some], lasts[some] = starts[some], ends[some]
        return firsts, lasts
    x2y = example.alignment.x2y  # each look at `alignment` compares all tokens
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        tokens = x2y[start:end].tolist() if start < end else []
        if tokens:
            first, last = tokens[0], tokens[-1] + 1
            if _letters(doc[start:end]) == _letters(reference[first:last]):
                firsts[number], lasts[number] = first, last
    return firsts, lasts


def _letters(span: Span) -> str:
    return span.text.lower().strip().replace(" ", "")


def cut(
    examples: Sequence[Example],
    offsets: numpy.ndarray,
    length: int,
    gold: Gold,
    rules: Rules,
    actions: Actions,
    wrong_key: Optional[str],
) -> Parts:
    """Cut docs of at least `length` tokens into parts of that length; 0 cuts none.

    A part begins in the state that the gold entities lead to. It goes on for one token of the next
    part, as in spaCy's ner. Parts without gold entities are left out.

    offsets (B,) int64: Where each doc begins in the batch.
    wrong_key (Optional[str]): Where in reference.spans entities are that are known to be wrong.

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
            # To spaCy, the end of the last part is -1, the token before the last
            last = numpy.append(first[1:], -1)
            kept = parts_with_gold(examples[number], first, last, wrong_key)
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
    found = [oracle_openings(gold, rules, actions, tokens[part]) for part in row_chunks(tokens)]
    path = follow(
        Openings(*map(numpy.concatenate, zip(*found, strict=True))),
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
