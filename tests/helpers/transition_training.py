"""Updates of batch_ner and of spaCy's own ner, side by side, on generated examples."""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional, TypeVar
from unittest import mock

import numpy
import spacy
import spacy.ml.tb_framework as framework
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from spacy.ml.models.parser import build_tb_parser_model
from spacy.ml.tb_framework import ParserStepModel
from spacy.pipeline import EntityRecognizer
from spacy.pipeline._parser_internals.ner import BiluoPushDown
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model, to_numpy

from spacy_multihash.ner.transition.component import BatchEntityRecognizer

VOCAB = spacy.blank("en").vocab
LABELS = ("A", "B", "C")
WRONG = "wrong"
WIDTH = 4  # of the vectors of tokens, before the model's own linear layer
ROWS = 300

Component = TypeVar("Component", bound=EntityRecognizer)


class Setup(NamedTuple):
    """A model, and the settings of its component."""

    labels: tuple[str, ...] = LABELS
    unseen: frozenset[int] = frozenset()
    extra_tokens: bool = False
    use_upper: bool = True
    pieces: int = 2
    hidden_width: int = 4
    wrong_key: Optional[str] = None
    cut_size: int = 0
    seed: int = 0
    exact: bool = True


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


def vectors_by_position(E: numpy.ndarray) -> Model:
    """Give each token of a batch a vector of its own: docs -> list of (len(doc), WIDTH).

    The gradient of its parameter is that of the vectors.
    """

    def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[list, Any]:
        rows = model.get_param("E")
        ends = numpy.cumsum([len(doc) for doc in docs])

        def backprop(d_vectors: list) -> list[Doc]:
            dE = model.ops.alloc2f(*rows.shape)
            dE[: ends[-1]] = model.ops.xp.concatenate(d_vectors)
            model.inc_grad("E", dE)
            return docs

        return numpy.split(rows[: ends[-1]], ends[:-1]), backprop

    return Model("vectors_by_position", forward, dims={"nO": E.shape[1]}, params={"E": E})


def draw_weights(shape: Sequence[int], rng: numpy.random.Generator, exact: bool) -> numpy.ndarray:
    """Draw numbers of few bits, of which sums of products are exact in float32; or any others."""
    if exact:
        return (rng.integers(-4, 5, size=shape) / 4).astype("float32")
    return rng.normal(size=shape).astype("float32")


def build_model(setup: Setup, classes: int) -> Model:
    """Build the model of a recognizer, with weights of which all actions come out."""
    rng = numpy.random.default_rng(setup.seed)

    def draw(*shape: int) -> numpy.ndarray:
        return draw_weights(shape, rng, setup.exact)

    model = build_tb_parser_model(
        vectors_by_position(draw(ROWS, WIDTH)),
        "ner",
        setup.extra_tokens,
        setup.hidden_width,
        setup.pieces,
        setup.use_upper,
        classes,
    )
    H, O = setup.hidden_width, setup.hidden_width if setup.use_upper else classes  # noqa: E741
    linear = model.get_ref("tok2vec").layers[-1]
    linear.set_dim("nI", WIDTH)
    linear.set_param("W", draw(H, WIDTH))
    linear.set_param("b", draw(H))
    lower = model.get_ref("lower")
    F = lower.get_dim("nF")
    lower.set_param("W", draw(F, O, setup.pieces, H) / 2)
    lower.set_param("b", draw(O, setup.pieces))
    lower.set_param("pad", draw(1, F, O, setup.pieces) / 2)
    if setup.use_upper:
        upper = model.get_ref("upper")
        upper.set_dim("nI", H)
        upper.set_param("W", draw(classes, H) / 2)
        upper.set_param("b", draw(classes))
    return model


def recognizer(of: type[Component], setup: Setup, **config: Any) -> Component:
    """Build a recognizer, the same of either class."""
    actions = BiluoPushDown.get_actions(entity_types=setup.labels)
    moves = BiluoPushDown(VOCAB.strings, actions, incorrect_spans_key=setup.wrong_key)
    model = build_model(setup, moves.n_moves)
    model.attrs["unseen_classes"] = {n for n in setup.unseen if n < moves.n_moves}
    return of(
        VOCAB,
        model,
        "ner",
        moves,
        incorrect_spans_key=setup.wrong_key,
        update_with_oracle_cut_size=setup.cut_size,
        **config,
    )


