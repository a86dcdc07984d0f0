"""The component that recognizes entities as spaCy's ner does, by a compiled loop over tokens."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import numpy
from spacy.attrs import ENT_TYPE
from spacy.pipeline import EntityRecognizer
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.pipeline.ner import ner_score
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ...common.checks import check_whole
from ...common.files import reading
from ...common.types import Array
from ...compute.array_ops import ArrayOps
from ...compute.ops import operations
from ...compute.plans import Plan, Reading
from ..biluo import Entities, as_entities
from ..candidates import (
    SpanProbabilities,
    no_probabilities,
    set_span_probabilities,
    span_probabilities,
)
from ..entities import (
    KeysOfDocs,
    SpanScores,
    entities_at,
    entity_keys,
    set_entities,
    spans_of,
)
from ..recognizer import (
    LabelLock,
    WithSettings,
    are_finite,
    check_loss,
    locked,
    not_finite,
    warn_unheard,
)
from .probabilities import build_lattice, entity_probabilities
from .rules import Actions, TokenAttributes, read_actions, read_attributes, rules_of
from .settings import Settings, without_beam
from .states import (
    NUM_FEATURES,
    Batch,
    Vectors,
    Weights,
    find_entities,
    read_batch,
    vectors_of,
    weights_of,
)
from .training import has_gold, learn, prepare


class Prediction(NamedTuple):
    """The entities of a batch of D docs.

    entities: The new entities, and the docs' existing entities.
    labels: The labels that the entities' numbers refer to.
    probabilities: None if not requested.
    """

    entities: Entities
    labels: Sequence[str]
    probabilities: Optional[SpanProbabilities] = None


class Recognizer(NamedTuple):
    """What the component predicts with, at one moment.

    compiled: The weights and actions as kernels read them; None without kernels.
    vectors: The layers before `lower`.
    """

    weights: Weights
    actions: Actions
    compiled: Any
    vectors: Vectors
    ops: ArrayOps

    def read(self, docs: list[Doc]) -> "Inputs":
        """Read the attributes of docs with tokens, and compute their vectors."""
        return Inputs(self.ops, read_attributes(docs), self.vectors.predict(self.ops, docs))


class Inputs(NamedTuple):
    """The attributes of docs, and the vectors X (N, nI) of their tokens."""

    ops: ArrayOps
    tokens: TokenAttributes
    X: Array

    def find(self, compiled: Any) -> Optional[Entities]:  # noqa: ANN401
        """Find the entities by kernels; None without kernels, or for docs that have entities."""
        spans = self.ops.find_entities(self.X, compiled, *self.tokens)
        return None if spans is None else Entities(*spans)


class BatchEntityRecognizer(WithSettings, EntityRecognizer):
    """Recognize entities as spaCy's EntityRecognizer does, by a compiled loop over tokens.

    It has the model, the files, the labels and the settings of spaCy's ner, and finds the same
    entities. With a beam, and for rehearsal, it calls spaCy's own code.

    vocab (Vocab): The vocab of the pipeline.
    model (Model): Built by spacy.TransitionBasedParser.v2.
    name (str): The name of the component in the pipeline.
    moves (Optional[TransitionSystem]): The actions. Null makes them from the labels.
    update_with_oracle_cut_size (int): Training cuts docs into parts of about this many tokens. Each
        part begins in the state that the gold entities lead to. 0 cuts none.
    beam_width (int), beam_density (float), beam_update_prob (float): As in spaCy's beam_ner.
    multitasks (Iterable): As in spaCy's ner.
    incorrect_spans_key (Optional[str]): Where in reference.spans your examples have entities that
        are known to be wrong.
    scorer (Optional[Callable]): Scores a list of examples.
    **settings (Any): See `Settings`; they're attributes too.

    Raises ValueError if a setting is out of range. If the model's state_type isn't "ner", the first
    prediction or update raises it.
    """

    _read: Optional[tuple[object, Actions]] = None

    settings_type = Settings
    settings: Settings

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
        **settings: Any,  # noqa: ANN401
    ) -> None:
        """Check the settings, and keep them."""
        self.name = name
        self.label_lock, self._plan = LabelLock(), Plan()
        check_whole(f'Component "{name}"', "beam_width", beam_width, 1)
        self.settings = Settings(**settings)
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

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Union[Prediction, list]:
        """Find the entities of docs, without setting them.

        Returns a `Prediction`. With a beam, it returns beams, as spaCy's ner does.

        Raises ValueError if you want probabilities and the weights aren't finite.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        settings = self.settings
        warn_unheard(self.name, self.model, docs)
        if self.cfg["beam_width"] != 1:
            settings.check_beam(self.name, self.cfg["beam_width"])
            with self.label_lock:  # spaCy's code reads the labels again and again
                self._keep_labels()
                return super().predict(docs)
        asks = settings.spans_key is not None
        if not any(map(len, docs)):
            labels = self._recognizer().actions.labels
            nothing = no_probabilities(docs, labels) if asks else None
            return Prediction(as_entities([]), labels, nothing)
        recognizer = self._recognizer()
        inputs = recognizer.read(docs)
        if not asks:
            entities = inputs.find(recognizer.compiled)
            if entities is not None:
                return Prediction(entities, recognizer.actions.labels)
        batch = self._compute(docs, inputs, finite=asks)
        entities = find_entities(batch)
        if not asks:
            return Prediction(entities, batch.actions.labels)
        labels = batch.actions.labels
        lattice = build_lattice(batch, entities, settings.temperature, settings.candidates_above)
        probabilities = span_probabilities(
            docs,
            labels,
            (entities, lattice.probabilities),
            (lattice.candidates, lattice.candidate_probabilities),
            lattice.left_out,
            lattice.begins,
        )
        for i, doc in enumerate(docs):  # entities that are there already are certain to begin
            for ent in doc.ents:
                if ent.label_ in labels:
                    probabilities.expected[i, labels.index(ent.label_)] -= 1
        return Prediction(entities, labels, probabilities)

    def score_spans(
        self, docs: Union[Doc, Iterable[Doc]], keys: Optional[KeysOfDocs] = None
    ) -> SpanScores:
        """Compute the probabilities of entities, at any temperature.

        keys (Optional[KeysOfDocs]): The entities of each doc. Null takes all found entities.

        Raises ValueError with a beam, which has no exact probabilities, for unknown labels and
        tokens, and for weights that aren't finite.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        warn_unheard(self.name, self.model, docs)
        if self.cfg["beam_width"] != 1:
            raise ValueError(
                f"beam_width must be 1 for exact probabilities, got {self.cfg['beam_width']} "
                f'(component "{self.name}"). '
                f"{without_beam(self.name)}."
            )
        if not any(map(len, docs)):
            if keys is not None:
                entities_at(docs, keys, self._recognizer().actions.labels)  # checks them
            return SpanScores([], lambda temperature: numpy.zeros(0))
        batch = self._compute(docs, self._recognizer().read(docs), finite=True)
        labels = batch.actions.labels
        entities = find_entities(batch) if keys is None else entities_at(docs, keys, labels)
        probabilities = partial(entity_probabilities, batch, entities)
        return SpanScores(entity_keys(docs, entities, labels), probabilities)

    def set_annotations(
        self, docs: Union[Doc, Iterable[Doc]], prediction: Union[Prediction, list]
    ) -> None:
        """Set doc.ents, and doc.spans if there is a `spans_key`."""
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if not isinstance(prediction, Prediction):
            super().set_annotations(docs, prediction)
            return
        new = spans_of(docs, prediction.entities, prediction.labels)
        for doc, spans in zip(docs, new, strict=True):
            for span in spans:  # tokens keep their ids, also those of no entity so far
                span.kb_id = doc[span.start].ent_kb_id
            set_entities(doc, spans)
        probabilities = prediction.probabilities
        if probabilities is not None and self.spans_key is not None:
            set_span_probabilities(docs, probabilities, prediction.labels, self.spans_key)

    @locked
    def add_label(self, label: Union[str, int]) -> int:
        """Add a label, as spaCy's ner does. Return 1 if it's new, otherwise 0."""
        return super().add_label(label)

    @locked
    def rehearse(self, *args: Any, **kwargs: Any) -> Optional[dict[str, float]]:  # noqa: ANN401
        """Learn from a rehearsal, by spaCy's own code."""
        losses = super().rehearse(*args, **kwargs)
        check_loss(self.name, (losses or {}).get(self.name, 0.0))
        return losses

    @locked
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
        losses (Optional[dict[str, float]]): Losses by component; this component's is added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "Parser.update")
        docs = [eg.predicted for eg in examples]
        # In spaCy's order, because it decides the order of new labels
        both = [*docs, *(eg.reference for eg in examples)]
        if both:
            self._add_labels(numpy.concatenate([doc.to_array(ENT_TYPE) for doc in both]), both)
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
            check_loss(self.name, losses[self.name])
            return losses
        cut_size = self.cfg["update_with_oracle_cut_size"]
        self._resize_weights()
        gold, parts = prepare(examples, self._actions(), key, cut_size)
        if len(parts.begins):
            set_dropout_rate(self.model, drop)
            losses[self.name] += learn(
                self.name,
                self.model,
                docs,
                gold,
                parts,
                state_dropout=self.state_dropout,
                spacy_gradient=self.spacy_gradient,
            )
            check_loss(self.name, losses[self.name])
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "BatchEntityRecognizer":
        """Load the component from a folder, as spaCy's ner does.

        Raises ValueError if a file is damaged, or if labels and weights don't match.
        """
        path, exclude = Path(path), list(exclude)
        with reading(path):
            super().from_disk(path, exclude=[*exclude, "model"])
        if "model" not in exclude:
            with reading(path / "model"):
                self._resize()
                self.model.from_bytes((path / "model").read_bytes())
                if self.model.get_ref("lower").has_param("W"):  # not before it's initialized
                    self._resize_weights()
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of entities, in alphabetical order."""
        with self.label_lock:
            return tuple(sorted(self._actions().labels))

    def _compute(self, docs: list[Doc], inputs: "Inputs", *, finite: bool) -> Batch:
        """Compute what scores are made of.

        finite (bool): Whether to check that the numbers are finite, as probabilities need.
        """
        with self.label_lock:
            self._add_labels(inputs.tokens.table[:, 3], docs)
            weights, actions, *_ = self._recognizer()
        batch = read_batch(weights, inputs.X, rules_of(inputs.tokens, actions), actions)
        if finite and not are_finite([batch.X, *batch.weights.arrays]):
            what = "the vectors of tokens, or the weights,"
            raise not_finite(self.name, what, "no entity has a probability")
        return batch

    def _add_labels(self, types: numpy.ndarray, docs: list[Doc]) -> None:
        """Add new labels of the docs' entities, as spaCy's ner does.

        types (N,) uint64: The entity types of all tokens.
        """
        if types.any():
            present = numpy.unique(types)
            if not numpy.isin(present[present != 0], self._actions().complete, kind="sort").all():
                self._ensure_labels_are_added(docs)

    def _recognizer(self) -> Recognizer:
        """Return the actions, and the weights for exactly these."""
        return self._plan.of(self.model, operations(self.model.ops), self._read_recognizer)

    def _read_recognizer(self, ops: ArrayOps, reading: Reading, model: Model) -> Recognizer:
        with self.label_lock:
            self._resize_weights()
            moves = reading.attribute(self, "moves")
            for name in ("labels", "n_moves"):  # another object if they were set, or another number
                reading.attribute(moves, name)
            weights, actions = weights_of(model, reading), self._actions()
        compiled = ops.recognizer(weights, actions)
        return Recognizer(weights, actions, compiled, vectors_of(model, reading), ops)

    def _resize_weights(self) -> None:
        """Add weights of 0 for actions that were added to `moves` alone.

        Raises ValueError if there are weights for other actions, or for other features.
        """
        weights = weights_of(self.model)
        if weights.nO < self.moves.n_moves:
            self._resize()
            weights = weights_of(self.model)
        if weights.nO != self.moves.n_moves:
            raise ValueError(
                f'Component "{self.name}": its model has weights for {weights.nO} actions, but its '
                f"labels have {self.moves.n_moves}. Add labels with add_label, and load the files "
                "of one pipeline."
            )
        if len(weights.W) not in NUM_FEATURES:
            raise ValueError(
                f'Component "{self.name}" needs a model that scores states by 3 or 6 tokens, '
                f'got one with {len(weights.W)}. Set state_type to "ner" in '
                f"[components.{self.name}.model], and train it anew, or take spaCy's ner."
            )

    def _keep_labels(self) -> None:
        """Keep the texts of labels, which the `nlp.memory_zone` of their doc would forget."""
        for label in {label for of_action in self.moves.labels.values() for label in of_action}:
            self.vocab.strings.add(label, allow_transient=False)

    def _actions(self) -> Actions:
        """List the actions, and cache the list until they change."""
        labels = self.moves.labels  # a new object if they were set anew
        cached = self._read
        if cached is None or cached[0] is not labels or cached[1].nO != self.moves.n_moves:
            self._keep_labels()
            self._read = cached = (labels, read_actions(self.moves))
        return cached[1]
