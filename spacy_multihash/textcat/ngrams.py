"""Extract the ids of docs' word n-grams, and pass on their reduced vectors."""

from typing import Callable, Sequence, cast

import numpy
from thinc.api import Model, reduce_mean, reduce_sum
from thinc.layers.noop import forward as pass_on
from thinc.types import Floats2d, Ints1d, Ragged

from ..common.checks import are_whole, setting_error
from ..common.nodes import Pinned, bound
from ..common.types import Array, DocLike, NgramLayer
from ..compute.ops import operations
from ..embed.embeddings import Reduce
from ..embed.features import ConstantFeatures

# Node name of a text classifier.
TEXTCAT_HASH_EMBED = "textcat_hash_embed"
EXTRACT_NAME = "extract_ngrams"
REDUCE_NAME = "reduce_ngrams"
MAX_ORDER = 10


def extract_ngrams(attr: int, orders: Sequence[int], *, attr_name: str) -> NgramLayer:
    """Extract the ids of all word n-grams of each doc, by one attribute of its tokens.

    docs -> n-gram ids (M,) uint64, with the number of n-grams of each doc (B,) int32, in the order
    of `hash_ngrams`. Docs shorter than all orders have no n-grams. Ids have no gradient.

    attr (int): Id of the attribute.
    orders (Sequence[int]): Numbers of tokens of the n-grams, each from 1 to 10.
    attr_name (str): Name of the attribute, for messages.

    Raises ValueError if orders is empty, or if an order is out of range or given twice.
    """
    if not are_whole(orders, 1, MAX_ORDER) or not orders or len(set(orders)) < len(orders):
        where = f"Layer '{EXTRACT_NAME}' of {attr_name}"
        expected = f"a list of different integers from 1 to {MAX_ORDER}"
        advice = "Change it in the config. Recommended: [1, 2]."
        raise setting_error(where, "ngram_orders", expected, orders, advice)
    return Model(
        EXTRACT_NAME,
        bound(forward_ids, ConstantFeatures([attr_name])),
        attrs={
            "attr": Pinned(attr_name),
            "attr_id": Pinned(attr),
            "orders": Pinned(sorted(orders)),
        },
    )


def forward_ids(
    constant: ConstantFeatures, model: NgramLayer, docs: list[DocLike], is_train: bool
) -> tuple[Ragged, Callable]:
    """Put the attribute's ids of all docs in one array, and hash the n-grams."""
    if is_train and constant.values:
        constant.look_at(docs)
    attr = model.attrs["attr_id"].value
    none = numpy.zeros(0, dtype="uint64")  # for a batch without docs
    # A list of one attribute gives (n,) for a doc, and (n, 1) for a span.
    columns = [doc.to_array([attr]).reshape(-1) for doc in docs]
    ids: Array = numpy.concatenate([none, *columns])  # (N,)
    lengths = numpy.array([len(doc) for doc in docs], dtype="int32")
    ops, orders = operations(model.ops), model.attrs["orders"].value
    ngrams, counts = ops.hash_ngrams(ops.asarray(ids), lengths, orders)

    def backprop(d_ngrams: Ragged) -> list[DocLike]:
        return []

    return Ragged(ngrams, ops.asarray1i(cast(Ints1d, counts))), backprop


def is_extract_ngrams(node: Model) -> bool:
    """Check if a node is this layer: spaCy's TextCatBOW has another layer of the same name."""
    return node.name == EXTRACT_NAME and isinstance(node.attrs.get("orders"), Pinned)


def ngram_name(attr_name: str, orders: Sequence[int]) -> str:
    """Name the n-grams of an attribute, such as LOWER[1,2]."""
    return f"{attr_name}[{','.join(map(str, sorted(orders)))}]"


def reduced_ngrams(reduce: Reduce, width: int) -> Model[Floats2d, Floats2d]:
    """Pass vectors of docs on, which embed_bags has reduced already."""
    reduction = reduce_sum() if reduce == "sum" else reduce_mean()
    return Model(
        REDUCE_NAME,
        pass_on,
        layers=[reduction],
        dims={"nO": width, "nI": width},
        attrs={"reduce": Pinned(reduction.name)},
    )
