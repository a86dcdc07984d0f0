"""From values to vectors: sums of rows of tables, forward and backward.

A column of tokens is hashed or looked up to rows of a table, and each token's vector is the sum of
its rows. Rows may be weighted, and a token may have any number of symbols (a bag):

    vector(token)  =  sum over values s of the token  sum over k  weight_k(s) * E[row_k(s)]

The weights are the importance parameters of Svenstrup et al. 2017, section 3, where the rows
E[row_k] are component vectors, which values share. They're a row of a second, larger table.

In training, columns are read first, as `Hashed` or `Summed`. Then one call sums the rows of all of
them. Prediction reads the tables once (`read_tables`), for a call from symbols to mixed vectors.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Optional, Union, cast

import numpy
from thinc.api import Model, Ops, chain, to_numpy, uniform_init
from thinc.types import Floats1d, Floats2d, FloatsXd, Ints1d, Ints2d, Ragged
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_flag, check_share, check_whole
from ..common.nodes import Pinned, bound, has_layers
from ..common.types import Array, AttrLayer, AttrsLayer, RowLayer, SymbolColumn, TableLayer
from ..compute.array_ops import ArrayOps, for_kernel, for_sums
from ..compute.bags import Bags, ColumnTable
from ..compute.hashing import Hashing, hashing_of, importance_seed
from ..compute.ops import operations
from ..compute.plans import READING, Reading
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


# Columns that are read


class Hashed(NamedTuple):
    """Columns that are all hashed, into tables of the same width, with a value a token.

    ids (U, A) uint64: The values.
    nodes: The layers that hold the tables.
    tables: Their arrays (nV, W).
    hashing: How the values are hashed.
    """

    ids: Array
    nodes: list[Model]
    tables: list[Array]
    hashing: Hashing

    @property
    def widths(self) -> list[int]:
        """The width of each column."""
        return [E.shape[1] for E in self.tables]

    def sum(self, ops: ArrayOps) -> tuple[Floats2d, Callable[[Floats2d], None]]:
        """Sum the rows: vectors (U, A * W), and a callback that adds to the tables' gradients."""
        ids = for_kernel(ops, self.ids, "uint64")
        vectors, rows = ops.hash_embed(ids, self.tables, self.hashing)

        def backprop(d_vectors: Floats2d) -> None:
            gradients = [gradient_of(node) for node in self.nodes]
            ops.backprop_hash_embed(gradients, self.hashing, rows, d_vectors)

        return vectors, backprop


class Column(NamedTuple):
    """A column whose rows are found.

    tables: Arrays (nV, W) float32: a table of vectors, and perhaps another whose sums are appended.
    bags: The rows of each table.
    backprop: Takes the gradient of all sums side by side, (U, W) float32.
    """

    tables: list[Array]
    bags: list[Bags]
    backprop: Callable[[Array], None]

    @property
    def width(self) -> int:
        """The width of all sums."""
        return sum(E.shape[1] for E in self.tables)


class Summed(NamedTuple):
    """Columns of any kind."""

    columns: list[Column]

    @property
    def widths(self) -> list[int]:
        """The width of each column."""
        return [column.width for column in self.columns]

    @property
    def sums(self) -> tuple[list[Array], list[Bags]]:
        """All tables, and the rows of each."""
        tables, bags = zip(*((column.tables, column.bags) for column in self.columns), strict=True)
        return sum(tables, []), sum(bags, [])

    def sum(self, ops: ArrayOps) -> tuple[Floats2d, Callable[[Floats2d], None]]:
        """Sum the rows: vectors (U, W), and a callback that adds to the tables' gradients."""

        def backprop(d_vectors: Floats2d) -> None:
            end = 0
            for column, width in zip(self.columns, self.widths, strict=True):
                start, end = end, end + width
                column.backprop(for_sums(ops, d_vectors[:, start:end]))

        return ops.sum_columns(*self.sums), backprop


def read_columns(
    layers: Sequence[AttrLayer], symbols: Union[Ints2d, Sequence[SymbolColumn]], is_train: bool
) -> Union[Hashed, Summed]:
    """Find out how each column is embedded, and its rows.

    symbols: ids (U, A) uint64, or a list of A columns, each as its layer takes it.
    """
    if isinstance(symbols, list):
        return Summed([_read_column(*of, is_train) for of in zip(layers, symbols, strict=True)])
    hashed = read_hashed(layers)
    if hashed is not None:
        return Hashed(cast(Array, symbols), *hashed)
    ops = layers[0].ops
    columns = for_kernel(ops, ops.asarray(cast(Array, symbols)), "uint64").T
    return Summed([_read_column(*of, is_train) for of in zip(layers, columns, strict=True)])


