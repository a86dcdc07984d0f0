"""The component that recognizes entities by tags of all tokens at once."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Optional, Union

import numpy
from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.util import check_lexeme_norms
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ...common.checks import check_function
from ...common.registered import TOKEN_TAGGER
from ...common.types import Array, Decoder
from ..biluo import Constraints, Entities, entities_of, tag_names
from ..calibration import Uncalibrated
from ..confidence import set_confidences, split_by_confidence
from ..docs import (
    KeysOfDocs,
    as_docs,
    check_same_docs,
    constraints_of,
    entities_at,
    entity_keys,
    lengths_of,
    set_entities,
    spans_of,
)
from ..finite import are_finite, cause_of_not_finite, not_finite
from ..gold import as_examples, gold_labels, gold_tags
from .confidences import WithConfidences
from .decode import decode
from .losses import tagging_loss
from .prediction import Prediction
from .settings import Settings
from .token_tagger import NAME as MODEL_NAME
from .vectors_of_tokens import warn_of_unheard


class EntityTagger(WithConfidences):
    """Recognize entities by the BILUO tags of all tokens at once (Strubell et al. 2017).

    As spaCy's ner does, it keeps entities that are there already, begins none with whitespace, and
    lets none cross the boundary of a sentence, if there are sentences.

    vocab (Vocab): The vocab of the pipeline.
    model (Model): Built by spacy-multihash.TokenTagger.v1.
    name (str): The name of the component in the pipeline.
    decoder (Optional[str]): How scores become tags. "greedy" takes the best tag of each token, and
        leaves out entities that are not whole. "constrained" takes the best sequence of tags that
        may follow each other. "crf" does the same with learned transitions. Null is "crf" if the
        model has them, otherwise "constrained".
    spans_key (Optional[str]): Where in doc.spans to put the entities of the component's labels as
        well, with `attrs["scores"]`, how sure the model is of each, (number of entities,) float32.
        Of entities that were there already, the model is asked as if it did not know of them. Of
        new ones it is asked given those. Null is for not at all.
    threshold (float): New entities whose confidence is below it, 0 to 1, are not set in doc.ents.
        With a `spans_key` they are among its spans, with their scores. 0 sets all.
    temperature (float): Scores and transitions are divided by it before they become probabilities.
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
        spans_key: Optional[str] = None,
        threshold: float = 0.0,
        temperature: float = 1.0,
        scorer: Optional[Callable] = None,
    ) -> None:
        """Check the model and the settings, and keep them."""
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg: dict[str, list[str]] = {"labels": []}
        given = getattr(model, "name", repr(model))
        if given != MODEL_NAME:
            raise ValueError(
                f'Component "{name}": expected a model of the architecture '
                f"{TOKEN_TAGGER}, was given another, '{given}'. Set it in "
                "[components.tagger_ner.model]."
            )
        check_function(f'Component "{name}"', "scorer", scorer)
        self.scorer = scorer
        self.settings = Settings(
            decoder,
            spans_key,
            threshold,
            temperature,
        )

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[list[str]] = None,
    ) -> None:
        """Find the labels, and initialize the model.

        get_examples (Callable[[], Iterable[Example]]): Returns representative examples.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[list[str]]): The labels, as `spacy init labels` saves them. Null takes
            those of the examples.

        Raises ValueError if there are none, or if they are no list of strings. Warns of a component
        that shares its vectors of tokens, and to which nobody listens.
        """
        validate_get_examples(get_examples, "EntityTagger.initialize")
        check_lexeme_norms(self.vocab, "tagger_ner")
        self._add_labels(gold_labels(get_examples()) if labels is None else labels)
        if not self.labels:
            raise ValueError(
                f"{Errors.E143.format(name=self.name)} No example has an entity. Check that the "
                "training corpus has gold entities (doc.ents)."
            )
        self.see_labels(self.labels)
        if nlp is not None:
            warn_of_unheard(nlp.pipeline, self.name)
        sample = [eg.predicted for eg in islice(get_examples(), 10)]
        nO = len(tag_names(self.labels))
        if self.model.maybe_get_dim("nO") not in (None, nO):
            raise ValueError(
                f'Component "{self.name}": {len(self.labels)} labels need {nO} tags, but its model '
                f"has nO = {self.model.get_dim('nO')}. Set nO = null in the model."
            )
        self.model.set_dim("nO", nO)
        self.model.initialize(X=sample)

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Prediction:
        """Find the entities of docs, without setting them.

        Raises ValueError for weights that are not finite, and names them.
        """
        docs = as_docs(self.name, docs)
        lengths = lengths_of(docs)
        asks = self.spans_key is not None or bool(self.threshold)
        if not lengths.any():
            nothing = numpy.zeros(0, dtype="int64")
            return Prediction(lengths, Entities(nothing, nothing, nothing), [{} for _ in docs])
        scores = self._scores(docs, reads_transitions=self.decoder == "crf" or asks)
        constraints = constraints_of(docs)
        entities = self._decode(docs, scores, constraints)
        if not asks:
            return Prediction(lengths, entities, None)
        confidences = self._confidences(docs, scores, entities, constraints)
        return Prediction(lengths, entities, confidences)

    def uncalibrated(
        self, docs: Union[Doc, Iterable[Doc]], keys: Optional[KeysOfDocs] = None
    ) -> Uncalibrated:
        """Tell how the probabilities of entities of docs depend on the temperature.

        keys (Optional[KeysOfDocs]): Those of each doc. Null is for all found.

        Raises ValueError for a label that the component, or a token that a doc, does not have.
        """
        docs = as_docs(self.name, docs)
        asked = None if keys is None else entities_at(docs, keys, self.labels)
        if not any(map(len, docs)):
            return Uncalibrated.of(self.name, [], lambda temperature: numpy.zeros(0, "float32"))
        scores, constraints = self._scores(docs, reads_transitions=True), constraints_of(docs)
        entities = self._decode(docs, scores, constraints) if asked is None else asked

        def probabilities(temperature: float) -> numpy.ndarray:
            return self._probabilities(docs, scores, entities, constraints, temperature)

        return Uncalibrated.of(self.name, entity_keys(docs, entities, self.labels), probabilities)

    def set_annotations(self, docs: Union[Doc, Iterable[Doc]], prediction: Prediction) -> None:
        """Set doc.ents, and doc.spans if there is a `spans_key`.

        Raises ValueError if the prediction is of other docs.
        """
        docs, labels = as_docs(self.name, docs), set(self.labels)
        check_same_docs(self.name, docs, prediction.lengths)
        confidences = prediction.confidences or [{} for _ in docs]
        found = spans_of(docs, prediction.entities, self.labels)
        for doc, spans, of_doc in zip(docs, found, confidences, strict=True):
            sure, unsure = split_by_confidence(spans, of_doc, self.threshold)
            set_entities(doc, sure)
            if self.spans_key is not None and prediction.confidences is not None:
                set_confidences(doc, of_doc, labels, self.spans_key, unsure)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[dict[str, float]] = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples. New labels of theirs are added, as with spaCy's ner.

        examples (Iterable[Example]): The batch.
        drop (float): The dropout rate.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[dict[str, float]]): Losses by component, to which this one's is added.

        Raises ValueError if the loss is NaN or infinite, and names the weights that are.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = as_examples(examples, "EntityTagger.update")
        docs = [eg.predicted for eg in examples]
        if not any(len(doc) for doc in docs):
            return losses
        self._require_weights()
        self.see_labels(gold_labels(examples))
        set_dropout_rate(self.model, drop)
        scores, backprop = self.model.begin_update(docs)
        gold = gold_tags(examples, self.labels)
        loss, d_scores, d_transitions = self._loss(examples, scores, gold)
        if d_transitions is not None:
            self.model.inc_grad("transitions", d_transitions)
        backprop(d_scores)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Array) -> tuple[float, Array]:
        """Return the loss of scores (P, N, nO), and its gradient.

        Raises ValueError for labels that the component does not have, and for scores that are not
        finite; it names the weights that are not.
        """
        examples = list(examples)
        loss, d_scores, _ = self._loss(examples, scores, gold_tags(examples, self.labels))
        return loss, d_scores

    def _loss(
        self, examples: list[Example], scores: Array, gold: numpy.ndarray
    ) -> tuple[float, Array, Optional[Array]]:
        lengths = lengths_of([eg.predicted for eg in examples])
        loss, d_scores, d_transitions = tagging_loss(scores, lengths, self._transitions(), gold)
        if not numpy.isfinite(loss):
            cause = cause_of_not_finite(self.model)
            raise ValueError(f"{Errors.E910.format(name=self.name)} {cause}")
        return loss, d_scores, d_transitions

    def _require_weights(self) -> None:
        if not self.has_weights():
            raise ValueError(Errors.E109.format(name=self.name))

    def _scores(self, docs: list[Doc], *, reads_transitions: bool) -> Array:
        """Score all tags, and check that the scores are finite."""
        self._require_weights()
        scores = self.model.predict(docs)[-1]
        transitions = self._transitions() if reads_transitions else None
        usable = transitions is None or bool((transitions < numpy.inf).all())  # -inf forbids a tag
        if not (usable and are_finite([scores])):
            raise not_finite(self.name, self.model, "the scores of tags", "no entity can be found")
        return self.rule_out_unseen(scores)

    def _decode(self, docs: list[Doc], scores: Array, constraints: Constraints) -> Entities:
        tags = decode(self.decoder, scores, lengths_of(docs), self._transitions(), constraints)
        return entities_of(tags, scores.shape[1])
