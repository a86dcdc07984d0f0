"""From symbols to vectors: sums of rows of tables, forward and backward.

A column of tokens is hashed or looked up to rows of a table, and each token's vector is the sum of
its rows. Rows may be weighted, and a token may have any number of symbols (a bag):

    vector(token)  =  sum over symbols s of the token  sum over k  weight_k(s) * E[row_k(s)]

The weights are the importance parameters of Svenstrup et al. 2017, section 3, where the rows
E[row_k] are component vectors, which symbols share. They're a row of a second, larger table.

`multi_embed` sums the rows of all columns in one call. Prediction reads the same columns, for a
call from symbols to mixed vectors.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Optional, Union, cast

import numpy
from thinc.api import Model, Ops, chain, to_numpy, uniform_init
from thinc.types import Floats2d, FloatsXd, Ints1d, Ints2d, Ragged
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, OutOfRange, check_flag, check_share, check_whole
from ..common.nodes import Pinned, bound, has_layers
from ..common.types import Array, AttrLayer, AttrsLayer, RowLayer, SymbolColumn, TableLayer
from ..compute.array_ops import ArrayOps, Bags, ColumnTable, for_kernel, for_sums
from ..compute.hashing import Hashing, hashing_of, importance_seed
from ..compute.ops import operations
from ..compute.plans import READING, Plan, Reading, read_param
from .rows import HASH_NAME, LOOKUP_NAME, hash_rows, hashed_by, read_keys

# Node names, a file format.
TABLE_EMBED = "table_embed"
WEIGHTED_EMBED = "weighted_embed"
WEIGHTED_TABLE = "weighted_table_embed"
UNIT_IMPORTANCE = "unit_importance"
EMBED_BAGS = "embed_bags"
MULTI_EMBED = "multi_embed"

Reduce = Literal["sum", "mean"]
# Symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, W) float32.
BagLayer = Model[Ragged, Floats2d]

# "We typically ... choose K and B s.t. K > 10 B" (section 3).
IMPORTANCE_ROWS = 10
IMPORTANCE_SD = 0.0005  # the authors' code


# Columns


class Column(NamedTuple):
    """The layer of a column, as it was read.

    layer (AttrLayer): Rows and their table, or a `weighted_embed`.
    table (ColumnTable or None): Its tables, and how symbols become rows. None for other layers,
        which a column may have, too.
    mean (bool): Whether the sums over a token's symbols are divided by their number.
    """

    layer: AttrLayer
    table: Optional[ColumnTable]
    mean: bool = False


def is_hashed(layer: AttrLayer) -> bool:
    """Check if a column is hashed to the rows of a table, without weights."""
    return has_layers(layer, HASH_NAME, TABLE_EMBED)


def read_column(layer: Model, ops: ArrayOps, reading: Reading = READING) -> Column:
    """Read the tables of a column."""
    is_bag = layer.name == EMBED_BAGS
    mean = is_bag and reading.attr(layer, "reduce").value == "mean"
    inner = reading.layers(layer)[0] if is_bag else layer
    nodes = reading.layers(inner)
    is_looked_up = [node.name for node in nodes] == [LOOKUP_NAME, TABLE_EMBED]
    if not (is_looked_up or inner.name == WEIGHTED_EMBED or is_hashed(inner)):
        return Column(inner, None, mean)
    table = ColumnTable(cast(Array, table_of(nodes[-1], reading)), is_bag=is_bag, mean=mean)
    if is_looked_up:
        keys, row_of = read_keys(nodes[0], ops, reading)
        return Column(inner, table._replace(keys=keys, row_of=row_of), mean)
    hashing = hashed_by(nodes[0], reading)
    table = table._replace(hashing=hashing)
    if inner.name != WEIGHTED_EMBED:  # the layers say what's wrong with another number of rows
        return Column(inner, table if hashing[0] == len(table.table) else None, mean)
    _check_fit(nodes[-1], table.table, hashing[0])
    factors, by_hash = ops.xp.ones((1, hashing[1]), dtype="float32"), (1, 0)
    if nodes[1].name != UNIT_IMPORTANCE:
        to_importance, node = reading.layers(nodes[1])
        nV, _, seed = hashed_by(to_importance, reading)
        factors, by_hash = cast(Array, table_of(node, reading)), (nV, seed)
        _check_fit(node, factors, nV)
    is_appended = inner.get_dim("nO") > table.table.shape[1]
    table = table._replace(importance=factors, importance_hashing=by_hash, is_appended=is_appended)
    return Column(inner, table, mean)


def _check_fit(node: Model, table: Array, nV: int) -> None:
    if len(table) != nV:
        raise OutOfRange(
            f"Layer '{node.name}' has {len(table):,} rows, but the layer before it maps to {nV:,}: "
            "build both with the same number of rows."
        )


def _read_columns(
    ops: ArrayOps, reading: Reading, model: AttrsLayer
) -> tuple[list[Column], Optional[Hashing]]:
    """Read all columns; and if all are hashed, to tables of one width, how."""
    columns = [read_column(layer, ops, reading) for layer in reading.layers(model)]
    tables = [column.table for column in columns]
    hashings = tuple(
        table.hashing
        for table in tables
        if table and table.hashing and table.importance is None and not table.is_bag
    )
    is_plain = len(hashings) == len(tables) and len({t.table.shape[1] for t in tables if t}) == 1
    return columns, hashing_of(hashings) if is_plain else None


def _embed_columns(
    ops: ArrayOps, columns: Sequence[Column], symbols: Sequence[SymbolColumn], is_train: bool
) -> tuple[Floats2d, list[int], Callable[[Floats2d], None]]:
    """Sum the rows of all columns: vectors (U, W), the columns' widths, and the backward pass."""
    sums, backprops = zip(
        *(_find_rows(ops, *of, is_train) for of in zip(columns, symbols, strict=True)), strict=True
    )
    widths = [sum(E.shape[1] for E, _ in of_column) for of_column in sums]
    tables, bags = zip(*(of_table for of_column in sums for of_table in of_column), strict=True)

    def backprop(d_vectors: Floats2d) -> None:
        end = 0
        for backprop_column, width in zip(backprops, widths, strict=True):
            start, end = end, end + width
            backprop_column(for_sums(ops, d_vectors[:, start:end]))

    return ops.sum_columns(tables, bags), widths, backprop