def read_hashed(
    layers: Sequence[AttrLayer],
) -> Optional[tuple[list[Model], list[Array], Hashing]]:
    """Read the nodes, tables and hashing of hashed columns.

    None if a column isn't hashed, or has a table of another width or size.
    """
    nodes: list[Model] = []
    tables: list[Array] = []
    hashings: list[tuple[int, int, int]] = []
    for layer in layers:
        if not is_hashed(layer):
            return None
        to_rows, node = layer.layers
        hashing, E = hashed_by(to_rows), cast(Array, table_of(node))
        if E.shape[0] != hashing[0] or (tables and E.shape[1] != tables[0].shape[1]):
            return None
        nodes.append(node)
        tables.append(E)
        hashings.append(hashing)
    return nodes, tables, hashing_of(tuple(hashings))


def read_tables(
    layers: Sequence[AttrLayer], ops: ArrayOps, reading: Reading
) -> Optional[list[ColumnTable]]:
    """Read the tables of columns for prediction; None if a layer isn't one of this module's."""
    columns = []
    for layer in layers:
        bag = layer.name == EMBED_BAGS
        (inner,) = reading.layers(layer) if bag else [layer]
        column = _read_table(inner, ops, reading)
        if column is None:
            return None
        mean = bag and reading.attr(layer, "reduce").value == "mean"
        columns.append(column._replace(is_bag=bag, mean=mean))
    return columns


def _read_table(layer: Model, ops: ArrayOps, reading: Reading) -> Optional[ColumnTable]:
    nodes = reading.layers(layer)
    if [node.name for node in nodes] == [LOOKUP_NAME, TABLE_EMBED]:
        keys, row_of = read_keys(nodes[0], ops, reading)
        return ColumnTable(cast(Array, table_of(nodes[1], reading)), keys, row_of)
    if layer.name != WEIGHTED_EMBED and not is_hashed(layer):
        return None
    to_rows, table = nodes[0], nodes[-1]
    column = ColumnTable(cast(Array, table_of(table, reading)), hashing=hashed_by(to_rows, reading))
    if column.hashing is None or len(column.table) != column.hashing[0]:
        return None  # the layers say what's wrong
    if layer.name != WEIGHTED_EMBED:
        return column
    K, hashing = column.hashing[1], (1, 0)
    factors: Array = ops.xp.ones((1, K), dtype="float32")
    if nodes[1].name != UNIT_IMPORTANCE:
        to_importance, node = reading.layers(nodes[1])
        nV, _, seed = hashed_by(to_importance, reading)
        factors, hashing = cast(Array, table_of(node, reading)), (nV, seed)
    is_appended = layer.get_dim("nO") > column.table.shape[1]
    return column._replace(importance=factors, importance_hashing=hashing, is_appended=is_appended)


def is_hashed(layer: AttrLayer) -> bool:
    """Check if a column is hashed to the rows of a table, without weights."""
    return has_layers(layer, HASH_NAME, TABLE_EMBED)


def _read_column(layer: AttrLayer, symbols: SymbolColumn, is_train: bool) -> Column:
    if layer.name == EMBED_BAGS:
        return _read_bags(layer, cast(Ragged, symbols), is_train)
    return _read_symbols(layer, cast(Ints1d, symbols), is_train)


def _read_bags(layer: Model, symbols: Ragged, is_train: bool) -> Column:
    ends = to_numpy(symbols.lengths).cumsum(dtype="int64")
    mean = layer.attrs["reduce"].value == "mean"
    return _read_symbols(layer.layers[0], cast(Ints1d, symbols.dataXd), is_train, ends, mean)


def _read_symbols(
    layer: AttrLayer,
    ids: Ints1d,
    is_train: bool,
    ends: Optional[numpy.ndarray] = None,
    mean: bool = False,
) -> Column:
    """Find the rows of symbols (M,) uint64; for ends and mean, see `Bags`."""
    if any(has_layers(layer, to_rows, TABLE_EMBED) for to_rows in (HASH_NAME, LOOKUP_NAME)):
        to_rows, table = layer.layers
        rows, _ = to_rows(ids, is_train)
        return _of_table(table, Bags(cast(Array, rows), None, ends, mean))
    if layer.name == WEIGHTED_EMBED:
        return _weigh(layer, ids, is_train, ends, mean)
    vectors, backprop_vectors = layer(ids, is_train)
    return _of_vectors(operations(layer.ops), vectors, ends, mean, backprop_vectors)


def _of_table(table: Model, bags: Bags) -> Column:
    ops, E = operations(table.ops), table_of(table)
    ops.check_rows(table.name, bags.rows, len(E))

    def backprop(d_sums: Array) -> None:
        ops.scatter_sum(gradient_of(table), bags, d_sums)

    return Column([E], [bags], backprop)


