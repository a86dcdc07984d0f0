"""The models that look symbols up: found in a pipeline, and given their tables."""

from spacy.language import Language
from spacy.util import logger
from thinc.api import Model

from ..common.checks import check_type
from ..common.nodes import start_anew
from ..embed.find import lookup_chains, lookup_names, ngram_layers
from ..embed.symbols import Symbols
from .tables import Tables


def find_multi_embed(nlp: Language, component: str) -> Model:
    """Find the model of a component that embeds by lookup, whether the component is enabled or not.

    Raises ValueError if there is no such component, or if it holds no MultiEmbed or other lookup.
    """
    if component not in nlp.component_names:
        raise ValueError(
            f"The tables of MultiEmbed cannot be set: there is no component '{component}' in the "
            f"pipeline. It has: {nlp.component_names}. Name the one that holds the MultiEmbed, or "
            "another embedding by lookup: as component in [initialize.before_init], or as "
            "--component."
        )
    model = getattr(nlp.get_pipe(component), "model", None)
    if not isinstance(model, Model) or not lookup_chains(model):
        raise ValueError(
            f"The tables of MultiEmbed cannot be set: component '{component}' holds no MultiEmbed, "
            'and no other embedding by lookup (importance_by = "lookup"). Name the one that does: '
            "as component in [initialize.before_init], or as --component."
        )
    return model


def keeps_tables(nlp: Language, component: str, model: Model) -> bool:
    """Tell whether a component has tables and will not be initialized.

    Its trained rows are of the symbols in these tables, and new tables would mix them up.
    """
    if component in nlp.pipe_names or not _has_tables(model):
        return False
    logger.info("MultiEmbed of '%s' is not initialized, and keeps its tables", component)
    return True


def set_tables(model: Model, tables: Tables) -> None:
    """Set the tables of all layers of a model that look symbols up.

    The rows of former tables are removed, so initialize the model afterwards.

    model (Model): The embedding, or a model that contains it.
    tables (Tables): The tables of all that is embedded. Others are ignored.

    Raises TypeError for other types, and ValueError if the model has no MultiEmbed or other lookup,
    or if a table is missing, has no symbols, or has a symbol twice. Neither changes anything.
    """
    advice = "Give a component's model, nlp.get_pipe(NAME).model."
    check_type("set_tables", "model", model, Model, advice=advice)
    advice = "Make them with make_tables, or read_tables from a file."
    check_type("set_tables", "tables", tables, Tables, advice=advice)
    check_tables(model, tables)
    symbols_of = {
        name: Symbols.from_ordered(tables.tables[name].keys) for name in lookup_names(model)
    }
    for lookup, table_embed in (chain.layers for chain in lookup_chains(model)):
        symbols = symbols_of[lookup.attrs["attr"].value]
        lookup.attrs["symbols"] = symbols
        start_anew(table_embed)  # its rows are those of other symbols
        table_embed.set_dim("nV", len(symbols) + 1, force=True)


def check_tables(model: Model, tables: Tables) -> None:
    """Raise ValueError if a model has no MultiEmbed, or one that cannot use the tables."""
    if not lookup_chains(model):
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
    return all(len(chain.layers[0].attrs["symbols"]) for chain in lookup_chains(model))
