"""The registered architectures of embeddings: wiring only."""

from typing import Dict, List, Optional, Union, cast

from spacy.tokens import Doc
from thinc.api import Model, chain
from thinc.types import Floats2d, Ragged

from ..common import registered
from ..common.checks import check_length, setting_error
from ..common.removed import accept_removed_settings
from ..compute.hashing import default_seeds, importance_seed
from ..vectors.meta_vectors import MetaVectors
from .embed_docs import embed_docs
from .embeddings import IMPORTANCE_ROWS, Reduce, TableEmbed, weighted_layer
from .features import Attrs, attr_names
from .rows import hash_rows, lookup_rows
from .static_vectors import check_settings, read_vectors

_WHERE = "Embedding layer"  # in messages

# Node names of the whole models.
MULTI_HASH_EMBED = "multi_hash_embed"
MULTI_WEIGHTED_HASH_EMBED = "multi_weighted_hash_embed"
MULTI_EMBED = "multi_embed"


def build_multi_hash_embed_v1(
    width: int,
    attrs: Attrs,
    rows: List[int],
    include_static_vectors: bool,
    num_hashes: Union[int, List[int]] = 4,
    seeds: Optional[List[int]] = None,
    table_dropout: bool = False,
    reduce: Reduce = "sum",
    count_repeats: bool = True,
    vectors: Optional[Model[List[Doc], Ragged]] = None,
) -> Model[List[Doc], List[Floats2d]]:
    """Embed tokens by several attributes, each hashed into its own table.

    Each attribute is hashed `num_hashes` times, and the rows that it falls on are summed. The
    vectors of all attributes, and the static vector if you include it, are concatenated. A maxout
    layer with layer normalization mixes them to the final width (Miranda et al. 2022, section 3.3).
    With num_hashes = 4 and seeds = [8, 9, 10, ...], this is spacy.MultiHashEmbed.v2: initial
    weights under the same random seed and predictions are the same. With table_dropout = true,
    dropout in training is the same too.

    width (int): Width of the vectors and of all tables. Recommended values are between 64 and 300.
    attrs (List[Union[str, int]]): Attributes to embed, by name or id, and features by name, such as
        "ORTH[:2]", "LOWER{3,5}", "MORPH[Case]" or "_.gazetteer" (docs/features.md). Recommended
        values are ["NORM", "PREFIX", "SUFFIX", "SHAPE"].
    rows (List[int]): Number of rows of each attribute's table. Recommended values are between 1000
        and 10000.
    include_static_vectors (bool): Whether to embed the vocab's static vectors as well.
    num_hashes (Union[int, List[int]]): Number of hash functions, 1 to 16, for all attributes or
        for each. Recommended values are between 2 and 4.
    seeds (Optional[List[int]]): Hash seed of each attribute, 0 <= seed < 2**32. Null is the
        default seeds of this package.
    table_dropout (bool): Whether dropout in training also applies to the vectors of each table,
        with the same mask for all tokens of a batch, as in spacy.MultiHashEmbed.v2.
    reduce (str): Whether the vectors of several values of a token, such as its n-grams, are
        summed ("sum") or averaged ("mean").
    count_repeats (bool): Whether a value that occurs twice in a token counts twice.
    vectors (Optional[Model[List[Doc], Ragged]]): A block of spacy-multihash.MetaVectors.v1, to
        embed several tables of static vectors. Set include_static_vectors = false then.

    Raises ValueError for an unknown attribute, for lists of unequal lengths, and for a number that
    is out of range.
    """
    names = attr_names(attrs)
    num_hashes, seeds = _per_attribute(names, rows, num_hashes, seeds)
    layers = [
        chain(hash_rows(nV, attr=name, num_hashes=k, seed=seed), TableEmbed(width, nV))
        for name, nV, k, seed in zip(names, rows, num_hashes, seeds, strict=True)
    ]
    pinned = _pinned_hashing(names, rows, num_hashes, seeds)
    return embed_docs(
        MULTI_HASH_EMBED,
        layers,
        width,
        include_static_vectors,
        pinned=pinned,
        table_dropout=table_dropout,
        reduce=reduce,
        count_repeats=count_repeats,
        vectors=vectors,
    )


