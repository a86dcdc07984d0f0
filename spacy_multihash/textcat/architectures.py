"""The registered architectures for spaCy's textcat and textcat_multilabel: wiring only."""

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Callable, List, Literal, Optional, Union, cast, get_args

from spacy.tokens import Doc
from thinc.api import Model, reduce_mean, reduce_sum
from thinc.types import Floats2d

from ..common.checks import MAX_SIZE, are_whole, check_choice, check_flag, check_whole, refusal
from ..common.nodes import find_nodes
from ..common.pinned import Pinned
from ..compute.hashing import default_seed
from ..embed.attributes import attr_id, attr_name
from ..embed.extract_ngrams import extract_ngrams, ngram_name
from ..embed.find import ENSEMBLE, TEXTCAT_HASH_EMBED
from ..embed.hash_rows import NAME as HASH_ROWS
from ..embed.weighted_layer import weighted_layer
from ..embed.weighted_table_embed import Aggregate
from ..embed.weighting import RowsBy, Weighting
from .classify import classify
from .embed_ngrams import embed_ngrams
from .soft_vote import soft_vote

_WHERE = "TextCatHashEmbed"  # in messages
_MAX_HIDDEN = 100
_ORDERS = [1, 2]
_NO_LAYERS: list[int] = []
Reduce = Literal["sum", "mean"]