def _find_rows(
    ops: ArrayOps, column: Column, symbols: SymbolColumn, is_train: bool
) -> tuple[list[tuple[Array, Bags]], Callable[[Array], None]]:
    """Find the rows of a column's symbols.

    symbols: Ids (U,) uint64, or a Ragged of ids (M,) and lengths (U,).

    Returns tables (nV, W), each with its rows; and a callback that takes the gradient of all sums
    side by side, (U, W) float32.
    """
    layer, table, mean = column
    ids, ends = cast(Ints1d, symbols), None
    if isinstance(symbols, Ragged):
        ids, ends = cast(Ints1d, symbols.dataXd), to_numpy(symbols.lengths).cumsum(dtype="int64")
    if table is None or table.is_appended:  # a row for each symbol
        one_each = Bags(ops.xp.arange(len(ids), dtype="int32")[:, None], None, ends, mean)
    if table is None:
        vectors, backprop_vectors = layer(ids, is_train)

        def backprop_layer(d_sums: Array) -> None:
            d_vectors = ops.alloc2f(*vectors.shape)
            ops.scatter_sum(d_vectors, one_each, d_sums)
            backprop_vectors(d_vectors)

        return [(for_kernel(ops, vectors, "float32"), one_each)], backprop_layer
    (to_rows, *importance, node), E = layer.layers, table.table
    rows, weights = for_kernel(ops, to_rows(ids, is_train)[0], "int32"), None
    ops.check_rows(node.name, rows, len(E))
    for of_symbols in importance:
        weights, backprop_weights = of_symbols(ids, is_train)  # (M, k)
        weights = for_kernel(ops, weights, "float32")
    bags, width = Bags(rows, weights, ends, mean), E.shape[1]

    def backprop(d_sums: Array) -> None:
        d_vectors = d_sums[:, :width]
        ops.scatter_sum(gradient_of(node), bags, d_vectors)
        if weights is not None:
            d_weights = ops.gather_dot(E, bags, d_vectors)
            if table.is_appended:
                ops.scatter_sum(d_weights, one_each, for_sums(ops, d_sums[:, width:]))
            backprop_weights(d_weights)

    return [(E, bags), *([(weights, one_each)] if table.is_appended else [])], backprop


def _embed_alone(
    model: Model, column: Column, symbols: SymbolColumn, is_train: bool, zeros: Callable[[], Any]
) -> tuple[Floats2d, Callable[[Floats2d], Any]]:
    """Embed a single column. Its layer's input has no gradient, but zeros of its shape."""
    ops = operations(model.ops)
    vectors, _, backprop_vectors = _embed_columns(ops, [column], [symbols], is_train)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Any:  # noqa: ANN401 (as the input)
        vectors_info.check_consistency(d_vectors)
        backprop_vectors(d_vectors)
        return zeros()

    return vectors, backprop


