"""Weights copied from spaCy's layers to ours and back, and nodes that replace others."""

from collections.abc import Iterable, Iterator
from typing import Any, Optional

from spacy.ml.models.tok2vec import MaxoutWindowEncoder, MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..common.checks import check_type
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
from ..embed.read_vectors import NAME as READ_VECTORS
from ..embed.rows import HASH_NAME
from ..embed.table_embed import NAME as TABLE_EMBED
from ..embed.unique_tokens import model_features
from ..encode.architectures import build_maxout_window_encoder_v1
from ..encode.maxout_window_encoder import NAME as MAXOUT_WINDOW_ENCODER

EmbedModel = Model[list[Doc], list[Floats2d]]
EncoderModel = Model[list[Floats2d], list[Floats2d]]

_EMBED = 'For a Tok2Vec component, give its embed layer: model.get_ref("embed").'
_ENCODE = 'For a Tok2Vec component, give its encoder: model.get_ref("encode").'
# Parameters of spaCy's two nodes, and their names in our one node, MaxoutNorm.
_MAXOUT_PARAMS = {"W": "W", "b": "b"}
_LAYER_NORM_PARAMS = {"G": "G", "b": "beta"}


def embed_from_spacy(embed: EmbedModel) -> EmbedModel:
    """Build our MultiHashEmbed from a spacy.MultiHashEmbed.v2, with the same weights.

    Predictions are the same, and so is the dropout of training (table_dropout = true). spaCy's
    layer stays as it is: its weights are copied.

    embed (Model[list[Doc], list[Floats2d]]): The layer, initialized or not: for a Tok2Vec
        component, model.get_ref("embed").
    RETURNS (EmbedModel): The new layer.

    Raises TypeError for anything but a Model.
    Raises ValueError if it is not a spacy.MultiHashEmbed.v2, or another layer of spaCy's that
    computes the same function.
    """
    check_type("embed_from_spacy", "embed", embed, Model, advice=_EMBED)
    hashes = find_nodes(embed, HASH_EMBED)
    settings = _spacy_settings(embed, hashes)
    if settings is None or not is_built_like(MultiHashEmbed(**settings), embed):
        raise ValueError(
            f"Expected the model of a spacy.MultiHashEmbed.v2, was given '{embed.name}', which has "
            f"other layers, sizes or settings. {_EMBED}"
        )
    seeds = spacy_seeds(len(hashes))
    ours = build_multi_hash_embed_v1(**settings, seeds=seeds, table_dropout=True)
    _copy(_embed_pairs(embed, ours))
    return ours


def embed_to_spacy(embed: EmbedModel) -> EmbedModel:
    """Build a spacy.MultiHashEmbed.v2 from our MultiHashEmbed, with the same weights.

    spaCy's layer always drops entries of each table's vectors in training, even if ours was built
    with table_dropout = false.

    embed (Model[list[Doc], list[Floats2d]]): The layer, with num_hashes = 4 and spaCy's seeds.
    RETURNS (EmbedModel): The new layer.

    Raises TypeError for anything but a Model.
    Raises ValueError if it has settings or features that spaCy's layer cannot have.
    """
    check_type("embed_to_spacy", "embed", embed, Model, advice=_EMBED)
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
    seeds = [node.attrs["seed"].value for node in hashes]
    num_hashes = [node.attrs["num_hashes"].value for node in hashes]
    if not hashes or seeds != spacy_seeds(len(hashes)) or set(num_hashes) != {4}:
        raise ValueError(
            "spacy.MultiHashEmbed.v2 has 4 hashes and the seeds 8, 9, 10, ..., but "
            f"'{embed.name}' has num_hashes = {num_hashes} and seeds = {seeds}. "
            "Only a layer trained with spaCy's settings can be converted."
        )
    settings: dict[str, Any] = {
        "width": next((node.get_dim("nO") for node in find_nodes(embed, TABLE_EMBED)), 1),
        "attrs": [node.attrs["attr"].value for node in hashes],
        "rows": [node.attrs["nV"].value for node in hashes],
        "include_static_vectors": bool(find_nodes(embed, STATIC_VECTORS)),
    }
    if _parts(build_multi_hash_embed_v1(**settings, seeds=seeds)) != _parts(embed):
        raise ValueError(
            f"Expected the model of a MultiHashEmbed.v1, was given '{embed.name}', which has other "
            f"layers. {_EMBED}"
        )
    theirs = MultiHashEmbed(**settings)
    _copy(
        (target, source, _inverse(names)) for source, target, names in _embed_pairs(theirs, embed)
    )
    return theirs


