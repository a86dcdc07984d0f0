"""The registered architectures: wiring only."""

from typing import List, Optional, Union, cast

from spacy.attrs import IDS, ORTH, intify_attr
from spacy.ml.featureextractor import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from thinc.api import Dropout, Model, chain, concatenate, list2ragged, ragged2list, with_array
from thinc.types import Floats2d, Ints2d, Ragged

from .layers import (
    MaxoutNorm,
    MaxoutWindowEncoder,
    Pinned,
    TableEmbed,
    default_seeds,
    hash_rows,
    lookup_rows,
    multi_embed,
    require_vectors,
    with_token_types,
)
from .types import AttrLayer, DocLike, DocsLayer

Attrs = Union[List[str], List[int], List[Union[str, int]]]

# What configs call the settings of a layer that decide rows.
_SETTING = {"attr": "attrs", "nV": "rows", "seed": "seeds"}

# spaCy's NAMES is no inverse of its IDS, which have gaps. "" has the id 0.
_NAME_OF = {attr: name for name, attr in IDS.items() if attr}


def build_multi_hash_embed_v1(
    width: int,
    attrs: Attrs,
    rows: List[int],
    include_static_vectors: bool,
    num_hashes: Union[int, List[int]] = 4,
    seeds: Optional[List[int]] = None,
) -> Model[List[Doc], List[Floats2d]]:
    """Embed tokens by several of their attributes, each hashed into a table of its own.

    Each attribute is hashed `num_hashes` times into its table, and the rows it falls on are summed.
    The attributes' vectors, and the static vector if there is one, are put side by side and mixed
    to the final width by a maxout layer with layer normalization (Miranda et al. 2022, section
    3.3). With num_hashes = 4 and seeds = [8, 9, 10, ...] this is spacy.MultiHashEmbed.v2: the same
    initial weights under the same random seed, and the same predictions.

    width (int): Width of the vectors and of all tables. Recommended values are between 64 and 300.
    attrs (List[Union[str, int]]): Attributes to embed, by name or id. Recommended values are
        ["NORM", "PREFIX", "SUFFIX", "SHAPE"].
    rows (List[int]): Number of rows of each attribute's table. Recommended values are between 1000
        and 10000.
    include_static_vectors (bool): Whether to embed the static vectors of the vocab as well.
    num_hashes (Union[int, List[int]]): Number of hash functions, 1 to 16, for all attributes or
        for each. Recommended values are between 2 and 4.
    seeds (Optional[List[int]]): Hash seed of each attribute, 0 <= seed < 2**32. Null, which is
        recommended, takes the package's own.

    Raises ValueError for an unknown attribute, for lists of unequal lengths, and for a number that
    is out of range.
    """
    names = attr_names(attrs)
    _check_length("rows", rows, names)
    if isinstance(num_hashes, int):
        num_hashes = [num_hashes] * len(names)
    _check_length("num_hashes", num_hashes, names)
    if seeds is None:
        seeds = default_seeds(len(names))
    _check_length("seeds", seeds, names)
    layers = [
        chain(hash_rows(nV, attr=name, num_hashes=k, seed=seed), TableEmbed(width, nV))
        for name, nV, k, seed in zip(names, rows, num_hashes, seeds, strict=True)
    ]
    return embed_docs("multi_hash_embed", layers, width, include_static_vectors)


def build_multi_embed_v1(
    width: int,
    attrs: Attrs,
    include_static_vectors: bool,
    unk_dropout: float = 0.0,
) -> Model[List[Doc], List[Floats2d]]:
    """Embed tokens by several of their attributes, each looked up in a table of its own.

    The same as MultiHashEmbed, but with one row per symbol that is frequent enough in the training
    corpus, and row 0 for all others (Miranda et al. 2022, section 4.3). The tables are made by the
    callback spacy-multihash.init_tables.v1 in [initialize.before_init].

    width (int): Width of the vectors and of all tables. Recommended values are between 64 and 300.
    attrs (List[Union[str, int]]): Attributes to embed, by name or id. Recommended values are
        ["NORM", "PREFIX", "SUFFIX", "SHAPE"].
    include_static_vectors (bool): Whether to embed the static vectors of the vocab as well.
    unk_dropout (float): In training, the share of distinct tokens of a batch whose attribute is
        taken as unknown, 0 <= unk_dropout < 1. Recommended values are 0.0 for tables with
        min_freq > 1, and about 0.01 for tables of all symbols, whose row 0 is not trained else.

    Raises ValueError for an unknown attribute, and at initialization if there are no tables.
    """
    layers = lookup_layers(attrs, width, unk_dropout=unk_dropout)
    return embed_docs("multi_embed", layers, width, include_static_vectors)