@accept_removed_settings(registered.MULTI_WEIGHTED_HASH_EMBED)
def build_multi_weighted_hash_embed_v1(
    width: int,
    attrs: Attrs,
    rows: List[int],
    include_static_vectors: bool,
    num_hashes: Union[int, List[int]] = 2,
    importance_rows: Optional[List[int]] = None,
    append_importance: bool = False,
    train_importance: bool = True,
    seeds: Optional[List[int]] = None,
    table_dropout: bool = False,
    reduce: Reduce = "sum",
    count_repeats: bool = True,
    vectors: Optional[Model[List[Doc], Ragged]] = None,
) -> Model[List[Doc], List[Floats2d]]:
    """Embed tokens by several attributes, each with a weighted hash embedding.

    This is MultiHashEmbed with trainable importance parameters. Each value has a parameter for
    each hash function, which weights its row before the rows are summed (Svenstrup et al. 2017,
    section 3). For example, a common word such as "the" can get little weight, and change its rows
    less than a rare, telling word.

    width (int): Width of the vectors and of all tables. Recommended values are between 64 and 300.
    attrs (List[Union[str, int]]): Attributes to embed, by name or id, and features by name, such as
        "ORTH[:2]", "LOWER{3,5}", "MORPH[Case]" or "_.gazetteer" (docs/features.md). Recommended
        values are ["NORM", "PREFIX", "SUFFIX", "SHAPE"].
    rows (List[int]): Number of component vectors of each attribute, B in the paper. Recommended
        values are between 100 and 5000.
    include_static_vectors (bool): Whether to embed the vocab's static vectors as well.
    num_hashes (Union[int, List[int]]): Number of component vectors of a value, 1 to 16, for all
        attributes or for each, k in the paper. The recommended value is 2.
    importance_rows (Optional[List[int]]): Number of rows of importance parameters of each
        attribute, K in the paper. Null is ten times its `rows`. It must be null if importance isn't
        trained.
    append_importance (bool): Whether to append the importance parameters to the vector.
    train_importance (bool): Whether to train the importance. Otherwise it's fixed at 1.
    seeds (Optional[List[int]]): Hash seed of each attribute, 0 <= seed < 2**32. The seed of its
        importance is derived from it. Null is the default seeds of this package.
    table_dropout (bool): Whether dropout in training also applies to the vectors of each attribute
        and the importance appended to them, with the same mask for all tokens of a batch.
    reduce (str): Whether the vectors of several values of a token, such as its n-grams, are
        summed ("sum") or averaged ("mean").
    count_repeats (bool): Whether a value that occurs twice in a token counts twice.
    vectors (Optional[Model[List[Doc], Ragged]]): A block of spacy-multihash.MetaVectors.v1, to
        embed several tables of static vectors. Set include_static_vectors = false then.

    Raises ValueError for an unknown attribute, for lists of unequal lengths, and for a number that
    is out of range.
    """
    names = attr_names(attrs)
    num_hashes, seeds = _per_attribute(names, rows, num_hashes, seeds)
    if importance_rows is not None:
        check_length(_WHERE, "importance_rows", importance_rows, names)
        if None in importance_rows:
            expected = "integers, or null instead of the list"
            raise setting_error(_WHERE, "importance_rows", expected, importance_rows)
    layers = [
        weighted_layer(
            name,
            width,
            rows[a],
            seed=seeds[a],
            num_hashes=num_hashes[a],
            importance_rows=None if importance_rows is None else importance_rows[a],
            append_importance=append_importance,
            train_importance=train_importance,
        )
        for a, name in enumerate(names)
    ]
    pinned = _pinned_hashing(names, rows, num_hashes, seeds)
    if train_importance:
        if importance_rows is None:
            importance_rows = [IMPORTANCE_ROWS * nV for nV in rows]
        seeds = [importance_seed(seed) for seed in seeds]
        importance = _pinned_hashing(names, importance_rows, [1] * len(names), seeds)
        pinned |= {f"importance_{setting}": values for setting, values in importance.items()}
    return embed_docs(
        MULTI_WEIGHTED_HASH_EMBED,
        layers,
        width,
        include_static_vectors,
        pinned=pinned,
        table_dropout=table_dropout,
        reduce=reduce,
        count_repeats=count_repeats,
        vectors=vectors,
    )