def encoder_from_spacy(encoder: EncoderModel) -> EncoderModel:
    """Build our MaxoutWindowEncoder from a spacy.MaxoutWindowEncoder.v2, with the same weights.

    Predictions are the same. spaCy's layer stays as it is: its weights are copied.

    encoder (Model[list[Floats2d], list[Floats2d]]): The layer, initialized or not: for a Tok2Vec
        component, model.get_ref("encode").
    RETURNS (EncoderModel): The new layer.

    Raises TypeError for anything but a Model.
    Raises ValueError if it is not a spacy.MaxoutWindowEncoder.v2.
    """
    check_type("encoder_from_spacy", "encoder", encoder, Model, advice=_ENCODE)
    maxouts, windows = find_nodes(encoder, MAXOUT), find_nodes(encoder, EXPAND_WINDOW)
    norms, depth = find_nodes(encoder, LAYER_NORM), len(maxouts)
    pad = encoder.attrs.get("pad")
    if not depth or {len(windows), len(norms)} != {depth} or pad != depth * _window_size(windows):
        raise ValueError(
            "Expected the model of a spacy.MaxoutWindowEncoder.v2, was given "
            f"'{encoder.name}', which has {len(windows)} expand_window, {depth} maxout and "
            f"{len(norms)} layernorm nodes, and pad = {pad}. For a Tok2Vec model, give its "
            'encoder: model.get_ref("encode").'
        )
    ours = build_maxout_window_encoder_v1(
        width=maxouts[0].get_dim("nO"),
        window_size=_window_size(windows),
        maxout_pieces=maxouts[0].get_dim("nP"),
        depth=depth,
    )
    _copy(_maxout_pairs(encoder, ours))
    return ours


def encoder_to_spacy(encoder: EncoderModel) -> EncoderModel:
    """Build a spacy.MaxoutWindowEncoder.v2 from our MaxoutWindowEncoder, with the same weights.

    encoder (Model[list[Floats2d], list[Floats2d]]): The layer.
    RETURNS (EncoderModel): The new layer.

    Raises TypeError for anything but a Model.
    Raises ValueError if it is not our MaxoutWindowEncoder.
    """
    check_type("encoder_to_spacy", "encoder", encoder, Model, advice=_ENCODE)
    if encoder.name != MAXOUT_WINDOW_ENCODER:
        raise ValueError(
            f"Expected the model of a MaxoutWindowEncoder.v1, was given '{encoder.name}'. For a "
            'Tok2Vec model, give its encoder: model.get_ref("encode").'
        )
    theirs = MaxoutWindowEncoder(
        width=encoder.get_dim("nO"),
        window_size=encoder.attrs["window_size"].value,
        maxout_pieces=encoder.layers[0].get_dim("nP"),
        depth=len(encoder.layers),
    )
    _copy(
        (target, source, _inverse(names))
        for source, target, names in _maxout_pairs(theirs, encoder)
    )
    return theirs


def _parts(model: Model) -> list[str]:
    """Name the nodes in a model, but the model itself."""
    return [node.name for node in model.walk()][1:]


def _spacy_settings(embed: Model, hashes: list[Model]) -> Optional[dict[str, Any]]:
    """Read with which settings spaCy's layer was built, or None if it has none of them."""
    extractors = find_nodes(embed, EXTRACT_FEATURES)
    if not hashes or len(extractors) != 1 or len(extractors[0].attrs["columns"]) != len(hashes):
        return None
    return {
        "width": hashes[0].get_dim("nO"),
        "attrs": extractors[0].attrs["columns"],
        "rows": [node.get_dim("nV") for node in hashes],
        "include_static_vectors": bool(find_nodes(embed, STATIC_VECTORS)),
    }


