"""The candidates for a recipe: settings that may be better than the recommended ones.

The base is the recommended training with a `tagger_ner`, which trains in a quarter of the time.
Each candidate differs from it in what it is named for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.arms.arm import Arm
from experiments.arms.dilated import BOTH, MAXOUT, dilated, tagger

TAGGER = "tagger_ner"
ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
# The features that the CRF has as well: affixes of several lengths.
SLICES = ("ORTH[:2]", "ORTH[:3]", "ORTH[-2:]", "ORTH[-4:]")
LOWER_SLICES = ("LOWER[:2]", "LOWER[:3]", "LOWER[-2:]", "LOWER[-3:]", "LOWER[-4:]")
ALL_SLICES = tuple(f"ORTH[{cut}]" for n in range(1, 6) for cut in (f":{n}", f"-{n}:"))
WORDS = ("NORM", "ORTH", "LOWER")
NGRAM_ROWS = 20_000


def _rows(attr: str) -> int:
    if "{" in attr:
        return NGRAM_ROWS
    return 5000 if attr in WORDS else 2500


def _embed(kind: str, attrs: Sequence[str], width: int, **values: Any) -> dict[str, Any]:  # noqa: ANN401 (values of a config)
    embed: dict[str, Any] = {
        "@architectures": f"spacy-multihash.{kind}.v1",
        "width": width,
        "attrs": list(attrs),
        "include_static_vectors": False,
    }
    if kind != "MultiEmbed":
        embed["rows"] = [_rows(attr) for attr in attrs]
    return embed | values


def candidate(
    kind: str = "MultiEmbed",
    attrs: Sequence[str] = ATTRS,
    *,
    unk: float = 0.3,
    embed: Mapping[str, Any] | None = None,
    encode: Mapping[str, Any] | None = None,
    width: int = 96,
    model: Mapping[str, Any] | None = None,
    **training: Any,  # noqa: ANN401 (values of a config)
) -> Arm:
    """Make a candidate.

    kind (str): The embedding.
    unk (float): `unk_dropout` of MultiEmbed.
    embed, encode, model (Mapping[str, Any]): Other settings of the embedding, of the encoder (by
        default dilated convolutions, residual and normalized) and of the tagger.
    training (Any): Other settings of training, by their paths with __ for dots.
    """
    lookup = kind == "MultiEmbed"
    embed = {**({"unk_dropout": unk} if lookup else {}), **(embed or {})}
    arm = tagger(
        {**(encode or dilated(**BOTH)), "width": width},
        embed=_embed(kind, attrs, width, **embed),
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
        "max_rows": None,
    }
    sections = {"initialize.before_init": callback} if lookup else {}
    return Arm({**arm.values, **values}, {**arm.sections, **sections})


_MORE: Mapping[str, Arm] = {
    # the embedding
    "hash": candidate("MultiHashEmbed"),
    "hash_2": candidate("MultiHashEmbed", embed={"num_hashes": 2}),
    "weighted": candidate("MultiWeightedHashEmbed"),
    "unk_10": candidate(unk=0.1),
    "unk_50": candidate(unk=0.5),
    # features
    "lower": candidate(attrs=(*ATTRS, "LOWER")),
    "slices": candidate(attrs=(*ATTRS, *SLICES)),
    "lower_slices": candidate(attrs=(*ATTRS, *LOWER_SLICES)),
    "all_slices": candidate(attrs=("NORM", "SHAPE", *ALL_SLICES)),
    "hash_slices": candidate("MultiHashEmbed", (*ATTRS, *SLICES)),
    "ngrams": candidate("MultiHashEmbed", (*ATTRS, "LOWER{3,5}")),
    "ngrams_mean": candidate("MultiHashEmbed", (*ATTRS, "LOWER{3,5}"), embed={"reduce": "mean"}),
    "ngrams_once": candidate(
        "MultiHashEmbed",
        (*ATTRS, "LOWER{3,5}"),
        embed={"reduce": "mean", "count_repeats": False},
    ),
    "ngrams_2_4": candidate("MultiHashEmbed", (*ATTRS, "ORTH{2,4}"), embed={"reduce": "mean"}),
    # training
    "dropout_20": candidate(dropout=0.2),
    "dropout_40": candidate(dropout=0.4),
    "batch_500": candidate(batcher__size__stop=500),
    "batch_2000": candidate(batcher__size__stop=2000),
    "rate_0.0005": candidate(optimizer__learn_rate=0.0005),
    "rate_0.002": candidate(optimizer__learn_rate=0.002),
    # the encoder and the tagger
    "width_128": candidate(width=128),
    "width_192": candidate(width=192),
    "unshared": candidate(encode=dilated(**BOTH, share=False)),
    "repeats_2": candidate(encode=dilated(**BOTH, repeats=2)),
    "maxout": candidate(encode=MAXOUT),
    "maxout_4": candidate(encode={**MAXOUT, "depth": 4}),
    "transitions": candidate(model={"learn_transitions": True}),
    "word_dropout": candidate(model={"word_dropout": 0.1}),
}
BASE = "recipe"
RECIPE = {BASE: candidate(), **{f"{BASE}_{name}": arm for name, arm in _MORE.items()}}
