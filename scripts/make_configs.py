"""Make every config in configs/ from scripts/base.cfg and the differences declared here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from thinc.api import Config
from wasabi import msg

HERE = Path(__file__).resolve().parent
EMBED = "components.tok2vec.model.embed"
ENCODE = "components.tok2vec.model.encode"
WIDTH = f"${{{ENCODE}.width}}"
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
SPACY_SEEDS = [8, 9, 10, 11]
HEADER = (
    "# Made by scripts/make_configs.py from scripts/base.cfg: change those, and run it again.\n\n"
)


@dataclass(frozen=True)
class Arm:
    """The difference of one config to the base.

    values (Mapping[str, Any]): New values by dotted path.
    sections (Mapping[str, Mapping[str, Any]]): Whole sections to replace by dotted path.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _corpus(name: str, lang: str, **values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    paths = {f"paths.{split}": f"corpus/{name}/{split}.spacy" for split in ("train", "dev")}
    return Arm({"nlp.lang": lang, **paths, **values})


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


def _training(*, dropout: float, batch: int = 1000, unk_dropout: float | None = None) -> Arm:
    """Parameter averages, with another dropout and final size of batches, in words.

    With `unk_dropout`, MultiEmbed of all words, some of which are taken as unknown while training.
    """
    values = {"dropout": dropout, "optimizer.use_averages": True, "batcher.size.stop": batch}
    embed = Arm() if unk_dropout is None else _multi_embed(min_freq=1, unk_dropout=unk_dropout)
    return Arm({f"training.{name}": value for name, value in values.items()}, embed.sections)


# Ready to train on one corpus each.
DATASETS = {
    "conll-es": _corpus("conll-es", "es"),
    "conll-nl": _corpus("conll-nl", "nl"),
    "wnut17": _corpus("wnut17", "en"),
    "anem": _corpus("anem", "en"),
    "archaeo": _corpus("archaeo", "nl"),
    "turku-one": _corpus("turku-one", "fi"),
    "ontonotes": _corpus("ontonotes", "en"),
    "sample": _corpus(
        "sample",
        "en",
        **{
            f"{ENCODE}.depth": 4,
            "training.max_steps": 1000,
            "training.eval_frequency": 100,
            "training.patience": 400,
        },
    ),
}

# One deviation each, for any corpus: give --nlp.lang, --paths.train and --paths.dev.
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
            }
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
    "orth": _features("ORTH"),
    "norm": _features("NORM"),
    "norm_prefix": _features("NORM", "PREFIX"),
    "norm_prefix_suffix": _features("NORM", "PREFIX", "SUFFIX"),
}

# Other settings of training, of which configs/recommended.cfg is made.
TRAINING = {
    "averages": _training(dropout=0.1),
    "averages_dropout_20": _training(dropout=0.2),
    "averages_dropout_30": _training(dropout=0.3),
    "averages_dropout_40": _training(dropout=0.4),
    "averages_dropout_30_batch_500": _training(dropout=0.3, batch=500),
    "averages_dropout_30_batch_2000": _training(dropout=0.3, batch=2000),
    "averages_dropout_30_unk_10": _training(dropout=0.3, unk_dropout=0.1),
    "averages_dropout_30_unk_30": _training(dropout=0.3, unk_dropout=0.3),
    "averages_dropout_30_unk_50": _training(dropout=0.3, unk_dropout=0.5),
}

# What practitioners should start from, for any corpus: the best on the dev sets of conll-es and
# wnut17 (docs/results.md).
RECOMMENDED_ARM = TRAINING["averages_dropout_30_unk_30"]

ARMS = {
    **DATASETS,
    "recommended": RECOMMENDED_ARM,
    **{f"ablation/{name}": arm for name, arm in ABLATIONS.items()},
    **{f"training/{name}": arm for name, arm in TRAINING.items()},
}


def make_config(arm: Arm) -> str:
    """Apply an arm to the base, and give the text of the config.

    Raises KeyError for a path that the base does not have.
    """
    config = Config().from_disk(HERE / "base.cfg", interpolate=False)
    for path, value in [*arm.values.items(), *arm.sections.items()]:
        *parents, last = path.split(".")
        section: Any = config
        for name in parents:
            section = section[name]
        if last not in section:
            raise KeyError(f"scripts/base.cfg has no {path}")
        section[last] = dict(value) if isinstance(value, Mapping) else value
    return HEADER + config.to_str(interpolate=False) + "\n"


def make_configs(output: Path) -> list[Path]:
    """Write all configs below a folder, and list them."""
    paths = [output / f"{name}.cfg" for name in ARMS]
    for path, arm in zip(paths, ARMS.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make_config(arm), encoding="utf8")
    return paths


def make_configs_cli(
    output: Path = typer.Argument(HERE.parent / "configs", help="The folder to write to"),
) -> None:
    """Make every config in configs/ from scripts/base.cfg."""
    msg.good(f"Wrote {len(make_configs(output))} configs below {output}")


if __name__ == "__main__":
    typer.run(make_configs_cli)