def ours(setup: Setup, **config: Any) -> BatchEntityRecognizer:
    """Build our recognizer, without dropout, with the gradient that spaCy computes."""
    config = {"state_dropout": 0.0, "spacy_gradient": True, **config}
    return recognizer(BatchEntityRecognizer, setup, **config)


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


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed what the length of parts, and dropout, are drawn from."""
    random.seed(seed)
    numpy.random.seed(seed)
    yield


def update(component: EntityRecognizer, examples: list[Example], seed: int = 0) -> Outcome:
    """Update a recognizer without changing its weights."""
    losses, error = None, ""
    try:
        with seeded(seed):
            losses = component.update(examples)
    except ValueError as raised:
        error = str(raised)
    return Outcome(
        losses, error, gradients(component.model), set(component.model.attrs["unseen_classes"])
    )


def parts_of(model: Model) -> dict[str, Model]:
    """Name the nodes that have parameters."""
    vectors, *_, linear = model.get_ref("tok2vec").layers
    found = {"vectors": vectors, "linear": linear, "lower": model.get_ref("lower")}
    return {**found, "upper": model.get_ref("upper")} if model.attrs["has_upper"] else found


def gradients(model: Model) -> dict[str, numpy.ndarray]:
    """Collect the gradients of all parameters that have one."""
    return {
        f"{part} {name}": to_numpy(node.get_grad(name)).copy()
        for part, node in parts_of(model).items()
        for name in node.param_names
        if node.has_grad(name)
    }


def assert_same_gradients(
    found: dict[str, numpy.ndarray], expected: dict[str, numpy.ndarray]
) -> None:
    """Compare gradients, by the largest entry of each."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        atol = 1e-4 * max(float(abs(values).max()), 1e-2)
        assert_allclose(found[name], values, rtol=0, atol=atol, err_msg=name)


def weights(model: Model, N: int) -> dict[str, numpy.ndarray]:
    """Copy all parameters, and of the vectors those of the N tokens."""
    found = {
        f"{part} {name}": node.get_param(name).astype("float64")
        for part, node in parts_of(model).items()
        for name in node.param_names
    }
    return cut_vectors(found, N)


def cut_vectors(found: dict[str, numpy.ndarray], N: int) -> dict[str, numpy.ndarray]:
    """Leave out the vectors of no token."""
    return {**found, "vectors E": found["vectors E"][:N].copy()}


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
def examples(draw: st.DrawFn, labels: Sequence[str] = LABELS, *, wild: bool = True) -> Example:
    """Draw an example: gold entities, wrong ones, and what the predicted doc has already.

    wild: Whether gold entities may be such that no action is right, and tokens may not align.
    """
    wild = wild and draw(st.integers(0, 3)) == 0
    words, spaces = draw_text(draw, with_spaces=wild)
    reference = Doc(VOCAB, words=words, spaces=spaces)
    annotation = draw(st.sampled_from(["whole", "partial", "whole", "partial", "none"]))
    if annotation != "none":
        kinds = [*labels, "outside", "outside"]
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
        annotate(draw, predicted, [*labels, *["missing"] * 6, "blocked", "outside"])
    example = Example(predicted, reference)
    _add_wrong(draw, example, labels)
    return example


def _add_wrong(draw: st.DrawFn, example: Example, labels: Sequence[str]) -> None:
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
        label = draw(st.sampled_from(labels))
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
def setups(draw: st.DrawFn, **fixed: Any) -> Setup:
    """Draw a model and its settings."""
    cut_size = fixed.get("cut_size", draw(st.sampled_from([0, 1, 2, 5, 100])))
    seed = draw(st.integers(0, 999))
    while cut_size == 1 and random.Random(seed).uniform(0, 2) < 1:
        seed += 1  # spaCy would draw 0, and raise an error
    drawn = {
        "labels": LABELS[: draw(st.integers(1, 3))],
        "unseen": draw(st.one_of(st.just(frozenset()), st.frozensets(st.integers(0, 13)))),
        "extra_tokens": draw(st.booleans()),
        "use_upper": draw(st.booleans()),
        "pieces": draw(st.integers(1, 3)),
        "hidden_width": draw(st.integers(1, 5)),
        "wrong_key": draw(st.sampled_from([None, WRONG])),
        "cut_size": cut_size,
        "seed": seed,
    }
    return Setup(**{**drawn, **fixed})
