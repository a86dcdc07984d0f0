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


WIDTH = f"${{{ENCODE}.width}}"
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]

# Ready to train on one corpus each.
DATASETS = {
    "conll-es": _corpus("conll-es", "es"),
    "conll-nl": _corpus("conll-nl", "nl"),
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
        sections={
            EMBED: {
                "@architectures": "spacy.MultiHashEmbed.v2",
                "width": WIDTH,
                "attrs": ATTRS,
                "rows": [5000, 2500, 2500, 2500],
                "include_static_vectors": False,
            }
        }
    ),
    "multi_embed": Arm(
        sections={
            EMBED: {
                "@architectures": "spacy-multihash.MultiEmbed.v1",
                "width": WIDTH,
                "attrs": ATTRS,
                "include_static_vectors": False,
                "unk_dropout": 0.0,
            },
            "initialize.before_init": {
                "@callbacks": "spacy-multihash.init_tables.v1",
                "path": None,
                "min_freq": 10,
                "component": "tok2vec",
                "max_rows": None,
            },
        }
    ),
    "hashes_1": Arm({f"{EMBED}.num_hashes": 1}),
    "hashes_2": Arm({f"{EMBED}.num_hashes": 2}),
    "hashes_3": Arm({f"{EMBED}.num_hashes": 3}),
    "orth": _features("ORTH"),
    "norm": _features("NORM"),
    "norm_prefix": _features("NORM", "PREFIX"),
    "norm_prefix_suffix": _features("NORM", "PREFIX", "SUFFIX"),
}

ARMS = DATASETS | {f"ablation/{name}": arm for name, arm in ABLATIONS.items()}


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
