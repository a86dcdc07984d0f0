"""The arms of the experiments on text classification."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.arms.arm import Arm
from spacy_multihash.embed.weighted_layer import IMPORTANCE_SD

BASE = "textcat_base.cfg"
MODEL = "components.textcat.model"
BEFORE_INIT = "initialize.before_init"
MILLION = 1_000_000
INPUT_DROPOUT = [4, 100]
# spaCy's defaults, for its own classifiers.
SPACY_DEFAULTS = {"training.dropout": 0.1, "training.optimizer.L2": 0.01}

# "the 1M most frequent n-grams for n < 10" (Svenstrup et al. 2017, section 5.4)
DICTIONARY = {
    "@callbacks": "spacy-multihash.init_tables.v1",
    "path": None,
    "min_freq": 2,
    "component": "textcat",
    "max_rows": MILLION,
}
BY_DICTIONARY: Mapping[str, Any] = {
    "importance_by": "lookup",
    "importance_rows": None,
    "ngram_orders": list(range(1, 10)),
    "input_dropout": INPUT_DROPOUT,
    "rows": 10_000,
}
# The paper's ten members have 50,000 rows, width 200 and hidden layers of 1000 units.
MEMBER: Mapping[str, Any] = {
    "@architectures": "spacy-multihash.TextCatHashEmbed.v1",
    "exclusive_classes": True,
    "width": 50,
    "num_hashes": 2,
    "attr": "LOWER",
    "nO": None,
    **BY_DICTIONARY,
}
MEMBERS = {
    f"member_{hidden}": {**MEMBER, "hidden": [200] * hidden, "seed": hidden} for hidden in (1, 2, 3)
}


def _hash_embed(**values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    return Arm({f"{MODEL}.{name}": value for name, value in values.items()}, base=BASE)


def _hashing_trick(rows: int, **values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    fixed = {"num_hashes": 1, "importance_rows": None, "train_importance": False}
    return _hash_embed(rows=rows, **fixed, **values)


def normal_init(sd: float) -> dict[str, Any]:
    """Return the config of thinc's initializer that draws from a normal distribution."""
    # thinc's initializer takes the standard deviation as `mean`.
    return {"@initializers": "normal_init.v1", "mean": sd}


def uniform_init(lo: float, hi: float) -> dict[str, Any]:
    """Return the config of thinc's initializer that draws from a uniform distribution."""
    return {"@initializers": "uniform_init.v1", "lo": lo, "hi": hi}


def _spacy(architecture: str, **values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    model = {"@architectures": architecture, "exclusive_classes": True, "nO": None, **values}
    return Arm(SPACY_DEFAULTS, {MODEL: model}, base=BASE)


CLASSIFIERS = {
    "hash_embed": Arm(base=BASE),
    "hashing_trick": _hashing_trick(MILLION),
    "hashing_trick_equal": _hashing_trick(200_000),
    # Relative to their data about as large as the paper's models. Again the hash embedding has a
    # fifth of the hashing trick's parameters.
    "hash_embed_large": _hash_embed(rows=MILLION // 2, importance_rows=5 * MILLION),
    "hashing_trick_large": _hashing_trick(5 * MILLION),
    "bow": _spacy("spacy.TextCatBOW.v3", ngram_size=2, no_output_layer=False, length=262144),
    # spaCy's users know this model as TextCatCNN.
    "cnn": _spacy(
        "spacy.TextCatReduce.v1",
        use_reduce_first=False,
        use_reduce_last=False,
        use_reduce_max=False,
        use_reduce_mean=True,
        tok2vec={
            "@architectures": "spacy.HashEmbedCNN.v2",
            "width": 96,
            "depth": 4,
            "embed_size": 2000,
            "window_size": 1,
            "maxout_pieces": 3,
            "subword_features": True,
            "pretrained_vectors": None,
        },
    ),
    "hash_embed_dependent": _hash_embed(independent=False),
    "hash_embed_ones": _hash_embed(importance_init=uniform_init(1.0, 1.0)),
    "hash_embed_authors_init": _hash_embed(
        embed_init=normal_init(0.1), importance_init=normal_init(IMPORTANCE_SD)
    ),
    # Does the hashing trick gain as much from vectors that start near zero?
    "hashing_trick_near_zero": _hashing_trick(MILLION, embed_init=normal_init(IMPORTANCE_SD)),
    "hashing_trick_equal_near_zero": _hashing_trick(200_000, embed_init=normal_init(IMPORTANCE_SD)),
    "input_dropout": _hash_embed(input_dropout=INPUT_DROPOUT),
    "hashing_trick_input_dropout": _hashing_trick(MILLION, input_dropout=INPUT_DROPOUT),
    "deep": replace(
        _hash_embed(width=200, hidden=[1000, 1000, 1000], **BY_DICTIONARY),
        sections={BEFORE_INIT: DICTIONARY},
    ),
    "ensemble": Arm(
        sections={
            MODEL: {"@architectures": "spacy-multihash.TextCatEnsemble.v1", "*": MEMBERS},
            BEFORE_INIT: DICTIONARY,
        },
        base=BASE,
    ),
}
# No experiment: the config to start from if a text may have several labels, or none.
MULTILABEL = Arm(
    {
        "components.textcat.factory": "textcat_multilabel",
        "components.textcat.threshold": 0.5,
        f"{MODEL}.exclusive_classes": False,
    },
    {"components.textcat.scorer": {"@scorers": "spacy.textcat_multilabel_scorer.v2"}},
    base=BASE,
)
# The arms that run on generated topics too, from which less follows than from real texts.
BASIC = ("hash_embed", "hashing_trick", "hashing_trick_equal", "bow", "cnn")
