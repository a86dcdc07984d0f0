"""The component that recognizes entities as spaCy's ner does, by a compiled loop over tokens."""

from collections.abc import Callable, Iterable, Sequence
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

from ...compute.array_ops import ArrayOps
from ...compute.ops import operations
from ...compute.plans import Plan, Reading
from ..entities import KeysOfDocs, SpanScores
from ..recognizer import (
    Inputs,
    Recognizer,
    are_finite,
    check_loss,
    locked,
    not_finite,
    warn_unheard,
)
from ..settings import BatchSettings, check_cfg
from .probabilities import ScoredStates
from .rules import ATTRS, Actions, read_actions, rules_of
from .states import (
    NUM_FEATURES,
    Vectors,
    Weights,
    check_actions,
    read_batch,
    vectors_of,
    weights_of,
)
from .training import has_gold, learn, prepare


class Read(NamedTuple):
    """What the component predicts with, at one moment; see `Inputs`.

    vectors: Docs -> the vectors of their tokens, by the layers before `lower`.
    """

    ops: ArrayOps
    finder: Any
    labels: Sequence[str]
    vectors: Vectors
    weights: Weights
    actions: Actions


class BatchEntityRecognizer(Recognizer, EntityRecognizer):
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
    **settings (Any): See `BatchSettings`; they're attributes too.

    Raises ValueError if a setting is out of range. If the model's state_type isn't "ner", the first
    prediction or update raises it.
    """

    settings_type = BatchSettings
    settings: BatchSettings
    attrs = ATTRS

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
        self._begin(name, settings)
        self._action_plan = Plan()
        EntityRecognizer.__init__(
            self,
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
        self._check_cfg()

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Any:  # noqa: ANN401
        """Predict the entities of docs, without setting them.

        Returns a `Prediction`. With a beam, it returns beams, as spaCy's ner does.

        Raises ValueError if you want probabilities, and there's a beam, which has none, or the
        weights aren't finite.
        """
        if self.cfg["beam_width"] == 1:
            return super().predict(docs)
        if self.spans_key is not None:
            raise self._has_beam(f'spans_key = "{self.spans_key}"', ", or set spans_key = null")
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        warn_unheard(self.name, self._upstream, self.model, docs)
        with self.label_lock:  # spaCy's code reads the labels again and again
            self._keep_labels()
            return EntityRecognizer.predict(self, docs)

    def score_spans(
        self, docs: Union[Doc, Iterable[Doc]], keys: Optional[KeysOfDocs] = None
    ) -> SpanScores:
        """Compute the probabilities of entities of docs, at any temperature.

        keys (Optional[KeysOfDocs]): The entities of each doc. Null takes all predicted entities.

        Raises ValueError with a beam, which has no exact probabilities, for unknown labels and
        tokens, and for weights that aren't finite.
        """
        if self.cfg["beam_width"] != 1:
            raise self._has_beam("score_spans")
        return super().score_spans(docs, keys)

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
        examples, cfg, key = list(examples), self.cfg, self.incorrect_spans_key
        validate_examples(examples, "Parser.update")
        docs = [eg.predicted for eg in examples]
        # In spaCy's order, because it decides the order of new labels
        for_labels = [*docs, *(eg.reference for eg in examples)]
        if for_labels:
            types = numpy.concatenate([doc.to_array(ENT_TYPE) for doc in for_labels])
            self._add_labels(types, for_labels)
        for multitask in self._multitasks:
            multitask.update(examples, drop=drop, sgd=sgd)
        if not any(has_gold(example, key) for example in examples):
            return losses
        set_dropout_rate(self.model, drop)
        if cfg["beam_width"] >= 2 and numpy.random.random() < cfg["beam_update_prob"]:
            beam = {name: cfg[name] for name in ("beam_width", "beam_density")}
            self.update_beam(examples, sgd=sgd, losses=losses, **beam)
            check_loss(self.name, losses[self.name])
            return losses
        self._resize_weights()
        gold, parts = prepare(examples, self._actions(), key, cfg["update_with_oracle_cut_size"])
        if len(parts.begins):
            losses[self.name] += learn(
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

    def _check_cfg(self) -> None:
        check_cfg(self.name, self.cfg)

    def _make_room(self) -> None:
        self._resize()

    def _check_weights(self) -> None:
        if self.model.get_ref("lower").has_param("W"):  # not before it's initialized
            self._resize_weights()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of entities, in alphabetical order."""
        with self.label_lock:
            return tuple(sorted(self._actions().labels))

    def _has_beam(self, asked: str, other: str = "") -> ValueError:
        return ValueError(
            f'Component "{self.name}": {asked} needs beam_width = 1, got '
            f"{self.cfg['beam_width']}: beams have no exact probabilities. Set "
            f"nlp.get_pipe(\"{self.name}\").cfg['beam_width'] = 1{other}."
        )

    def _score(self, docs: list[Doc], inputs: Inputs, *, probable: bool) -> ScoredStates:
        with self.label_lock:
            self._add_labels(inputs.attrs[:, 3], docs)
            read = self._read()
        rules = rules_of(inputs.attrs, inputs.lengths, read.actions)
        batch = read_batch(read.weights, inputs.X, rules, read.actions)
        if probable and not are_finite([batch.X, *batch.weights.arrays]):
            what = "the vectors of tokens, or the weights,"
            raise not_finite(self.name, what, "no entity has a probability")
        return ScoredStates(*batch)

    def _add_labels(self, types: numpy.ndarray, docs: list[Doc]) -> None:
        """Add new labels of the docs' entities, whose tokens have these types (N,) uint64."""
        if types.any():
            present = numpy.unique(types)
            if not numpy.isin(present[present != 0], self._actions().complete, kind="sort").all():
                self._ensure_labels_are_added(docs)

    @locked
    def _read_model(self, ops: ArrayOps, reading: Reading, model: Model) -> Read:
        self._resize_weights()
        weights, actions = weights_of(model, reading), self._read_actions(ops, reading, model)
        finder, vectors = ops.recognizer(weights, actions), vectors_of(model, reading, ops)
        return Read(ops, finder, actions.labels, vectors, weights, actions)

    def _resize_weights(self) -> None:
        """Add weights of 0 for actions that were added to `moves` alone.

        Raises ValueError if there are weights for other actions, or for other features.
        """
        weights = weights_of(self.model)
        if weights.nO < self.moves.n_moves:
            self._resize()
            weights = weights_of(self.model)
        check_actions(self.name, weights, self.moves)
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
        """List the actions, now or before."""
        return self._action_plan.of(self.model, operations(self.model.ops), self._read_actions)

    def _read_actions(self, ops: ArrayOps, reading: Reading, model: Model) -> Actions:
        moves = reading.attribute(self, "moves")
        for name in ("labels", "n_moves"):  # another object if they were set, or another number
            reading.attribute(moves, name)
        self._keep_labels()
        return read_actions(moves)
