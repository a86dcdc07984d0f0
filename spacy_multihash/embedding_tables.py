"""The tables of the embeddings in a pipeline, ours and spaCy's."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, Optional, cast

import numpy
from spacy.language import Language
from thinc.api import Model, to_numpy
from thinc.types import Ints1d

from .layers import hash_rows, ngram_name
from .types import AttrLayer, NgramLayer, RowLayer
from .wiring import attr_names

# What the rows of a table are: vectors, or in a weighted hash embedding components of vectors or
# importance parameters.
Part = Literal["vectors", "components", "importance"]

_SPACY_HASHES = 4
_CHAINS = (["hash_rows", "table_embed"], ["lookup_rows", "table_embed"])


class EmbeddingTable(NamedTuple):
    """A table of a model: the layer that gives its rows, and the one that holds its weights.

    component (str): Name of the component that it is in.
    attr (str): Name of the attribute, or of its n-grams.
    layer (RowLayer): Gives the rows of symbols.
    weights (Model): Holds the table.
    part (Part): What its rows are.
    ngrams (Optional[NgramLayer]): Extracts the n-grams, None for an attribute of tokens.
    dictionary (Optional[RowLayer]): Gives row 0 to the n-grams that are left out, None if all are
        embedded.
    """

    component: str
    attr: str
    layer: RowLayer
    weights: Model
    part: Part = "vectors"
    ngrams: Optional[NgramLayer] = None
    dictionary: Optional[RowLayer] = None


class WeightedEmbedding(NamedTuple):
    """A weighted hash embedding of a model.

    components (EmbeddingTable): The table of component vectors.
    importance (Optional[EmbeddingTable]): That of importance parameters, None if fixed at 1.
    layer (AttrLayer): The whole: ids (U,) uint64 -> vectors (U, nO) float32.
    """

    components: EmbeddingTable
    importance: Optional[EmbeddingTable]
    layer: AttrLayer


def find_tables(nlp: Language) -> list[EmbeddingTable]:
    """Find the tables of all embeddings by hash or lookup in a pipeline, ours and spaCy's.

    nlp (Language): The pipeline. Its disabled components are searched too.

    Raises ValueError if there is none, or a MultiEmbed that was given no tables yet.
    """
    models = component_models(nlp)
    tables = [table for name, model in models.items() for table in _tables_in(name, model)]
    if not tables:
        raise ValueError(
            "The pipeline has no embedding with rows to inspect: looked for the embeddings of this "
            "package and for HashEmbed layers of spaCy in the components "
            f"{', '.join(nlp.component_names) or '(none)'}. Give a pipeline that has one."
        )
    for table in tables:
        if table.layer.name == "lookup_rows" and not len(table.layer.attrs["symbols"]):
            raise ValueError(
                f"The embedding of component '{table.component}' has no table of {table.attr} "
                "yet: it gets its tables when it is initialized. Inspect the trained pipeline, or "
                "make a file of tables with: python -m spacy multihash init-tables CONFIG FILE, "
                "and give it in the config's [initialize.before_init] as path of "
                "spacy-multihash.init_tables.v1."
            )
    return tables


def find_weighted(nlp: Language) -> list[WeightedEmbedding]:
    """Find the weighted hash embeddings of a pipeline, in each member of an ensemble too.

    nlp (Language): The pipeline. Its disabled components are searched too.
    """
    models = component_models(nlp)
    return [part for name, model in models.items() for part in _weighted_in(name, model)]


def component_models(nlp: Language) -> dict[str, Model]:
    """Map the name of each component that has a thinc model to it, disabled ones included."""
    models = {name: getattr(pipe, "model", None) for name, pipe in nlp.components}
    return {name: model for name, model in models.items() if isinstance(model, Model)}


def rows_of(layer: RowLayer, symbols: numpy.ndarray) -> numpy.ndarray:
    """Find the rows (V, K) of symbols (V,) uint64, by the layer that the model itself uses."""
    return to_numpy(layer.predict(cast(Ints1d, layer.ops.asarray(cast(Ints1d, symbols)))))


def ngram_layers(model: Model) -> dict[str, NgramLayer]:
    """Map the names of n-grams to the layers of a model that extract them."""
    nodes = _named(model, "extract_ngrams")
    return {ngram_name(n.attrs["attr"].value, n.attrs["orders"].value): n for n in nodes}


def _tables_in(component: str, model: Model) -> Iterator[EmbeddingTable]:
    weighted = {id(embedding.layer): embedding for embedding in _weighted_in(component, model)}
    inner = {id(embedding.layer.layers[1]) for embedding in weighted.values()}
    for node in model.walk():
        if id(node) in weighted:
            components, importance, _ = weighted[id(node)]
            yield from [components] if importance is None else [components, importance]
        elif [layer.name for layer in node.layers] in _CHAINS and id(node) not in inner:
            yield _table(component, model, *node.layers)
        elif _hash_embeds(node) and not any(map(_hash_embeds, node.layers)):
            yield from _spacy_tables(component, node)


def _weighted_in(component: str, model: Model) -> Iterator[WeightedEmbedding]:
    for node in _named(model, "weighted_embed"):
        rows, parameters, vectors = node.layers
        importance = dictionary = None
        if parameters.layers:
            dictionary = _dictionary(model, parameters.layers[0])
            importance = _table(component, model, *parameters.layers)
            importance = importance._replace(part="importance", dictionary=dictionary)
        components = _table(component, model, rows, vectors)
        components = components._replace(part="components", dictionary=dictionary)
        yield WeightedEmbedding(components, importance, node)


def _table(component: str, model: Model, layer: RowLayer, weights: Model) -> EmbeddingTable:
    name = layer.attrs["attr"].value
    return EmbeddingTable(component, name, layer, weights, ngrams=ngram_layers(model).get(name))


def _dictionary(model: Model, to_importance: RowLayer) -> Optional[RowLayer]:
    """Find the layer that leaves out the n-grams without a row of importance of their own."""
    lookups = [node.layers[0] for node in _named(model, "known_ngrams")]
    return to_importance if any(lookup is to_importance for lookup in lookups) else None


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