@accept_removed_settings(registered.MULTI_EMBED)
def build_multi_embed_v1(
    width: int,
    attrs: Attrs,
    include_static_vectors: bool,
    unk_dropout: float = 0.0,
    table_dropout: bool = False,
    reduce: Reduce = "sum",
    count_repeats: bool = True,
    vectors: Optional[Model[List[Doc], Ragged]] = None,
) -> Model[List[Doc], List[Floats2d]]:
    """Embed tokens by several attributes, each looked up in its own table.

    This is MultiHashEmbed with lookup instead of hashing. Each value that's frequent enough in the
    training corpus has its own row, and all other values share row 0 (Miranda et al. 2022, section
    4.3).
    To make the tables, add the callback spacy-multihash.init_tables.v1 to [initialize.before_init].

    width (int): Width of the vectors and of all tables. Recommended values are between 64 and 300.
    attrs (List[Union[str, int]]): Attributes to embed, by name or id, and features by name, such as
        "ORTH[:2]", "LOWER{3,5}", "MORPH[Case]" or "_.gazetteer" (docs/features.md). Recommended
        values are ["NORM", "PREFIX", "SUFFIX", "SHAPE"].
    include_static_vectors (bool): Whether to embed the vocab's static vectors as well.
    unk_dropout (float): Share of values that are replaced by the unknown value in training, 0 <=
        unk_dropout < 1, drawn for each unique token of a batch, and for each n-gram of a token.
        Recommended values are 0.0 for tables with min_freq > 1, and 0.01 to 0.3 for min_freq = 1,
        where row 0 wouldn't be trained otherwise.
    table_dropout (bool): Whether dropout in training also applies to the vectors of each table,
        with the same mask for all tokens of a batch.
    reduce (str): Whether the vectors of several values of a token, such as its n-grams, are
        summed ("sum") or averaged ("mean").
    count_repeats (bool): Whether a value that occurs twice in a token counts twice.
    vectors (Optional[Model[List[Doc], Ragged]]): A block of spacy-multihash.MetaVectors.v1, to
        embed several tables of static vectors. Set include_static_vectors = false then.

    Raises ValueError for an unknown attribute, and at initialization if there are no tables.
    """
    layers, pinned = lookup_columns(attrs, width, unk_dropout)
    return embed_docs(
        MULTI_EMBED,
        layers,
        width,
        include_static_vectors,
        pinned=pinned,
        table_dropout=table_dropout,
        reduce=reduce,
        count_repeats=count_repeats,
        vectors=vectors,
    )


def build_meta_vectors_v1(
    width: Optional[int],
    tables: Dict[str, Optional[str]],
    mode: str = "concat",
    key_attrs: Optional[Dict[str, str]] = None,
) -> Model[List[Doc], Ragged]:
    """Embed tokens by several tables of static vectors (Winata et al. 2019).

    Use it as the block `vectors` of the other embeddings. The tables aren't trained. They're in the
    vocab, so they're saved once with the pipeline. A table that doesn't have a token is ignored
    for this token. A token that no table has gets zeros.

    width (Optional[int]): Width of the vectors. Recommended values are between 64 and 300. For
        "concat", leave it null: the width is the sum of the tables' widths.
    tables (Dict[str, Optional[str]]): For each table, a name and where it is: the folder of a
        pipeline or of vectors, a package, or a file of vectors as text. Null is for the
        vocab's own table, which is called "vocab", and for tables that the callback
        spacy-multihash.load_vectors.v1 reads.
    mode (str): How to combine a token's vectors. "concat", which is recommended, concatenates them.
        "mme" projects them, and weights each entry by attention over the tables.
    key_attrs (Optional[Dict[str, str]]): For each table, the attribute by which it finds words:
        ORTH, LOWER, NORM or LEMMA. By default, a table keeps the attribute of its file, often ORTH.

    Raises ValueError if a setting is out of range, and at initialization if a table can't be used.
    """
    paths, keys = check_settings(tables, key_attrs)
    layer = MetaVectors(width, list(keys), mode)
    return cast(Model[List[Doc], Ragged], read_vectors(layer, paths, keys))


def lookup_columns(
    attrs: Attrs, width: int, unk_dropout: float = 0.0
) -> tuple[List[Model], Dict[str, list]]:
    """Build a layer for each attribute that's looked up, and name the settings of their rows."""
    names = attr_names(attrs)
    layers = [chain(lookup_rows(attr=a, unk_dropout=unk_dropout), TableEmbed(width)) for a in names]
    return layers, {"attrs": names, "rows_by": ["lookup"] * len(names)}


# The settings that weights depend on. The names and values are saved: they are a file format.


def _pinned_hashing(
    names: List[str], rows: List[int], num_hashes: List[int], seeds: List[int]
) -> Dict[str, list]:
    """Name the settings that decide the rows of hashed symbols, one value per attribute."""
    return {
        "attrs": names,
        "rows_by": ["hash"] * len(names),
        "rows": rows,
        "num_hashes": num_hashes,
        "seeds": seeds,
    }


def _per_attribute(
    names: List[str],
    rows: List[int],
    num_hashes: Union[int, List[int]],
    seeds: Optional[List[int]],
) -> tuple[List[int], List[int]]:
    """Return the number of hashes and the seed of each attribute.

    Raises ValueError unless each list has an entry per attribute.
    """
    if not isinstance(num_hashes, (list, tuple)):
        num_hashes = [num_hashes] * len(names)
    if seeds is None:
        seeds = default_seeds(len(names))
    for name, values in (("rows", rows), ("num_hashes", num_hashes), ("seeds", seeds)):
        check_length(_WHERE, name, values, names)
    return num_hashes, seeds