def build_textcat_hash_embed_v1(
    exclusive_classes: bool,
    width: int = 20,
    rows: int = 100_000,
    importance_rows: Optional[int] = None,
    num_hashes: int = 2,
    ngram_orders: List[int] = _ORDERS,
    attr: Union[str, int] = "LOWER",
    reduce: Reduce = "sum",
    aggregate: Aggregate = "sum",
    append_importance: bool = False,
    train_importance: bool = True,
    importance_by: RowsBy = "hash",
    independent: bool = True,
    hidden: List[int] = _NO_LAYERS,
    input_dropout: Optional[List[int]] = None,
    seed: Optional[int] = None,
    embed_init: Optional[Callable] = None,
    importance_init: Optional[Callable] = None,
    nO: Optional[int] = None,
) -> Model[List[Doc], Floats2d]:
    """Classify documents by hash embeddings of their word n-grams.

    Each n-gram is embedded by component vectors that it shares with other n-grams, weighted by its
    importance parameters. The vectors of a document's n-grams are summed, hidden layers may follow,
    and a linear layer is last (Svenstrup et al. 2017, sections 5.3 and 5.4). No dictionary is
    needed. In a document without any n-gram, such as one that is shorter than all orders, the
    biases decide.

    exclusive_classes (bool): Whether a document has exactly one label, as in textcat. The output is
        then a softmax, trained by cross entropy. Otherwise it has any number of labels, as in
        textcat_multilabel. The output is then a logistic function for each label, trained by
        squared error, as spaCy trains its own.
    width (int): Width of the component vectors. Recommended values are 20 without hidden layers,
        and 200 with them.
    rows (int): Number of component vectors, B in the paper. Recommended values are between 500 and
        1000000.
    importance_rows (Optional[int]): Number of rows of importance parameters, K in the paper. Null
        takes ten times `rows`. Leave it null where importance is looked up, or is not trained.
    num_hashes (int): Number of component vectors of an n-gram, k in the paper, 1 to 16. The
        recommended value is 2.
    ngram_orders (List[int]): Numbers of tokens of an n-gram, each from 1 to 10. Recommended
        values are [1, 2], or [2] as in the paper's section 5.3.
    attr (Union[str, int]): Attribute of the tokens, by name or id.
    reduce (str): Whether to "sum" the vectors of n-grams, as in the paper, or to take the "mean".
    aggregate (str): What to do with the weighted component vectors of an n-gram: "sum", "mean", or
        "concatenate".
    append_importance (bool): Whether to put the importance parameters beside an n-gram's vector.
    train_importance (bool): Whether to train the importance. Otherwise it is fixed at 1.
    importance_by (str): How an n-gram finds its importance parameters: by "hash", or by "lookup" in
        a dictionary of the most frequent n-grams of the training corpus. The callback
        spacy-multihash.init_tables.v1 makes the dictionary in [initialize.before_init]. N-grams
        that it does not have are left out, as in the paper's section 5.4.
    independent (bool): Whether component vectors and importance parameters have hash functions of
        their own, as the paper's section 6 recommends.
    hidden (List[int]): Widths of up to 100 hidden layers, empty for none. They are rectified linear
        units, with dropout at the rate of the training config. Layer normalization comes before the
        first and after each, where the paper has batch normalization. The paper has [1000, 1000,
        1000] in section 5.4.
    input_dropout (Optional[List[int]]): The smallest and the largest number of n-grams to train on:
        a random run of consecutive n-grams of each document. Null takes all; the paper has
        [4, 100]. The n-grams of all orders that start at one token follow each other. With nine
        orders, a run of 100 n-grams spans about eleven tokens, or more where a dictionary leaves
        out most n-grams.
    seed (Optional[int]): Number of the hash functions, 0 <= seed < 2**32: each seed has others.
        Null takes 0.
    embed_init (Optional[Callable]): Initializer of component vectors. Null takes uniform in
        [-0.1, 0.1).
    importance_init (Optional[Callable]): Initializer of importance parameters. Null takes near
        zero, as in MultiWeightedHashEmbed.
    nO (Optional[int]): Number of labels. Null, which is recommended, leaves it to the component.
    RETURNS (Model): B docs to their probabilities, (B, nO) float32.

    Raises ValueError for a setting that is out of range, of another type, or without effect.
    """
    check_flag(_WHERE, "exclusive_classes", exclusive_classes)
    check_choice(_WHERE, "reduce", reduce, get_args(Reduce))
    _check_numbers(hidden=hidden, seed=seed, nO=nO)
    token_attr = attr_name(attr, setting="attr")
    extract = extract_ngrams(attr_id(token_attr), ngram_orders, attr_name=token_attr)
    weighting = Weighting(
        ngram_name(token_attr, ngram_orders),
        width,
        rows,
        seed=default_seed(seed or 0),
        num_hashes=num_hashes,
        importance_rows=importance_rows,
        importance_by=importance_by,
        independent=independent,
        aggregate=aggregate,
        append_importance=append_importance,
        train_importance=train_importance,
        embed_init=embed_init,
        importance_init=importance_init,
    )
    embed = weighted_layer(weighting)
    reduction = reduce_sum() if reduce == "sum" else reduce_mean()
    model = classify(
        embed_ngrams(extract, embed, reduction, input_dropout),
        embed.get_dim("nO"),
        hidden=hidden,
        exclusive_classes=exclusive_classes,
        nO=nO,
    )
    model.name = TEXTCAT_HASH_EMBED
    _pin(
        model,
        weighting,
        attr=token_attr,
        ngram_orders=sorted(ngram_orders),
        seed=seed or 0,
        reduce=reduce,
        hidden=list(hidden),
    )
    return model


