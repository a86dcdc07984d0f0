"""Embed tokens by static vectors: those of the vocab, or of several tables."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Optional, cast

import numpy
from spacy.attrs import ORTH
from spacy.ml import staticvectors
from spacy.vocab import Vocab
from thinc.api import Model, to_numpy
from thinc.types import Ragged

from ..common.checks import check_choice, setting_error
from ..common.nodes import Pinned
from ..common.types import TEXT_ATTRS, DocLike, DocsLayer
from ..vectors.meta_vectors import RowsLayer, TableRows
from .features import attr_id, attr_name
from .rows import on_device
from .unique_tokens import UniqueTokens
from .vector_tables import VOCAB, find_rows, find_table, has_table, load_tables

READ_VECTORS = "read_vectors"
FLORET = "floret"  # the mode of spaCy's tables of n-grams

_WHERE = "MetaVectors"  # in messages
_NAME_OF_TABLE = re.compile(r"[A-Za-z0-9_-]+")

# The folder, package or file of each table. None for a table that the vocab has already.
Paths = dict[str, Optional[Path]]
# The attribute by which each table finds words. None for the table's own.
Keys = dict[str, Optional[int]]


def read_vectors(layer: RowsLayer, paths: Paths, keys: Keys) -> DocsLayer:
    """Find the vectors of tokens in several tables, and combine them with a layer.

    docs with N tokens -> vectors (N, nO) float32, with the docs' lengths.

    The tables are in the docs' vocab. Initialization reads missing tables.

    layer (RowsLayer): Takes the vectors (N, l_j) of each table.
    paths (Paths): Where the tables are, in the order of the layer.
    keys (Keys): The attributes by which tables find words.

    Raises ValueError if the vocab lacks a table, and at initialization if a table can't be used.
    """
    listed = ["" if attr is None else attr_name(attr) for attr in keys.values()]
    node: Model = Model(
        READ_VECTORS,
        forward,
        init=partial(init, dict(paths)),
        layers=[layer],
        attrs={"tables": Pinned(list(keys)), "key_attrs": Pinned(listed)},
        dims={"nO": layer.get_dim("nO") if layer.has_dim("nO") else None},
    )
    return cast(DocsLayer, node)


def forward(model: DocsLayer, docs: list[DocLike], is_train: bool) -> tuple[Ragged, Callable]:
    """Look up the rows, and run the layer on them."""
    lengths = model.ops.asarray1i([*map(len, docs)])
    if not any(map(len, docs)):
        return Ragged(model.ops.alloc2f(0, model.layers[0].get_dim("nO")), lengths), lambda dY: []
    vectors, backprop_vectors = model.layers[0](find_table_rows(model, docs), is_train)

    def backprop(d_tokens: Ragged) -> list[DocLike]:
        backprop_vectors(d_tokens.dataXd)
        return []

    return Ragged(vectors, lengths), backprop


def init(
    paths: Paths,
    model: DocsLayer,
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Load the tables into the vocab of the docs, then initialize the layer.

    Warns if a table contains none of the words.
    """
    rows = None
    if X:
        load_tables(X[0].vocab, paths)
        rows = find_table_rows(model, X)
        _warn_of_other_words(model, X, to_numpy(rows.present))
    model.layers[0].initialize(X=rows)
    model.set_dim("nO", model.layers[0].get_dim("nO"))


def check_settings(
    tables: Mapping[str, Optional[str]], key_attrs: Optional[Mapping[str, str]]
) -> tuple[Paths, Keys]:
    """Check the tables and their attributes, and sort both by the tables' names.

    Raises ValueError.
    """
    if not isinstance(tables, Mapping) or not tables:
        raise setting_error(_WHERE, "tables", "names of tables, each with a path or null", tables)
    for name, path in tables.items():
        if not isinstance(name, str) or not _NAME_OF_TABLE.fullmatch(name):
            raise setting_error(_WHERE, "tables", "names of letters, digits, - and _", name)
        if not (path is None or (isinstance(path, (str, Path)) and str(path))):
            raise setting_error(_WHERE, f"tables.{name}", "a path, or null", path)
    if tables.get(VOCAB) is not None:
        advice = "It is read from [initialize] vectors. Give a table with a path another name."
        raise setting_error(_WHERE, f"tables.{VOCAB}", "null", tables[VOCAB], advice)
    key_attrs = {} if key_attrs is None else key_attrs
    if not isinstance(key_attrs, Mapping) or not key_attrs.keys() <= tables.keys():
        expected = f"null, or an attribute for some of the tables {', '.join(sorted(tables))}"
        raise setting_error(_WHERE, "key_attrs", expected, key_attrs)
    for name, attr in key_attrs.items():
        check_choice(_WHERE, f"key_attrs.{name}", attr, TEXT_ATTRS)
    names = sorted(tables)
    keys = {name: attr_id(key_attrs[name]) if name in key_attrs else None for name in names}
    paths = {name: None if (path := tables[name]) is None else Path(path) for name in names}
    return paths, keys


def keys_of(model: Model) -> Keys:
    """Return the keys of the tables that a node `read_vectors` reads."""
    attrs = (attr_id(attr) if attr else None for attr in model.attrs["key_attrs"].value)
    return dict(zip(model.attrs["tables"].value, attrs, strict=True))


