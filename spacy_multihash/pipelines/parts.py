"""What we registered, and what spaCy has in its place: the table of `accelerate` and `restore`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from spacy.pipeline import AttributeRuler, DependencyParser, EntityRecognizer
from thinc.api import Model, noop

from ..common import registered
from ..compute.hashing import spacy_seeds
from ..embed.architectures import MULTI_HASH_EMBED, MULTI_WEIGHTED_HASH_EMBED
from ..encode.maxout_window_encoder import NAME as ENCODER_NODE
from ..ner.settings import BatchSettings
from ..ner.transition import states
from ..ner.transition.component import BatchEntityRecognizer
from ..parse import actions
from ..parse.component import BatchDependencyParser
from .attribute_ruler import IndexedAttributeRuler
from .config import EMBEDS, ENCODERS
from .weights import (
    embed_from_spacy,
    embed_settings,
    embed_to_spacy,
    encoder_from_spacy,
    encoder_settings,
    encoder_to_spacy,
)

Convert = Callable[[Model], Model]


class Layer(NamedTuple):
    """A layer of ours that computes the same as a layer of spaCy.

    names (Sequence[str]): Our architectures that build it. `accelerate` writes the first.
    nodes (Sequence[str]): The names of its nodes.
    spacys (Sequence[str]): The architectures of spaCy's layer. `restore` writes the last.
    from_spacy, to_spacy (Convert): Build the other layer, with the same weights.
    settings_of (Callable[[Model], Optional[dict[str, Any]]]): Reads the settings of a node, None if
        it isn't spaCy's layer.
    settings (Sequence[str]): The settings that both have.
    added (Callable[[Mapping[str, Any]], dict[str, Any]]): Our settings that spaCy's layer lacks,
        for settings of spaCy's layer.
    """

    names: Sequence[str]
    nodes: Sequence[str]
    spacys: Sequence[str]
    from_spacy: Convert
    to_spacy: Convert
    settings_of: Callable[[Model], Optional[dict[str, Any]]]
    settings: Sequence[str]
    added: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda settings: {}


def _hashing(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"num_hashes": 4, "seeds": spacy_seeds(len(settings["attrs"])), "table_dropout": True}


EMBED = Layer(
    (
        registered.MULTI_HASH_EMBED,
        registered.REPORT_MULTI_FEWER_HASH_EMBED,
        registered.MULTI_WEIGHTED_HASH_EMBED,
    ),
    (MULTI_HASH_EMBED, MULTI_WEIGHTED_HASH_EMBED),
    EMBEDS,
    embed_from_spacy,
    embed_to_spacy,
    embed_settings,
    ("width", "attrs", "rows", "include_static_vectors"),
    _hashing,
)
ENCODER = Layer(
    (registered.MAXOUT_WINDOW_ENCODER,),
    (ENCODER_NODE,),
    ENCODERS,
    encoder_from_spacy,
    encoder_to_spacy,
    encoder_settings,
    ("width", "window_size", "maxout_pieces", "depth"),
)
LAYERS = (EMBED, ENCODER)


class Component(NamedTuple):
    """A component of ours that does the same as a component of spaCy.

    factory (str), kind (type): Ours.
    spacy_factories (Sequence[str]), spacy_kind (type): spaCy's. The second factory has a beam.
    copy (Callable[[type, Any], Any]): Makes a component of either kind from a component of the
        other kind, which doesn't change.
    state_type (str), num_features (Sequence[int]): Of a transition system, the setting of its
        model, and how many tokens our loop can score states by.
    """

    factory: str
    kind: type
    spacy_factories: Sequence[str]
    spacy_kind: type
    copy: Callable[[Any, Any], Any]
    state_type: str = ""
    num_features: Sequence[int] = ()


def _copy_parser(kind: Any, pipe: Any) -> Any:  # noqa: ANN401
    # spaCy's constructor gives the model as many outputs as there are actions, and new layers even
    # if the number is right. So the new component gets the model afterwards.
    stand_in: Model = noop()
    stand_in.attrs["resize_output"] = lambda model, nO: model
    new = kind(pipe.vocab, stand_in, pipe.name, pipe.moves, scorer=pipe.scorer)
    new.model = pipe.model
    new.cfg = pipe.cfg
    new._multitasks = pipe._multitasks
    new._rehearsal_model = pipe._rehearsal_model
    return new


def _copy_ruler(kind: Any, pipe: Any) -> Any:  # noqa: ANN401
    new = kind(pipe.vocab, pipe.name, validate=pipe.validate, scorer=pipe.scorer)
    new.add_patterns(pipe.patterns)
    return new


NER = Component(
    registered.BATCH_NER,
    BatchEntityRecognizer,
    ("ner", "beam_ner"),
    EntityRecognizer,
    _copy_parser,
    "ner",
    states.NUM_FEATURES,
)
PARSER = Component(
    registered.BATCH_PARSER,
    BatchDependencyParser,
    ("parser", "beam_parser"),
    DependencyParser,
    _copy_parser,
    "parser",
    actions.NUM_FEATURES,
)
RULER = Component(
    registered.INDEXED_ATTRIBUTE_RULER,
    IndexedAttributeRuler,
    ("attribute_ruler",),
    AttributeRuler,
    _copy_ruler,
)
COMPONENTS = (NER, PARSER, RULER)
# The settings of batch_ner alone, with the values that `accelerate` gives them.
NER_SETTINGS = vars(BatchSettings())


# Other functions of ours that spaCy's config can do without: what comes in the place of a section,
# and what's lost.
OTHERS: Mapping[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    registered.ADAM: (lambda section: {**section, "@optimizers": "Adam.v1"}, ""),
    registered.CHAR_NOISE: (
        lambda section: None,
        "if you train it again, its texts get no noise",
    ),
    registered.COMPRESSED_VECTORS: (lambda section: {"@vectors": "spacy.Vectors.v1"}, ""),
    registered.KEEP_COMPRESSED: (
        lambda section: section.get("after_creation"),
        "saved again, its files are large",
    ),
    registered.SEEN_UNSEEN_SCORER: (
        lambda section: {"@scorers": "spacy.ner_scorer.v1"},
        "seen and unseen entities aren't scored apart",
    ),
    **dict.fromkeys(
        (
            registered.INIT_TABLES,
            registered.LOAD_VECTORS,
            registered.REQUIRE_PACKAGE,
            registered.SET_ATTR,
            registered.USE_PRODUCT_OPS,
        ),
        (lambda section: None, ""),
    ),
}
_LOOKUP = "spaCy hashes values, and has no tables that look them up"
_TAGS = "spaCy's ner predicts transitions, not tags of tokens"
# Why spaCy has nothing in the place of a layer or component.
REASONS: Mapping[str, str] = {
    registered.ITERATED_DILATED_ENCODER: "spaCy has no dilated convolutions",
    registered.META_VECTORS: "spaCy embeds a single table of static vectors",
    registered.MULTI_EMBED: _LOOKUP,
    registered.MULTI_WEIGHTED_HASH_EMBED: "spaCy's hash embedding has no weights of rows",
    registered.REPORT_MULTI_EMBED: _LOOKUP,
    registered.TAGGER_NER: _TAGS,
    registered.TEXTCAT_HASH_EMBED: "spaCy has no embeddings of n-grams of words",
    registered.TOKEN_TAGGER: _TAGS,
}


def why_not_restored(name: str, section: Mapping[str, Any]) -> Optional[str]:
    """Say why spaCy has nothing in the place of a section of ours; None if it may have."""
    if name == registered.MULTI_WEIGHTED_HASH_EMBED and section.get("train_importance") is False:
        return None  # the weights are all 1
    return REASONS.get(name)


def layer_of(name: str) -> Optional[Layer]:
    """Return the layer of an architecture, ours or spaCy's; None for any other."""
    return next((layer for layer in LAYERS if name in (*layer.names, *layer.spacys)), None)


def component_of(pipe: object) -> Optional[Component]:
    """Return what a component, ours or spaCy's, is or could be; None for any other."""
    return next((c for c in COMPONENTS if isinstance(pipe, c.spacy_kind)), None)
