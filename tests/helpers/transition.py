"""spaCy's ner and our batch_ner with the same random weights, and docs to try them on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from hypothesis import strategies as st
from spacy.attrs import SENT_START
from spacy.language import BaseDefaults
from spacy.ml.models.parser import build_tb_parser_model
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab, create_vocab
from thinc.api import Model
from thinc.types import Floats2d

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.compare_ner import SET, find_differences, find_entities

WORDS = ["Anna", "met", "Bob", "in", "New", "York", ".", " ", "\n\n"]
WIDTH = 5


@dataclass(frozen=True)
class Case:
    """A recognizer: its labels, those that it gets after training, its model, its weights."""

    labels: Sequence[str] = ("A", "B")
    later: Sequence[str] = ()
    extra_state_tokens: bool = False
    hidden_width: int = 4
    maxout_pieces: int = 2
    use_upper: bool = True
    seed: int = 0
    scale: float = 1.0
    # What is added to the scores of each kind of action
    favours: dict[str, float] = field(default_factory=dict)


def new_vocab() -> Vocab:
    return create_vocab("xx", BaseDefaults)  # which knows whitespace


def vectors(seed: int) -> Model[list[Doc], list[Floats2d]]:
    """Draw a vector for each token, always the same ones."""

    def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple:
        rng = numpy.random.default_rng(seed)
        drawn = [rng.normal(size=(len(doc), WIDTH)).astype("float32") for doc in docs]
        return [model.ops.asarray2f(X) for X in drawn], lambda dY: []

    return Model("vectors", forward, dims={"nO": WIDTH})


def recognizer(
    kind: type[EntityRecognizer], case: Case, vocab: Vocab | None = None
) -> EntityRecognizer:
    vocab = new_vocab() if vocab is None else vocab
    model = build_tb_parser_model(
        vectors(case.seed),
        "ner",
        extra_state_tokens=case.extra_state_tokens,
        hidden_width=case.hidden_width,
        maxout_pieces=case.maxout_pieces,
        use_upper=case.use_upper,
    )
    pipe = kind(vocab, model)
    actions = pipe.moves.get_actions(entity_types=case.labels)
    example = Example(Doc(vocab, words=["a"]), Doc(vocab, words=["a"]))
    pipe.initialize(lambda: [example], labels=actions)
    for label in case.later:
        pipe.add_label(label)
    rng = numpy.random.default_rng(case.seed)
    for node in model.walk():
        for name in node.param_names:
            values = case.scale * rng.normal(size=node.get_param(name).shape)
            node.set_param(name, node.ops.asarray(values.astype("float32")))
    last = model.get_ref("upper" if case.use_upper else "lower")
    b: Any = last.get_param("b")
    for i in range(pipe.moves.n_moves):
        b[i] += case.favours.get(pipe.moves.get_class_name(i)[0], 0.0)
    return pipe


def both(case: Case) -> tuple[EntityRecognizer, BatchEntityRecognizer]:
    vocab = new_vocab()
    ours = recognizer(BatchEntityRecognizer, case, vocab)
    assert isinstance(ours, BatchEntityRecognizer)
    return recognizer(EntityRecognizer, case, vocab), ours


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


def assert_same(ner: EntityRecognizer, ours: BatchEntityRecognizer, docs: list[Doc]) -> int:
    """Compare what both set on docs, and return how many differ, each at a near-tie."""
    found = [find_entities(pipe, docs) for pipe in (ner, ours)]
    differences = find_differences(ner, docs, *found)
    assert all(one.is_near_tie for one in differences), differences
    return len(differences)


def _tokens(labels: Sequence[str]) -> st.SearchStrategy[Token]:
    return st.builds(
        Token,
        word=st.sampled_from(WORDS),
        sent_start=st.sampled_from([0, 0, 0, 0, -1, 1]),
        iob=st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2, 3]),
        ent_type=st.sampled_from(["", *labels]),
        kb_id=st.sampled_from(["", "Q1"]),
        ent_id=st.sampled_from(["", "E1"]),
    )


@st.composite
def cases(draw: st.DrawFn, fewest_labels: int = 0, most_labels: int = 6) -> Case:
    number = draw(st.integers(fewest_labels, most_labels))
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
    preset = draw(st.booleans())
    if preset:
        token = _tokens(labels)
    else:
        token = st.builds(
            Token,
            word=st.sampled_from(WORDS),
            sent_start=st.sampled_from([0, 0, 0, 0, -1, 1]),
        )
    return draw(st.lists(st.lists(token, max_size=25), max_size=6))
