"""spaCy's ner and our batch_ner with the same random weights, and docs to try them on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional, TypeVar

import numpy
from hypothesis import strategies as st
from spacy.attrs import ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE, ORTH, SENT_START
from spacy.language import BaseDefaults
from spacy.ml.models.parser import build_tb_parser_model
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab, create_vocab
from thinc.api import Model

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.weights import params

# What a recognizer sets.
SET = [ENT_IOB, ENT_TYPE, ENT_KB_ID, ENT_ID]
WORDS = ["Anna", "met", "Bob", "in", "New", "York", ".", " ", "\n\n"]
WIDTH, ROWS = 5, 300  # of the vectors of tokens, before the model's own linear layer
Component = TypeVar("Component", bound=EntityRecognizer)


@dataclass(frozen=True)
class Case:
    """A recognizer: its labels and actions, its model, its weights.

    later: The labels that it gets after training.
    missing: The kinds of actions that the recognizer lacks, by spaCy's numbers.
    unseen: The columns of actions that were never seen. None is for those of `later`.
    by_word: Whether a token's vector is that of its word. Otherwise each token has its own.
    exact: Whether weights have few bits, so that sums of products are exact in float32.
    favours: What is added to the scores of each kind of action.
    """

    labels: Sequence[str] = ("A", "B")
    later: Sequence[str] = ()
    missing: Sequence[int] = ()
    unseen: Optional[frozenset[int]] = None
    wrong_key: Optional[str] = None
    cut_size: int = 0
    extra_state_tokens: bool = False
    hidden_width: int = 4
    maxout_pieces: int = 2
    use_upper: bool = True
    by_word: bool = False
    seed: int = 0
    scale: float = 1.0
    exact: bool = False
    favours: dict[str, float] = field(default_factory=dict)


def new_vocab() -> Vocab:
    return create_vocab("xx", BaseDefaults)  # which knows whitespace


def vectors(by_word: bool) -> Model:
    """Docs -> a row of the parameter E for each token, by its word or its place in the batch."""

    def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[list, Any]:
        E = model.get_param("E")
        ends = numpy.cumsum([0, *map(len, docs)])
        rows = numpy.arange(ends[-1])
        if by_word:
            rows = numpy.concatenate([doc.to_array(ORTH) for doc in docs])
        rows = (rows % ROWS).astype("int64")

        def backprop(d_vectors: list) -> list[Doc]:
            dE = model.ops.alloc2f(*E.shape)
            model.ops.scatter_add(dE, rows, model.ops.xp.concatenate(d_vectors))
            model.inc_grad("E", dE)
            return docs

        return numpy.split(E[rows], ends[1:-1]), backprop

    E = numpy.zeros((ROWS, WIDTH), "float32")
    return Model("vectors", forward, dims={"nO": WIDTH}, params={"E": E})


def build_model(kind: str, case: Any, *, by_word: bool) -> Model:
    """Build the model of a ner or a parser, of the sizes of a case."""
    sizes = ("extra_state_tokens", "hidden_width", "maxout_pieces", "use_upper")
    settings = {name: getattr(case, name) for name in sizes}
    return build_tb_parser_model(vectors(by_word), kind, **settings)


def recognizer(
    kind: type[Component], case: Case, vocab: Vocab | None = None, **settings: Any
) -> Component:
    """Build a recognizer, the same of either class."""
    vocab = new_vocab() if vocab is None else vocab
    model = build_model("ner", case, by_word=case.by_word)
    settings = {"update_with_oracle_cut_size": case.cut_size, **settings}
    pipe = kind(vocab, model, "ner", incorrect_spans_key=case.wrong_key, **settings)
    actions = pipe.moves.get_actions(entity_types=case.labels)
    actions = {kind: names for kind, names in actions.items() if kind not in case.missing}
    example = Example(Doc(vocab, words=["a"]), Doc(vocab, words=["a"]))
    pipe.initialize(lambda: [example], labels=actions)
    for label in case.later:
        pipe.add_label(label)
    if case.unseen is not None:
        model.attrs["unseen_classes"] = {n for n in case.unseen if n < pipe.moves.n_moves}
    rng = numpy.random.default_rng(case.seed)
    for node, name in params(model):
        shape = node.get_param(name).shape
        drawn = rng.integers(-4, 5, shape) / 4 if case.exact else rng.normal(size=shape)
        node.set_param(name, node.ops.asarray((case.scale * drawn).astype("float32")))
    for kind_of_action, more in case.favours.items():
        favour(pipe, kind_of_action, more)
    return pipe


def favour(pipe: EntityRecognizer, kinds: str, more: float) -> None:
    """Add to the scores of actions."""
    layer = "upper" if pipe.model.attrs["has_upper"] else "lower"
    b: Any = pipe.model.get_ref(layer).get_param("b")
    for column in range(pipe.moves.n_moves):
        if pipe.moves.get_class_name(column)[0] in kinds:
            b[column] += more


def both(case: Case) -> tuple[EntityRecognizer, BatchEntityRecognizer]:
    """Build spaCy's recognizer, and ours. Rounding decides between no actions of theirs."""
    case = replace(case, exact=True)
    ours = recognizer(BatchEntityRecognizer, case)
    return recognizer(EntityRecognizer, case, ours.vocab), ours


