"""spaCy's own config, to train on the same corpus, and how it compares."""

from collections.abc import Sequence
from typing import Any

from spacy.cli.init_config import init_config as spacy_config
from thinc.api import Config

from ..common.result import Table
from ..corpus.intervals import compare
from .plan import FitPlan, complete_config
from .report import MEGA, Arm, best_split, duration, percent


def spacys_config(plan: FitPlan) -> Config:
    """Return spaCy's own config, with the same static vectors, tokenizer and limits of training."""
    options, ours = plan.options, plan.config
    vectors = ours["paths"]["vectors"]
    kind = ours["components"]["textcat"]["factory"] if options.textcat else "ner"
    # spaCy's classifier for efficiency has no place for vectors.
    optimize = "accuracy" if vectors and options.textcat else "efficiency"
    config = spacy_config(
        lang=options.lang, pipeline=[kind], optimize=optimize, gpu=False, silent=True
    )
    if vectors:
        config["paths"]["vectors"] = vectors
        config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    config["training"]["score_weights"] = ours["training"]["score_weights"]
    kept = ("nlp.tokenizer.", "training.max_", "training.eval_")
    settings = {name: value for name, value in options.settings.items() if name.startswith(kept)}
    return complete_config(config, settings, options.seed)


def comparison_table(arms: Sequence[Arm]) -> Table:
    """Show a column for each pipeline, with its settings and its results."""
    split = best_split(arms[0].scores)
    rows: dict[str, list[Any]] = {
        **{name: [arm.settings[name] for arm in arms] for name in arms[0].settings},
        "training steps": [arm.history.step for arm in arms],
        "training": [duration(arm.history.seconds) for arm in arms],
        f"F1 on {split}": [percent(arm.scores[split].parts["all"].f) for arm in arms],
        "MB": [f"{arm.bytes / MEGA:,.1f}" for arm in arms],
        "tokens/s": [f"{arm.speed:,.0f}" for arm in arms],
    }
    body = [[name, *values] for name, values in rows.items()]
    return Table("Beside spaCy's own", ("", *(arm.name for arm in arms)), body)


def describe_difference(arms: Sequence[Arm]) -> str:
    """Say by how much F1 differs, with its interval, and whether that's a win."""
    split = best_split(arms[0].scores)
    ours, theirs = (arm.scores[split] for arm in arms)
    difference = compare(theirs.counts, ours.counts)
    verdicts = {"after": "a win for ours", "before": "a win for spaCy's"}
    none = "no win, as the interval contains 0" if difference.interval else "no win"
    verdict = verdicts.get(difference.winner or "", none)
    return (
        f"F1 of ours minus spaCy's: {difference} (both on the same samples of {ours.units:,} "
        f"{ours.unit} of {split}). That's {verdict}. With another --seed, both trainings differ."
    )
