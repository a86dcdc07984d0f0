"""The component that recognizes entities as spaCy's ner does, all states of a batch at once."""

from collections.abc import Callable, Iterable
from typing import Optional, Union

import numpy
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.pipeline.ner import ner_score
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ...common.checks import check_whole
from ...common.types import TransitionConfidence, TransitionDecoder
from ..biluo import Entities
from ..calibration import Uncalibrated
from ..docs import (
    KeysOfDocs,
    as_docs,
    check_same_docs,
    entities_at,
    entity_keys,
    lengths_of,
    set_entities,
)
from ..finite import are_finite, not_finite
from ..gold import as_examples
from ..setting import Setting
from .best import find_best
from .exact import exact_of, nothing_of, set_exact
from .greedy import find_entities
from .labels import WithActions
from .lattice import entity_probabilities
from .lesson import prepare
from .prediction import Prediction
from .rules import rules_of
from .scores import Batch
from .settings import Settings, without_beam
from .starts import has_gold
from .states import check_features, weights_of
from .training import learn


class BatchEntityRecognizer(WithActions):
    """Recognize entities as spaCy's EntityRecognizer does, all states of a batch at once.

    Its model, files, labels, and the entities that it finds are those of spaCy's ner, whose
    settings it takes. With a beam, and for rehearsal, it calls spaCy's own code.

    vocab (Vocab): The vocab of the pipeline.
    model (Model): Built by spacy.TransitionBasedParser.v2.
    name (str): The name of the component in the pipeline.
    moves (Optional[TransitionSystem]): The actions. Null makes them from the labels.
    update_with_oracle_cut_size (int): Docs of at least about so many tokens are cut in training.
        A part begins in the state that the gold entities lead to. 0 cuts none.
    beam_width (int), beam_density (float), beam_update_prob (float): Of spaCy's beam_ner.
    multitasks (Iterable): Of spaCy's ner.
    incorrect_spans_key (Optional[str]): Where in reference.spans examples have entities that are
        known to be wrong.
    scorer (Optional[Callable]): Scores a list of examples.
    state_dropout (float): The share of the hidden layer that training drops, of each state anew. A
        model without `upper` has no such dropout.
    spacy_gradient (bool): Whether to compute the gradient as spaCy does, with its fault. It takes
        the last token of the batch for features that are missing.
    decoder (str): Which entities to find. "greedy" takes the best action of each state, as spaCy's
        ner does. "best" takes the most probable sequence of actions.
    spans_key (Optional[str]): Where in doc.spans to put the entities of the component's labels as
        well, with `attrs["scores"]`, the probability of each, (number of entities,) float32. That
        of an entity that the doc had before is 1, and others are given those. Null puts none there.
    confidence (str): Which probability. "exact", the only one, is the share of all sequences of
        actions.
    candidates_above (Optional[float]): Put all entities of at least this probability into
        doc.spans[spans_key], besides those of doc.ents. Null is for none.
    temperature (float): Scores are divided by it before they become probabilities. It changes
        probabilities and "best", and not "greedy".

    Raises ValueError for a setting out of range. The first prediction or update raises it for a
    model whose state_type is not "ner".
    """

    decoder = Setting[TransitionDecoder]()
    spans_key = Setting[Optional[str]]()
    confidence = Setting[TransitionConfidence]()
    candidates_above = Setting[Optional[float]]()
    temperature = Setting[float]()
    state_dropout = Setting[float]()
    spacy_gradient = Setting[bool]()

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "batch_ner",
        moves: Optional[TransitionSystem] = None,
        *,
        update_with_oracle_cut_size: int = 100,
        beam_width: int = 1,
        beam_density: float = 0.0,
        beam_update_prob: float = 0.0,
        multitasks: Iterable = (),
        incorrect_spans_key: Optional[str] = None,
        scorer: Optional[Callable] = ner_score,
        state_dropout: float = 0.1,
        spacy_gradient: bool = False,
        decoder: TransitionDecoder = "greedy",
        spans_key: Optional[str] = None,
        confidence: TransitionConfidence = "exact",
        candidates_above: Optional[float] = None,
        temperature: float = 1.0,
    ) -> None:
        """Check the settings, and keep them."""
        self.name = name
        check_whole(f'Component "{name}"', "beam_width", beam_width, 1)
        self.settings = Settings(
            state_dropout,
            spacy_gradient,
            decoder,
            spans_key,
            confidence,
            candidates_above,
            temperature,
        )
        super().__init__(
            vocab,
            model,
            name,
            moves,
            update_with_oracle_cut_size=update_with_oracle_cut_size,
            beam_width=beam_width,
            beam_density=beam_density,
            beam_update_prob=beam_update_prob,
            multitasks=multitasks,
            incorrect_spans_key=incorrect_spans_key,
            scorer=scorer,
        )

    @property
    def settings(self) -> Settings:
        """All settings that spaCy's class does not have."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        settings.check(self.name)
        self._settings = settings

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Union[Prediction, list]:
        """Find the entities of docs, without setting them.

        Returns a `Prediction`, or with a beam what spaCy's ner does, beams.

        Raises ValueError, if probabilities are asked for, for weights that are not finite.
        """
        docs = as_docs(self.name, docs)
        if self.cfg["beam_width"] != 1:
            self.settings.check_beam(self.name, self.cfg["beam_width"])
            self._keep_labels()
            return super().predict(docs)
        lengths = lengths_of(docs)
        if not lengths.any():
            nothing = nothing_of(docs)
            exact = None if self.spans_key is None else nothing
            return Prediction(lengths, nothing.candidates, self.labels, exact)
        asks = self.spans_key is not None or self.decoder == "best"
        batch, entities = self._find(docs, asks=asks)
        exact = None
        if self.spans_key is not None:
            above = self.candidates_above
            exact = exact_of(docs, batch, self.model.ops, entities, self.temperature, above)
        return Prediction(lengths, entities, batch.actions.labels, exact)

    def uncalibrated(
        self, docs: Union[Doc, Iterable[Doc]], keys: Optional[KeysOfDocs] = None
    ) -> Uncalibrated:
        """Tell how the probabilities of entities of docs depend on the temperature.

        keys (Optional[KeysOfDocs]): Those of each doc. Null is for all found.

        Raises ValueError with a beam, which has no exact probabilities, and for a label that the
        component, or a token that a doc, does not have. It raises ValueError for weights that are
        not finite, and names them.
        """
        docs = as_docs(self.name, docs)
        if self.cfg["beam_width"] != 1:
            raise ValueError(
                f'Component "{self.name}": expected beam_width = 1, was '
                f"{self.cfg['beam_width']}. A beam has no exact probabilities. "
                f"{without_beam(self.name)}."
            )
        self._add_labels_of(docs)
        asked = None if keys is None else entities_at(docs, keys, self._actions().labels)
        if not any(map(len, docs)):
            return Uncalibrated.of(self.name, [], lambda temperature: numpy.zeros(0))
        if asked is None:
            batch, entities = self._find(docs, asks=True)
        else:
            batch, entities = self._compute(docs, asks=True), asked

        def probabilities(temperature: float) -> numpy.ndarray:
            return entity_probabilities(batch, self.model.ops, entities, temperature)

        found = entity_keys(docs, entities, batch.actions.labels)
        return Uncalibrated.of(self.name, found, probabilities)

    def set_annotations(
        self, docs: Union[Doc, Iterable[Doc]], prediction: Union[Prediction, list]
    ) -> None:
        """Set doc.ents, and doc.spans if there is a `spans_key`, from what `predict` returned.

        Raises ValueError if that is a `Prediction` of other docs. Beams are not checked.
        """
        docs = as_docs(self.name, docs)
        if not isinstance(prediction, Prediction):
            super().set_annotations(docs, prediction)
            return
        check_same_docs(self.name, docs, prediction.lengths)
        spans: list[list[Span]] = [[] for _ in docs]
        for i, (start, end, label) in entity_keys(docs, prediction.entities, prediction.labels):
            kb_id = docs[i][start].ent_kb_id
            spans[i].append(Span(docs[i], start, end, label=label, kb_id=kb_id))
        for doc, of_doc in zip(docs, spans, strict=True):
            set_entities(doc, of_doc)
        if self.spans_key is not None and prediction.exact is not None:
            set_exact(docs, prediction.exact, prediction.labels, self.spans_key)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[dict[str, float]] = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples.

        examples (Iterable[Example]): The batch.
        drop (float): The dropout rate of the vectors of tokens.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[dict[str, float]]): Losses by component, to which this one's is added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = as_examples(examples, "Parser.update")
        docs = [eg.predicted for eg in examples]
        # In spaCy's order, which new labels may come in too
        self._add_labels_of([*docs, *(eg.reference for eg in examples)])
        for multitask in self._multitasks:
            multitask.update(examples, drop=drop, sgd=sgd)
        key = self.incorrect_spans_key
        if not any(has_gold(example, key) for example in examples):
            return losses
        if self.cfg["beam_width"] >= 2 and numpy.random.random() < self.cfg["beam_update_prob"]:
            set_dropout_rate(self.model, drop)
            self.update_beam(
                examples,
                beam_width=self.cfg["beam_width"],
                sgd=sgd,
                losses=losses,
                beam_density=self.cfg["beam_density"],
            )
            return losses
        check_features(self.name, self.model)
        cut_size = self.cfg["update_with_oracle_cut_size"]
        lesson = prepare(examples, self._actions(), key, cut_size)
        if len(lesson.parts.begins):
            set_dropout_rate(self.model, drop)
            losses[self.name] += learn(
                self.model,
                docs,
                lesson,
                state_dropout=self.state_dropout,
                spacy_gradient=self.spacy_gradient,
            )
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def _find(self, docs: list[Doc], *, asks: bool) -> tuple[Batch, Entities]:
        """Find the entities of docs with tokens, with all that scores are made of.

        asks (bool): Whether probabilities are asked for, which others than finite numbers have not.
        """
        batch = self._compute(docs, asks=asks)
        if self.decoder == "best":
            return batch, find_best(batch, self.model.ops, self.temperature)
        return batch, find_entities(batch, self.model.ops)

    def _compute(self, docs: list[Doc], *, asks: bool = False) -> Batch:
        """Compute all that scores are made of."""
        check_features(self.name, self.model)
        self._add_labels_of(docs)
        X = self.tok2vec.predict(docs)
        actions, weights = self._actions(), weights_of(self.model, X)
        if asks and not are_finite([X, *weights.arrays]):
            what = "the vectors of tokens, or the weights,"
            raise not_finite(self.name, self.model, what, "no entity has a probability")
        return Batch(X, weights, rules_of(docs, actions), actions)
