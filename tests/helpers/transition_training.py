"""Updates of batch_ner and of spaCy's own ner, side by side, on generated examples."""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Optional
from unittest import mock

import numpy
import spacy
import spacy.ml.tb_framework as framework
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from spacy.ml.tb_framework import ParserStepModel
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model, to_numpy

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.transition import Case, recognizer
from tests.helpers.weights import slopes

VOCAB = spacy.blank("en").vocab
LABELS = ("A", "B", "C")
WRONG = "wrong"
SETUP = Case(LABELS, exact=True, scale=0.5)


class States(NamedTuple):
    """The states of an update.

    features (V, nF): Their tokens, -1 for none.
    best (V, nC) bool: The actions that are right.
    """

    features: numpy.ndarray
    best: numpy.ndarray


class Outcome(NamedTuple):
    """What an update led to."""

    losses: Optional[dict[str, float]]
    error: str
    gradients: dict[str, numpy.ndarray]
    unseen: set[int]


def ours(case: Case = SETUP, **settings: Any) -> BatchEntityRecognizer:
    settings = {"state_dropout": 0.0, "spacy_gradient": True, **settings}
    return recognizer(BatchEntityRecognizer, case, VOCAB, **settings)


def theirs(case: Case = SETUP, **settings: Any) -> "Stepwise":
    return recognizer(Stepwise, case, VOCAB, **settings)


@contextmanager
def without_state_dropout() -> Iterator[list[ParserStepModel]]:
    """Switch off the dropout that spaCy has whatever the settings, and list its models of steps."""
    built: list[ParserStepModel] = []

    def build(*args: Any, **kwargs: Any) -> ParserStepModel:
        built.append(ParserStepModel(*args, dropout=0.0, **kwargs))
        return built[-1]

    with mock.patch.object(framework, "ParserStepModel", build):
        yield built


