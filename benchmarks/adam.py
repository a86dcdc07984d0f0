"""Measure our Adam beside that of thinc: by the size of a table, and in whole training steps."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import numpy
import typer
from spacy.language import Language
from spacy.util import load_config, load_model_from_config
from thinc.api import Model, Optimizer, fix_random_seed, registry
from wasabi import msg

from benchmarks.common.layers import ROWS as LAYER_ROWS
from benchmarks.common.layers import count_parameters
from benchmarks.common.options import Quick, Repeats, choose_output, output_option
from benchmarks.common.paths import ROOT
from benchmarks.common.pipelines import make_examples, update_step
from benchmarks.common.results import machine_facts
from benchmarks.common.tables import print_table
from benchmarks.common.text import Text, describe_text, load_text, take_batches, take_tokens
from benchmarks.common.timing import Ratio, Step, limit_threads, ratio, time_rounds
from spacy_multihash.common.files import write_json
from spacy_multihash.common.registered import ADAM
from spacy_multihash.common.types import Array
from spacy_multihash.embed.find import component_models

NAME = "adam"
THINC, OURS = "thinc", "ours"
OPTIMIZERS = {THINC: "Adam.v1", OURS: ADAM}
WIDTH = 96
ROWS = (100, 1000, 10_000, 100_000)
# The configs of pipelines, and the rows of their four hashed tables together.
CONFIGS = {"ner": "conll-es", "tagger_ner": "dilated/tagger"}
TABLES = (12_500, 50_000)
WORDS = 1000
# The batches that the rounds take in turn.
BATCHES = 4


@dataclass(frozen=True)
class Record:
    """A case in the results.

    parameters (int): The numbers that are trained.
    ratio (Ratio): The time with thinc's optimizer, divided by the time with ours.
    """

    parameters: int
    ratio: Ratio


def adam_cli(
    repeats: Repeats = None,
    quick: Quick = False,
    output: Annotated[Optional[Path], output_option(NAME)] = None,
) -> None:
    """Compare both optimizers in one thread, with clipping, decay of weights and averages.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    rounds = repeats or (3 if quick else 100)
    text = load_text()
    with limit_threads(1):
        records = {f"{rows:,} rows": compare_tables(rows, rounds) for rows in ROWS}
        for component in CONFIGS:
            for size in TABLES:
                name = f"{component}, {size:,} rows"
                records[name] = compare_pipelines(component, size, text, rounds)
    rows = [(name, f"{each.parameters:,}", str(each.ratio)) for name, each in records.items()]
    print_table(("case", "parameters", "thinc's time / ours"), rows, "lrr")
    path = choose_output(output, NAME, quick=quick)
    facts = {"machine": machine_facts(), "text": describe_text(text), "rounds": rounds}
    write_json(path, {**facts, "results": {name: asdict(each) for name, each in records.items()}})
    msg.good(f"Wrote {path}")


def compare_tables(rows: int, rounds: int) -> Record:
    """Time both optimizers on a table of (rows, WIDTH)."""
    rng = numpy.random.default_rng(0)
    weights = {name: numpy.zeros((rows, WIDTH), dtype="float32") for name in OPTIMIZERS}
    gradients = [rng.normal(size=(rows, WIDTH)).astype("float32") for _ in range(BATCHES)]
    steps = {
        name: _table_step(make_optimizer(kind), weights[name], gradients)
        for name, kind in OPTIMIZERS.items()
    }
    return _compare(steps, rounds, rows * WIDTH, lambda name: weights[name])


def compare_pipelines(component: str, rows: int, text: Text, rounds: int) -> Record:
    """Time training steps of two pipelines that begin with the same weights."""
    batches = take_batches(text.docs, partial(take_tokens, size=WORDS), BATCHES)
    pipelines = {
        name: make_pipeline(component, rows, text, kind) for name, kind in OPTIMIZERS.items()
    }
    steps = {name: update_step(nlp, batches) for name, nlp in pipelines.items()}
    models = component_models(pipelines[OURS]).values()
    return _compare(steps, rounds, count_parameters(*models), lambda n: _weights_of(pipelines[n]))


def make_optimizer(name: str) -> Optimizer:
    """Make an optimizer with the settings of spaCy's configs, and averages."""
    settings = {"learn_rate": 0.001, "L2": 0.01, "grad_clip": 1.0, "use_averages": True}
    optimizer: Optimizer = registry.resolve({"it": {"@optimizers": name, **settings}})["it"]
    return optimizer


def make_pipeline(component: str, rows: int, text: Text, optimizer: str) -> Language:
    """Build and initialize a pipeline with tables of so many rows, and with an optimizer."""
    config = load_config(ROOT / "configs" / f"{CONFIGS[component]}.cfg")
    config["nlp"]["lang"] = text.lang
    config["training"]["optimizer"].update({"@optimizers": optimizer, "use_averages": True})
    components = config["components"]
    own = components[component]["model"]["tok2vec"]
    tok2vec = components["tok2vec"]["model"] if "tok2vec" in components else own
    tok2vec["embed"]["rows"] = [rows * share // sum(LAYER_ROWS) for share in LAYER_ROWS]
    nlp = load_model_from_config(config, auto_fill=True)
    fix_random_seed(0)
    nlp.initialize(partial(make_examples, nlp, text.docs))
    return nlp


def _table_step(optimizer: Optimizer, weights: Array, gradients: Sequence[numpy.ndarray]) -> Step:
    def prepare(i: int) -> Callable[[], object]:
        return partial(optimizer, (0, "E"), weights, gradients[i % len(gradients)].copy())

    return prepare


def _compare(
    steps: Mapping[str, Step], rounds: int, parameters: int, weights: Callable[[str], Array]
) -> Record:
    """Time steps in turns, and check that they lead to the same weights.

    Raises ValueError if they do not.
    """
    times = time_rounds(steps, rounds=rounds, rng=random.Random(0))
    if not numpy.allclose(weights(OURS), weights(THINC), rtol=1e-3, atol=1e-5):
        raise ValueError("The optimizers lead to different weights, so their times say nothing.")
    return Record(parameters, ratio(times[THINC], times[OURS]))


def _weights_of(nlp: Language) -> Array:
    """Put all parameters of a pipeline into one array."""
    nodes: list[Model] = [node for model in component_models(nlp).values() for node in model.walk()]
    parts: list[Array] = [node.get_param(name) for node in nodes for name in node.param_names]
    return numpy.concatenate([part.reshape(1, -1) for part in parts], axis=1)


if __name__ == "__main__":
    typer.run(adam_cli)
