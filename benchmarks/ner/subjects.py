"""Recognizers of both arms on one model, which gets the vectors of tokens ready-made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy
import spacy
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.api import Model, fix_random_seed

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.paths import TRAINED as PIPELINE
from benchmarks.common.pipelines import make_docs, train
from benchmarks.common.text import Text, merge_docs, read_tweets
from benchmarks.ner.cases import MD, PLANTED, PROBABILITIES, Case, Recognizer, Settings
from benchmarks.ner.planted import build_planted, plant_entities, planted_vectors
from spacy_multihash.ner.transition.component import BatchEntityRecognizer

# Arms with other settings of batch_ner, in the part PROBABILITIES.
BEST, SCORED, CANDIDATES = "best sequence", "with probabilities", "with candidates"
SPANS_KEY = "scored"
EXTRA: Mapping[str, Mapping[str, Any]] = {
    BEST: {"decoder": "best"},
    SCORED: {"spans_key": SPANS_KEY},
    CANDIDATES: {"spans_key": SPANS_KEY, "candidates_above": 0.01},
}


class Subject(NamedTuple):
    """What is measured.

    nlp: The pipeline, for its vocab.
    docs: The docs from which batches are taken.
    ner: spaCy's recognizer.
    given: The layer that gives the vectors in its attribute "X" to the model.
    encode: Computes these vectors for docs, (N, nI) float32.
    """

    nlp: Language
    docs: Sequence[Doc]
    ner: EntityRecognizer
    given: Model
    encode: Callable[[Sequence[Doc]], numpy.ndarray]

    def arms(self, case: Case) -> dict[str, EntityRecognizer]:
        """Build the recognizers of a case. All have the same model."""
        configs: dict[str, Mapping[str, Any]] = {OURS: {}}
        if case.part == PROBABILITIES:
            configs.update(EXTRA)
        ner = self.ner
        ours = partial(BatchEntityRecognizer, ner.vocab, ner.model, moves=ner.moves)
        return {SPACY: ner, **{arm: ours(**config) for arm, config in configs.items()}}


def make_subject(text: Text, settings: Settings, recognizer: Recognizer) -> Subject:
    """Load, train or make up a recognizer."""
    fix_random_seed(0)
    if recognizer.kind == MD:
        nlp = spacy.load(PIPELINE, enable="ner")
        docs = [Doc(nlp.vocab, words=words) for words in read_tweets()]
        return _give_vectors(nlp, docs)
    if recognizer.kind != PLANTED:
        return _give_vectors(train_ner(text, settings), text.docs)
    _, labels, length = recognizer
    docs = resize_docs(text.docs, settings.length_docs.words) if length else text.docs
    docs = plant_entities(docs, labels, length)
    nlp = build_planted(text.lang, docs, labels, settings.hidden_width)
    subject = _give_vectors(nlp, docs)
    return subject._replace(encode=partial(planted_vectors, width=settings.hidden_width))


def train_ner(text: Text, settings: Settings) -> Language:
    """Train spaCy's ner on a text for some steps."""
    nlp = spacy.blank(text.lang)
    tok2vec = {"width": settings.width, "depth": settings.depth}
    model = {"hidden_width": settings.hidden_width, "tok2vec": tok2vec}
    nlp.add_pipe("ner", config={"model": model})
    train(nlp, text.docs, settings.words, settings.steps)
    return nlp


def resize_docs(docs: Sequence[Doc], words: int) -> list[Doc]:
    """Join docs, and cut them, into docs of a number of words each. The rest is left out."""
    return [doc[:words].as_doc() for doc in merge_docs(docs, words)]


def _give_vectors(nlp: Language, docs: Sequence[Doc]) -> Subject:
    """Put a layer in place of the tok2vec of an ner, which can be given what it computes."""
    ner: Any = nlp.get_pipe("ner")
    tok2vec = ner.model.get_ref("tok2vec")
    width = tok2vec.get_dim("nO")
    given: Model = Model("given_vectors", _forward, dims={"nO": width}, attrs={"X": None})
    ner.model.replace_node(tok2vec, given)
    return Subject(nlp, docs, ner, given, lambda docs: tok2vec.predict(make_docs(nlp, docs)))


def _forward(model: Model, docs: Iterable[Doc], is_train: bool) -> tuple[Any, Callable]:
    return model.attrs["X"], lambda dX: []
