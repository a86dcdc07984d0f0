"""Make every config in configs/ from a base config and an arm, its difference from the base.

The arms of data sets and of training are declared here. Those of embeddings are in embeddings.py,
of recognizers in batch_ner.py, of dilated convolutions in dilated.py, of recipes in recipe.py, and
of text classification in textcat.py.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from wasabi import msg

from experiments.arms.arm import Arm, load_base
from experiments.arms.batch_ner import BEST_NER, RECOGNIZERS
from experiments.arms.dilated import DILATED
from experiments.arms.embeddings import ABLATIONS, unk_dropout, weighted
from experiments.arms.recipe import CHOSEN, RECIPE
from experiments.arms.textcat import CLASSIFIERS, MULTILABEL

HEADER = "# Made from experiments/arms/{base} by: python -m experiments make-configs\n\n"


def _corpus(name: str, lang: str) -> Arm:
    paths = {f"paths.{split}": f"corpus/{name}/{split}.spacy" for split in ("train", "dev")}
    return Arm({"nlp.lang": lang, **paths})


def _training(
    *,
    dropout: float = 0.1,
    batch: int = 1000,
    embed: Arm | None = None,
    recognizer: Arm | None = None,
) -> Arm:
    """Train with averaged parameters, another dropout, final batch size, embedding or recognizer.

    batch (int): The final size of batches, in words.
    """
    training = {"dropout": dropout, "optimizer.use_averages": True, "batcher.size.stop": batch}
    values = {f"training.{name}": value for name, value in training.items()}
    recognizer = recognizer or Arm()
    return Arm({**values, **recognizer.values}, {} if embed is None else embed.sections)


# Configs that are ready to train, each on one corpus.
DATASETS = {
    "conll-es": _corpus("conll-es", "es"),
    "conll-nl": _corpus("conll-nl", "nl"),
    "conll-nl-sentences": _corpus("conll-nl-sentences", "nl"),
    "wnut17": _corpus("wnut17", "en"),
    "anem": _corpus("anem", "en"),
    "archaeo": _corpus("archaeo", "nl"),
    "turku-one": _corpus("turku-one", "fi"),
    "ontonotes": _corpus("ontonotes", "en"),
}


# Other settings of training.
TRAINING = {
    # chosen by dev sets: the recognizer in docs/ner-results.md, the rest in docs/results.md
    "regularized": _training(dropout=0.3, embed=unk_dropout(30), recognizer=BEST_NER),
    "regularized_without_best_ner": _training(dropout=0.3, embed=unk_dropout(30)),
    "averages": _training(),
    "averages_dropout_20": _training(dropout=0.2),
    "averages_dropout_30": _training(dropout=0.3),
    "averages_dropout_40": _training(dropout=0.4),
    "averages_dropout_30_batch_500": _training(dropout=0.3, batch=500),
    "averages_dropout_30_batch_2000": _training(dropout=0.3, batch=2000),
    "averages_dropout_30_unk_10": _training(dropout=0.3, embed=unk_dropout(10)),
    "averages_dropout_30_unk_50": _training(dropout=0.3, embed=unk_dropout(50)),
    "averages_dropout_30_weighted": _training(dropout=0.3, embed=weighted(1.0, near_zero=True)),
}

ARMS = {
    **DATASETS,
    "recommended": RECIPE[CHOSEN],
    **{f"ablation/{name}": arm for name, arm in ABLATIONS.items()},
    **{f"training/{name}": arm for name, arm in TRAINING.items()},
    **{f"dilated/{name}": arm for name, arm in DILATED.items()},
    **{f"batch_ner/{name}": arm for name, arm in RECOGNIZERS.items()},
    **{f"textcat/{name}": arm for name, arm in CLASSIFIERS.items()},
    "textcat/multilabel": MULTILABEL,
}


def make_config(arm: Arm) -> str:
    """Apply an arm to its base, and return the text of the config.

    Raises KeyError for a path that the base does not have.
    """
    config = load_base(arm)
    for path, value in [*arm.values.items(), *arm.sections.items()]:
        *parents, last = path.split(".")
        section: Any = config
        for name in parents:
            section = section[name]
        if last not in section:
            raise KeyError(f"experiments/arms/{arm.base} has no {path}")
        section[last] = dict(value) if isinstance(value, Mapping) else value
    return HEADER.format(base=arm.base) + config.to_str(interpolate=False) + "\n"


def make_configs(output: Path) -> list[Path]:
    """Write all configs below a folder, and return their paths."""
    paths = [output / f"{name}.cfg" for name in ARMS]
    for path, arm in zip(paths, ARMS.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make_config(arm), encoding="utf8")
    return paths


def make_configs_cli(
    output: Path = typer.Argument(Path("configs"), help="The folder to write to"),
) -> None:
    """Make every config in configs/ from its base in experiments/arms/."""
    msg.good(f"Wrote {len(make_configs(output))} configs below {output}")