def _of_vectors(
    ops: ArrayOps,
    vectors: Floats2d,
    ends: Optional[numpy.ndarray],
    mean: bool,
    backprop_vectors: Callable[[Array], object],
) -> Column:
    """Sum the vectors of symbols (M, W), as if each value had a row of its own."""
    symbols: Array = ops.xp.arange(len(vectors), dtype="int32")
    bags = Bags(symbols[:, None], None, ends, mean)

    def backprop(d_sums: Array) -> None:
        d_vectors: Array = ops.alloc2f(*vectors.shape)
        ops.scatter_sum(d_vectors, bags, d_sums)
        backprop_vectors(d_vectors)

    return Column([for_kernel(ops, vectors, "float32")], [bags], backprop)


def _weigh(
    layer: AttrLayer, ids: Ints1d, is_train: bool, ends: Optional[numpy.ndarray], mean: bool
) -> Column:
    """Weight the rows by importance parameters, and append them if the layer is wide enough."""
    to_rows, importance, table = layer.layers
    ops, E = operations(layer.ops), table_of(table)
    importances, backprop_weights = importance(ids, is_train)  # (M, k)
    weights = for_kernel(ops, importances, "float32")
    bags = Bags(cast(Array, to_rows(ids, is_train)[0]), weights, ends, mean)
    ops.check_rows(table.name, bags.rows, len(E))
    width, tables = table.get_dim("nO"), [cast(Array, E)]
    symbols: list[Bags] = []
    if layer.get_dim("nO") > width:
        tables.append(weights)
        symbols.append(Bags(ops.xp.arange(len(ids), dtype="int32")[:, None], None, ends, mean))

    def backprop(d_sums: Array) -> None:
        d_vectors = d_sums[:, :width]
        d_weights = ops.gather_dot(E, bags, d_vectors)
        ops.scatter_sum(gradient_of(table), bags, d_vectors)
        for of_symbols in symbols:
            ops.scatter_sum(d_weights, of_symbols, for_sums(ops, d_sums[:, width:]))
        backprop_weights(d_weights)

    return Column(tables, [bags, *symbols], backprop)


def _sum(
    model: Model, column: Column, to_gradient: Callable[[], Any]
) -> tuple[Floats2d, Callable[[Floats2d], Any]]:
    """Sum the rows of one column. Its layer's input has no gradient, but zeros of its shape."""
    ops = operations(model.ops)
    vectors, backprop_sums = Summed([column]).sum(ops)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Any:  # noqa: ANN401 (as the input)
        vectors_info.check_consistency(d_vectors)
        backprop_sums(d_vectors)
        return to_gradient()

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
    found = cast(Array, rows)
    table_of(model)
    if found.dtype.kind not in "iu" or found.ndim != 2:
        raise ValueError(
            f"Layer '{model.name}' expects rows of shape (N, K) and type int32, got shape "
            f"{found.shape} and type {found.dtype}."
        )
    column = _of_table(model, Bags(for_kernel(model.ops, found, "int32")))
    return _sum(model, column, lambda: model.ops.alloc2i(*rows.shape))


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
    return cast(Floats2d, reading.param(model, "E"))


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
    column = _weigh(model, ids, is_train, None, False)
    return _sum(model, column, lambda: model.ops.alloc1i(len(ids)))


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
    column = _read_bags(model, X, is_train)
    return _sum(model, column, lambda: Ragged(model.ops.alloc1i(len(X.dataXd)), X.lengths))


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
        bound(forward_columns, drops),
        init=init_columns,
        layers=list(layers),
        attrs={"dropout_rate": dropout} if drops else {},
    )


def forward_columns(
    drops: bool,
    model: AttrsLayer,
    ids: Union[Ints2d, list[SymbolColumn]],
    is_train: bool,
) -> tuple[Floats2d, Callable]:
    """Sum the rows of all columns, and mask the vectors."""
    _check_columns(model, ids)
    columns = read_columns(model.layers, ids, is_train)
    vectors, backprop_vectors = columns.sum(operations(model.ops))
    mask = None
    if drops and is_train and len(vectors):
        mask = _draw_mask(model, columns.widths)
    if mask is not None:
        vectors *= mask
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Union[Ints2d, list[SymbolColumn]]:
        vectors_info.check_consistency(d_vectors)
        backprop_vectors(d_vectors if mask is None else d_vectors * mask)
        return [] if isinstance(ids, list) else model.ops.alloc2i(*ids.shape)  # no gradient

    return vectors, backprop


def _draw_mask(model: AttrsLayer, widths: list[int]) -> Optional[Floats1d]:
    """Draw the masks of all layers, (A * W,), or None if nothing is dropped.

    Each is drawn separately, as in spaCy: on a GPU, a joint draw might give other numbers.
    """
    rate = model.attrs["dropout_rate"]
    if not rate:
        return None
    return model.ops.xp.concatenate([model.ops.get_dropout_mask((nO,), rate) for nO in widths])


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
