"""The candidates for a recipe: settings that may be better than the regularized ones.

The base is the regularized training with a `tagger_ner`, which trains in less time. A candidate
takes at most one option of each group, and is named after them:
`recipe-slices-dropout_40` is the base with further features and more dropout.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, Optional

from experiments.arms.arm import Arm
from experiments.arms.dilated import BOTH, MAXOUT, dilated, tagger

TAGGER = "tagger_ner"
BASE = "recipe"
JOIN = "-"
ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
# The features that the CRF has as well: affixes of several lengths.
SLICES = ("ORTH[:2]", "ORTH[:3]", "ORTH[-2:]", "ORTH[-4:]")
LOWER_SLICES = ("LOWER[:2]", "LOWER[:3]", "LOWER[-2:]", "LOWER[-4:]")
ALL_SLICES = tuple(f"ORTH[{cut}]" for n in range(1, 6) for cut in (f":{n}", f"-{n}:"))
NGRAMS = "LOWER{3,5}"
WORDS = ("NORM", "ORTH", "LOWER")
NGRAM_ROWS = 20_000
# The most rows of tables that symbols of their own have, if n-grams are among them. Tables of all
# n-grams would take most of the time of training. More than so many norms are cut as well.
MAX_NGRAM_ROWS = 30_000
# Candidates that are made of the best options, at most.
MOST_PRODUCTS = 7


def _rows(attr: str) -> int:
    if "{" in attr:
        return NGRAM_ROWS
    return 5000 if attr in WORDS else 2500


def _embed(
    kind: str,
    attrs: Sequence[str],
    width: int,
    rows: float,
    **values: Any,  # noqa: ANN401 (values of a config)
) -> dict[str, Any]:
    embed: dict[str, Any] = {
        "@architectures": f"spacy-multihash.{kind}.v1",
        "width": width,
        "attrs": list(attrs),
        "include_static_vectors": False,
    }
    if kind != "MultiEmbed":
        embed["rows"] = [round(rows * _rows(attr)) for attr in attrs]
    return embed | values


def candidate(
    kind: str = "MultiEmbed",
    attrs: Sequence[str] = ATTRS,
    *,
    unk: float = 0.3,
    rows: float = 1.0,
    max_rows: Optional[int] = None,
    embed: Mapping[str, Any] | None = None,
    encode: Mapping[str, Any] | None = None,
    width: int = 96,
    model: Mapping[str, Any] | None = None,
    **training: Any,  # noqa: ANN401 (values of a config)
) -> Arm:
    """Make a candidate.

    kind (str): The embedding.
    unk (float): `unk_dropout` of MultiEmbed.
    rows (float): The rows of hashed tables, as a multiple of the usual ones.
    max_rows (Optional[int]): The most rows of each table of MultiEmbed.
    embed, encode, model (Mapping[str, Any]): Other settings of the embedding, of the encoder (by
        default dilated convolutions, residual and normalized) and of the tagger.
    training (Any): Other settings of training, by their paths with __ for dots.
    """
    lookup = kind == "MultiEmbed"
    embed = {**({"unk_dropout": unk} if lookup else {}), **(embed or {})}
    arm = tagger(
        {**(encode or dilated(**BOTH)), "width": width},
        embed=_embed(kind, attrs, width, rows, **embed),
        **(model or {}),
    )
    values = {
        "training.dropout": 0.3,
        "training.optimizer.use_averages": True,
        **{f"training.{path.replace('__', '.')}": value for path, value in training.items()},
    }
    callback = {
        "@callbacks": "spacy-multihash.init_tables.v1",
        "path": None,
        "min_freq": 1,
        "component": TAGGER,
        "max_rows": max_rows,
    }
    sections = {"initialize.before_init": callback} if lookup else {}
    return Arm({**arm.values, **values}, {**arm.sections, **sections})


def _ngrams(*slices: str, **embed: Any) -> dict[str, Any]:  # noqa: ANN401 (values of a config)
    """Add n-grams, and slices."""
    return {"attrs": (*ATTRS, *slices, NGRAMS), "max_rows": MAX_NGRAM_ROWS, "embed": embed}


# The options of each group, as arguments of `candidate`. Each of them is tried alone.
GROUPS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "embedding": {
        "hash": {"kind": "MultiHashEmbed"},
        "hash_rows_half": {"kind": "MultiHashEmbed", "rows": 0.5},
        "hash_rows_4": {"kind": "MultiHashEmbed", "rows": 4.0},
        "weighted": {"kind": "MultiWeightedHashEmbed"},
        "unk_50": {"unk": 0.5},
    },
    "features": {
        "slices": {"attrs": (*ATTRS, *SLICES)},
        "lower_slices": {"attrs": (*ATTRS, *LOWER_SLICES)},
        "all_slices": {"attrs": ("NORM", "SHAPE", *ALL_SLICES)},
        "ngrams": _ngrams(reduce="mean"),
        "ngrams_once": _ngrams(reduce="mean", count_repeats=False),
        "ngrams_sum": _ngrams(),
        "ngrams_sum_once": _ngrams(count_repeats=False),
        "slices_ngrams": _ngrams(*SLICES, reduce="mean"),
    },
    "training": {
        "no_averages": {"optimizer__use_averages": False},
        "dropout_40": {"dropout": 0.4},
        "batch_500": {"batcher__size__stop": 500},
        "batch_2000": {"batcher__size__stop": 2000},
        "rate_0.0005": {"optimizer__learn_rate": 0.0005},
        "rate_0.002": {"optimizer__learn_rate": 0.002},
    },
    "encoder": {
        "width_64": {"width": 64},
        "width_128": {"width": 128},
        "repeats_2": {"encode": dilated(**BOTH, repeats=2)},
        "maxout_4": {"encode": {**MAXOUT, "depth": 4}},
        "transitions": {"model": {"learn_transitions": True}},
    },
}
# What halving does not try: options with which the settings are taken apart. Training is plain as
# in the report, without averages and with a dropout of 0.1.
APART: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "embedding": {"unk_0": {"unk": 0.0}, "unk_10": {"unk": 0.1}},
    "training": {
        "dropout_10": {"dropout": 0.1},
        "plain": {"dropout": 0.1, "optimizer__use_averages": False},
    },
}
_SINGLES = {name: option for group in GROUPS.values() for name, option in group.items()}
_OPTIONS = _SINGLES | {name: option for group in APART.values() for name, option in group.items()}
_PLACES = {
    name: place
    for place, group in enumerate(GROUPS)
    for name in (*GROUPS[group], *APART.get(group, {}))
}
# N-grams of a word summed or averaged, each as often as it occurs or once.
NGRAM_OPTIONS = ("ngrams", "ngrams_once", "ngrams_sum", "ngrams_sum_once")


def named(options: Iterable[str]) -> str:
    """Name the candidate with some options, which are in the order of their groups."""
    return JOIN.join([BASE, *options])


def recipe_arm(name: str) -> Optional[Arm]:
    """Return the candidate of a name, or None if it names no candidate.

    name (str): The base, then at most one option of each group in the order of `GROUPS`.
    """
    base, *options = name.split(JOIN)
    places = [_PLACES.get(option, -1) for option in options]
    if base != BASE or -1 in places or places != sorted(set(places)):
        return None
    # Options of different groups have no arguments in common.
    return candidate(**{key: v for name in options for key, v in _OPTIONS[name].items()})


def make_products(
    gains: Mapping[str, float], times: Mapping[str, float], *, most_time: float
) -> list[str]:
    """Name the candidates that are made of the best options, those first that gained most together.

    What options gain does not add up: some of them help with the same words. So the option that
    gained most leads. It is tried alone, with one of the two best options of another group, and
    with the best options of all groups. The second best option of its own group is tried alone.

    gains (Mapping[str, float]): What each option gained alone, for those that may be taken.
    times (Mapping[str, float]): The training time with each option divided by that of the base, as
        far as it is known. That of a product is expected to be the product of them.
    most_time (float): The most that the expected time of a product may be.
    """
    best = [
        sorted((name for name in group if gains.get(name, 0) > 0), key=lambda n: -gains[n])[:2]
        for group in GROUPS.values()
    ]
    leader = max((name for names in best for name in names), key=lambda n: gains[n], default=None)
    if leader is None:
        return []
    others = [names for names in best if leader not in names]
    alone = [[name] for names in best if leader in names for name in names]
    every = [names[0] for names in best if names]
    pairs = sorted(
        ([leader, name] for names in others for name in names), key=lambda p: -gains[p[1]]
    )
    tried = [
        sorted(options, key=lambda name: _PLACES[name])
        for options in (*alone, every, *pairs)
        if prod(times.get(name, 1.0) for name in options) <= most_time
    ]
    products = dict.fromkeys(named(options) for options in tried)
    return sorted(
        list(products)[:MOST_PRODUCTS],
        key=lambda name: -sum(gains[option] for option in name.split(JOIN)[1:]),
    )


# What dev chose among them (results/halving.json), and configs/recommended.cfg has.
CHOSEN = named(["ngrams_sum"])
RECIPE: Mapping[str, Arm] = {
    BASE: candidate(),
    **{named([name]): candidate(**option) for name, option in _SINGLES.items()},
}
# The settings that were chosen, taken apart: each of them alone, beside a MultiHashEmbed with plain
# training, and all but each of them.
ALONE = {
    "none": named(["hash", "plain"]),
    "MultiEmbed": named(["unk_0", "plain"]),
    "MultiEmbed, unk_dropout 0.1": named(["unk_10", "plain"]),
    "MultiEmbed, unk_dropout 0.3": named(["plain"]),
    "MultiEmbed, unk_dropout 0.5": named(["unk_50", "plain"]),
    "averages": named(["hash", "dropout_10"]),
    "dropout 0.3": named(["hash", "no_averages"]),
    "n-grams": named(["hash", "ngrams_sum", "plain"]),
}
ALL_BUT = {
    "all": CHOSEN,
    "all but MultiEmbed": named(["hash", "ngrams_sum"]),
    "all but unk_dropout": named(["unk_0", "ngrams_sum"]),
    "all, unk_dropout 0.1": named(["unk_10", "ngrams_sum"]),
    "all, unk_dropout 0.5": named(["unk_50", "ngrams_sum"]),
    "all but averages": named(["ngrams_sum", "no_averages"]),
    "all but dropout 0.3": named(["ngrams_sum", "dropout_10"]),
    "all but n-grams": BASE,
}
