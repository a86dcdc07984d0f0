"""Copy weights between spaCy's layers and ours, and replace nodes."""

from collections.abc import Iterable
from typing import Any, Optional

import numpy
from spacy.ml.models.tok2vec import MaxoutWindowEncoder, MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import Model, set_dropout_rate
from thinc.layers.concatenate import forward as forward_concatenate
from thinc.types import Floats2d

from ..common.arguments import checked
from ..common.checks import is_list, is_number, is_whole
from ..common.nodes import (
    EXPAND_WINDOW,
    EXTRACT_FEATURES,
    HASH_EMBED,
    LAYER_NORM,
    MAXOUT,
    STATIC_VECTORS,
    find_nodes,
)
from ..compute.hashing import spacy_seeds
from ..compute.maxout_norm import NAME as MAXOUT_NORM
from ..embed.architectures import build_multi_hash_embed_v1
from ..embed.embeddings import TABLE_EMBED
from ..embed.rows import HASH_NAME
from ..embed.static_vectors import READ_VECTORS
from ..embed.unique_tokens import model_features
from ..encode.architectures import build_maxout_window_encoder_v1
from ..encode.maxout_window_encoder import NAME as MAXOUT_WINDOW_ENCODER

EmbedModel = Model[list[Doc], list[Floats2d]]
EncoderModel = Model[list[Floats2d], list[Floats2d]]
# Old nodes, each with its replacement.
Swaps = list[tuple[Model, Model]]

_EMBED = 'For a Tok2Vec component, give its embed layer: model.get_ref("embed").'
_ENCODE = 'For a Tok2Vec component, give its encoder: model.get_ref("encode").'
# A parameter, by the name of its node: in spaCy's layers, and in ours.
_SAME = (
    ((HASH_EMBED, "E"), (TABLE_EMBED, "E")),
    ((STATIC_VECTORS, "W"), (STATIC_VECTORS, "W")),
    # One of our nodes replaces two of spaCy's.
    ((MAXOUT, "W"), (MAXOUT_NORM, "W")),
    ((MAXOUT, "b"), (MAXOUT_NORM, "b")),
    ((LAYER_NORM, "G"), (MAXOUT_NORM, "G")),
    ((LAYER_NORM, "b"), (MAXOUT_NORM, "beta")),
)


@checked
def embed_from_spacy(embed: EmbedModel) -> EmbedModel:
    """Build our MultiHashEmbed from a spacy.MultiHashEmbed.v2, with the same weights.

    Predictions stay the same, and so does dropout in training (table_dropout = true). The weights
    are copied, so spaCy's layer doesn't change.

    embed (Model[list[Doc], list[Floats2d]]): The layer, initialized or not: for a Tok2Vec
        component, model.get_ref("embed").
    RETURNS (EmbedModel): The new layer.

    Raises ValueError if it's neither a spacy.MultiHashEmbed.v2 nor another spaCy layer that
    computes the same function.
    """
    settings = embed_settings(embed)
    if settings is None:
        raise ValueError(
            f"Expected the model of a spacy.MultiHashEmbed.v2, got '{embed.name}', which has "
            f"other layers, sizes or settings. {_EMBED}"
        )
    seeds = spacy_seeds(len(settings["attrs"]))
    ours = build_multi_hash_embed_v1(**settings, seeds=seeds, table_dropout=True)
    return _copy(embed, ours, _SAME)


@checked
def embed_to_spacy(embed: EmbedModel) -> EmbedModel:
    """Build a spacy.MultiHashEmbed.v2 from our MultiHashEmbed, with the same weights.

    In training, spaCy's layer always applies dropout to each table's vectors, even if yours was
    built with table_dropout = false.

    The seeds of the hash functions are attributes of spaCy's layers. They're saved with the
    weights, and a layer built with other seeds takes them over when it loads the weights.

    embed (Model[list[Doc], list[Floats2d]]): The layer, with num_hashes = 4.
    RETURNS (EmbedModel): The new layer.

    Raises ValueError if its settings or features aren't supported by spaCy's layer.
    """
    hashes = find_nodes(embed, HASH_NAME)
    if features := list(model_features(embed)):
        raise ValueError(
            f"spacy.MultiHashEmbed.v2 embeds attributes of spaCy's alone, but '{embed.name}' has "
            f"the features {', '.join(features)}. Train anew without them, with PREFIX in the "
            "place of ORTH[:1] and SUFFIX in the place of ORTH[-3:]."
        )
    if find_nodes(embed, READ_VECTORS):
        raise ValueError(
            f"spacy.MultiHashEmbed.v2 embeds the static vectors of the vocab alone, but "
            f"'{embed.name}' has a MetaVectors of several tables. Train anew with vectors = null."
        )
    num_hashes = [node.attrs["num_hashes"].value for node in hashes]
    if {*num_hashes} != {4}:
        raise ValueError(
            f"spacy.MultiHashEmbed.v2 has 4 hashes, but '{embed.name}' has num_hashes = "
            f"{num_hashes}. Train anew with num_hashes = 4."
        )
    settings: dict[str, Any] = {
        "width": next((node.get_dim("nO") for node in find_nodes(embed, TABLE_EMBED)), 1),
        "attrs": [node.attrs["attr"].value for node in hashes],
        "rows": [node.attrs["nV"].value for node in hashes],
        "include_static_vectors": bool(find_nodes(embed, STATIC_VECTORS)),
    }
    seeds = [node.attrs["seed"].value for node in hashes]
    expected = build_multi_hash_embed_v1(**settings, seeds=seeds)
    if [n.name for n in expected.walk()][1:] != [n.name for n in embed.walk()][1:]:
        raise ValueError(
            f"Expected the model of a MultiHashEmbed.v1, got '{embed.name}', which has other "
            f"layers. {_EMBED}"
        )
    theirs = MultiHashEmbed(**settings)
    for node, seed in zip(find_nodes(theirs, HASH_EMBED), seeds, strict=True):
        node.attrs["seed"] = seed
    return _copy_back(embed, theirs)


