"""Trained weights of spaCy's layers into ours, and back."""

from typing import Dict, Iterable, Iterator, List, Tuple

from spacy.ml.models.tok2vec import MaxoutWindowEncoder, MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..compute.hashing import spacy_seeds
from ..embed.architectures import build_multi_hash_embed_v1
from ..encode.architectures import build_maxout_window_encoder_v1

EmbedModel = Model[List[Doc], List[Floats2d]]
EncoderModel = Model[List[Floats2d], List[Floats2d]]

# What spaCy keeps in two nodes, we keep in one.
_MAXOUT = {"W": "W", "b": "b"}
_LAYERNORM = {"G": "G", "b": "beta"}


def embed_from_spacy(embed: EmbedModel) -> EmbedModel:
    """Build our MultiHashEmbed from a spacy.MultiHashEmbed.v2, with the same weights.

    Predictions are the same. The spaCy layer is left alone; its weights are copied.

    embed (Model[List[Doc], List[Floats2d]]): The layer, initialized or not: for a Tok2Vec
        component, model.get_ref("embed").

    Raises ValueError if it is not a spacy.MultiHashEmbed.v2.
    """
    hashes = _nodes(embed, "hashembed")
    extractors = _nodes(embed, "extract_features")
    if not hashes or len(extractors) != 1:
        raise ValueError(
            f"Expected the model of a spacy.MultiHashEmbed.v2, was given '{embed.name}', which has "
            f"{len(extractors)} extract_features and {len(hashes)} hashembed nodes. For a Tok2Vec "
            'model, give its embed layer: model.get_ref("embed").'
        )
    ours = build_multi_hash_embed_v1(
        width=hashes[0].get_dim("nO"),
        attrs=extractors[0].attrs["columns"],
        rows=[node.get_dim("nV") for node in hashes],
        include_static_vectors=bool(_nodes(embed, "static_vectors")),
        seeds=[node.attrs["seed"] for node in hashes],
    )
    _copy(_embed_pairs(embed, ours))
    return ours


def embed_to_spacy(embed: EmbedModel) -> EmbedModel:
    """Build a spacy.MultiHashEmbed.v2 from our MultiHashEmbed, with the same weights.

    embed (Model[List[Doc], List[Floats2d]]): The layer, with num_hashes = 4 and spaCy's seeds.

    Raises ValueError if spaCy's layer cannot have its settings.
    """
    hashes = _nodes(embed, "hash_rows")
    seeds = [node.attrs["seed"].value for node in hashes]
    num_hashes = [node.attrs["num_hashes"].value for node in hashes]
    if not hashes or seeds != spacy_seeds(len(hashes)) or set(num_hashes) != {4}:
        raise ValueError(
            "spacy.MultiHashEmbed.v2 has 4 hashes and the seeds 8, 9, 10, ..., but "
            f"'{embed.name}' has num_hashes = {num_hashes} and seeds = {seeds}. "
            "Only a layer trained with spaCy's settings can be converted."
        )
    theirs = MultiHashEmbed(
        width=_nodes(embed, "table_embed")[0].get_dim("nO"),
        attrs=[node.attrs["attr"].value for node in hashes],
        rows=[node.attrs["nV"].value for node in hashes],
        include_static_vectors=bool(_nodes(embed, "static_vectors")),
    )
    _copy(
        (target, source, _inverse(names)) for source, target, names in _embed_pairs(theirs, embed)
    )
    return theirs


def encoder_from_spacy(encoder: EncoderModel) -> EncoderModel:
    """Build our MaxoutWindowEncoder from a spacy.MaxoutWindowEncoder.v2, with the same weights.

    Predictions are the same. The spaCy layer is left alone; its weights are copied.

    encoder (Model[List[Floats2d], List[Floats2d]]): The layer, initialized or not: for a Tok2Vec
        component, model.get_ref("encode").

    Raises ValueError if it is not a spacy.MaxoutWindowEncoder.v2.
    """
    maxouts, windows = _nodes(encoder, "maxout"), _nodes(encoder, "expand_window")
    norms, depth = _nodes(encoder, "layernorm"), len(maxouts)
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

    encoder (Model[List[Floats2d], List[Floats2d]]): The layer.

    Raises ValueError if it is not our MaxoutWindowEncoder.
    """
    if encoder.name != "maxout_window_encoder":
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


# A node of spaCy, ours, and the names of the parameters in both.
Pair = Tuple[Model, Model, Dict[str, str]]


def _embed_pairs(theirs: Model, ours: Model) -> Iterator[Pair]:
    for their_name, our_name, names in (
        ("hashembed", "table_embed", {"E": "E"}),
        ("static_vectors", "static_vectors", {"W": "W"}),
    ):
        for pair in zip(_nodes(theirs, their_name), _nodes(ours, our_name), strict=True):
            yield *pair, names
    yield from _maxout_pairs(theirs, ours)


def _maxout_pairs(theirs: Model, ours: Model) -> Iterator[Pair]:
    our_nodes = _nodes(ours, "maxout_norm")
    for their_name, names in (("maxout", _MAXOUT), ("layernorm", _LAYERNORM)):
        for pair in zip(_nodes(theirs, their_name), our_nodes, strict=True):
            yield *pair, names


def _inverse(names: Dict[str, str]) -> Dict[str, str]:
    return {target: source for source, target in names.items()}


def _copy(pairs: Iterable[Pair]) -> None:
    """Copy the weights of the first node of each pair to the second, and sizes not known yet."""
    for source, target, names in pairs:
        for dim in target.dim_names:
            if target.has_dim(dim) is None and source.has_dim(dim):
                target.set_dim(dim, source.get_dim(dim))
        for source_param, target_param in names.items():
            if source.has_param(source_param):
                target.set_param(target_param, source.get_param(source_param).copy())


def _window_size(windows: List[Model]) -> int:
    return int(windows[0].attrs["window_size"])


def _nodes(model: Model, name: str) -> List[Model]:
    return [node for node in model.walk() if node.name == name]