@dataclass(frozen=True)
class Token:
    """A token: its word, and what is set before entities are found."""

    word: str = "Anna"
    sent_start: int = 0
    iob: int = 0
    ent_type: str = ""
    kb_id: str = ""
    ent_id: str = ""


def make_doc(vocab: Vocab, tokens: Sequence[Token]) -> Doc:
    doc = Doc(vocab, words=[token.word for token in tokens])
    if not tokens:
        return doc
    names = [(token.ent_type, token.kb_id, token.ent_id) for token in tokens]
    ids = numpy.array([[vocab.strings.add(name) for name in of] for of in names], dtype="uint64")
    iob = numpy.array([token.iob for token in tokens], dtype="uint64")
    starts = numpy.array([token.sent_start for token in tokens], dtype="int64")
    doc.from_array(SET, numpy.column_stack([iob, ids]))
    doc.from_array([SENT_START], starts.astype("uint64"))
    return doc


def make_docs(vocab: Vocab, docs: Sequence[Sequence[Token]]) -> list[Doc]:
    return [make_doc(vocab, tokens) for tokens in docs]


def annotate(pipe: EntityRecognizer, docs: list[Doc]) -> list[Doc]:
    pipe.set_annotations(docs, pipe.predict(docs))
    return docs


def annotations(docs: list[Doc]) -> list[numpy.ndarray]:
    return [doc.to_array(SET) for doc in docs]


def assert_same(ner: EntityRecognizer, ours: BatchEntityRecognizer, docs: list[Doc]) -> None:
    """Compare what both set on docs, which get what ours sets."""
    expected = annotations(annotate(ner, [doc.copy() for doc in docs]))
    numpy.testing.assert_equal(annotations(annotate(ours, docs)), expected)


@st.composite
def cases(draw: st.DrawFn, most_labels: int = 6) -> Case:
    number = draw(st.integers(0, most_labels))
    names = [f"L{i}" for i in range(number)]
    later = draw(st.integers(0, min(2, number)))
    return Case(
        labels=names[later:],
        later=names[:later],
        extra_state_tokens=draw(st.booleans()),
        hidden_width=draw(st.integers(1, 8)),
        maxout_pieces=draw(st.integers(1, 3)),
        use_upper=draw(st.booleans()),
        seed=draw(st.integers(0, 2**16)),
        scale=draw(st.sampled_from([0.0, 0.5, 1.0])),
        favours={kind: draw(st.sampled_from([0.0, 0.0, 2.0, 5.0])) for kind in "BILUO"},
    )


@st.composite
def batches(draw: st.DrawFn, labels: Sequence[str]) -> list[list[Token]]:
    of_tokens: dict[str, Any] = {
        "word": st.sampled_from(WORDS),
        "sent_start": st.sampled_from([0, 0, 0, 0, -1, 1]),
    }
    if draw(st.booleans()):
        of_tokens["iob"] = st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2, 3])
        of_tokens["ent_type"] = st.sampled_from(["", *labels])
        of_tokens["kb_id"] = st.sampled_from(["", "Q1"])
        of_tokens["ent_id"] = st.sampled_from(["", "E1"])
    token = st.builds(Token, **of_tokens)
    return draw(st.lists(st.lists(token, max_size=25), max_size=6))