# A table


def TableEmbed(
    nO: int, nV: Optional[int] = None, *, initializer: Callable = uniform_init
) -> TableLayer:
    """Sum the rows of a table that each token is mapped to.

    The sum is not rescaled by the number of rows. In the backward pass, a vector's gradient is
    added to each of its rows, and gradients of a repeated row add up. On a GPU, the order varies,
    so the last bits may differ from run to run.

    rows (N, K) int32 -> vectors (N, nO) float32.

    nO (int): Width of the vectors.
    nV (int or None): Number of rows. None leaves it open until it is set or loaded.
    initializer (Callable): Fills the table E (nV, nO); uniform in [-0.1, 0.1), as in thinc.

    Raises ValueError at initialization if nV was never set, and IndexError for a row outside the
    table.
    """
    return Model(
        TABLE_EMBED,
        forward_table,
        init=partial(init_table, initializer),
        dims={"nO": nO, "nV": nV},
        params={"E": None},
    )


def forward_table(model: TableLayer, rows: Ints2d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Gather and add; scatter-add in the backward pass."""
    ops, E = operations(model.ops), table_of(model)
    if cast(Array, rows).dtype.kind not in "iu" or rows.ndim != 2:
        raise ValueError(
            f"Layer '{model.name}' expects rows of shape (N, K) and type int32, got shape "
            f"{rows.shape} and type {rows.dtype}."
        )
    bags = Bags(for_kernel(ops, rows, "int32"))
    ops.check_rows(model.name, bags.rows, len(E))
    vectors = ops.sum_columns([E], [bags])
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Ints2d:
        vectors_info.check_consistency(d_vectors)
        ops.scatter_sum(gradient_of(model), bags, for_sums(ops, d_vectors))
        return model.ops.alloc2i(*rows.shape)  # integers have no gradient

    return vectors, backprop


def init_table(
    initializer: Callable,
    model: Model,
    X: Any = None,  # noqa: ANN401 (what the layer takes)
    Y: Optional[Floats2d] = None,
) -> None:
    """Fill the table."""
    if not model.has_dim("nV"):
        raise ValueError(
            f"Layer '{model.name}' cannot be initialized: its number of rows (nV) is not set. "
            "Give nV when building it, or set the tables of its lookup first."
        )
    model.set_param("E", initializer(model.ops, (model.get_dim("nV"), model.get_dim("nO"))))


class NoWeightsError(KeyError, ValueError):
    """A layer has no weights. spaCy adds the component's name to a KeyError."""

    __str__ = Exception.__str__  # without a KeyError's quotes


def table_of(model: Model, reading: Reading = READING) -> Floats2d:
    """Get the table E (nV, nO), or raise NoWeightsError."""
    if not reading.has_param(model, "E"):
        raise NoWeightsError(
            f"Layer '{model.name}' has no weights: initialize it, or load weights, before using "
            "it. Setting the tables of a lookup takes the weights of its old tables away."
        )
    return cast(Floats2d, read_param(reading, model, "E", 2))


def gradient_of(model: Model) -> Floats2d:
    """Get the gradient of the table, (nV, nO), to add to in place.

    Filling a second array and adding it would take more time than the rest of backpropagation.
    """
    if not model.has_grad("E"):
        model.set_grad("E", model.ops.alloc2f(*table_of(model).shape))
    return cast(Floats2d, model.get_grad("E"))


# Importance


def weighted_layer(
    attr: str,
    width: int,
    rows: int,
    *,
    seed: int,
    num_hashes: int = 2,
    importance_rows: Optional[int] = None,
    append_importance: bool = False,
    train_importance: bool = True,
) -> AttrLayer:
    """Build the weighted hash embedding of one kind of values.

    TableEmbed computes plain sums of rows, because it's faster.

    ids (U,) uint64 -> vectors (U, nO) float32.

    attr (str): Name of the values, for messages. For the settings, each of one attribute, see
        `build_multi_weighted_hash_embed_v1`.

    Raises ValueError if a setting is out of range, has the wrong type, or has no effect.
    """
    where = f"Weighted embedding of {attr}"
    check_whole(where, "width", width, 1, MAX_SIZE)
    check_flag(where, "append_importance", append_importance)
    check_flag(where, "train_importance", train_importance)
    if importance_rows is not None and not train_importance:
        raise ValueError(
            f"{where}: importance_rows = {importance_rows} has no effect with "
            "train_importance = false. Set importance_rows = null, or train_importance = true."
        )
    to_rows = hash_rows(rows, attr=attr, num_hashes=num_hashes, seed=seed)
    if not (train_importance or append_importance):
        return chain(to_rows, TableEmbed(width, rows))
    importance = unit_importance(num_hashes)
    if train_importance:
        nV = IMPORTANCE_ROWS * rows if importance_rows is None else importance_rows
        advice = f"Set it in the config; null takes {IMPORTANCE_ROWS} times the rows."
        check_whole(where, "importance_rows", nV, 1, MAX_SIZE, advice=advice)
        importance = chain(
            hash_rows(nV, attr=attr, num_hashes=1, seed=importance_seed(seed)),
            TableEmbed(num_hashes, nV, initializer=near_zero_init),
        )
    table = TableEmbed(width, rows)
    table.name = WEIGHTED_TABLE
    table.attrs["num_hashes"] = Pinned(num_hashes)
    return weighted_embed(to_rows, importance, table, append_importance=append_importance)


def near_zero_init(ops: Ops, shape: tuple[int, ...]) -> FloatsXd:
    """Draw importance parameters near zero, so that values only count once they're trained.

    Vectors of values that training never sees are then close to zero, instead of noise.
    """
    drawn = numpy.random.normal(0, IMPORTANCE_SD, shape)
    return cast(FloatsXd, ops.asarray(cast(Any, drawn), dtype="float32"))


def weighted_embed(
    rows: RowLayer,
    importance: AttrLayer,
    table: TableLayer,
    *,
    append_importance: bool = False,
) -> AttrLayer:
    """Embed each value by component vectors, weighted by its own importance parameters.

    ids (N,) uint64 -> vectors (N, nO) float32.

    rows (RowLayer): (N,) uint64 -> (N, k) int32, rows of component vectors.
    importance (AttrLayer): (N,) uint64 -> (N, k) float32, the importance parameters.
    table (TableLayer): The component vectors.
    append_importance (bool): Whether to append the importance parameters to the vector, which is
        optional in the paper.
    """
    num_hashes = rows.attrs["num_hashes"].value
    return Model(
        WEIGHTED_EMBED,
        forward_weighted,
        init=init_weighted,
        layers=[rows, importance, table],
        dims={"nO": table.get_dim("nO") + append_importance * num_hashes},
    )


def forward_weighted(model: AttrLayer, ids: Ints1d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Weight the rows of the table, and give the gradient of the weights to the importance."""
    column = read_column(model, operations(model.ops))
    return _embed_alone(model, column, ids, is_train, lambda: model.ops.alloc1i(len(ids)))


def init_weighted(
    model: AttrLayer, X: Optional[Ints1d] = None, Y: Optional[Floats2d] = None
) -> None:
    """Initialize the component vectors first, as if there were no importance."""
    to_rows, importance, table = model.layers
    to_rows.initialize(X=X)
    table.initialize()
    importance.initialize(X=X)


def unit_importance(nO: int) -> AttrLayer:
    """Give each value importance parameters of 1, which are not trained.

    ids (N,) uint64 -> weights (N, nO) float32.

    nO (int): Number of importance parameters, one per component vector.
    """
    return Model(UNIT_IMPORTANCE, forward_unit, dims={"nO": nO})


def forward_unit(model: AttrLayer, ids: Ints1d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Fill with ones."""
    weights = model.ops.alloc2f(len(ids), model.get_dim("nO"))
    weights += 1

    def backprop(d_weights: Floats2d) -> Ints1d:
        return model.ops.alloc1i(len(ids))  # integers have no gradient

    return weights, backprop


# Several symbols a token


def embed_bags(layer: AttrLayer, *, reduce: Reduce) -> BagLayer:
    """Embed all values of each token, and sum or average their vectors.

    A token without values gets the zero vector.

    symbols (M,) uint64 with lengths (U,) int32 -> vectors (U, nO) float32.

    layer (AttrLayer): Rows of values and their table, or a weighted_embed: (M,) -> (M, nO).
    reduce (str): "sum" or "mean".
    """
    return Model(
        EMBED_BAGS,
        forward_bags,
        init=init_bags,
        layers=[layer],
        dims={"nO": layer.get_dim("nO")},
        attrs={"reduce": Pinned(reduce)},
    )


def forward_bags(model: BagLayer, X: Ragged, is_train: bool) -> tuple[Floats2d, Callable]:
    """Sum the vectors of values, and divide by the numbers of values for a mean."""
    column = read_column(model.layers[0], operations(model.ops))
    column = column._replace(mean=model.attrs["reduce"].value == "mean")

    def zeros() -> Ragged:
        return Ragged(model.ops.alloc1i(len(X.dataXd)), X.lengths)

    return _embed_alone(model, column, X, is_train, zeros)


def init_bags(model: BagLayer, X: Optional[Ragged] = None, Y: Optional[Floats2d] = None) -> None:
    """Initialize the layer with the values."""
    model.layers[0].initialize(X=None if X is None else X.dataXd)


# Several columns


def multi_embed(*layers: AttrLayer, dropout: Optional[float] = None) -> AttrsLayer:
    """Embed column a of the ids with layer a, and concatenate the results.

    ids (U, A) uint64 -> vectors (U, A * W) float32, with A = len(layers). The ids may also be a
    list of A columns, each as its layer takes it.

    layers (AttrLayer): One layer per column, each (U,) uint64 -> (U, W) float32.
    dropout (float or None): Initial dropout rate, 0 <= dropout < 1, as in thinc's HashEmbed. In
        training, each layer's vectors are multiplied by a mask (W,) of zeros and 1 / (1 - rate),
        which all rows share. thinc's set_dropout_rate changes the rate. None, the default, never
        drops, whatever the rate.

    Raises ValueError if there are no layers, dropout is out of range, or ids have a wrong number of
    columns.
    """
    if not layers:
        raise ValueError("Layer 'multi_embed' needs at least one attribute layer, got none.")
    drops = dropout is not None
    if drops:
        check_share("Layer 'multi_embed'", "dropout", dropout)
    return Model(
        MULTI_EMBED,
        bound(forward_columns, Plan(), drops),
        init=init_columns,
        layers=list(layers),
        attrs={"dropout_rate": dropout} if drops else {},
    )


def forward_columns(
    plan: Plan,
    drops: bool,
    model: AttrsLayer,
    ids: Union[Ints2d, list[SymbolColumn]],
    is_train: bool,
) -> tuple[Floats2d, Callable]:
    """Sum the rows of all columns, and mask the vectors."""
    _check_columns(model, ids)
    ops = operations(model.ops)
    columns, hashing = plan.of(model, ops, _read_columns)
    backprop_vectors: Callable[[Floats2d], None]
    if hashing is None or isinstance(ids, list):
        symbols = ids if isinstance(ids, list) else [*for_kernel(ops, ops.asarray(ids), "uint64").T]
        vectors, widths, backprop_vectors = _embed_columns(ops, columns, symbols, is_train)
    else:
        tables = [column.table.table for column in columns]
        vectors, rows = ops.hash_embed(ids, tables, hashing)
        widths = [E.shape[1] for E in tables]

        def backprop_vectors(d_vectors: Floats2d) -> None:
            gradients = [gradient_of(column.layer.layers[1]) for column in columns]
            ops.backprop_hash_embed(gradients, hashing, rows, d_vectors)

    mask, rate = None, model.attrs["dropout_rate"] if drops and is_train else 0.0
    if rate and len(vectors):
        # Each column's is drawn apart, as in spaCy: on a GPU, a joint draw might differ.
        mask = model.ops.xp.concatenate([model.ops.get_dropout_mask((nO,), rate) for nO in widths])
        vectors *= mask
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Union[Ints2d, list[SymbolColumn]]:
        vectors_info.check_consistency(d_vectors)
        backprop_vectors(d_vectors if mask is None else d_vectors * mask)
        return [] if isinstance(ids, list) else model.ops.alloc2i(*ids.shape)  # no gradient

    return vectors, backprop


def init_columns(
    model: AttrsLayer,
    X: Optional[Union[Ints2d, list[SymbolColumn]]] = None,
    Y: Optional[Floats2d] = None,
) -> None:
    """Initialize each layer with its column, in the order of the layers."""
    columns: Sequence[Any] = [None] * len(model.layers)
    if X is not None:
        _check_columns(model, X)
        columns = X if isinstance(X, list) else cast(Array, X).T
    for layer, column in zip(model.layers, columns, strict=True):
        layer.initialize(X=column)


def _check_columns(model: AttrsLayer, ids: Union[Ints2d, list[SymbolColumn]]) -> None:
    number = len(model.layers)
    if not isinstance(ids, list) and (ids.ndim != 2 or ids.shape[1] != number):
        raise ValueError(
            f"Layer 'multi_embed' expects ids of shape (N, {number}), one column per "
            f"attribute, got shape {ids.shape}."
        )
