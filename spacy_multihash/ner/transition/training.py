"""Update the model: the states that its own actions lead to, their loss and gradients.

The update visits the same states as spaCy's ner. Their losses are independent, so they're computed
at once.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Optional

import numpy
from spacy.attrs import ENT_IOB
from spacy.errors import Errors
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model, NumpyOps, get_array_module

from ...common.types import Array
from ...compute.ops import operations
from ..entities import token_attributes
from ..gold import gold_tags, same_tokens, wrong_entities
from .costs import Gold, costs_of, gold_of, inside_costs, outside_costs
from .rules import ANY_LABEL, ATTRS, NO_ACTION, NO_LABEL, Actions, rules_of, valid_inside
from .states import (
    LOWEST,
    Parts,
    States,
    Weights,
    features_of,
    read_batch,
    score,
    tokens_of,
    visit_states,
    weights_of,
)

# How many states go through the loss at once, so that their scores don't grow with the batch. A
# usual batch of 1000 words is a single chunk.
CHUNK = 4096
# How many tokens are looked at first for the end of a gold entity.
_USUAL_LENGTH = 8


def prepare(
    examples: Sequence[Example], actions: Actions, wrong_key: Optional[str], cut_size: int
) -> tuple[Gold, Parts]:
    """Find the gold entities and parts of a batch.

    examples (Sequence[Example]): At least one has tokens.
    wrong_key (Optional[str]): Where in reference.spans entities known to be wrong are.
    cut_size (int): The setting `update_with_oracle_cut_size`.

    Raises ValueError if an entity is both right and known to be wrong; if labels begin with "!",
    which used to mark wrong entities in spaCy; and if docs are cut and no valid action is right.
    """
    examples = [example for example in examples if len(example.predicted)]
    labels = actions.labels
    attrs = token_attributes([example.predicted for example in examples], ATTRS)
    rules = rules_of(*attrs, actions)
    tags = gold_tags(examples, labels)
    wrong = None if wrong_key is None else wrong_entities(examples, labels, wrong_key)
    gold = gold_of(tags, wrong, rules, actions)
    for number in numpy.unique(gold.labels[gold.in_entity]).tolist():
        if labels[number].startswith("!"):
            raise ValueError(Errors.E869.format(label=labels[number]))
    return gold, cut(examples, draw_length(cut_size), gold, wrong_key)


# Parts of docs


def draw_length(cut_size: int) -> int:
    """Draw the length of the parts that docs are cut to in an update, 0 for no cuts."""
    if cut_size < 1:
        return 0
    # At 1, spaCy's draw can be 0, at which it raises an error
    return max(1, int(random.uniform(cut_size // 2, cut_size * 2)))


def has_gold(example: Example, wrong_key: Optional[str]) -> bool:
    """Check if an example has gold annotation of any token, or entities known to be wrong."""
    if not len(example.predicted):
        return False
    if wrong_key is not None and len(example.reference.spans.get(wrong_key, [])):
        return True
    return bool(example.reference.to_array(ENT_IOB).any())


def cut(examples: Sequence[Example], length: int, gold: Gold, wrong_key: Optional[str]) -> Parts:
    """Cut docs of at least `length` tokens into parts of that length; 0 cuts none.

    A part begins in the state that the gold entities lead to. It goes on for one token of the next
    part, as in spaCy's ner. Docs and parts without gold entities are left out.

    examples (Sequence[Example]): All examples of the batch that have tokens.

    Raises ValueError if no valid action is right.
    """
    whole, parts, offset = list[int](), list[Parts](), 0
    for example in examples:
        n = len(example.predicted)
        if not has_gold(example, wrong_key):
            pass
        elif not length or n < length:
            whole += [offset, offset + n]
        else:
            starts, labels = follow_gold(gold, offset, offset + n)
            first = numpy.arange(0, n, length)
            # To spaCy, the end of the last part is -1, the token before the last
            last = numpy.append(first[1:], -1)
            first = first[parts_with_gold(example, first, last, wrong_key)]
            ends = numpy.minimum(first + length + 1, n)
            parts.append(Parts(offset + first, offset + ends, starts[first], labels[first]))
        offset += n
    begins, ends = numpy.array(whole, dtype="int64").reshape(-1, 2).T
    parts.insert(0, Parts(begins, ends, begins, numpy.full(len(begins), NO_LABEL)))
    return Parts(*map(numpy.concatenate, zip(*parts, strict=True)))


def follow_gold(gold: Gold, begin: int, end: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Follow the first actions that cost nothing through a doc, the tokens [begin, end).

    Returns, for each token, the first token and the label of the entity that is open before it,
    (n,) int64 each, or else the token and `NO_LABEL`.
    """
    actions = gold.actions
    starts, labels = numpy.arange(begin, end), numpy.full(end - begin, NO_LABEL)
    is_free = outside_costs(gold, starts) == 0
    columns = numpy.where(is_free.any(axis=1), is_free.argmax(axis=1), NO_ACTION).tolist()
    opens, token = set(actions.B.tolist()), begin
    while token < end:
        column, stop = columns[token - begin], token + 1
        if column == NO_ACTION:
            raise ValueError(Errors.E024)
        if column in opens:
            label = int(actions.label_of[column])
            stop = _gold_end(gold, token, label, end)
            inside = slice(token + 1 - begin, stop - begin)
            starts[inside], labels[inside] = token, label
        token = stop
    return starts, labels