@checked
def encoder_from_spacy(encoder: EncoderModel) -> EncoderModel:
    """Build our MaxoutWindowEncoder from a spacy.MaxoutWindowEncoder.v2, with the same weights.

    Predictions stay the same. The weights are copied, so spaCy's layer doesn't change.

    encoder (Model[list[Floats2d], list[Floats2d]]): The layer, initialized or not: for a Tok2Vec
        component, model.get_ref("encode").
    RETURNS (EncoderModel): The new layer.

    Raises ValueError if it isn't a spacy.MaxoutWindowEncoder.v2.
    """
    settings = encoder_settings(encoder)
    if settings is None:
        raise ValueError(
            "Expected the model of a spacy.MaxoutWindowEncoder.v2, got "
            f"'{encoder.name}', which has other layers, sizes or settings. {_ENCODE}"
        )
    return _copy(encoder, build_maxout_window_encoder_v1(**settings), _SAME)


@checked
def encoder_to_spacy(encoder: EncoderModel) -> EncoderModel:
    """Build a spacy.MaxoutWindowEncoder.v2 from our MaxoutWindowEncoder, with the same weights.

    encoder (Model[list[Floats2d], list[Floats2d]]): The layer.
    RETURNS (EncoderModel): The new layer.

    Raises ValueError if it isn't our MaxoutWindowEncoder.
    """
    if encoder.name != MAXOUT_WINDOW_ENCODER:
        raise ValueError(
            f"Expected the model of a MaxoutWindowEncoder.v1, got '{encoder.name}'. {_ENCODE}"
        )
    theirs = MaxoutWindowEncoder(
        width=encoder.get_dim("nO"),
        window_size=encoder.attrs["window_size"].value,
        maxout_pieces=encoder.layers[0].get_dim("nP"),
        depth=len(encoder.layers),
    )
    return _copy_back(encoder, theirs)


def embed_settings(node: Model) -> Optional[dict[str, Any]]:
    """Return the settings of a spacy.MultiHashEmbed.v2; None for any other layer."""
    hashes, extractors = find_nodes(node, HASH_EMBED), find_nodes(node, EXTRACT_FEATURES)
    attrs = extractors[0].attrs.get("columns") if extractors else None
    if not hashes or not is_list(attrs) or len(attrs) != len(hashes):
        return None
    if not all(isinstance(attr, (int, str)) for attr in attrs):
        return None
    settings: dict[str, Any] = {
        "width": hashes[0].maybe_get_dim("nO"),
        "attrs": attrs,
        "rows": [table.maybe_get_dim("nV") for table in hashes],
        "include_static_vectors": bool(find_nodes(node, STATIC_VECTORS)),
    }
    if None in (settings["width"], *settings["rows"]):
        return None
    return settings if is_built_like(MultiHashEmbed(**settings), node) else None


def encoder_settings(node: Model) -> Optional[dict[str, Any]]:
    """Return the settings of a spacy.MaxoutWindowEncoder.v2; None for any other layer."""
    maxouts, windows = find_nodes(node, MAXOUT), find_nodes(node, EXPAND_WINDOW)
    if not (maxouts and windows):
        return None
    settings: dict[str, Any] = {
        "width": maxouts[0].maybe_get_dim("nO"),
        "window_size": windows[0].attrs.get("window_size"),
        "maxout_pieces": maxouts[0].maybe_get_dim("nP"),
        "depth": len(maxouts),
    }
    if not all(is_whole(value, name != "window_size") for name, value in settings.items()):
        return None
    return settings if is_built_like(MaxoutWindowEncoder(**settings), node) else None


Parameter = tuple[str, str]  # the names of a node and of its parameter


