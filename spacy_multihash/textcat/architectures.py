"""The registered architecture for spaCy's textcat and textcat_multilabel."""

from functools import partial
from typing import Any, Callable, List, Optional, Union, cast, get_args

from spacy.ml.models.textcat import resize_and_set_ref
from spacy.tokens import Doc
from thinc.api import (
    Linear,
    Logistic,
    Model,
    Softmax,
    chain,
    noop,
    resizable,
)
from thinc.layers.resizable import resize_linear_weighted
from thinc.types import Floats2d

from ..common import registered
from ..common.checks import MAX_SIZE, check_choice, check_flag, check_whole
from ..common.nodes import Pinned
from ..common.removed import accept_removed_settings
from ..compute.hashing import default_seed
from ..embed.embeddings import (
    IMPORTANCE_ROWS,
    Reduce,
    embed_bags,
    weighted_layer,
)
from ..embed.features import attr_id, attr_name
from .ngrams import TEXTCAT_HASH_EMBED, extract_ngrams, ngram_name, reduced_ngrams

_WHERE = "TextCatHashEmbed"  # in messages
_ORDERS = [1, 2]
# Softmax bias of labels that are added later. Until they're trained, predictions of other labels
# change by a few parts in 10**9.
_NEW_LABEL = -20


@accept_removed_settings(registered.TEXTCAT_HASH_EMBED)
def build_textcat_hash_embed_v1(
    exclusive_classes: bool,
    width: int = 20,
    rows: int = 100_000,
    importance_rows: Optional[int] = None,
    num_hashes: int = 2,
    ngram_orders: List[int] = _ORDERS,
    attr: Union[str, int] = "LOWER",
    reduce: Reduce = "sum",
    append_importance: bool = False,
    train_importance: bool = True,
    seed: Optional[int] = None,
    nO: Optional[int] = None,
) -> Model[List[Doc], Floats2d]:
    """Classify documents by hash embeddings of their word n-grams.

    Each n-gram is a weighted sum of component vectors that it shares with other n-grams; its
    importance parameters are the weights. The vectors of a document's n-grams are summed, and a
    linear layer scores the labels (Svenstrup et al. 2017, section 5.3). You need no dictionary. If
    a document has no n-gram, because it's too short, the biases decide.

    exclusive_classes (bool): Whether each document has exactly one label, as in textcat. Then the
        output is a softmax, trained by cross entropy. Otherwise documents have any number of
        labels, as in textcat_multilabel. Then the output is a logistic function for each label,
        trained by squared error, as in spaCy.
    width (int): Width of the component vectors. The recommended value is 20.
    rows (int): Number of component vectors, B in the paper. Recommended values are between 500 and
        1000000.
    importance_rows (Optional[int]): Number of rows of importance parameters, K in the paper. Leave
        it null to use ten times `rows`, and if importance isn't trained.
    num_hashes (int): Number of component vectors of an n-gram, k in the paper, 1 to 16. The
        recommended value is 2.
    ngram_orders (List[int]): How many tokens n-grams have, each from 1 to 10. Recommended values
        are [1, 2], or [2] as in the paper's section 5.3.
    attr (Union[str, int]): Attribute of the tokens, by name or id.
    reduce (str): Whether to "sum" the vectors of n-grams, as in the paper, or to take the "mean".
    append_importance (bool): Whether to append the importance parameters to an n-gram's vector.
    train_importance (bool): Whether to train the importance. Otherwise it's fixed at 1.
    seed (Optional[int]): Chooses the hash functions, 0 <= seed < 2**32. Null is 0.
    nO (Optional[int]): Number of labels. Leave it null: the component counts its labels.
    RETURNS (Model): B docs to their probabilities, (B, nO) float32.

    Raises ValueError if a setting is out of range, has the wrong type, or has no effect.
    """
    check_flag(_WHERE, "exclusive_classes", exclusive_classes)
    check_choice(_WHERE, "reduce", reduce, get_args(Reduce))
    seed = 0 if seed is None else seed
    check_whole(_WHERE, "seed", seed, 0, 2**32 - 1)
    if nO is not None:
        advice = "Set nO = null: the component counts its labels."
        check_whole(_WHERE, "nO", nO, 1, MAX_SIZE, advice=advice)
    token_attr = attr_name(attr, setting="attr")
    extract = extract_ngrams(attr_id(token_attr), ngram_orders, attr_name=token_attr)
    embed = weighted_layer(
        ngram_name(token_attr, ngram_orders),
        width,
        rows,
        seed=default_seed(seed),
        num_hashes=num_hashes,
        importance_rows=importance_rows,
        append_importance=append_importance,
        train_importance=train_importance,
    )
    width_of_doc = embed.get_dim("nO")
    bags = embed_bags(embed, reduce=reduce)
    bags.name = f"with_array({embed.name})"
    # The nodes are a file format: saved weights have the layer that does nothing.
    layers: list[Model] = [extract, noop(), bags, reduced_ngrams(reduce, width_of_doc)]
    model = _classify(layers, width_of_doc, exclusive_classes=exclusive_classes, nO=nO)
    model.name = TEXTCAT_HASH_EMBED
    # The settings that weights depend on. The root is loaded first, and compares them.
    pinned = {
        "attr": token_attr,
        "ngram_orders": sorted(ngram_orders),
        "seed": seed,
        "num_hashes": num_hashes,
        "rows": rows,
        "width": width,
        "append_importance": append_importance,
        "reduce": reduce,
    }
    if train_importance:
        pinned["importance_rows"] = (
            IMPORTANCE_ROWS * rows if importance_rows is None else importance_rows
        )
    model.attrs.update({name: Pinned(cast(Any, value)) for name, value in pinned.items()})
    return model


def _classify(
    layers: list[Model], nI: int, *, exclusive_classes: bool, nO: Optional[int]
) -> Model[List[Doc], Floats2d]:
    """Add the output to layers from docs to vectors (B, nI) float32.

    Labels can be added later, as in spaCy's own classifiers.
    """
    output: Model[Floats2d, Floats2d] = (Softmax if exclusive_classes else Linear)(nO, nI)
    filled = {"W": 0, "b": _NEW_LABEL if exclusive_classes else 0}
    resize = partial(resize_linear_weighted, fill_defaults=filled)
    resizable_output: Model = resizable(output, resize_layer=resize)
    layers = [*layers, resizable_output]
    if not exclusive_classes:
        layers.append(Logistic())
    model: Model[List[Doc], Floats2d] = chain(*layers)
    if nO is not None:
        model.set_dim("nO", nO)
    model.set_ref("output_layer", output)
    model.attrs["multi_label"] = not exclusive_classes
    model.attrs["resize_output"] = partial(resize_and_set_ref, resizable_layer=resizable_output)
    model.init = partial(_init, model.init, exclusive_classes)
    return model


def _init(
    init: Callable,
    exclusive_classes: bool,
    model: Model,
    X: Optional[List[Doc]] = None,
    Y: Optional[Floats2d] = None,
) -> None:
    """Initialize a classifier, and check that exclusive classes aren't combined.

    Y only has the labels of the first ten training docs, because spaCy passes no more.

    Raises ValueError if classes are exclusive but a doc has several labels.
    """
    if exclusive_classes and Y is not None and (Y.sum(axis=1) > 1).any():
        raise ValueError(
            "TextCatHashEmbed: with exclusive_classes = true each document has one label, but a "
            "document of the training data has several. Set exclusive_classes = false in the model "
            "of textcat_multilabel."
        )
    init(model, X, Y)