def _gold_end(gold: Gold, start: int, label: int, end: int) -> int:
    """Find the end of the entity that begins at start, if all its actions cost nothing."""
    first, width = start + 1, _USUAL_LENGTH
    while first < end:
        tokens = numpy.arange(first, min(first + width, end))
        starts, labels = numpy.full_like(tokens, start), numpy.full_like(tokens, label)
        columns = valid_inside(gold.rules, gold.actions, tokens, labels)
        costs = inside_costs(gold, columns, tokens, starts, labels)
        closes = (costs.L == 0) & ((costs.I != 0) | (columns.L < columns.I))
        for token in tokens[closes | (costs.I != 0)].tolist():
            if not closes[token - first]:
                raise ValueError(Errors.E024)
            return int(token + 1)
        first, width = first + width, 2 * width
    return end


def parts_with_gold(
    example: Example, starts: numpy.ndarray, ends: numpy.ndarray, wrong_key: Optional[str]
) -> numpy.ndarray:
    """Find the parts of an example with gold, as spaCy's `has_gold` does: (P,) bool.

    starts, ends (P,) int64: The predicted tokens of each part, doc[start:end]. As in spaCy's
        `get_aligned_spans_x2y`, a part aligns if it has the text of its reference tokens.
        Otherwise it counts as all tokens.
    """
    doc, reference = example.predicted, example.reference
    ends = numpy.minimum(numpy.where(ends < 0, len(doc) + ends, ends), len(doc))
    # Both docs are read once: each look at `alignment` compares all tokens
    x2y = None if same_tokens(doc, reference) else example.alignment.x2y
    counts = numpy.append(0, (reference.to_array(ENT_IOB) != 0).cumsum())
    wrong = [] if wrong_key is None else reference.spans.get(wrong_key, [])
    spans = numpy.array(sorted((span.start, span.end) for span in wrong)).reshape(-1, 2)
    # For each span, the first end of it and all later spans; past the last span, out of reach
    nearest = numpy.append(numpy.minimum.accumulate(spans[::-1, 1])[::-1], len(reference) + 1)
    firsts, lasts = numpy.zeros_like(starts), numpy.full_like(ends, len(reference))
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if start >= end:
            continue
        tokens = [start, end - 1] if x2y is None else x2y[start:end].tolist()
        if not tokens:
            continue
        first, last = tokens[0], tokens[-1] + 1
        if x2y is None or _letters(doc[start:end]) == _letters(reference[first:last]):
            firsts[number], lasts[number] = first, last
    has_any: numpy.ndarray = counts[lasts] > counts[firsts]
    has_any |= nearest[numpy.searchsorted(spans[:, 0], firsts)] <= lasts
    return has_any


def _letters(span: Span) -> str:
    return span.text.lower().strip().replace(" ", "")


# Loss and gradients


def learn(
    model: Model,
    docs: Sequence[Doc],
    gold: Gold,
    parts: Parts,
    *,
    state_dropout: float,
    spacy_gradient: bool,
) -> float:
    """Add the gradients of a batch to a parser_model, and return the loss.

    state_dropout (float): Dropout rate of the hidden layer, drawn for each state.
    spacy_gradient (bool): See `backpropagate`.
    """
    X, backprop = model.get_ref("tok2vec").begin_update(docs)
    own = weights_of(model)
    batch = read_batch(own, X, gold.rules, gold.actions)
    xp = get_array_module(X)
    arrays = [None if array is None else xp.asarray(array) for array in own[:5]]
    weights = Weights._make([*arrays, *own[5:]])  # on the device of X
    tokens, steps = tokens_of(parts)
    mask = None
    if weights.upper is not None:
        shape = len(tokens), weights.upper.shape[1]
        mask = operations(NumpyOps()).draw_mask(shape, state_dropout)
    states = visit_states(batch, parts, mask)
    unseen = weights.unseen
    lowest = None if unseen is None else _lowest_scores(states, steps, batch.weights)
    dX, loss = model.ops.alloc2f(*X.shape), 0.0
    seen = numpy.zeros(gold.actions.nO, dtype=bool)
    for rows in _chunks(states):
        starts, labels = states.starts[rows], states.labels[rows]
        costs = costs_of(gold, tokens[rows], starts, labels)
        seen |= (costs == 0).any(axis=0)
        hidden = model.ops.asarray(states.hidden[rows])
        scores = score(hidden, weights)
        if lowest is not None:
            scores[:, unseen] = xp.asarray(lowest[steps[rows], None])
        d_hidden = d_scores = log_loss_gradient(scores, costs)
        loss += float((d_scores**2).sum())
        if unseen is not None:
            d_scores[:, unseen] = 0
        if weights.upper is not None:
            upper = model.get_ref("upper")
            upper.inc_grad("W", upper.ops.asarray_f(d_scores.T @ hidden))
            upper.inc_grad("b", upper.ops.asarray_f(d_scores.sum(axis=0)))
            d_hidden = d_scores @ weights.upper
        if mask is not None:
            d_hidden = d_hidden * model.ops.asarray(mask[rows])
        d_sums = _hide_backward(d_hidden, states.which[rows], weights.nP)
        features = features_of(tokens[rows], starts, len(weights.W))
        backpropagate(model, features, d_sums, X, dX, weights, spacy_gradient=spacy_gradient)
    model.attrs["unseen_classes"] -= set(numpy.flatnonzero(seen).tolist())
    backprop(dX)
    return loss


