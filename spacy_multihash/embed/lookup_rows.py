"""From attribute ids to rows, by looking them up."""

from typing import Callable, Optional

from thinc.api import Model
from thinc.types import Ints1d, Ints2d

from ..common.bound import bound
from ..common.checks import check_share
from ..common.pinned import Pinned, describe
from ..common.registered import INIT_TABLES
from ..common.types import RowLayer
from .symbols import UNKNOWN_ROW, Symbols

NAME = "lookup_rows"


def lookup_rows(*, attr: str, unk_dropout: float = 0.0) -> RowLayer:
    """Map each id to the row that a table of symbols gives it, and an unknown id to row 0.

    The callback spacy-multihash.init_tables.v1, or set_tables, sets the table after building, as
    attrs["symbols"]. Loading restores it.

    ids (N,) uint64 -> rows (N, 1) int32 in [0, number of symbols]. Rows have no gradient.

    attr (str): Name of the attribute, for messages and to find its table.
    unk_dropout (float): In training, the share of ids that are taken as unknown, so that row 0 is
        trained even if every symbol of the training corpus is in the table. 0 <= unk_dropout < 1.

    Raises ValueError at initialization, and in use, if no table was set.
    """
    check_share(f"Layer 'lookup_rows' of {attr}", "unk_dropout", unk_dropout)
    return Model(
        NAME,
        # The rate is no attr: loading would replace it by the rate of the saved model.
        bound(forward, unk_dropout),
        init=init,
        attrs={
            "attr": Pinned(attr),
            "rows_by": Pinned("lookup"),
            "symbols": Symbols(),
        },
    )


def forward(
    unk_dropout: float, model: RowLayer, ids: Ints1d, is_train: bool
) -> tuple[Ints2d, Callable]:
    """Look the ids up by binary search."""
    _check_symbols(model)
    rows = model.attrs["symbols"].find(model.ops, ids)  # (N,)
    if is_train and unk_dropout:
        keep = model.ops.get_dropout_mask(rows.shape, unk_dropout) != 0
        rows = model.ops.xp.where(keep, rows, model.ops.xp.int32(UNKNOWN_ROW))

    def backprop(d_rows: Ints2d) -> Ints1d:
        return model.ops.alloc1i(ids.shape[0])  # integers have no gradient

    return model.ops.reshape2i(rows, -1, 1), backprop


def init(model: RowLayer, X: Optional[Ints1d] = None, Y: Optional[Ints2d] = None) -> None:
    """Check that there is a table, which this layer cannot make."""
    _check_symbols(model)


def _check_symbols(model: RowLayer) -> None:
    if not len(model.attrs["symbols"]):
        raise ValueError(
            f"Layer {describe(model)} has no table of symbols. Add the callback that makes it: "
            f'[initialize.before_init] @callbacks = "{INIT_TABLES}" with '
            "component = the name of the component that holds this layer, or call "
            "spacy_multihash.set_tables before initializing."
        )
