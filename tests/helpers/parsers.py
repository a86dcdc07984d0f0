"""spaCy's parser and our batch_parser with the same random weights, and docs to try them on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional, TypeVar

import numpy
from hypothesis import strategies as st
from spacy.attrs import SENT_START
from spacy.pipeline import DependencyParser
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from spacy_multihash import BatchDependencyParser
from tests.helpers.transition import build_model, new_vocab
from tests.helpers.weights import randomize

WORDS = ["Anna", "met", "Bob", "in", "New", "York", "and", "left", ".", " ", "\n\n", "soon"]
SHIFT, REDUCE, LEFT, RIGHT, BREAK = range(5)
Component = TypeVar("Component", bound=DependencyParser)


@dataclass(frozen=True)
class Case:
    """A parser: its labels and actions, its model, its weights.

    later: The labels that it gets after training.
    forgotten: Whether it has forgotten that it never saw these, as after it was saved.
    missing: The kinds of actions that the parser lacks.
    scale: Of the weights. 0 makes all scores the same.
    nan: The column of the score that is no number.
    nan_piece: Whether the first piece of a hidden unit is no number, either.
    """

    labels: Sequence[str] = ("nsubj", "dobj", "dep", "prep||dobj")
    later: Sequence[str] = ()
    forgotten: bool = False
    missing: frozenset[int] = frozenset()
    learn_tokens: bool = False
    extra_state_tokens: bool = False
    hidden_width: int = 8
    maxout_pieces: int = 2
    use_upper: bool = True
    scale: float = 1.0
    nan: Optional[int] = None
    nan_piece: bool = False
    seed: int = 0


def make_parser(kind: type[Component], case: Case, vocab: Vocab) -> Component:
    labels = [*case.labels, *(["subtok"] if case.learn_tokens else [])]
    kinds = {SHIFT: [""], REDUCE: [""], LEFT: labels, RIGHT: labels, BREAK: ["ROOT"]}
    model = build_model("parser", case, by_word=True)
    parser: Any = kind(vocab, model, "parser", learn_tokens=case.learn_tokens)
    parser.moves.initialize_actions(
        {k: {label: 9 - k for label in of} for k, of in kinds.items() if k not in case.missing}
    )
    parser.set_output(parser.moves.n_moves)
    parser.model.initialize()
    randomize(parser.model, case.seed, case.scale)
    for label in case.later:
        parser.add_label(label)
    if case.forgotten:
        parser.model.attrs["unseen_classes"].clear()
    if case.nan is not None:
        upper = parser.model.get_ref("upper" if case.use_upper else "lower")
        upper.get_param("b")[case.nan] = numpy.nan
    if case.nan_piece:
        parser.model.get_ref("lower").get_param("b")[0, 0] = numpy.nan
    return parser


def make_pair(case: Case, vocab: Vocab) -> tuple[DependencyParser, BatchDependencyParser]:
    ours = make_parser(BatchDependencyParser, case, vocab)
    return make_parser(DependencyParser, case, vocab), ours


def make_docs(
    vocab: Vocab,
    lengths: Sequence[int],
    seed: int,
    starts: Sequence[float] = (),
    parsed: float = 0.0,
) -> list[Doc]:
    """Make docs of random words.

    starts: The shares of tokens with a preset sentence start: 1, and -1.
    parsed: The share of docs that have random heads and labels before.
    """
    rng = numpy.random.default_rng(seed)
    docs = []
    for n in lengths:
        words, heads, deps = rng.choice(WORDS, size=n).tolist(), None, None
        if n and rng.random() < parsed:
            order = rng.permutation(n)
            heads, deps = list(range(n)), ["ROOT"] * n
            for k in range(1, n):
                if rng.random() < 0.7:
                    heads[order[k]] = int(order[rng.integers(k)])
                    deps[order[k]] = str(rng.choice(["nsubj", "old"]))
        doc = Doc(vocab, words=words, heads=heads, deps=deps)
        if n and len(starts):
            p = [*starts, 1 - sum(starts)]
            preset = rng.choice(numpy.array([1, -1, 0]), size=(n, 1), p=p)
            doc.from_array([SENT_START], preset.astype("int64").view("uint64"))
        docs.append(doc)
    return docs


def tokens_of(docs: Sequence[Doc]) -> list[list[tuple]]:
    """List what a parse sets, of all tokens."""

    def of(t: Token) -> tuple:
        edges = t.left_edge.i, t.right_edge.i
        return t.head.i, t.dep, t.sent_start, *edges, t.n_lefts, t.n_rights

    return [[of(token) for token in doc] for doc in docs]


def assert_equal_parses(
    spacys: DependencyParser, ours: BatchDependencyParser, docs: Sequence[Doc], size: int = 256
) -> None:
    """Parse copies of docs in batches by both parsers, and compare."""
    expected, found = ([doc.copy() for doc in docs] for _ in range(2))
    assert list(spacys.pipe(expected, batch_size=size)) == expected
    assert list(ours.pipe(found, batch_size=size)) == found
    assert [len(doc) for doc in found] == [len(doc) for doc in expected]
    assert tokens_of(found) == tokens_of(expected)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    upper = draw(st.booleans())
    labels = draw(st.sampled_from([Case.labels, ("a",), tuple(f"l{i}" for i in range(40))]))
    return Case(
        labels=labels,
        later=draw(st.sampled_from([(), ("new", "newer")])),
        forgotten=draw(st.booleans()),
        missing=frozenset(draw(st.sampled_from([(), (SHIFT, REDUCE), (BREAK,)]))),
        learn_tokens=draw(st.booleans()),
        extra_state_tokens=draw(st.booleans()),
        hidden_width=draw(st.sampled_from([1, 5, 8, 24])),
        maxout_pieces=draw(st.integers(1, 3)) if upper else 1,
        use_upper=upper,
        scale=draw(st.sampled_from([0.0, 0.1, 1.0, 30.0])),
        nan=draw(st.sampled_from([None, None, 0, 1, 2])),
        nan_piece=draw(st.booleans()),
        seed=draw(st.integers(0, 1000)),
    )


@st.composite
def problems(draw: st.DrawFn) -> tuple[Case, list[Doc]]:
    """Draw a parser, and docs.

    Heads from before and new heads may make circles, in which spaCy looks for the heads of
    decorated labels forever, and can't merge tokens.
    """
    case = draw(cases())
    lengths = draw(st.lists(st.sampled_from([0, 1, 2, 3, 7, 20, 60]), min_size=1, max_size=6))
    starts = draw(st.sampled_from([(), (0.2, 0.0), (0.0, 1.0), (1.0, 0.0), (0.1, 0.8)]))
    may_be_parsed = not case.learn_tokens and "prep||dobj" not in case.labels
    parsed = draw(st.sampled_from([0.0, 0.5])) if may_be_parsed else 0.0
    return case, make_docs(VOCAB, lengths, draw(st.integers(0, 1000)), starts, parsed)


VOCAB = new_vocab()
