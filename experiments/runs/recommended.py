"""What the command `recommend` writes for each corpus, beside the recipe that was chosen."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.util import load_model_from_config
from thinc.api import Config
from tqdm import tqdm
from wasabi import msg

from experiments.arms.configs import make_config
from experiments.arms.recipe import CHOSEN, RECIPE
from experiments.runs.files import RECOMMENDED
from experiments.runs.grid import Run, lacks
from experiments.runs.halve import ALL
from experiments.runs.record import corpus_digests
from spacy_multihash.common.files import write_json

ABSENT = "absent"
COMMAND = (sys.executable, "-m", "spacy", "multihash", "recommend", "--output", "-")


def compare_recommended(run: Run) -> dict[str, Any]:
    """Compare what `recommend` writes for the corpus of a run with the config of the recipe.

    Returns the digests of the corpus, and under "differs" the settings that are not the same: the
    value of each in both configs, as JSON, or "absent". Paths are left out.

    Raises ValueError with what the command says, if it fails.
    """
    train, dev = (run.corpus(split) for split in ("train", "dev"))
    command = [*COMMAND, str(train), str(dev), "--lang", run.lang]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise ValueError(f"{' '.join(command)}: {result.stderr.strip()}")
    recommended = _settings(Config().from_str(result.stdout, interpolate=False))
    recipe = Config().from_str(make_config(RECIPE[CHOSEN]), interpolate=False)
    recipe["nlp"]["lang"] = run.lang
    expected = _settings(load_model_from_config(recipe, auto_fill=True).config)
    names = sorted(recommended.keys() | expected.keys())
    pairs = {name: [recommended.get(name, ABSENT), expected.get(name, ABSENT)] for name in names}
    return {
        "corpus": corpus_digests(run),
        "differs": {name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
    }


def _settings(config: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Write the settings of a config as JSON, by their full names, without paths."""
    found: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            found |= _settings(value, f"{before}{name}.")
        elif before != "paths.":
            found[f"{before}{name}"] = json.dumps(value)
    return found


def compare_recommended_cli(
    output: Annotated[Path, typer.Argument(help="File to write")] = RECOMMENDED,
) -> None:
    """Compare what `recommend` writes for each corpus with the recipe that was chosen.

    DOCS: docs/recipe-results.md
    """
    runs = [Run(dataset, CHOSEN) for dataset in ALL]
    try:
        if needs := sorted(set(filter(None, map(lacks, runs)))):
            raise ValueError(f"The comparison needs {', and '.join(needs)}")
        found = {run.dataset: compare_recommended(run) for run in tqdm(runs, unit="corpus")}
    except (OSError, ValueError) as error:
        msg.fail("Could not compare", str(error), exits=1)
    write_json(output, {"recipe": CHOSEN, "corpora": found})
    alike = sum(not each["differs"] for each in found.values())
    msg.good(f"Wrote {output}: {alike} of {len(found)} configs are those of {CHOSEN}")
