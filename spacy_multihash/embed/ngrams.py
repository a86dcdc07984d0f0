"""Extract the ids of docs' word n-grams, and reduce the n-grams' vectors to a vector per doc."""

from typing import Callable, Sequence

import numpy
from thinc.api import Model
from thinc.types import Floats2d, Ragged
from thinc.util import ArrayInfo

from ..common.checks import are_whole, setting_error
from ..common.nodes import Pinned, bound
from ..common.types import Array, DocLike, NgramLayer, Reduction
from ..compute.hashing import hash_ngrams
from ..compute.ops import for_kernel
from .features import ConstantFeatures

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
        expected = f"one or more different whole numbers from 1 to {MAX_ORDER}"
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
    if is_train:
        constant.look_at(docs)
    attr = model.attrs["attr_id"].value
    none = numpy.zeros(0, dtype="uint64")  # for a batch without docs
    # A list of one attribute gives (n,) for a doc, and (n, 1) for a span.
    columns = [doc.to_array([attr]).reshape(-1) for doc in docs]
    ids: Array = numpy.concatenate([none, *columns])  # (N,)
    lengths = numpy.array([len(doc) for doc in docs], dtype="int32")
    ngrams, counts = hash_ngrams(model.ops.asarray(ids), lengths, model.attrs["orders"].value)

    def backprop(d_ngrams: Ragged) -> list[DocLike]:
        return []

    return Ragged(ngrams, model.ops.asarray1i(counts)), backprop


def is_extract_ngrams(node: Model) -> bool:
    """Check if a node is this layer: spaCy's TextCatBOW has another layer of the same name."""
    return node.name == EXTRACT_NAME and isinstance(node.attrs.get("orders"), Pinned)


def ngram_name(attr_name: str, orders: Sequence[int]) -> str:
    """Name the n-grams of an attribute, such as LOWER[1,2]."""
    return f"{attr_name}[{','.join(map(str, sorted(orders)))}]"


def reduce_ngrams(reduction: Reduction, width: int) -> Reduction:
    """Reduce each doc's vectors to a single vector, zeros if the doc has none.

    thinc's reductions return zeros too, but not if no doc of the batch has a vector: then the
    Ragged doesn't know the width.

    vectors (M, width) float32 with lengths (B,) int32 -> vectors (B, width) float32.

    reduction (Reduction): thinc's reduce_sum or reduce_mean.
    width (int): Width of the vectors.
    """
    return Model(
        REDUCE_NAME,
        forward_reduction,
        layers=[reduction],
        dims={"nO": width, "nI": width},
        attrs={"reduce": Pinned(reduction.name)},
    )


def forward_reduction(model: Reduction, X: Ragged, is_train: bool) -> tuple[Floats2d, Callable]:
    """Reduce the vectors, if there are any."""
    if not len(X.dataXd):
        return _handle_empty(model, X)
    vectors = for_kernel(model.ops, X.dataXd, "float32")
    Y, backprop_reduction = model.layers[0](Ragged(vectors, X.lengths), is_train)
    Y_info = ArrayInfo.from_array(Y)

    def backprop(dY: Floats2d) -> Ragged:
        Y_info.check_consistency(dY)
        return backprop_reduction(for_kernel(model.ops, dY, "float32"))

    return Y, backprop


def _handle_empty(model: Reduction, X: Ragged) -> tuple[Floats2d, Callable]:
    width = model.get_dim("nO")

    def backprop(d_vectors: Floats2d) -> Ragged:
        return Ragged(model.ops.alloc2f(0, width), X.lengths)

    return model.ops.alloc2f(len(X.lengths), width), backprop
