"""Trained weights of spacy.MultiHashEmbed.v2 into our MultiHashEmbed, and back."""

from typing import List

from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from .architectures import build_multi_hash_embed_v1
from .layers import spacy_seeds

EmbedModel = Model[List[Doc], List[Floats2d]]


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
    _copy_params(embed, ours, "hashembed", "table_embed")
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
    _copy_params(embed, theirs, "table_embed", "hashembed")
    return theirs


def _copy_params(source: Model, target: Model, source_table: str, target_table: str) -> None:
    """Copy the weights, and the sizes that go with them, node by node."""
    shared = [(name, name) for name in ("static_vectors", "maxout", "layernorm")]
    for from_name, to_name in [(source_table, target_table), *shared]:
        pairs = zip(_nodes(source, from_name), _nodes(target, to_name), strict=True)
        for from_node, to_node in pairs:
            for dim in to_node.dim_names:
                if from_node.has_dim(dim):
                    to_node.set_dim(dim, from_node.get_dim(dim))
            for param in from_node.param_names:
                if from_node.has_param(param):
                    to_node.set_param(param, from_node.get_param(param).copy())


def _nodes(model: Model, name: str) -> List[Model]:
    return [node for node in model.walk() if node.name == name]