def key_attrs_in(vocab: Vocab, keys: Keys) -> list[int]:
    """List the attributes by which tables find words: all of TEXT_ATTRS for a missing table."""
    attrs: list[int] = []
    for name, attr in keys.items():
        if attr is not None:
            attrs.append(attr)
        elif has_table(vocab, name):
            attrs.append(find_table(vocab, name).attr)
        else:
            attrs += map(attr_id, TEXT_ATTRS)
    return attrs


def _warn_of_other_words(model: DocsLayer, docs: Sequence[DocLike], present: numpy.ndarray) -> None:
    """Warn of tables that contain none of the N tokens; present is (n, N) bool."""
    vocab: Any = docs[0].vocab
    keys = keys_of(model)
    for name, attr, has in zip(keys, key_attrs_in(vocab, keys), present, strict=True):
        ids = numpy.unique(numpy.concatenate([doc.to_array(attr) for doc in docs]))
        if has.any() or not ids.any():  # only the empty string, for docs without tokens
            continue
        words = sorted(vocab.strings[key] for key in ids.tolist())
        warnings.warn(
            f"{_WHERE}: the table '{name}' has none of the {len(words)} words of the docs that "
            f"initialize it, such as {words[:3]}. It finds them by {attr_name(attr)}. Check its "
            "language, and key_attrs.",
            stacklevel=2,
        )


def find_table_rows(model: DocsLayer, docs: Sequence[DocLike]) -> TableRows:
    """Look up the vectors of all tokens in each table that a node `read_vectors` reads."""
    vocab: Any = docs[0].vocab
    rows, present = [], []
    for name, attr in keys_of(model).items():
        table = find_table(vocab, name)
        ids = numpy.concatenate(
            [doc.to_array(table.attr if attr is None else attr) for doc in docs]
        )
        vectors, has = find_rows(vocab, name, table, on_device(model.ops, table.data), ids)
        rows.append(vectors)
        present.append(has)
    return TableRows(rows, model.ops.xp.asarray(numpy.stack(present)))


# The vocab's own vectors


def static_attrs(vocab: Vocab) -> list[int]:
    """List the attribute by which the vocab's own table finds vectors."""
    return [getattr(vocab.vectors, "attr", ORTH)]


def require_vectors(static_vectors: DocsLayer) -> DocsLayer:
    """Make spaCy's StaticVectors layer raise an error if there are no vectors to read.

    Without this check, initializing without vectors would set the vector width to 0, and
    initializing with vectors would fail later. Unknown values get zeros from floret tables too.
    Returns a layer of the same name, sizes, settings and weights.

    Raises ValueError at initialization and in each call if the vocab of the docs has no vectors.
    """
    layer, names = static_vectors, static_vectors.param_names
    return Model(
        layer.name,
        forward_static,
        init=partial(init_static, cast(Callable, layer.init)),
        params={name: layer.maybe_get_param(name) for name in names},
        dims={name: layer.maybe_get_dim(name) for name in layer.dim_names},
        attrs=dict(layer.attrs),
    )


def forward_static(
    model: Model[list[DocLike], Ragged], docs: list[DocLike], is_train: bool
) -> tuple[Ragged, Callable]:
    """Embed the vectors, with zeros for values whose string isn't in the vocab.

    A floret table would look up the string and raise KeyError. Only predictions see them.
    """
    embed_vectors: Any = staticvectors.forward
    vocab = docs[0].vocab if docs else None
    if vocab is not None and not vocab.vectors.shape[1]:
        raise ValueError(
            "The model reads static vectors, but the vocab of the docs has none. Load the pipeline "
            "with its vectors, source the component into a pipeline that has them, and make docs "
            "by the pipeline's own nlp.make_doc."
        )
    if vocab is None or getattr(vocab.vectors, "mode", None) != FLORET:
        return embed_vectors(model, docs, is_train)
    if vocab.vectors.strings is not vocab.strings:  # in a copy, or in another process
        vocab.vectors.strings = vocab.strings
    attr = vocab.vectors.attr
    ids = numpy.concatenate([doc.to_array(attr) for doc in docs])
    unknown = [not is_train and id not in vocab.strings for id in ids.tolist()]
    if not any(unknown):
        return embed_vectors(model, docs, is_train)
    ids[unknown] = 0  # of the empty string, whose vector is zeros
    vectors, backprop = embed_vectors(model, [UniqueTokens(ids[:, None], [attr], vocab)], is_train)
    return Ragged(vectors.data, model.ops.asarray1i([*map(len, docs)])), backprop


def init_static(
    init: Callable,
    model: Model[list[DocLike], Ragged],
    X: Optional[list[DocLike]] = None,
    Y: Optional[Ragged] = None,
) -> None:
    """Check the vectors, then initialize."""
    if X and not X[0].vocab.vectors.shape[1]:
        raise ValueError(
            "Static vectors were asked for (include_static_vectors = true), but the vocab has "
            "none. Name a pipeline or folder with vectors in [initialize] vectors, "
            "or set include_static_vectors = false."
        )
    init(model, X, Y)
