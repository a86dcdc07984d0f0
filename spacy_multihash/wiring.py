"""From the layer of each attribute to an embedding of docs."""

from typing import Any, Callable, List, Literal, Optional, Tuple, Union, cast

import numpy
from spacy.attrs import IDS, ORTH, intify_attr
from spacy.ml.featureextractor import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from thinc.api import (
    Dropout,
    Model,
    Ops,
    chain,
    concatenate,
    list2ragged,
    ragged2list,
    uniform_init,
    with_array,
)
from thinc.types import Floats2d, FloatsXd, Ints2d, Ragged

from .common.checks import is_whole
from .common.pinned import Pinned
from .common.types import AttrLayer, DocLike, DocsLayer
from .compute.hashing import importance_seed
from .compute.maxout_norm import MaxoutNorm
from .layers.hash_rows import MAX_ROWS, hash_rows
from .layers.lookup_rows import lookup_rows
from .layers.multi_embed import multi_embed
from .layers.static_vectors import require_vectors
from .layers.table_embed import TableEmbed
from .layers.unit_importance import unit_importance
from .layers.weighted_embed import weighted_embed
from .layers.weighted_table_embed import Aggregate, WeightedTableEmbed
from .layers.with_token_types import with_token_types

Attrs = Union[List[str], List[int], List[Union[str, int]]]

# What configs call the settings of a layer that decide rows.
_SETTING = {"attr": "attrs", "nV": "rows", "seed": "seeds"}

# Of the rows of component vectors, or of the only table, and of those of importance parameters.
_PREFIXES = ("", "importance_")

# "We typically ... choose K and B s.t. K > 10 B" (Svenstrup et al. 2017, section 3).
IMPORTANCE_ROWS = 10
IMPORTANCE_SD = 0.0005  # the authors' code

# Name of a model whose layers are text classifiers, each with tables of its own.
ENSEMBLE = "textcat_ensemble"

# How the row of a symbol's importance parameters is found.
RowsBy = Literal["hash", "lookup"]

# spaCy's NAMES is no inverse of its IDS, which have gaps. "" has the id 0.
_NAME_OF = {attr: name for name, attr in IDS.items() if attr}


def weighted_layer(
    attr: str,
    width: int,
    nV: int,
    *,
    seed: int,
    num_hashes: int = 2,
    importance_nV: Optional[int] = None,
    importance_by: RowsBy = "hash",
    independent: bool = True,
    aggregate: Aggregate = "sum",
    append_importance: bool = False,
    train_importance: bool = True,
    embed_init: Optional[Callable] = None,
    importance_init: Optional[Callable] = None,
) -> AttrLayer:
    """Build a hash embedding of one kind of symbols, (U,) uint64 -> (U, nO) float32.

    Svenstrup et al. 2017, section 3. The arguments are those of MultiWeightedHashEmbed, for one
    attribute. Importance that is fixed at 1 leaves a sum of rows, which TableEmbed computes faster.

    attr (str): Name of the symbols, for messages and to find their table.
    nV (int): Number of component vectors, B in the paper.
    importance_nV (int or None): Number of rows of importance parameters, K in the paper. None takes
        ten times as many as component vectors. Without effect where they are looked up, since the
        table of symbols decides, and where importance is fixed.

    Raises ValueError for a number that is out of range, and for a setting without effect.
    """
    embed_init = embed_init or uniform_init
    by_hash = train_importance and importance_by == "hash"
    num_rows = default_importance_rows(nV) if importance_nV is None else importance_nV
    if (by_hash or importance_nV is not None) and not is_whole(num_rows, 1, MAX_ROWS):
        raise ValueError(
            f"Weighted embedding of {attr}: importance_rows must be a whole number from 1 to "
            f"{MAX_ROWS}, was: {num_rows!r}. Set it in the config; null takes {IMPORTANCE_ROWS} "
            "times the rows of component vectors."
        )
    through = None
    if not train_importance:
        _refuse_unused(attr, importance_by=importance_by != "hash", independent=not independent)
        importance = unit_importance(num_hashes)
    else:
        to_importance = (
            hash_rows(num_rows, attr=attr, num_hashes=1, seed=importance_seed(seed))
            if by_hash
            else lookup_rows(attr=attr)
        )
        parameters = TableEmbed(
            num_hashes,
            num_rows if by_hash else None,
            initializer=importance_init or near_zero_init,
        )
        importance = chain(to_importance, parameters)
        through = None if independent else to_importance
    to_rows = hash_rows(nV, attr=attr, num_hashes=num_hashes, seed=seed, through=through)
    if not train_importance and aggregate == "sum" and not append_importance:
        return chain(to_rows, TableEmbed(width, nV, initializer=embed_init))
    table = WeightedTableEmbed(
        width, nV, num_hashes=num_hashes, aggregate=aggregate, initializer=embed_init
    )
    return weighted_embed(to_rows, importance, table, append_importance=append_importance)


