"""Callbacks: one gives MultiEmbed its tables, one gives all layers the faster products."""

from functools import partial
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Union

from spacy.language import Language
from spacy.util import logger
from thinc.api import Model

from .compute.matmul import use_product_ops
from .corpus.training import training_docs
from .corpus_symbols import DocReader, count_corpus
from .embed.find import _lookup_chains, lookup_names, ngram_layers
from .embed.symbols import Symbols
from .tables import Tables, check_cut, cut_tables, read_tables


def make_init_tables_v1(
    path: Optional[Path] = None,
    min_freq: int = 10,
    component: Union[str, List[str]] = "tok2vec",
    max_rows: Optional[int] = None,
) -> Callable[[Language], Language]:
    """Make the callback for [initialize.before_init] that sets the tables of MultiEmbed.

    They are counted from the training corpus, or read from a file. A component that will not be
    initialized (frozen, or sourced and trained further) keeps the tables it has.

    path (Optional[Path]): File that `spacy multihash init-tables` wrote. Null counts the corpus.
    min_freq (int): Give a row to the symbols that occur at least so often. Recommended values are
        between 1 and 10.
    component (Union[str, List[str]]): Name of the component that holds MultiEmbed, or of several.
    max_rows (Optional[int]): The rows that a table may have at most, row 0 included. Null sets no
        limit.
    """
    check_cut(min_freq, max_rows)

    def init_tables(nlp: Language) -> Language:
        models = {name: find_multi_embed(nlp, name) for name in component_names(component)}
        models = {name: m for name, m in models.items() if not keeps_tables(nlp, name, m)}
        if not models:
            return nlp
        if path is None:
            logger.info("Counting the symbols of the training corpus for %s", list(models))
            tables = count_tables(list(models.values()), partial(training_docs, nlp))
        else:
            tables = read_tables(path)
        tables = cut_tables(tables, min_freq=min_freq, max_rows=max_rows)
        for name, model in models.items():
            set_tables(model, tables)
            rows = {symbols: len(tables.tables[symbols]) + 1 for symbols in lookup_names(model)}
            logger.info("Set the tables of '%s', with rows: %s", name, rows)
        return nlp

    return init_tables


def make_use_product_ops_v1() -> Callable[[Language], Language]:
    """Make the callback for [nlp.after_pipeline_creation] that gives all layers our products.

    Our own layers have them anyway. Other layers, the parser's for one, take them from thinc, which
    may be several times slower (docs/performance.md). Layers on a GPU stay as they are.
    """

    def set_ops(nlp: Language) -> Language:
        for _, pipe in nlp.components:
            model = getattr(pipe, "model", None)
            if isinstance(model, Model):
                use_product_ops(model)
        return nlp

    return set_ops


def find_multi_embed(nlp: Language, component: str) -> Model:
    """Find the model of a component that holds an embedding by lookup, enabled or not.

    Raises ValueError if there is no such component, or no MultiEmbed or other lookup in it.
    """
    if component not in nlp.component_names:
        raise ValueError(
            f"The tables of MultiEmbed cannot be set: there is no component '{component}' in the "
            f"pipeline. It has: {nlp.component_names}. Name the one that holds the MultiEmbed, or "
            "another embedding by lookup: as component in [initialize.before_init], or as "
            "--component."
        )
    model = getattr(nlp.get_pipe(component), "model", None)
    if not isinstance(model, Model) or not _lookup_chains(model):
        raise ValueError(
            f"The tables of MultiEmbed cannot be set: component '{component}' holds no MultiEmbed, "
            'and no other embedding by lookup (importance_by = "lookup"). Name the one that does: '
            "as component in [initialize.before_init], or as --component."
        )
    return model


def keeps_tables(nlp: Language, component: str, model: Model) -> bool:
    """Tell whether a component has tables and will not be initialized: new ones would garble it."""
    if component in nlp.pipe_names or not _has_tables(model):
        return False
    logger.info("MultiEmbed of '%s' is not initialized, and keeps its tables", component)
    return True


def component_names(component: Union[str, List[str]]) -> List[str]:
    """List the names that a setting gives, which may be one."""
    return [component] if isinstance(component, str) else component


def count_tables(models: Sequence[Model], make_docs: DocReader) -> Tables:
    """Count all that the layers in models look up, and cut nothing.

    models (Sequence[Model]): Models that hold a MultiEmbed, or another embedding by lookup.
    make_docs (DocReader): Gives the docs, which are read once for all attributes, and once for each
        kind of n-grams.
    """
    extractors = {name: layer for model in models for name, layer in ngram_layers(model).items()}
    names = lookup_names(*models)
    return Tables(count_corpus(make_docs, {name: extractors.get(name) for name in names}))


def set_tables(model: Model, tables: Tables) -> None:
    """Set the tables of all layers that look up, in a model that is yet to be initialized.

    The weights of former tables are taken away: initialize the model afterwards.

    model (Model): The model, or one around it.
    tables (Tables): The tables, at least of the attributes that are embedded.

    Raises ValueError, and changes nothing, if the model has no MultiEmbed or other lookup, or if a
    table is missing, has no symbols, or has one twice.
    """
    check_tables(model, tables)
    symbols_of = {
        name: Symbols.from_ordered(tables.tables[name].keys) for name in lookup_names(model)
    }
    for lookup, table_embed in (chain.layers for chain in _lookup_chains(model)):
        symbols = symbols_of[lookup.attrs["attr"].value]
        lookup.attrs["symbols"] = symbols
        table_embed.set_param("E", None)  # rows of other symbols
        table_embed.set_dim("nV", len(symbols) + 1, force=True)


def check_tables(model: Model, tables: Tables) -> None:
    """Raise ValueError if a model has no MultiEmbed, or one that cannot use the tables."""
    if not _lookup_chains(model):
        raise ValueError(
            f"Tables are for a MultiEmbed, but the model '{model.name}' holds none. "
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
                f"The table of {name} has no symbols: none occurs at least {tables.min_freq} "
                f"times. Lower min_freq, or {advice}."
            )


def _has_tables(model: Model) -> bool:
    return all(len(chain.layers[0].attrs["symbols"]) for chain in _lookup_chains(model))
