"""The tables of the embeddings in a pipeline, ours and spaCy's."""

from collections.abc import Iterator
from typing import NamedTuple

from spacy.language import Language
from thinc.api import Model

from .architectures import attr_names
from .layers import hash_rows
from .types import RowLayer

_SPACY_HASHES = 4
_CHAINS = (["hash_rows", "table_embed"], ["lookup_rows", "table_embed"])


class EmbeddingTable(NamedTuple):
    """A table of a model: the layer that gives its rows, and the one that holds its weights."""

    component: str
    attr: str
    layer: RowLayer
    weights: Model


def find_tables(nlp: Language) -> list[EmbeddingTable]:
    """Find the tables of all embeddings by hash or lookup in a pipeline, ours and spaCy's.

    nlp (Language): The pipeline. Its disabled components are searched too.

    Raises ValueError if there is none, or a MultiEmbed that was given no tables yet.
    """
    models = component_models(nlp)
    tables = [table for name, model in models.items() for table in _tables_in(name, model)]
    if not tables:
        raise ValueError(
            "The pipeline has no embedding with rows to inspect: looked for MultiHashEmbed and "
            "MultiEmbed of this package and for HashEmbed layers of spaCy in the components "
            f"{', '.join(nlp.component_names) or '(none)'}. Give a pipeline that has one."
        )
    for table in tables:
        if table.layer.name == "lookup_rows" and not len(table.layer.attrs["symbols"]):
            raise ValueError(
                f"The MultiEmbed of component '{table.component}' has no table of {table.attr} "
                "yet: it gets its tables when it is initialized. Inspect the trained pipeline, or "
                "make a file of tables with: python -m spacy multihash init-tables CONFIG FILE, "
                "and give it in the config's [initialize.before_init] as path of "
                "spacy-multihash.init_tables.v1."
            )
    return tables


def component_models(nlp: Language) -> dict[str, Model]:
    """Map the name of each component that has a thinc model to it, disabled ones included."""
    models = {name: getattr(pipe, "model", None) for name, pipe in nlp.components}
    return {name: model for name, model in models.items() if isinstance(model, Model)}


def _tables_in(component: str, model: Model) -> Iterator[EmbeddingTable]:
    for node in model.walk():
        if [layer.name for layer in node.layers] in _CHAINS:
            layer, weights = node.layers
            yield EmbeddingTable(component, layer.attrs["attr"].value, layer, weights)
        elif _hash_embeds(node) and not any(map(_hash_embeds, node.layers)):
            yield from _spacy_tables(component, node)


def _spacy_tables(component: str, model: Model) -> Iterator[EmbeddingTable]:
    """Give the tables of spaCy's embedding, with layers of ours that give the same rows."""
    (extract,) = _named(model, "extract_features")
    names = attr_names(extract.attrs["columns"])
    for weights in _hash_embeds(model):
        name, seed = names[weights.attrs["column"] or 0], weights.attrs["seed"]
        layer = hash_rows(weights.get_dim("nV"), attr=name, num_hashes=_SPACY_HASHES, seed=seed)
        yield EmbeddingTable(component, name, layer, weights)


def _hash_embeds(model: Model) -> list[Model]:
    """List spaCy's tables in a model, if there is one extractor that they take attributes from."""
    return _named(model, "hashembed") if len(_named(model, "extract_features")) == 1 else []


def _named(model: Model, name: str) -> list[Model]:
    return [node for node in model.walk() if node.name == name]
