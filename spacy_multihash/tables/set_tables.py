"""Count the values of models that look them up, and set their tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import List, Optional, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import logger
from thinc.api import Model, to_numpy

from ..common.arguments import checked
from ..common.nodes import forget_weights
from ..common.types import NgramLayer
from ..corpus.symbols import attr_ids, count_ids
from ..corpus.training import training_docs
from ..embed.features import Feature, attr_id
from ..embed.rows import Symbols
from ..embed.unique_tokens import feature_ids, model_features
from .find import lookup_chains, lookup_names, ngram_layers
from .tables import Table, Tables, check_cut, cut_tables, in_order, read_tables

# Finds symbols: a feature, a layer that extracts n-grams, or None for an attribute.
Extractor = Union[Feature, NgramLayer, None]


def count_corpus(docs: Iterable[Doc], extractors: Mapping[str, Extractor]) -> dict[str, Table]:
    """Count the values of each attribute and feature, and of each kind of n-grams of tokens.

    docs (Iterable[Doc]): The docs, which are read once and not kept.
    extractors (Mapping[str, Extractor]): For each name, its extractor.
    """
    extract = {
        name: partial(_symbol_ids, name, extractor) for name, extractor in extractors.items()
    }
    counters = count_ids(docs, extract)
    return {name: in_order(*counter.counts()) for name, counter in counters.items()}


def _symbol_ids(name: str, extractor: Extractor, docs: Sequence[Doc]) -> numpy.ndarray:
    """List the symbols (M,) uint64 of docs, as often as they count."""
    if isinstance(extractor, Feature):
        return feature_ids(docs, extractor)
    if extractor is not None:
        return to_numpy(extractor.predict(list(docs)).dataXd)
    return attr_ids(attr_id(name), docs)


def count_tables(models: Sequence[Model], docs: Iterable[Doc]) -> Tables:
    """Count all values that models look up, without a cut.

    models (Sequence[Model]): Models that have a MultiEmbed, or another lookup embedding.
    docs (Iterable[Doc]): The docs, which are read once and not kept.
    """
    extractors: dict[str, Extractor] = {}
    for model in models:
        extractors |= {**model_features(model), **ngram_layers(model)}
    names = lookup_names(*models)
    return Tables(count_corpus(docs, {name: extractors.get(name) for name in names}))


def find_multi_embed(nlp: Language, component: str) -> Model:
    """Find the model of a component that embeds by lookup, enabled or disabled.

    Raises ValueError if the component doesn't exist, or has no MultiEmbed or other lookup.
    """
    problem = f"there is no component '{component}' in the pipeline {nlp.component_names}"
    if component in nlp.component_names:
        model = getattr(nlp.get_pipe(component), "model", None)
        if isinstance(model, Model) and lookup_chains(model):
            return model
        problem = f"component '{component}' holds no MultiEmbed, and no other embedding by lookup"
    raise ValueError(
        f"The tables of MultiEmbed can't be set: {problem}. Name the component that does, as "
        "component in [initialize.before_init], or as --component."
    )


def keeps_tables(nlp: Language, component: str, model: Model) -> bool:
    """Check if a component has tables and won't be initialized.

    New tables would mix up its trained rows.
    """
    chains = lookup_chains(model)
    if component in nlp.pipe_names or not all(len(c.layers[0].attrs["symbols"]) for c in chains):
        return False
    logger.info("MultiEmbed of '%s' is not initialized, and keeps its tables", component)
    return True


@checked
def set_tables(model: Model, tables: Tables) -> None:
    """Set the tables of all layers of a model that look values up.

    The rows of earlier tables are removed, so initialize the model afterwards.

    model (Model): The embedding, or a model that contains it.
    tables (Tables): A table for each lookup. Other tables are ignored.

    Raises ValueError if the model has no MultiEmbed or other lookup, or if a table is missing, has
    no values, or has a value twice. Errors change nothing.
    """
    check_tables(model, tables)
    symbols_of = {
        name: Symbols.from_ordered(tables.tables[name].keys) for name in lookup_names(model)
    }
    for lookup, table_embed in (chain.layers for chain in lookup_chains(model)):
        symbols = symbols_of[lookup.attrs["attr"].value]
        lookup.attrs["symbols"] = symbols
        forget_weights(table_embed)  # its rows belong to other symbols
        table_embed.set_dim("nV", len(symbols) + 1, force=True)


def check_tables(model: Model, tables: Tables) -> None:
    """Raise ValueError if a model has no MultiEmbed, or can't use the tables."""
    if not lookup_chains(model):
        raise ValueError(
            f"Tables are for a MultiEmbed, but the model '{model.name}' has none. "
            "Give the model of the component that embeds by lookup."
        )
    for name in lookup_names(model):
        if name not in tables.tables:
            raise ValueError(
                f"The tables of MultiEmbed lack {name}: they have {sorted(tables.tables)}. "
                "Make them again for this config, with: python -m spacy multihash init-tables"
            )
        if not len(tables.tables[name]):
            of_ngrams = name in ngram_layers(model)
            advice = (
                "lower ngram_orders, if the documents are shorter"
                if of_ngrams
                else f"leave {name} out of the config's embedding layer"
            )
            raise ValueError(
                f"The table of {name} has no values: none occurs at least {tables.min_freq} "
                f"times. Lower min_freq, or {advice}."
            )


def make_init_tables_v1(
    path: Optional[Path] = None,
    min_freq: int = 10,
    component: Union[str, List[str]] = "tok2vec",
    max_rows: Optional[int] = None,
) -> Callable[[Language], Language]:
    """Make the callback for [initialize.before_init] that sets the tables of MultiEmbed.

    It counts the training corpus, or reads a file. A component that isn't initialized (frozen, or
    sourced and trained further) keeps its tables.

    path (Optional[Path]): File from `spacy multihash init-tables`. Null counts the corpus.
    min_freq (int): Values that occur at least this often get a row. Recommended values are between
        1 and 10.
    component (Union[str, List[str]]): Name of the component that has the MultiEmbed, or of several.
    max_rows (Optional[int]): Most rows of a table, including row 0. Null sets no limit.
    """
    check_cut(min_freq, max_rows)

    def init_tables(nlp: Language) -> Language:
        models = {name: find_multi_embed(nlp, name) for name in component_names(component)}
        models = {name: m for name, m in models.items() if not keeps_tables(nlp, name, m)}
        if not models:
            return nlp
        if path is None:
            logger.info("Counting the symbols of the training corpus for %s", list(models))
            tables = count_tables(list(models.values()), training_docs(nlp))
        else:
            tables = read_tables(path)
        tables = cut_tables(tables, min_freq=min_freq, max_rows=max_rows)
        for name, model in models.items():
            set_tables(model, tables)
            rows = {symbols: len(tables.tables[symbols]) + 1 for symbols in lookup_names(model)}
            logger.info("Set the tables of '%s', with rows: %s", name, rows)
        return nlp

    return init_tables


def component_names(component: Union[str, Sequence[str]]) -> Sequence[str]:
    """List the names in a setting, which may be a string."""
    return [component] if isinstance(component, str) else component
