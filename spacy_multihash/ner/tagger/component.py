"""The component that recognizes entities by tags of all tokens at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union, cast

import numpy
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import check_lexeme_norms
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ...common.checks import check_function, setting_error
from ...common.files import UnreadableFile, reading
from ...common.registered import TOKEN_TAGGER
from ...common.types import Array, Decoder
from ...compute.array_ops import ArrayOps
from ...compute.ops import operations
from ...compute.plans import Plan, Reading
from ..biluo import (
    Constraints,
    Entities,
    as_entities,
    columns_after_adding,
    entities_of,
    num_labels,
    tag_columns,
    tag_names,
)
from ..candidates import (
    SpanProbabilities,
    no_probabilities,
    set_span_probabilities,
    span_probabilities,
)
from ..entities import (
    CONSTRAINING,
    KeysOfDocs,
    SpanScores,
    constraints_of,
    entities_at,
    entity_keys,
    lengths_of,
    present_entities,
    set_entities,
    spans_of,
    token_attributes,
    without_entities,
)
from ..gold import gold_labels, gold_tags
from ..recognizer import (
    LabelLock,
    WithSettings,
    are_finite,
    check_loss,
    locked,
    not_finite,
    other_architecture,
    warn_unheard,
)
from .crf import (
    PathSums,
    begin_marginals,
    entity_marginals,
    path_sums,
    probable_entities,
    tagging_loss,
)
from .decode import decode
from .settings import Settings
from .token_tagger import NAME as MODEL_NAME
from .token_tagger import join_vectors, learns_transitions, resize_output

# Key in cfg of labels that were added to trained weights, until examples with them are seen.
_UNSEEN = "unseen_labels"


class Prediction(NamedTuple):
    """The entities of a batch of D docs.

    entities: The new entities.
    labels: The labels that the entities' numbers refer to.
    probabilities: Of new entities, of existing entities with the component's labels, and of
        candidates. None if they weren't requested.
    """

    entities: Entities
    labels: Sequence[str]
    probabilities: Optional[SpanProbabilities] = None


class Scores(NamedTuple):
    """The scores of a batch of N tokens, with the labels of the moment.

    tags (N, nO) float32: The scores of tags, -inf for labels without an example so far.
    transitions (nO, nO) float32: The scores of consecutive tags, or None.
    labels: The C labels of the nO = 4 * C + 1 tags.
    """

    tags: Array
    transitions: Optional[Array]
    labels: tuple[str, ...]


class EntityTagger(WithSettings, TrainablePipe):
    """Recognize entities by the BILUO tags of all tokens at once (Strubell et al. 2017).

    Like spaCy's ner, it keeps existing entities, and finds no entities that begin with whitespace
    or, if there are sentences, cross the boundary of a sentence.

    vocab (Vocab): The vocab of the pipeline.
    model (Model): Built by spacy-multihash.TokenTagger.v1.
    name (str): The name of the component in the pipeline.
    scorer (Optional[Callable]): Scores a list of examples.
    **settings (Any): See `Settings`; they're attributes too.

    Raises ValueError if the model doesn't support a setting.
    """

    settings_type = Settings
    settings: Settings

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "tagger_ner",
        *,
        scorer: Optional[Callable] = None,
        **settings: Any,  # noqa: ANN401
    ) -> None:
        """Check the model and the settings, and keep them."""
        self.vocab = vocab
        self.model = model
        self.name = name
        self.label_lock, self._plan = LabelLock(), Plan()
        self.cfg: dict[str, list[str]] = {"labels": []}
        given = getattr(model, "name", repr(model))
        if given != MODEL_NAME:
            raise other_architecture(name, TOKEN_TAGGER, given)
        check_function(f'Component "{name}"', "scorer", scorer)
        self.scorer = scorer
        self.settings = Settings(**settings)

    @property
    def decoder(self) -> Decoder:
        """How scores become tags. Setting None lets the model decide."""
        return self.settings.decoder or ("crf" if self.learns_transitions else "constrained")

    @property
    def learns_transitions(self) -> bool:
        """Whether the model scores pairs of consecutive tags."""
        return learns_transitions(self.model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of entities, in the order of their numbers."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """Labels for `spacy init labels`."""
        return self.labels

    @locked
    def add_label(self, label: str) -> int:
        """Add a label. Return 1 if it is new, otherwise 0.

        After initialization, the model gets tags for it, with weights of 0, and keeps all that it
        learned. Like in spaCy's ner, the label isn't predicted until an update has examples of it.

        Raises ValueError if the label isn't a string.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        if label in self.labels:
            return 0
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        if self.has_weights():
            resize_output(self.model, len(tag_names(self.labels)))
            self.cfg.setdefault(_UNSEEN, []).append(label)
        return 1

    def _add_labels(self, labels: Iterable[str]) -> None:
        """Add all labels, or raise ValueError if they aren't a list of strings."""
        given = None if isinstance(labels, (str, Mapping)) else list(labels)
        if given is None or not all(isinstance(label, str) for label in given):
            expected = "a list of strings, as spacy init labels saves those of tagger_ner"
            advice = "Give the labels in a list."
            raise setting_error(f'Component "{self.name}"', "labels", expected, labels, advice)
        for label in given:
            self.add_label(label)

    def has_weights(self) -> bool:
        """Check if the model is initialized."""
        return bool(self.model.get_ref("output_layer").has_param("W"))

    @locked
    def see_labels(self, labels: Iterable[str]) -> None:
        """Add new labels, and predict entities of all these labels from now on."""
        seen = set(labels)
        for label in sorted(seen):
            self.add_label(label)
        unseen = [label for label in self.cfg.pop(_UNSEEN, []) if label not in seen]
        if unseen:
            self.cfg[_UNSEEN] = unseen

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
        labels (Optional[list[str]]): The labels, as `spacy init labels` saves them. Null takes the
            examples' labels.

        Raises ValueError if there are no labels, or if they aren't a list of strings.
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

        Raises ValueError if scores aren't finite.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        asks = self.spans_key is not None or bool(self.threshold)
        if not any(map(len, docs)):
            nothing = no_probabilities(docs, self.labels) if asks else None
            return Prediction(as_entities([]), self.labels, nothing)
        prediction = self._find(docs)
        if prediction is not None:
            return prediction
        scores = self._scores(docs, reads_transitions=self.decoder == "crf" or asks)
        constraints, labels = constraints_of(docs), scores.labels
        entities = self._decode(docs, scores, constraints)
        if not asks:
            return Prediction(entities, labels)
        sums = self._sums(docs, scores, constraints, self.temperature)
        # Probabilities of existing entities ignore that they were given
        present, free = present_entities(docs, labels), without_entities(constraints, docs)
        of_present = numpy.zeros(0)
        if len(present.starts):
            of_present = entity_marginals(self._sums(docs, scores, free, self.temperature), present)
        probabilities = numpy.append(entity_marginals(sums, entities), of_present)
        both = Entities(*map(numpy.concatenate, zip(entities, present, strict=True)))
        candidates = as_entities([]), numpy.zeros(0)
        if self.candidates_above is not None:
            candidates = probable_entities(sums, self.candidates_above)
        exact, begins = numpy.zeros(len(docs)), begin_marginals(sums)
        of_spans = span_probabilities(
            docs, labels, (both, probabilities), candidates, exact, begins
        )
        return Prediction(entities, labels, of_spans)

    def score_spans(
        self, docs: Union[Doc, Iterable[Doc]], keys: Optional[KeysOfDocs] = None
    ) -> SpanScores:
        """Compute the probabilities of entities of docs, at any temperature.

        keys (Optional[KeysOfDocs]): Entities per doc. Null takes all found.

        Raises ValueError for unknown labels, and for tokens outside a doc.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        asked = None if keys is None else entities_at(docs, keys, self.labels)
        if not any(map(len, docs)):
            return SpanScores([], lambda temperature: numpy.zeros(0))
        scores, constraints = self._scores(docs, reads_transitions=True), constraints_of(docs)
        entities = self._decode(docs, scores, constraints) if asked is None else asked

        def probabilities(temperature: float) -> numpy.ndarray:
            return entity_marginals(self._sums(docs, scores, constraints, temperature), entities)

        return SpanScores(entity_keys(docs, entities, scores.labels), probabilities)

    def set_annotations(self, docs: Union[Doc, Iterable[Doc]], prediction: Prediction) -> None:
        """Set doc.ents, and doc.spans if there is a `spans_key`."""
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        probabilities = prediction.probabilities
        new = spans_of(docs, prediction.entities, prediction.labels)
        unsure: list[list[Span]] = [[] for _ in docs]
        for i, (doc, spans) in enumerate(zip(docs, new, strict=True)):
            if probabilities is not None and self.threshold:
                of_doc = probabilities.confidences[i]
                enough = [of_doc[s.start, s.end, s.label_] >= self.threshold for s in spans]
                unsure[i] = [
                    span for span, is_sure in zip(spans, enough, strict=True) if not is_sure
                ]
                spans = [span for span, is_sure in zip(spans, enough, strict=True) if is_sure]
            set_entities(doc, spans)
        if probabilities is not None and self.spans_key is not None:
            set_span_probabilities(docs, probabilities, prediction.labels, self.spans_key, unsure)

    @locked
    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[dict[str, float]] = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples, and add their new labels, like spaCy's ner.

        examples (Iterable[Example]): The batch.
        drop (float): The dropout rate.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[dict[str, float]]): Losses by component; this component's is added.

        Raises ValueError if the loss is NaN or infinite.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "EntityTagger.update")
        docs = [eg.predicted for eg in examples]
        if not any(len(doc) for doc in docs):
            return losses
        if not self.has_weights():
            raise ValueError(Errors.E109.format(name=self.name))
        self.see_labels(gold_labels(examples))
        set_dropout_rate(self.model, drop)
        scores, backprop = self.model.begin_update(docs)
        gold = gold_tags(examples, self.labels)
        loss, d_scores, d_transitions = tagging_loss(
            scores, lengths_of(docs), self._transitions(), gold
        )
        check_loss(self.name, loss)
        if d_transitions is not None:
            self.model.inc_grad("transitions", d_transitions)
        backprop(d_scores)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def _find(self, docs: list[Doc]) -> Optional[Prediction]:
        """Find the entities in one compiled call; None if that isn't possible."""
        tagger = self._plan.of(self.model, operations(self.model.ops), self._read_tagger)
        if tagger is None:
            return None
        warn_unheard(self.name, self.model, docs)
        finder, labels, tok2vec, ops = tagger
        X = join_vectors(self.model, tok2vec.predict(docs))
        spans = ops.find_entities(X, finder, *token_attributes(docs, CONSTRAINING))
        return None if spans is None else Prediction(Entities(*spans), labels)

    def _read_tagger(
        self, ops: ArrayOps, reading: Reading, model: Model
    ) -> Optional[tuple[Any, tuple[str, ...], Model, ArrayOps]]:
        """Read the last layer, the labels and tok2vec, at one moment.

        None without kernels or weights, and if probabilities or greedy tags are asked for.
        """
        with self.label_lock:
            settings, cfg = reading.attribute(self, "settings"), reading.attribute(self, "cfg")
            asks = settings.spans_key is not None or settings.threshold
            if asks or self.decoder == "greedy" or not self.has_weights():
                return None
            labels = tuple(reading.entry(cfg, "labels"))
            unseen = [labels.index(label) for label in reading.entry(cfg, _UNSEEN)]
            output: Any = reading.ref(model, "output_layer")
            W, b = (reading.param(output, name) for name in ("W", "b"))
            transitions = reading.param(model, "transitions") if self.decoder == "crf" else None
        nO = 1 + 4 * len(labels)
        if len(W) != nO:
            return None
        never = numpy.zeros(nO, dtype="uint8")
        for columns in tag_columns(nO):
            never[columns][unseen] = 1
        finder = ops.tagger(W, b, never if unseen else None, transitions)
        return finder and (finder, labels, cast(Model, reading.ref(model, "tok2vec")), ops)

    def _scores(self, docs: list[Doc], *, reads_transitions: bool) -> Scores:
        """Score the tags of all labels of this moment, and check that the scores are finite.

        Tags of labels that another thread adds in the meantime are left out.
        """
        if not self.has_weights():
            raise ValueError(Errors.E109.format(name=self.name))
        with self.label_lock:
            labels, transitions = self.labels, self._transitions()
            unseen = [labels.index(label) for label in self.cfg.get(_UNSEEN, [])]
        nO = 1 + 4 * len(labels)
        warn_unheard(self.name, self.model, docs)
        scores = self.model.predict(docs)[-1]
        if scores.shape[1] != nO:
            scores = scores[:, columns_after_adding(nO, scores.shape[1])]
        usable = (
            transitions is None or not reads_transitions or bool((transitions < numpy.inf).all())
        )  # -inf forbids a tag
        if not (usable and are_finite([scores])):
            raise not_finite(self.name, "the scores of tags", "no entity can be found")
        if unseen:
            scores = scores.copy()
            for columns in tag_columns(nO):
                scores[:, columns][:, unseen] = -numpy.inf
        return Scores(scores, transitions, labels)

    def _decode(self, docs: list[Doc], scores: Scores, constraints: Constraints) -> Entities:
        tags = decode(self.decoder, scores.tags, lengths_of(docs), scores.transitions, constraints)
        return entities_of(tags, scores.tags.shape[1])

    def _transitions(self) -> Optional[Array]:
        return self.model.get_param("transitions") if self.learns_transitions else None

    def _sums(
        self, docs: list[Doc], scores: Scores, constraints: Constraints, temperature: float
    ) -> PathSums:
        """Sum over all tags of docs, at a temperature."""
        tags, transitions, _ = scores
        # Subtracting the largest changes no probability
        tags = (tags.astype("float64") - tags.max(axis=-1, keepdims=True)) / temperature
        if transitions is not None:
            transitions = (transitions.astype("float64") - transitions.max()) / temperature
        return path_sums(tags, lengths_of(docs), transitions, constraints)

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "EntityTagger":
        """Load the component from a folder.

        exclude (Iterable[str]): What not to load: "cfg", "model" or "vocab".

        Raises ValueError if labels and weights don't match, or if a file is damaged.
        """
        with reading(path):
            load = partial(super().from_disk, path)
            return self._load(load, f"the folder {path}", tuple(exclude))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "EntityTagger":
        """Load the component from bytes; see `from_disk`."""
        return self._load(partial(super().from_bytes, bytes_data), "the bytes", tuple(exclude))

    def _load(self, load: Callable, source: str, exclude: tuple[str, ...]) -> "EntityTagger":
        """Load the labels, then the weights, with tags for the labels.

        If that fails, the old labels are restored.
        """
        former = {name: list(labels) for name, labels in self.cfg.items()}
        try:
            if "cfg" not in exclude:
                self.cfg.clear()
                self.cfg["labels"] = []
            load(exclude=[*exclude, "model"])
            if "model" not in exclude:
                nO = len(tag_names(self.labels))
                if (self.model.maybe_get_dim("nO") or nO) < nO:
                    resize_output(self.model, nO)
                load(exclude=[*exclude, "cfg", "vocab"])
                self._check_weights(source)
        except BaseException:
            self.cfg.clear()
            self.cfg.update(former)
            raise
        return self

    def _check_weights(self, source: str) -> None:
        own = num_labels(self.model.get_dim("nO")) if self.has_weights() else len(self.labels)
        if own != len(self.labels):
            raise UnreadableFile(
                f'Component "{self.name}": the weights in {source} are for {own} labels, '
                f"but its cfg has {len(self.labels)}: {', '.join(self.labels) or 'none'}. Is the "
                'file "cfg" missing? Copy the whole folder of the pipeline again, or save it anew.'
            )
