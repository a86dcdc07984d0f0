"""The arms of embeddings: their features, hash functions, rows, sizes and kinds."""

from typing import Any

from experiments.arms.arm import Arm, load_base
from experiments.arms.batch_ner import SPACY_NER
from experiments.arms.textcat import normal_init, uniform_init
from spacy_multihash.embed.weighted_layer import IMPORTANCE_SD
from spacy_multihash.embed.weighting import IMPORTANCE_ROWS

EMBED = "components.tok2vec.model.embed"
ENCODE = "components.tok2vec.model.encode"
WIDTH = f"${{{ENCODE}.width}}"
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
SPACY_SEEDS = [8, 9, 10, 11]
DEFAULT_ROWS = [5000, 2500, 2500, 2500]
# Shares of the default rows, to measure what fewer parameters cost.
BUDGETS = {"10_percent": 0.1, "1_percent": 0.01}
# The number of component vectors of a symbol in weighted embeddings.
WEIGHTED_HASHES = 2


def _features(*attrs: str) -> Arm:
    rows = [5000 if attr in ("NORM", "ORTH") else 2500 for attr in attrs]
    return Arm({f"{EMBED}.attrs": list(attrs), f"{EMBED}.rows": rows})


def _multi_embed(min_freq: int, unk_dropout: float = 0.0) -> Arm:
    embed = {
        "@architectures": "spacy-multihash.MultiEmbed.v1",
        "width": WIDTH,
        "attrs": ATTRS,
        "include_static_vectors": False,
        "unk_dropout": unk_dropout,
    }
    callback = {
        "@callbacks": "spacy-multihash.init_tables.v1",
        "path": None,
        "min_freq": min_freq,
        "component": "tok2vec",
        "max_rows": None,
    }
    return Arm(sections={EMBED: embed, "initialize.before_init": callback})


def _hashes(num_hashes: int, *, seeds: list[int] | None = None, norm_rows: int = 5000) -> Arm:
    values = {"num_hashes": num_hashes, "seeds": seeds, "rows": [norm_rows, 2500, 2500, 2500]}
    return Arm({f"{EMBED}.{name}": value for name, value in values.items()})


def budget_rows(share: float) -> list[int]:
    """Return a share of the default rows of MultiHashEmbed."""
    return [round(share * rows) for rows in DEFAULT_ROWS]


def weighted_rows(rows: list[int], width: int) -> list[int]:
    """Return the numbers of component vectors that fit into the parameters of plain tables.

    A plain table of R rows has R * width parameters. B component vectors have B * width, and the
    importance of k hashes 10 * B * k. B is the largest number with which the sum is no larger.

    rows (list[int]): The rows of each attribute's table, R.
    width (int): The width of the tables.
    """
    return [n * width // weighted_cost(width) for n in rows]


def weighted_cost(width: int) -> int:
    """Return the number of parameters of a component vector, with its share of the importance."""
    return width + IMPORTANCE_ROWS * WEIGHTED_HASHES


def base_width() -> int:
    """Return the width of tables and layers in base.cfg."""
    width: int = load_base(Arm())["components"]["tok2vec"]["model"]["encode"]["width"]
    return width


def _budget(share: float, **values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    values = {"rows": budget_rows(share), **values}
    return Arm({f"{EMBED}.{name}": value for name, value in values.items()})


def weighted(share: float, *, near_zero: bool = False) -> Arm:
    """Take MultiWeightedHashEmbed, as large as MultiHashEmbed with a share of its rows.

    Importance starts at 1, or near zero as in the authors' code.
    """
    init = normal_init(IMPORTANCE_SD) if near_zero else uniform_init(1.0, 1.0)
    rows = weighted_rows(budget_rows(share), base_width())
    return _weighted_embed(rows, importance_rows=None, importance_init=init)


def _tables_near_zero() -> Arm:
    """Take MultiHashEmbed with two hash functions and tables that start near zero."""
    init = normal_init(IMPORTANCE_SD)
    return _weighted_embed(DEFAULT_ROWS, train_importance=False, embed_init=init)


def _weighted_embed(rows: list[int], **values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    embed = {
        "@architectures": "spacy-multihash.MultiWeightedHashEmbed.v1",
        "width": WIDTH,
        "attrs": ATTRS,
        "rows": rows,
        "include_static_vectors": False,
        "num_hashes": WEIGHTED_HASHES,
        **values,
    }
    return Arm(sections={EMBED: embed})


def unk_dropout(percent: int) -> Arm:
    """Take MultiEmbed with a row for each training symbol, and dropout of symbols in training."""
    return _multi_embed(min_freq=1, unk_dropout=percent / 100)


def _table_dropout() -> Arm:
    """Drop entries of each table's vectors as well, as spaCy's MultiHashEmbed does."""
    embed = load_base(Arm())["components"]["tok2vec"]["model"]["embed"]
    return Arm(sections={EMBED: {**embed, "table_dropout": True}})


# Configs with one deviation each, for any corpus. Training needs --nlp.lang, --paths.train and
# --paths.dev.
ABLATIONS = {
    "spacy_multi_hash_embed": Arm(
        {f"{ENCODE}.@architectures": "spacy.MaxoutWindowEncoder.v2"},
        {
            EMBED: {
                "@architectures": "spacy.MultiHashEmbed.v2",
                "width": WIDTH,
                "attrs": ATTRS,
                "rows": [5000, 2500, 2500, 2500],
                "include_static_vectors": False,
            },
            **SPACY_NER,
        },
    ),
    "multi_embed": _multi_embed(min_freq=10),
    "multi_embed_min5": _multi_embed(min_freq=5),
    "multi_embed_min1": _multi_embed(min_freq=1),
    **{f"hashes_{k}": _hashes(k) for k in (1, 2, 3)},
    **{f"spacy_seeds_hashes_{k}": _hashes(k, seeds=SPACY_SEEDS) for k in (1, 2, 3, 4)},
    **{
        f"{name}hashes_{k}_rows_{rows}": _hashes(k, seeds=seeds, norm_rows=rows)
        for name, seeds in (("", None), ("spacy_seeds_", SPACY_SEEDS))
        for k in (1, 2)
        for rows in (2500, 1000)
    },
    "table_dropout": _table_dropout(),
    "orth": _features("ORTH"),
    "norm": _features("NORM"),
    "norm_prefix": _features("NORM", "PREFIX"),
    "norm_prefix_suffix": _features("NORM", "PREFIX", "SUFFIX"),
    **{f"budget_{name}": _budget(share) for name, share in BUDGETS.items()},
    # With as many hashes as weighted embeddings have. With all rows this is hashes_2.
    **{
        f"budget_{name}_hashes_2": _budget(share, num_hashes=WEIGHTED_HASHES)
        for name, share in BUDGETS.items()
    },
    "hashes_2_near_zero": _tables_near_zero(),
    "weighted": weighted(1.0),
    **{f"weighted_budget_{name}": weighted(share) for name, share in BUDGETS.items()},
    "weighted_near_zero": weighted(1.0, near_zero=True),
    **{
        f"weighted_near_zero_budget_{name}": weighted(share, near_zero=True)
        for name, share in BUDGETS.items()
    },
}
