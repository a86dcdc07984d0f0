"""The tables of the embeddings in a pipeline, ours and spaCy's."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, Optional, cast

import numpy
from spacy.language import Language
from thinc.api import Model, to_numpy
from thinc.types import Ints1d

from ..common.arguments import checked
from ..common.nodes import EXTRACT_FEATURES, HASH_EMBED, find_nodes, has_layers
from ..common.registered import INIT_TABLES
from ..common.types import AttrLayer, NgramLayer, RowLayer
from ..embed.embeddings import TABLE_EMBED, WEIGHTED_EMBED
from ..embed.features import Feature, attr_names
from ..embed.rows import HASH_NAME, LOOKUP_NAME, hash_rows
from ..embed.unique_tokens import model_features
from ..textcat.ngrams import is_extract_ngrams, ngram_name

# The rows of a table are vectors. In a weighted hash embedding, they're component vectors or
# importance parameters.
Part = Literal["vectors", "components", "importance"]

# Hash functions of spaCy's embedding.
_SPACY_HASHES = 4


class EmbeddingTable(NamedTuple):
    """A table of a model: the layer that finds its rows, and the layer that holds its weights.

    component (str): Name of the component that has the table.
    attr (str): Name of the attribute or feature, or of n-grams of an attribute.
    layer (RowLayer): Finds the rows of values.
    weights (Model): Holds the table.
    part (Part): The kind of the table's rows.
    ngrams (Optional[NgramLayer]): Extracts the n-grams. None for an attribute of tokens.
    feature (Optional[Feature]): The feature beyond spaCy's attributes that is embedded. None for an
        attribute, and for n-grams of tokens.
    """

    component: str
    attr: str
    layer: RowLayer
    weights: Model
    part: Part = "vectors"
    ngrams: Optional[NgramLayer] = None
    feature: Optional[Feature] = None

    @property
    def name(self) -> str:
        """The name of the embedding that the table belongs to, as in textcat.LOWER[1,2]."""
        return f"{self.component}.{self.attr}"

    @property
    def is_hashed(self) -> bool:
        """Whether the layer finds rows by hashing, not by lookup."""
        return self.layer.name == HASH_NAME


class WeightedEmbedding(NamedTuple):
    """A weighted hash embedding of a model.

    components (EmbeddingTable): The table of component vectors.
    importance (Optional[EmbeddingTable]): The table of importance parameters. None if all are 1.
    layer (AttrLayer): The whole embedding: ids (U,) uint64 -> vectors (U, nO) float32.
    """

    components: EmbeddingTable
    importance: Optional[EmbeddingTable]
    layer: AttrLayer


@checked
def find_tables(nlp: Language) -> list[EmbeddingTable]:
    """Find the tables of all hash and lookup embeddings in a pipeline, ours and spaCy's.

    nlp (Language): The pipeline. Its disabled components are searched too.
    RETURNS (list[EmbeddingTable]): The tables, in the order of the pipeline.

    Raises ValueError if it has no tables, or if a MultiEmbed doesn't have its tables yet.
    """
    tables = [t for name, model in component_models(nlp).items() for t in _tables_in(name, model)]
    if not tables:
        raise ValueError(
            "The pipeline has no embedding with rows to inspect: looked for the embeddings of this "
            "package and for HashEmbed layers of spaCy in the components "
            f"{', '.join(nlp.component_names) or '(none)'}. Give a pipeline that has one."
        )
    for table in tables:
        if not table.is_hashed and not len(table.layer.attrs["symbols"]):
            raise ValueError(
                f"The embedding of component '{table.component}' has no table of {table.attr} "
                "yet: it gets its tables when it is initialized. Inspect the trained pipeline, or "
                "make a file of tables with: python -m spacy multihash init-tables CONFIG FILE, "
                "and give it in the config's [initialize.before_init] as path of "
                f"{INIT_TABLES}."
            )
    return tables


@checked
def find_weighted(nlp: Language) -> list[WeightedEmbedding]:
    """Find the weighted hash embeddings of a pipeline.

    nlp (Language): The pipeline. Its disabled components are searched too.
    RETURNS (list[WeightedEmbedding]): The embeddings, or an empty list.
    """
    return [w for name, model in component_models(nlp).items() for w in _weighted_in(name, model)]


def component_models(nlp: Language) -> dict[str, Model]:
    """Map the names of components, enabled or disabled, to their thinc models."""
    models = {name: getattr(pipe, "model", None) for name, pipe in nlp.components}
    return {name: model for name, model in models.items() if isinstance(model, Model)}


def rows_of(layer: RowLayer, symbols: numpy.ndarray) -> numpy.ndarray:
    """Find the rows (V, K) of symbols (V,) uint64, with the layer that the model itself uses."""
    return to_numpy(layer.predict(cast(Ints1d, layer.ops.asarray(cast(Ints1d, symbols)))))


def ngram_layers(model: Model) -> dict[str, NgramLayer]:
    """Map the names of n-grams to a model's layers that extract them."""
    nodes = filter(is_extract_ngrams, model.walk())
    return {ngram_name(n.attrs["attr"].value, n.attrs["orders"].value): n for n in nodes}