def _chunks(states: States) -> Iterator[numpy.ndarray]:
    """List the states that were visited, chunk by chunk."""
    (visited,) = numpy.nonzero(states.labels != ANY_LABEL)
    for first in range(0, len(visited), CHUNK):
        yield visited[first : first + CHUNK]


def _lowest_scores(states: States, steps: numpy.ndarray, weights: Weights) -> numpy.ndarray:
    """Find the lowest score of all states of each step, for actions that were never seen."""
    lowest = numpy.full(steps.max() + 1, numpy.inf, dtype="float32")
    for rows in _chunks(states):
        scores = score(states.hidden[rows], weights)
        numpy.minimum.at(lowest, steps[rows], scores.min(axis=1))
    return lowest


def log_loss_gradient(scores: Array, costs: numpy.ndarray) -> Array:
    """Compute the gradient of spaCy's log loss, the probability of the actions that cost least.

    scores (V, nO) float32: On any device.
    costs (V, nO) uint8: The actions' costs, `INVALID` for invalid actions.

    Both sums of the softmax go over all actions, valid or not, as in spaCy's `cpu_log_loss`. If all
    valid actions cost more than 1, the loss is 0.
    """
    xp = get_array_module(scores)
    least = costs.min(axis=1, keepdims=True)
    is_best = xp.asarray((costs == least) & (least <= 1))
    d_scores = _softmax(scores, xp) - _softmax(xp.where(is_best, scores, -numpy.inf), xp)
    d_scores *= is_best.any(axis=1, keepdims=True)
    return d_scores


def _softmax(scores: Array, xp: Array) -> Array:
    """Return probabilities (V, nO); 0 for rows of -inf."""
    highest = scores.max(axis=1, keepdims=True)
    exps = xp.exp(scores - xp.maximum(highest, LOWEST))
    exps /= xp.maximum(exps.sum(axis=1, keepdims=True), 1e-10)
    return exps


def _hide_backward(d_hidden: Array, which: numpy.ndarray, nP: int) -> Array:
    """Backpropagate to the sums: (V, nH) -> (V, nH * nP)."""
    xp = get_array_module(d_hidden)
    if nP == 1:
        return d_hidden * xp.asarray(which)
    is_largest = xp.asarray(which)[:, :, None] == xp.arange(nP)
    return (d_hidden[:, :, None] * is_largest).reshape(len(d_hidden), -1)


def backpropagate(
    model: Model,
    features: numpy.ndarray,
    d_sums: Array,
    X: Array,
    dX: Array,
    weights: Weights,
    *,
    spacy_gradient: bool,
) -> None:
    """Add the gradients of `lower` and of the vectors of tokens.

    features (V, nF) int64: Features of V states; see `features_of`.
    d_sums (V, nH * nP) float32: The gradient of their sums.
    X, dX (N, nI) float32: The vectors, and their gradient to add to.
    spacy_gradient (bool): As spaCy computes it: missing features take the last token of the batch,
        which adds to the gradient of their weights.
    """
    xp = get_array_module(X)
    dW, d_pad = xp.zeros_like(weights.W), xp.zeros_like(weights.pad)
    for feature, tokens in enumerate(features.T):
        (present,), (missing,) = numpy.nonzero(tokens >= 0), numpy.nonzero(tokens < 0)
        of_tokens = d_sums
        if len(missing):
            d_pad[feature] = d_sums[xp.asarray(missing)].sum(axis=0)
            of_tokens = d_sums[xp.asarray(present)]
        places = xp.asarray(tokens[present])
        dW[feature] = of_tokens.T @ X[places]
        model.ops.scatter_add(dX, places, of_tokens @ weights.W[feature])
    if spacy_gradient:
        dW += d_pad[:, :, None] * X[-1]
    lower = model.get_ref("lower")
    lower.inc_grad("W", dW.reshape(lower.get_param("W").shape))
    lower.inc_grad("b", d_sums.sum(axis=0).reshape(lower.get_param("b").shape))
    lower.inc_grad("pad", d_pad.reshape(lower.get_param("pad").shape))