# A node of spaCy's, a node of ours, and for each parameter its name in both.
Pair = tuple[Model, Model, dict[str, str]]


def _embed_pairs(theirs: Model, ours: Model) -> Iterator[Pair]:
    for their_name, our_name, names in (
        (HASH_EMBED, TABLE_EMBED, {"E": "E"}),
        (STATIC_VECTORS, STATIC_VECTORS, {"W": "W"}),
    ):
        for pair in zip(find_nodes(theirs, their_name), find_nodes(ours, our_name), strict=True):
            yield *pair, names
    yield from _maxout_pairs(theirs, ours)


def _maxout_pairs(theirs: Model, ours: Model) -> Iterator[Pair]:
    our_nodes = find_nodes(ours, MAXOUT_NORM)
    for their_name, names in ((MAXOUT, _MAXOUT_PARAMS), (LAYER_NORM, _LAYER_NORM_PARAMS)):
        for pair in zip(find_nodes(theirs, their_name), our_nodes, strict=True):
            yield *pair, names


def _inverse(names: dict[str, str]) -> dict[str, str]:
    return {target: source for source, target in names.items()}


def _copy(pairs: Iterable[Pair]) -> None:
    """Copy weights from the first node of each pair to the second, and sizes that it lacks."""
    for source, target, names in pairs:
        for dim in target.dim_names:
            if target.has_dim(dim) is None and source.has_dim(dim):
                target.set_dim(dim, source.get_dim(dim))
        for source_param, target_param in names.items():
            if source.has_param(source_param):
                target.set_param(target_param, source.get_param(source_param).copy())


def _window_size(windows: list[Model]) -> int:
    return int(windows[0].attrs["window_size"])


# Attrs that do not decide what a layer predicts. spaCy sets the dropout rate for each update. From
# the receptive field, Tok2Vec.v1 sets `pad`, which is compared.
_UNCOMPARED = ("dropout_rate", "receptive_field")

# Old nodes, each with the new node that replaces it.
Swaps = list[tuple[Model, Model]]


def swap_nodes(model: Model, swaps: Swaps) -> Model:
    """Replace old nodes by new ones, in layers and in references; return the root.

    thinc's own replace_node raises an error for a node with a reference that is not set.
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
    """Tell whether a node computes the same function as a new layer, apart from the weights.

    Names say too little, and they may change. So nodes are compared by their functions, sizes and
    settings, and then their layers in the same way.
    """
    return (
        node._func is reference._func  # thinc has no public name for it
        and node.param_names == reference.param_names
        and not node.shims
        and _has_dims(reference, node)
        and _settings(node) == _settings(reference)
        and len(node.layers) == len(reference.layers)
        and all(map(is_built_like, reference.layers, node.layers))
    )


def ref_hindrance(model: Model, swaps: Swaps) -> Optional[str]:
    """Say which reference of another node hinders a replacement; None if there is none."""
    replaced = [old for old, _ in swaps]
    inside = {id(node) for old in replaced for node in old.walk() if node is not old}
    inside -= {id(old.layers[0]) for old in replaced if _is_wrapper(old)}
    for node in model.walk():
        for name in node.ref_names:
            ref = node.maybe_get_ref(name)
            if id(ref) in inside:
                return f"the layer '{node.name}' refers to a part of it, as '{name}'"
            # set_ref takes only nodes below the layer, but a layer can be built with any.
            if ref in replaced and ref not in node.walk():
                return f"the layer '{node.name}', which is not above it, refers to it as '{name}'"
    return None


def layout_of(model: Model) -> list[tuple[Any, ...]]:
    """Describe what must be the same for a model to load the weights of another."""
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


def _has_dims(reference: Model, node: Model) -> bool:
    return node.dim_names == reference.dim_names and all(
        not reference.has_dim(dim) or node.maybe_get_dim(dim) == reference.get_dim(dim)
        for dim in reference.dim_names
    )


def _settings(node: Model) -> dict[str, Any]:
    return {key: value for key, value in node.attrs.items() if key not in _UNCOMPARED}


def _is_wrapper(node: Model) -> bool:
    return len(node.layers) == 1 and "pad" in node.attrs