def build_textcat_ensemble_v1(
    *models: Model[List[Doc], Floats2d],
) -> Model[List[Doc], Floats2d]:
    """Classify documents by several models, whose probabilities are averaged.

    This is soft voting, as in Svenstrup et al. 2017, section 5.5. Each model is trained as if it
    were alone. In a config, each is a section of its own, such as
    [components.textcat.model.*.first].

    models (Model): The models, of any architecture for textcat or for textcat_multilabel. Give each
        TextCatHashEmbed a seed of its own, such as 0, 1, 2. Models with one seed and equal numbers
        of rows have the same collisions, and a warning says so.
    RETURNS (Model): B docs to their probabilities, (B, nO) float32.

    Raises ValueError without models, for one that is no model or has no output layer, and for
    models that disagree in exclusive_classes.
    """
    for number, model in enumerate(models):
        if not isinstance(model, Model):
            raise ValueError(
                f"TextCatEnsemble: model {number} is no model, was given: {model!r}. Write each as "
                "a section of its own, [components.textcat.model.*.first] and so on, with the "
                "@architectures of a text classifier."
            )
    kinds = [bool(model.attrs.get("multi_label")) for model in models]
    if len(set(kinds)) != 1:
        raise ValueError(
            "TextCatEnsemble needs one or more models that agree in exclusive_classes, was given: "
            f"exclusive_classes = {[not kind for kind in kinds]}. Change the sections [...model.*] "
            "of the config: true in all for textcat, false in all for textcat_multilabel."
        )
    _warn_of_equal_hashes(models)
    ensemble = cast(Model[list[Doc], Floats2d], soft_vote(*cast(Any, models)))
    ensemble.name = ENSEMBLE
    ensemble.attrs["multi_label"] = kinds[0]
    if all("resize_output" in model.attrs for model in models):
        ensemble.attrs["resize_output"] = _resize_members
    return ensemble


def _check_numbers(*, hidden: list[int], seed: Optional[int], nO: Optional[int]) -> None:
    """Check the numbers that are no settings of a `Weighting`."""
    if seed is not None:
        check_whole(_WHERE, "seed", seed, 0, 2**32 - 1)
    if nO is not None:
        advice = "Set nO = null: the component counts its labels."
        check_whole(_WHERE, "nO", nO, 1, MAX_SIZE, advice=advice)
    if not are_whole(hidden, 1, MAX_SIZE) or len(hidden) > _MAX_HIDDEN:
        expected = f"a list of up to {_MAX_HIDDEN} whole numbers from 1 to {MAX_SIZE}"
        raise refusal(_WHERE, "hidden", expected, hidden)


def _pin(
    model: Model,
    weighting: Weighting,
    *,
    attr: str,
    ngram_orders: list[int],
    seed: int,
    reduce: str,
    hidden: list[int],
) -> None:
    """Keep the settings that weights depend on at the root, by their names in the config.

    The root is loaded first, so that it refuses weights of other settings. Where settings change
    the number of layers, as exclusive_classes does, thinc refuses the weights before that.
    """
    pinned = {
        "attr": attr,
        "ngram_orders": ngram_orders,
        "seed": seed,
        "num_hashes": weighting.num_hashes,
        "independent": weighting.independent,
        "rows": weighting.rows,
        "width": weighting.width,
        "aggregate": weighting.aggregate,
        "append_importance": weighting.append_importance,
        "reduce": reduce,
        "hidden": hidden,
    }
    if weighting.hashes_importance:
        pinned["importance_rows"] = weighting.num_importance_rows
    model.attrs.update({name: Pinned(cast(Any, value)) for name, value in pinned.items()})


def _resize_members(ensemble: Model, nO: int) -> Model:
    """Make room for more labels in each model of an ensemble."""
    for member in ensemble.layers:
        member.attrs["resize_output"](member, nO)
    ensemble.set_dim("nO", nO, force=True)
    return ensemble


def _warn_of_equal_hashes(models: Sequence[Model]) -> None:
    """Warn of each pair of models that map n-grams to the same rows."""
    hashes = [_hash_settings(model) for model in models]
    for (i, one), (j, other) in combinations(enumerate(hashes), 2):
        if one and one == other:
            warnings.warn(
                f"TextCatEnsemble: models {i} and {j} have the same hash functions, and so the "
                "same collisions. Give each a seed of its own in the config.",
                stacklevel=3,
            )


def _hash_settings(model: Model) -> list[list[object]]:
    """List the settings of each hashing layer of a model, except which n-grams it hashes."""
    return [
        [v.value for key, v in node.attrs.items() if isinstance(v, Pinned) and key != "attr"]
        for node in find_nodes(model, HASH_ROWS)
    ]