def _copy(source: Model, target: Model, same: Iterable[tuple[Parameter, Parameter]]) -> Model:
    """Copy weights, missing dimensions and the dropout rate, on the device of the source."""
    for node in target.walk():
        node.ops = source.ops
    for (old_name, old_param), (new_name, new_param) in same:
        for old, new in zip(
            find_nodes(source, old_name), find_nodes(target, new_name), strict=True
        ):
            for dim in new.dim_names:
                if new.has_dim(dim) is None and old.has_dim(dim):
                    new.set_dim(dim, old.get_dim(dim))
            if old.has_param(old_param):
                new.set_param(new_param, old.get_param(old_param).copy())
    # The same in all nodes. It's saved with the weights.
    rates = [n.attrs.get("dropout_rate") for n in source.walk()]
    return set_dropout_rate(target, max(filter(is_number, rates), default=0.0))


def _copy_back(ours: Model, theirs: Model) -> Model:
    """Copy weights to spaCy's layer, and set the width of its layers as initialization does."""
    _copy(ours, theirs, [(our, their) for their, our in _SAME])
    for node in theirs.walk(order="dfs_post"):
        widths = [layer.get_dim("nO") for layer in node.layers if layer.has_dim("nO")]
        if widths and node.has_dim("nO") is None:
            is_sum = node._func is forward_concatenate
            node.set_dim("nO", sum(widths) if is_sum else widths[-1])
    return theirs


# Attrs that don't affect predictions. spaCy sets the dropout rate for each update. The receptive
# field only matters for `pad` of Tok2Vec.v1, which is compared.
_UNCOMPARED = ("dropout_rate", "receptive_field")


def swap_nodes(model: Model, swaps: Swaps) -> Model:
    """Replace old nodes with new nodes, in layers and in references; return the root.

    thinc's own replace_node raises an error for a node with an unset reference.
    """
    new_of = {id(old): new for old, new in swaps}
    for node in list(model.walk()):
        node.layers[:] = [new_of.get(id(layer), layer) for layer in node.layers]
    # Tok2Vec.v1 refers to the layer inside the encoder's with_array.
    new_of.update({id(old.layers[0]): new for old, new in swaps if _is_wrapper(old)})
    root = new_of.get(id(model), model)
    for node in root.walk():
        for name in node.ref_names:
            ref = node.maybe_get_ref(name)
            if id(ref) in new_of:
                node.set_ref(name, new_of[id(ref)])
    return root


def is_built_like(reference: Model, node: Model) -> bool:
    """Return whether a node computes the same function as a new layer, apart from the weights.

    Names say too little, and they may change, so this compares functions, sizes and settings, and
    then the layers inside in the same way.
    """
    attrs, expected = (
        {key: value for key, value in layer.attrs.items() if key not in _UNCOMPARED}
        for layer in (node, reference)
    )
    return (
        node._func is reference._func  # it has no public name in thinc
        and node.param_names == reference.param_names
        and not node.shims
        and node.dim_names == reference.dim_names
        and all(
            not reference.has_dim(dim) or node.maybe_get_dim(dim) == reference.get_dim(dim)
            for dim in reference.dim_names
        )
        and attrs.keys() == expected.keys()
        and all(is_same(attrs[key], expected[key]) for key in expected)
        and len(node.layers) == len(reference.layers)
        and all(map(is_built_like, reference.layers, node.layers))
    )


def is_same(value: object, expected: object) -> bool:
    """Compare attrs. A file may have an array, or a list of arrays, whose == isn't a bool."""
    pair: list[Any] = [value, expected]
    return not isinstance(value, numpy.ndarray) and numpy.array_equal(*pair)


def is_ours(node: Model) -> bool:
    """Return whether a function of this package computes a node."""
    module = getattr(node._func, "__module__", None) or ""  # it has no public name in thinc
    return module.partition(".")[0] == __name__.partition(".")[0]


def why_not_swapped(model: Model, swaps: Swaps) -> Optional[str]:
    """Say which reference from another node prevents a replacement; None if there is none."""
    replaced = [old for old, _ in swaps]
    inside = {id(node) for old in replaced for node in old.walk() if node is not old}
    inside -= {id(old.layers[0]) for old in replaced if _is_wrapper(old)}
    for node in model.walk():
        for name in node.ref_names:
            ref = node.maybe_get_ref(name)
            if id(ref) in inside:
                return f"the layer '{node.name}' refers to a part of it, as '{name}'"
            # set_ref only accepts nodes below the layer, but a layer can be built with any.
            if ref in replaced and ref not in node.walk():
                return f"the layer '{node.name}', which is not above it, refers to it as '{name}'"
    return None


def layout_of(model: Model) -> list[tuple[Any, ...]]:
    """Describe the layout that models must share to load each other's weights."""
    nodes = list(model.walk())
    index = {id(node): i for i, node in enumerate(nodes)}
    return [
        (
            [index[id(layer)] for layer in node.layers],
            {name: index.get(id(node.maybe_get_ref(name))) for name in node.ref_names},
            node.param_names,
            len(node.shims),
        )
        for node in nodes
    ]


def _is_wrapper(node: Model) -> bool:
    return len(node.layers) == 1 and "pad" in node.attrs