def lookup_names(*models: Model) -> list[str]:
    """List the attributes, features and n-grams that models look up."""
    chains = [chain for model in models for chain in lookup_chains(model)]
    return list(dict.fromkeys(chain.layers[0].attrs["attr"].value for chain in chains))


def lookup_chains(model: Model) -> list[Model]:
    """List the nodes whose two layers are a lookup_rows and its table."""
    return [node for node in model.walk() if has_layers(node, LOOKUP_NAME, TABLE_EMBED)]


def _tables_in(component: str, model: Model) -> Iterator[EmbeddingTable]:
    weighted = {w.layer.id: w for w in _weighted_in(component, model)}
    inner = {w.layer.layers[1].id for w in weighted.values()}
    for node in model.walk():
        if node.id in weighted:
            yield from filter(None, weighted[node.id][:2])
        elif node.id in inner:
            continue
        elif any(has_layers(node, rows, TABLE_EMBED) for rows in (HASH_NAME, LOOKUP_NAME)):
            yield _table(component, model, *node.layers)
        elif _hash_embeds(node) and not any(map(_hash_embeds, node.layers)):
            yield from _spacy_tables(component, node)


def _weighted_in(component: str, model: Model) -> Iterator[WeightedEmbedding]:
    for node in find_nodes(model, WEIGHTED_EMBED):
        rows, parameters, vectors = node.layers
        importance = None
        if parameters.layers:
            importance = _table(component, model, *parameters.layers, part="importance")
        components = _table(component, model, rows, vectors, part="components")
        yield WeightedEmbedding(components, importance, node)


def _table(
    component: str, model: Model, layer: RowLayer, weights: Model, *, part: Part = "vectors"
) -> EmbeddingTable:
    name = layer.attrs["attr"].value
    ngrams, feature = ngram_layers(model).get(name), model_features(model).get(name)
    return EmbeddingTable(component, name, layer, weights, part, ngrams, feature)


def _spacy_tables(component: str, node: Model) -> Iterator[EmbeddingTable]:
    """Yield the tables of spaCy's embedding, each with a layer of ours that finds the same rows."""
    (extract,) = find_nodes(node, EXTRACT_FEATURES)
    names = attr_names(extract.attrs["columns"])
    for weights in _hash_embeds(node):
        name, seed = names[weights.attrs["column"] or 0], weights.attrs["seed"]
        layer = hash_rows(weights.get_dim("nV"), attr=name, num_hashes=_SPACY_HASHES, seed=seed)
        yield EmbeddingTable(component, name, layer, weights)


def _hash_embeds(model: Model) -> list[Model]:
    """List spaCy's tables in a model; none unless it has exactly one FeatureExtractor."""
    extractors = find_nodes(model, EXTRACT_FEATURES)
    return find_nodes(model, HASH_EMBED) if len(extractors) == 1 else []


def hashes_symbols(model: Model) -> bool:
    """Check if a model finds rows of tables by hashing."""
    return bool(find_nodes(model, HASH_NAME, HASH_EMBED))