def default_importance_rows(nV: int) -> int:
    """Return the number of rows of importance parameters for nV component vectors."""
    # What is wrong with nV, a quoted number for one, is said where it is used.
    return IMPORTANCE_ROWS * (nV if is_whole(nV, 1) else 1)


def _refuse_unused(attr: str, **is_set: bool) -> None:
    for name, value in is_set.items():
        if value:
            raise ValueError(
                f"Weighted embedding of {attr}: {name} has no effect with train_importance = "
                f"false, by which importance is fixed at 1. Leave {name} out of the config, or set "
                "train_importance = true."
            )


def near_zero_init(ops: Ops, shape: Tuple[int, ...]) -> FloatsXd:
    """Draw importance parameters that training has yet to make count.

    A normal distribution with a standard deviation of 0.0005, as in the code of Svenstrup et al.
    2017. A symbol that training never meets is next to nothing then, and not noise.
    """
    drawn = numpy.random.normal(0, IMPORTANCE_SD, shape)
    return cast(FloatsXd, ops.asarray(cast(Any, drawn), dtype="float32"))


def embed_docs(
    name: str,
    layers: List[AttrLayer],
    width: int,
    include_static_vectors: bool,
    *,
    dropout: float = 0.0,
    maxout_pieces: int = 3,
) -> Model[List[Doc], List[Floats2d]]:
    """Wire the attributes' layers up: from docs to types, side by side, mixed, and back to tokens.

    name (str): Name of the whole, by which callbacks and users find it.
    layers (List[AttrLayer]): A layer per attribute, (U,) uint64 -> (U, nO) float32, whose first
        layer gives rows, and knows the attribute's name.
    width (int): Width of the vectors, and of the static ones.
    include_static_vectors (bool): Whether to embed the static vectors of the vocab as well.
    dropout (float): Initial dropout rate of the result; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the mix.
    """
    if not is_whole(width, 1):
        raise ValueError(
            f"Embedding layer '{name}': width must be a whole number from 1 on, was: {width!r}. "
            "Recommended: from 64 to 300."
        )
    attrs = [attr_id(layer.layers[0].attrs["attr"].value) for layer in layers]
    extract = cast(Model[List[DocLike], List[Ints2d]], FeatureExtractor(attrs))
    to_ragged = cast(Model[List[Ints2d], Ragged], list2ragged())
    side_by_side: Model[Ragged, Ragged] = with_array(multi_embed(*layers))  # type: ignore[misc]
    embed = chain(extract, to_ragged, side_by_side)
    if include_static_vectors:
        vectors = require_vectors(cast(DocsLayer, StaticVectors(width, dropout=0.0)))
        embed = concatenate(embed, vectors)
    nI = sum(layer.get_dim("nO") for layer in layers) + width * include_static_vectors
    mix = MaxoutNorm(width, nI, nP=maxout_pieces)
    model = chain(
        with_token_types(
            cast(DocsLayer, chain(embed, with_array(mix))),
            width,
            attrs=attrs,
            vector_attr=ORTH if include_static_vectors else None,
        ),
        Dropout(dropout),
        ragged2list(),
    )
    model.name = name
    # The root node is loaded first: weights of other settings are refused before any is taken over.
    row_layers = zip(*map(_row_layers, layers), strict=True)
    for prefix, nodes in [("", layers), *zip(_PREFIXES, row_layers, strict=False)]:
        for key, value in nodes[0].attrs.items():
            if isinstance(value, Pinned):
                values = [node.attrs[key].value for node in nodes]
                model.attrs[prefix + _SETTING.get(key, key)] = Pinned(values)
    model.set_dim("nO", width)
    return cast(Model[List[Doc], List[Floats2d]], model)


def attr_id(attr: Union[str, int]) -> int:
    """Find the id of a token attribute that is given by name or by id.

    Raises ValueError if spaCy knows no such attribute.
    """
    found = intify_attr(attr)
    if found not in _NAME_OF:
        raise ValueError(
            f"Unknown token attribute of an embedding layer: {attr!r}. "
            "Expected the name or id of an attribute of spaCy's Token, such as NORM, PREFIX, "
            "SUFFIX, SHAPE, ORTH, LOWER, POS or SPACY."
        )
    return int(found)


def attr_names(attrs: Attrs) -> List[str]:
    """Name the attributes that are given by name or by id.

    Raises ValueError if there is none, or spaCy does not know one.
    """
    if not attrs:
        raise ValueError(
            "The attrs of an embedding layer must name at least one token attribute, was empty. "
            'Recommended: ["NORM", "PREFIX", "SUFFIX", "SHAPE"].'
        )
    return [_NAME_OF[attr_id(attr)] for attr in attrs]


def _row_layers(layer: AttrLayer) -> List[Model]:
    """List the nodes of an attribute that give rows, those of component vectors first."""
    return [node for node in layer.walk() if "attr" in node.attrs]