def build_maxout_window_encoder_v1(
    width: int, window_size: int, maxout_pieces: int, depth: int
) -> Model[List[Floats2d], List[Floats2d]]:
    """Encode tokens in context, by convolutions with maxout activation and residual connections.

    The same function as spacy.MaxoutWindowEncoder.v2, and the same initial weights under the same
    random seed, in less time and memory (docs/performance.md).

    width (int): Width of the vectors, of the input as well. Recommended values are between 64 and
        300.
    window_size (int): Number of neighbours on each side that a layer sees. Recommended value is 1.
    maxout_pieces (int): Number of maxout pieces. Recommended values are 2 or 3.
    depth (int): Number of layers. Recommended values are between 2 and 8.

    Raises ValueError for a number that is out of range.
    """
    sizes = {"width": width, "maxout_pieces": maxout_pieces, "depth": depth}
    for name, size in [*sizes.items(), ("window_size", window_size)]:
        least = int(name in sizes)
        if size < least:
            raise ValueError(
                f"MaxoutWindowEncoder: {name} must be {least} or more, was: {size}. Change it in "
                "the config."
            )
    return MaxoutWindowEncoder(width, window_size=window_size, nP=maxout_pieces, depth=depth)


def lookup_layers(attrs: Attrs, width: int, *, unk_dropout: float = 0.0) -> List[AttrLayer]:
    """Build the layer of each attribute of MultiEmbed, (U,) uint64 -> (U, width) float32."""
    return [
        chain(lookup_rows(attr=name, unk_dropout=unk_dropout), TableEmbed(width))
        for name in attr_names(attrs)
    ]


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
    layers (List[AttrLayer]): A layer per attribute, (U,) uint64 -> (U, width) float32: a chain of
        one that gives rows, and knows the attribute's name, and its table.
    width (int): Width of the vectors and of all tables.
    include_static_vectors (bool): Whether to embed the static vectors of the vocab as well.
    dropout (float): Initial dropout rate of the result; spaCy sets it for each update.
    maxout_pieces (int): Number of maxout pieces of the mix.
    """
    if width < 1:
        raise ValueError(
            f"Embedding layer '{name}': width must be 1 or more, was: {width}. "
            "Recommended: from 64 to 300."
        )
    row_layers = [layer.layers[0] for layer in layers]
    attrs = [attr_id(layer.attrs["attr"].value) for layer in row_layers]
    extract = cast(Model[List[DocLike], List[Ints2d]], FeatureExtractor(attrs))
    to_ragged = cast(Model[List[Ints2d], Ragged], list2ragged())
    side_by_side: Model[Ragged, Ragged] = with_array(multi_embed(*layers))  # type: ignore[misc]
    embed = chain(extract, to_ragged, side_by_side)
    if include_static_vectors:
        vectors = require_vectors(cast(DocsLayer, StaticVectors(width, dropout=0.0)))
        embed = concatenate(embed, vectors)
    mix = MaxoutNorm(width, width * (len(layers) + include_static_vectors), nP=maxout_pieces)
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
    for key, value in row_layers[0].attrs.items():
        if isinstance(value, Pinned):
            values = [layer.attrs[key].value for layer in row_layers]
            model.attrs[_SETTING.get(key, key)] = Pinned(values)
    model.set_dim("nO", width)
    return cast(Model[List[Doc], List[Floats2d]], model)


def attr_id(attr: Union[str, int]) -> int:
    """Find the id of a token attribute that is given by name or by id.

    Raises ValueError if spaCy knows no such attribute.
    """
    found = intify_attr(attr)
    if found not in _NAME_OF:
        raise ValueError(
            f"Unknown token attribute in the attrs of an embedding layer: {attr!r}. Expected the "
            "name or id of an attribute of spaCy's Token, such as NORM, PREFIX, SUFFIX, SHAPE, "
            "ORTH, LOWER, POS or SPACY."
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


def _check_length(name: str, values: List[int], attrs: List[str]) -> None:
    if len(values) != len(attrs):
        raise ValueError(
            f"MultiHashEmbed: {name} must have one entry per attribute: expected {len(attrs)} for "
            f"attrs = {attrs}, was {len(values)}: {values}. Change {name} in the config."
        )
