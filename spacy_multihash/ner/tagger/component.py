"""The component that recognizes entities by tags of all tokens at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Optional

import numpy
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import check_lexeme_norms
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ...common.checks import check_function, is_list, setting_error
from ...common.registered import TOKEN_TAGGER
from ...common.types import Array, Decoder
from ...compute.array_ops import ArrayOps
from ...compute.plans import Reading, read_param
from ..biluo import (
    Constraints,
    Entities,
    entities_of,
    num_labels,
    tag_columns,
    tag_names,
)
from ..entities import (
    CONSTRAINING,
    SpanProbabilities,
    constraints_of,
    lengths_of,
    present_entities,
    span_probabilities,
    without_entities,
)
from ..gold import gold_labels, gold_tags
from ..recognizer import Inputs, Recognizer, are_finite, check_loss, locked, not_finite
from ..settings import TaggerSettings, other_architecture
from .crf import (
    PathSums,
    begin_marginals,
    entity_marginals,
    path_sums,
    probable_entities,
    tagging_loss,
)
from .decode import decode
from .token_tagger import NAME as MODEL_NAME
from .token_tagger import join_vectors, learns_transitions, resize_output

# Key in cfg of labels that were added to trained weights, until examples with them are seen.
_UNSEEN = "unseen_labels"


class Read(NamedTuple):
    """What the component predicts with, at one moment; see `Inputs`.

    labels: The C labels of the nO = 4 * C + 1 tags.
    vectors: Docs -> the vectors of their tokens.
    W (nO, nI), b (nO,): Of the last layer.
    never (nO,) uint8: Whether each tag is of a label without an example so far. None without any.
    transitions (nO, nO): The scores of consecutive tags, or None.
    """

    ops: ArrayOps
    finder: Any
    labels: Sequence[str]
    vectors: Callable[[list[Doc]], Array]
    W: Array
    b: Array
    never: Optional[numpy.ndarray]
    transitions: Optional[Array]
    decoder: Decoder


class ScoredTags(NamedTuple):
    """The scores of N tokens, as `Scored` of a recognizer.

    tags (N, nO) float32: The scores of tags, -inf for labels without an example so far.
    transitions (nO, nO) float32: The scores of consecutive tags, or None.
    """

    tags: Array
    transitions: Optional[Array]
    labels: Sequence[str]
    decoder: Decoder
    lengths: numpy.ndarray
    constraints: Constraints

    def find(self) -> Entities:
        """Find the entities."""
        tags = decode(self.decoder, self.tags, self.lengths, self.transitions, self.constraints)
        return entities_of(tags, self.tags.shape[1])

    def sums(self, temperature: float, constraints: Optional[Constraints] = None) -> PathSums:
        """Sum over all sequences of tags. Subtracting the largest score changes no probability."""
        tags, transitions = self.tags, self.transitions
        tags = (tags.astype("float64") - tags.max(axis=-1, keepdims=True)) / temperature
        if transitions is not None:
            transitions = (transitions.astype("float64") - transitions.max()) / temperature
        return path_sums(tags, self.lengths, transitions, constraints or self.constraints)

    def probabilities(self, entities: Entities, temperature: float) -> numpy.ndarray:
        """Compute the probabilities of entities of the batch, (E,)."""
        return entity_marginals(self.sums(temperature), entities)

    def spans(
        self, docs: list[Doc], entities: Entities, temperature: float, above: Optional[float]
    ) -> SpanProbabilities:
        """Compute the probabilities of the predicted entities, and of candidates."""
        sums, present = self.sums(temperature), present_entities(docs, self.labels)
        listed = [(entities, entity_marginals(sums, entities))]
        if len(present.starts):  # their probabilities ignore that they were given
            free = self.sums(temperature, without_entities(self.constraints, docs))
            listed.append((present, entity_marginals(free, present)))
        if above is not None:
            listed.append(probable_entities(sums, above))
        return span_probabilities(docs, self.labels, listed, begin_marginals(sums))


class EntityTagger(Recognizer, TrainablePipe):
    """Recognize entities by the BILUO tags of all tokens at once (Strubell et al. 2017).

    Like spaCy's ner, it keeps existing entities, and finds no entities that begin with whitespace
    or, if there are sentences, cross the boundary of a sentence.

    vocab (Vocab): The vocab of the pipeline.
    model (Model): Built by spacy-multihash.TokenTagger.v1.
    name (str): The name of the component in the pipeline.
    scorer (Optional[Callable]): Scores a list of examples.
    **settings (Any): See `TaggerSettings`; they're attributes too.

    Raises ValueError if the model doesn't support a setting.
    """

    settings_type = TaggerSettings
    settings: TaggerSettings
    attrs = CONSTRAINING

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
        self.vocab, self.model, self.scorer = vocab, model, scorer
        self.cfg: dict[str, list[str]] = {"labels": []}
        if getattr(model, "name", None) != MODEL_NAME:
            raise other_architecture(name, TOKEN_TAGGER, model)
        check_function(f'Component "{name}"', "scorer", scorer)
        self._begin(name, settings)

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
        given = gold_labels(get_examples()) if labels is None else labels
        is_list = not isinstance(given, (str, Mapping))
        given = list(given)
        if not is_list or not all(isinstance(label, str) for label in given):
            expected = "a list of strings, as spacy init labels saves those of tagger_ner"
            advice = "Give the labels in a list."
            raise setting_error(f'Component "{self.name}"', "labels", expected, labels, advice)
        for label in given:
            self.add_label(label)
        if not self.labels:
            raise ValueError(
                f"{Errors.E143.format(name=self.name)} No example has an entity. Check that the "
                "training corpus has gold entities (doc.ents)."
            )
        self.see_labels(self.labels)
        nO = len(tag_names(self.labels))
        if self.model.maybe_get_dim("nO") not in (None, nO):
            raise ValueError(
                f'Component "{self.name}": {len(self.labels)} labels need {nO} tags, but its model '
                f"has nO = {self.model.get_dim('nO')}. Set nO = null in the model."
            )
        self.model.set_dim("nO", nO)
        self.model.initialize(X=[eg.predicted for eg in islice(get_examples(), 10)])

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
        if not any(map(len, docs)):
            return losses
        self._check_initialized()
        self.see_labels(gold_labels(examples))
        set_dropout_rate(self.model, drop)
        scores, backprop = self.model.begin_update(docs)
        transitions = self.model.get_param("transitions") if self.learns_transitions else None
        gold = gold_tags(examples, self.labels)
        loss, d_scores, d_transitions = tagging_loss(scores, lengths_of(docs), transitions, gold)
        check_loss(self.name, loss)
        if d_transitions is not None:
            self.model.inc_grad("transitions", d_transitions)
        backprop(d_scores)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def _check_initialized(self) -> None:
        if not self.has_weights():
            raise ValueError(Errors.E109.format(name=self.name))

    @locked
    def _read_model(self, ops: ArrayOps, reading: Reading, model: Model) -> Read:
        self._check_initialized()
        reading.attribute(self, "settings")
        cfg, decoder = reading.attribute(self, "cfg"), self.decoder
        labels = tuple(reading.entry(cfg, "labels"))
        unseen = [labels.index(label) for label in reading.entry(cfg, _UNSEEN)]
        output: Any = reading.ref(model, "output_layer")
        W, b = read_param(reading, output, "W", 2), reading.param(output, "b")
        nO, never, pairs, finder = len(tag_names(labels)), None, None, None
        if len(W) != nO:
            self._check_weights()
        if unseen:
            never = numpy.zeros(nO, dtype="uint8")
            for columns in tag_columns(nO):
                never[columns][unseen] = 1
        if self.learns_transitions:
            pairs = reading.param(model, "transitions")
        if decoder != "greedy":
            finder = ops.tagger(W, b, never, pairs if decoder == "crf" else None)
        vectors = partial(_vectors, model, reading.ref(model, "tok2vec"))
        return Read(ops, finder, labels, vectors, W, b, never, pairs, decoder)

    def _score(self, docs: list[Doc], inputs: Inputs, *, probable: bool) -> ScoredTags:
        read, X, attrs, lengths = inputs
        tags, pairs = read.ops.affine(X, read.W, read.b), read.transitions
        used = pairs is not None and (probable or read.decoder == "crf")
        if not are_finite([tags]) or (used and not bool((pairs < numpy.inf).all())):  # -inf forbids
            raise not_finite(self.name, "the scores of tags", "no entity can be found")
        if read.never is not None:
            tags[:, read.never.nonzero()[0]] = -numpy.inf
        constraints = constraints_of(attrs, lengths)
        return ScoredTags(tags, pairs, read.labels, read.decoder, lengths, constraints)

    def _load(self, load: Callable, *args: Any) -> Any:  # noqa: ANN401
        def load_labels(exclude: list[str]) -> None:
            if "cfg" not in exclude:
                self.cfg.clear()
                self.cfg["labels"] = []
            load(exclude=exclude)

        return super()._load(load_labels, *args)

    def _check_cfg(self) -> None:
        where = f'Component "{self.name}"'
        for name in ("labels", _UNSEEN):
            labels = self.cfg.get(name, [])
            if not is_list(labels) or not all(isinstance(label, str) for label in labels):
                raise setting_error(where, name, "a list of strings", labels)
            if len(set(labels)) < len(labels) or not set(labels) <= set(self.labels):
                raise setting_error(where, name, "labels of the component, each once", labels)

    def _make_room(self) -> None:
        nO = len(tag_names(self.labels))
        if (self.model.maybe_get_dim("nO") or nO) < nO:
            resize_output(self.model, nO)

    def _check_weights(self) -> None:
        own = num_labels(self.model.get_dim("nO")) if self.has_weights() else len(self.labels)
        if own != len(self.labels):
            raise ValueError(
                f'Component "{self.name}": the weights are for {own} labels, '
                f"but its cfg has {len(self.labels)}: {', '.join(self.labels) or 'none'}. Is the "
                'file "cfg" missing? Copy the whole folder of the pipeline again, or save it anew.'
            )


def _vectors(model: Model, tok2vec: Model, docs: list[Doc]) -> Array:
    return join_vectors(model, tok2vec.predict(docs))
