"""The component that recognizes entities by tags of all tokens at once.

Longer than a module should be: spaCy asks all of it of one class, and a third is docstrings.
"""

from itertools import islice
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, get_args

import numpy
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import check_lexeme_norms
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate, to_numpy

from ...common.types import Array, Confidence, Decoder
from ..biluo import Constraints, Entities, entities_of, tag_names
from ..confidence import Confidences, confidences_of, set_confidences
from ..docs import (
    constraints_of,
    lengths_of,
    present_entities,
    set_entities,
    spans_of,
    without_entities,
)
from ..gold import gold_tags
from .architectures import listens
from .decode import decode_constrained, decode_crf, decode_greedy
from .losses import crf_losses, cross_entropy, expectation_linear_penalty
from .marginals import entity_marginals, entity_products


class Prediction(NamedTuple):
    """The entities of a batch of docs.

    entities: Those that are new.
    confidences: How sure of each entity with a label of the component, of each doc: of those that
        are new, and of those that are there already. None if nobody asked.
    """

    entities: Entities
    confidences: Optional[list[Confidences]]


class EntityTagger(TrainablePipe):
    """Recognize entities by the BILUO tags of all tokens at once (Strubell et al. 2017).

    As spaCy's ner, it leaves entities alone that are there already, begins none with whitespace,
    and lets none reach across the boundary of a sentence, if there are sentences.

    vocab (Vocab): The vocab of the pipeline.
    model (Model): Built by spacy-multihash.TokenTagger.v1.
    name (str): The name of the component in the pipeline.
    decoder (Optional[str]): From scores to tags: "greedy", the best tag of each token, as far
        as entities are whole; "constrained", the best sequence of tags that may follow each other;
        or "crf", the same with learned transitions. Null for "crf" if the model has them, else
        "constrained".
    dropout_penalty (float): Weight of the squared distance of scores with dropout from those
        without in training (expectation-linear dropout, Ma et al. 2017), summed over tokens and
        tags, the mean of the passes. 0 for none; a step takes twice the time else.
    spans_key (Optional[str]): Put the entities of the component's labels into
        doc.spans[spans_key] as well, with `attrs["scores"]`, how sure the model is of each,
        (number of entities,) float32. Those that were there already are among them: of these the
        model is asked as if it did not know of them, of new ones given them. Null for not at all.
    confidence (str): How sure: "marginal", the probability of the entity among all valid sequences
        of tags, or "product", of the probabilities of its tags, each by itself.
    scorer (Optional[Callable]): Scores a list of examples.

    Raises ValueError for settings that the model cannot follow.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "tagger_ner",
        *,
        decoder: Optional[Decoder] = None,
        dropout_penalty: float = 0.0,
        spans_key: Optional[str] = None,
        confidence: Confidence = "marginal",
        scorer: Optional[Callable] = None,
    ) -> None:
        """Check the settings against the model, and keep them."""
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg: Dict[str, List[str]] = {"labels": []}
        if model.name != "token_tagger":
            raise ValueError(
                f'Component "{name}": expected a model of the architecture '
                f"spacy-multihash.TokenTagger.v1, was given another, '{model.name}'. Set it in "
                "[components.tagger_ner.model]."
            )
        self.learns_transitions = model.has_param("transitions") is not False
        self.decoder = decoder
        self.dropout_penalty = dropout_penalty
        self.spans_key = spans_key
        self.confidence = confidence
        self.scorer = scorer
        if dropout_penalty < 0 or (dropout_penalty and listens(model)):
            raise ValueError(
                f'Component "{name}": dropout_penalty must be 0 or more, and 0 where '
                "model.tok2vec is a listener, whose dropout is not the component's own; was: "
                f"{dropout_penalty}. Set it to 0.0, or give the model a spacy.Tok2Vec.v2."
            )

    @property
    def decoder(self) -> Decoder:
        """From scores to tags. Can be set on a trained component; None sets the default.

        to_disk saves the setting of the config: for another one, load with it, and save.

        Raises ValueError for another decoder, and for "crf" without learned transitions.
        """
        return self._decoder

    @decoder.setter
    def decoder(self, decoder: Optional[Decoder]) -> None:
        if decoder is None:
            decoder = "crf" if self.learns_transitions else "constrained"
        self._check("decoder", decoder, get_args(Decoder))
        if decoder == "crf" and not self.learns_transitions:
            raise ValueError(
                f'Component "{self.name}": decoder = "crf" needs learned transitions, but the '
                "model has none. Set learn_transitions = true in its [model], or take another "
                'decoder: "constrained" or "greedy".'
            )
        self._decoder = decoder

    @property
    def confidence(self) -> Confidence:
        """How sure the model is of entities, by which probability. Can be set, as the decoder.

        Raises ValueError for another one.
        """
        return self._confidence

    @confidence.setter
    def confidence(self, confidence: Confidence) -> None:
        self._check("confidence", confidence, get_args(Confidence))
        self._confidence = confidence

    @property
    def labels(self) -> Tuple[str, ...]:
        """The labels of entities, in the order of their numbers."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> Tuple[str, ...]:
        """What `spacy init labels` saves."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label, before initialization; return 1 if it is new, else 0.

        Raises ValueError for a new label once the model is initialized: its tags cannot grow.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        if label in self.labels:
            return 0
        if self._has_weights():
            raise ValueError(
                f'Component "{self.name}": cannot add the label "{label}", the model is '
                f"initialized for {len(self.labels)} labels: {', '.join(self.labels)}. Add all "
                "labels before initialization, or train a new component."
            )
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[List[str]] = None,
    ) -> None:
        """Find the labels, and initialize the model.

        get_examples (Callable[[], Iterable[Example]]): Gives representative examples.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[List[str]]): The labels, as `spacy init labels` saves them. Null takes
            those of the examples.

        Raises ValueError if there are no labels.
        """
        validate_get_examples(get_examples, "EntityTagger.initialize")
        check_lexeme_norms(self.vocab, "tagger_ner")
        if labels is None:
            labels = sorted({ent.label_ for eg in get_examples() for ent in eg.reference.ents})
        for label in labels:
            self.add_label(label)
        self._require_labels()
        sample = [eg.predicted for eg in islice(get_examples(), 10)]
        nO = len(tag_names(self.labels))
        if self.model.maybe_get_dim("nO") not in (None, nO):
            raise ValueError(
                f'Component "{self.name}": {len(self.labels)} labels need {nO} tags, but its model '
                f"has nO = {self.model.get_dim('nO')}. Set nO = null in the model."
            )
        self.model.set_dim("nO", nO)
        self.model.initialize(X=sample)

    def predict(self, docs: Iterable[Doc]) -> Prediction:
        """Find the entities of docs, without setting them."""
        docs = list(docs)
        if not any(map(len, docs)):
            nothing = numpy.zeros(0, dtype="int64")
            return Prediction(Entities(nothing, nothing, nothing), [{} for _ in docs])
        self._require_weights()
        scores = self.model.predict(docs)[-1]
        lengths, constraints = lengths_of(docs), constraints_of(docs)
        tags = self._decode(to_numpy(scores), lengths, constraints)
        entities = entities_of(tags, scores.shape[1])
        if self.spans_key is None:
            return Prediction(entities, None)
        probabilities = self._probabilities(scores, lengths, entities, constraints)
        confidences = confidences_of(docs, entities, probabilities, self.labels)
        present = present_entities(docs, self.labels)
        if len(present.starts):
            free = without_entities(constraints, docs)
            probabilities = self._probabilities(scores, lengths, present, free)
            of_present = confidences_of(docs, present, probabilities, self.labels)
            for new, old in zip(confidences, of_present, strict=True):
                new.update(old)
        return Prediction(entities, confidences)

    def set_annotations(self, docs: Iterable[Doc], prediction: Prediction) -> None:
        """Set doc.ents, and doc.spans if asked for."""
        docs = list(docs)
        for doc, spans in zip(docs, spans_of(docs, prediction.entities, self.labels), strict=True):
            set_entities(doc, spans)
        if self.spans_key is None or prediction.confidences is None:
            return
        labels = set(self.labels)
        for doc, confidences in zip(docs, prediction.confidences, strict=True):
            set_confidences(doc, confidences, labels, self.spans_key)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from a batch of examples.

        examples (Iterable[Example]): The batch.
        drop (float): The dropout rate.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[Dict[str, float]]): Losses of components, this one's is added to.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "EntityTagger.update")
        docs = [eg.predicted for eg in examples]
        if not any(len(doc) for doc in docs):
            return losses
        self._require_weights()
        set_dropout_rate(self.model, drop)
        scores, backprop = self.model.begin_update(docs)
        gold = gold_tags(examples, self.labels)
        loss, d_scores, d_transitions = self._loss(docs, scores, gold)
        if d_transitions is not None:
            self.model.inc_grad("transitions", d_transitions)
        if self.dropout_penalty and drop:
            set_dropout_rate(self.model, 0.0)
            plain, backprop_plain = self.model.begin_update(docs)
            penalty, d_penalty = expectation_linear_penalty(scores, plain, gold)
            loss += self.dropout_penalty * penalty
            d_scores += self.dropout_penalty * d_penalty
            backprop_plain(-self.dropout_penalty * d_penalty)
        backprop(d_scores)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Array) -> Tuple[float, Array]:
        """Return the loss of scores (P, N, nO) without the penalty, and its gradient.

        Raises ValueError for labels that the component does not have, and for scores that are not
        numbers.
        """
        examples = list(examples)
        docs = [eg.predicted for eg in examples]
        loss, d_scores, _ = self._loss(docs, scores, gold_tags(examples, self.labels))
        return loss, d_scores

    def _loss(
        self, docs: List[Doc], scores: Array, gold: numpy.ndarray
    ) -> Tuple[float, Array, Optional[Array]]:
        d_transitions = None
        if self.learns_transitions:
            transitions = self.model.get_param("transitions")
            loss, d_scores, d_transitions = crf_losses(scores, lengths_of(docs), transitions, gold)
        else:
            loss, d_scores = cross_entropy(scores, gold)
        if not numpy.isfinite(loss):
            raise ValueError(Errors.E910.format(name=self.name))
        return loss, d_scores, d_transitions

    def _check(self, setting: str, value: str, known: Tuple[str, ...]) -> None:
        if value not in known:
            raise ValueError(
                f'Component "{self.name}": {setting} must be one of {", ".join(known)}, was: '
                f"{value!r}."
            )

    def _has_weights(self) -> bool:
        return bool(self.model.get_ref("output_layer").has_param("W"))

    def _require_weights(self) -> None:
        if not self._has_weights():
            raise ValueError(Errors.E109.format(name=self.name))

    def _decode(
        self, scores: numpy.ndarray, lengths: numpy.ndarray, constraints: Constraints
    ) -> numpy.ndarray:
        if self.decoder == "greedy":
            return decode_greedy(scores, constraints)
        if self.decoder == "constrained":
            return decode_constrained(scores, constraints)
        transitions = to_numpy(self.model.get_param("transitions"))
        return decode_crf(scores, lengths, transitions, constraints)

    def _probabilities(
        self, scores: Array, lengths: numpy.ndarray, entities: Entities, constraints: Constraints
    ) -> numpy.ndarray:
        if self.confidence == "product":
            return entity_products(scores, entities)
        transitions = self.model.get_param("transitions") if self.learns_transitions else None
        return entity_marginals(scores, lengths, transitions, entities, constraints)