class Stepwise(EntityRecognizer):
    """spaCy's recognizer, whose states are looked at in updates.

    steps: Of each step, the features of its states, and what all actions cost.
    took_unseen: Whether an action that was never seen went before a valid one that was. spaCy does
        so where both have the lowest score of the step.
    """

    steps: list[tuple[numpy.ndarray, numpy.ndarray]]
    took_unseen: bool = False
    step_models: list[ParserStepModel]

    def update(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Update without dropout of the hidden layer."""
        self.steps = []
        with without_state_dropout() as self.step_models:
            return super().update(*args, **kwargs)

    def get_batch_loss(self, states: Any, golds: Any, scores: Any, losses: Any) -> Any:
        """Keep the features and the costs of states."""
        pairs = zip(states, golds, strict=True)
        actions = range(self.moves.n_moves)
        costs = [[self.moves.get_cost(state, gold, j) for j in actions] for state, gold in pairs]
        features = self.step_models[-1].get_token_ids(states)
        self.steps.append((features, numpy.array(costs)))
        return super().get_batch_loss(states, golds, scores, losses)

    def transition_states(self, states: Any, scores: Any) -> Any:
        """Look for actions that were never seen among those taken."""
        seen = self.step_models[-1]._class_mask == 1
        valid = self.steps[-1][1] < 9000
        taken = numpy.where(valid, scores, -numpy.inf).argmax(axis=1)
        self.took_unseen |= bool((~seen[taken] & (valid & seen).any(axis=1)).any())
        return super().transition_states(states, scores)


def update(component: EntityRecognizer, examples: list[Example], seed: int = 0) -> Outcome:
    """Update a recognizer without changing its weights."""
    losses, error = None, ""
    random.seed(seed)  # for the length of parts
    numpy.random.seed(seed)  # for dropout
    try:
        losses = component.update(examples)
    except ValueError as raised:
        error = str(raised)
    unseen = set(component.model.attrs["unseen_classes"])
    return Outcome(losses, error, gradients(component.model), unseen)


def update_both(case: Case, examples: list[Example]) -> tuple[Outcome, Outcome]:
    return update(ours(case), examples), update(theirs(case), examples)


def nodes_of(model: Model) -> dict[str, Model]:
    """Name the nodes that have parameters."""
    vectors, *_, linear = model.get_ref("tok2vec").layers
    named = {"vectors": vectors, "linear": linear, "lower": model.get_ref("lower")}
    return {**named, "upper": model.get_ref("upper")} if model.attrs["has_upper"] else named


def gradients(model: Model) -> dict[str, numpy.ndarray]:
    return {
        f"{of_node} {name}": to_numpy(node.get_grad(name)).copy()
        for of_node, node in nodes_of(model).items()
        for name in node.param_names
        if node.has_grad(name)
    }


def weights(model: Model) -> dict[str, numpy.ndarray]:
    return {
        f"{of_node} {name}": node.get_param(name).astype("float64")
        for of_node, node in nodes_of(model).items()
        for name in node.param_names
    }


def assert_same_gradients(
    given: dict[str, numpy.ndarray], expected: dict[str, numpy.ndarray]
) -> None:
    """Compare gradients, by the largest entry of each."""
    assert given.keys() == expected.keys()
    for name, values in expected.items():
        atol = 1e-4 * max(float(abs(values).max()), 1e-2)
        assert_allclose(given[name], values, rtol=0, atol=atol, err_msg=name)


def true_gradients(
    model: Model, N: int, states: States, mask: Optional[numpy.ndarray] = None
) -> dict[str, numpy.ndarray]:
    """Take central differences of all parameters; the N tokens have vectors of their own."""
    params = weights(model)
    params["vectors E"], others = numpy.split(params["vectors E"], [N])
    true = {name: slopes(lambda: log_loss(params, states, mask), v) for name, v in params.items()}
    true["vectors E"] = numpy.concatenate([true["vectors E"], numpy.zeros_like(others)])
    return true


def log_loss(
    params: dict[str, numpy.ndarray], states: States, mask: Optional[numpy.ndarray] = None
) -> float:
    """-log of the probability of all right actions, of all states, in float64."""
    vectors, W, b = (params[name] for name in ("vectors E", "linear W", "linear b"))
    lower, lower_b, pad = (params[f"lower {name}"] for name in ("W", "b", "pad"))
    X = vectors @ W.T + b  # (N, nI)
    nF, nO, nP, _ = lower.shape
    sums = numpy.zeros((len(states.best), nO, nP)) + lower_b
    for feature in range(nF):
        tokens = states.features[:, feature]
        of_tokens = numpy.einsum("vi,opi->vop", X[tokens], lower[feature])
        sums += numpy.where((tokens >= 0)[:, None, None], of_tokens, pad[0, feature])
    hidden = sums.max(axis=2) if nP > 1 else numpy.maximum(sums[:, :, 0], 0)
    if mask is not None:
        hidden = hidden * mask
    scores = hidden
    if "upper W" in params:
        scores = hidden @ params["upper W"].T + params["upper b"]
    exps = numpy.exp(scores)
    taught = states.best.any(axis=1)
    right = (exps * states.best).sum(axis=1)[taught]
    return float((numpy.log(exps.sum(axis=1)[taught]) - numpy.log(right)).sum())


# Examples

WORDS = st.sampled_from(["a", "Bob", "x'y", "...", "ß", "New"])
SPACES = st.sampled_from(["\n", " "])
KNOWN = ("missing", "blocked", "outside")


def draw_text(draw: st.DrawFn, *, with_spaces: bool) -> tuple[list[str], list[bool]]:
    """Draw the words of a doc, and whether a space follows each."""
    least = draw(st.sampled_from([0, 1, 4, 9]))
    word = st.one_of(WORDS, WORDS, SPACES) if with_spaces else WORDS
    words = draw(st.lists(word, min_size=least, max_size=least + 6))
    return words, draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))


def annotate(draw: st.DrawFn, doc: Doc, kinds: Sequence[str]) -> None:
    """Set the entities of a doc: runs of a label, or of what is known of tokens."""
    spans: dict[str, list[Span]] = {"entities": [], **{kind: [] for kind in KNOWN}}
    start = 0
    while start < len(doc):
        kind = draw(st.sampled_from(kinds))
        end = min(start + draw(st.integers(1, 4)), len(doc))
        if kind in KNOWN:
            spans[kind].append(Span(doc, start, end))
        else:
            spans["entities"].append(Span(doc, start, end, label=kind))
        start = end
    doc.set_ents(spans.pop("entities"), **spans)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """Draw an example: gold entities, wrong ones, and what the predicted doc has already.

    In some, gold entities may be such that no action is right, and tokens may not align.
    """
    wild = draw(st.integers(0, 3)) == 0
    words, spaces = draw_text(draw, with_spaces=wild)
    reference = Doc(VOCAB, words=words, spaces=spaces)
    annotation = draw(st.sampled_from(["whole", "partial", "whole", "partial", "none"]))
    if annotation != "none":
        kinds = [*LABELS, "outside", "outside"]
        annotate(draw, reference, kinds if annotation == "whole" else [*kinds, *KNOWN])
    if wild and draw(st.booleans()):
        words, spaces = _cut_otherwise(draw, words, spaces)
    predicted = Doc(VOCAB, words=words, spaces=spaces)
    if draw(st.booleans()):
        for token in predicted:
            start = draw(st.sampled_from([None, None, False, True]))
            within = not wild and reference[token.i].ent_iob_ == "I"
            token.is_sent_start = None if within else start
    if wild and draw(st.booleans()):
        annotate(draw, predicted, [*LABELS, *["missing"] * 6, "blocked", "outside"])
    example = Example(predicted, reference)
    _add_wrong(draw, example)
    return example


def _add_wrong(draw: st.DrawFn, example: Example) -> None:
    """Add entities that are known to be wrong, none of which is right."""

    def aligned(spans: Iterable[Span], *, allow_overlap: bool) -> set[tuple[int, int, str]]:
        found = example.get_aligned_spans_y2x(spans, allow_overlap=allow_overlap)
        return {(span.start, span.end, span.label_) for span in found}

    doc = example.reference
    # Where tokens are cut otherwise, entities are others if they may overlap
    right = aligned(doc.ents, allow_overlap=False) | aligned(doc.ents, allow_overlap=True)
    spans = []
    for start in draw(st.lists(st.integers(0, max(len(doc) - 1, 0)), max_size=4)):
        end = min(start + draw(st.integers(1, 3)), len(doc))
        label = draw(st.sampled_from(LABELS))
        span = Span(doc, start, end, label=label)
        if start < end and not right & aligned([span], allow_overlap=True):
            spans.append(span)
    doc.spans[WRONG] = spans


def _cut_otherwise(
    draw: st.DrawFn, words: list[str], spaces: list[bool]
) -> tuple[list[str], list[bool]]:
    """Cut the same text into other tokens."""
    found: list[tuple[str, bool]] = []
    for word, space in zip(words, spaces, strict=True):
        way = draw(st.sampled_from(["keep", "keep", "keep", "join", "split"]))
        if way == "join" and found:
            before, had_space = found.pop()
            found.append((before + " " * had_space + word, space))
        elif way == "split" and len(word) > 1:
            found += [(word[:1], False), (word[1:], space)]
        else:
            found.append((word, space))
    return [word for word, _ in found], [space for _, space in found]


@st.composite
def setups(draw: st.DrawFn) -> Case:
    """Draw a model and its settings."""
    cut_size = draw(st.sampled_from([0, 1, 2, 5, 100]))
    seed = draw(st.integers(0, 999))
    while cut_size == 1 and random.Random(seed).uniform(0, 2) < 1:
        seed += 1  # spaCy would draw 0, and raise an error
    return replace(
        SETUP,
        labels=LABELS[: draw(st.integers(1, 3))],
        unseen=draw(st.one_of(st.just(frozenset()), st.frozensets(st.integers(0, 13)))),
        extra_state_tokens=draw(st.booleans()),
        use_upper=draw(st.booleans()),
        maxout_pieces=draw(st.integers(1, 3)),
        hidden_width=draw(st.integers(1, 5)),
        wrong_key=draw(st.sampled_from([None, WRONG])),
        cut_size=cut_size,
        seed=seed,
    )


def plain_example(tags: Sequence[str], *wrong: tuple[int, int, str]) -> Example:
    """Make an example of equal words, with entities that are known to be wrong."""
    words = ["a"] * len(tags)
    reference = Doc(VOCAB, words=words, ents=list(tags))
    reference.spans[WRONG] = [Span(reference, i, j, label=label) for i, j, label in wrong]
    return Example(Doc(VOCAB, words=words), reference)
