"""The model card of a trained pipeline: what `spacy package` writes into its README."""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import spacy
from spacy.util import get_package_version

from ..common.result import Table
from ..pipelines.config import our_names
from ..pipelines.meta import NEEDS, PACKAGE, package_name, require
from .plan import FitPlan
from .report import (
    Arm,
    about_scores,
    best_split,
    corpus_table,
    headline,
    labels_of,
    labels_table,
    scores_table,
)


def set_card(meta: dict[str, Any], arm: Arm, plan: FitPlan, remarks: Sequence[str]) -> None:
    """Set the name, the scores and the card of a pipeline in its meta, in place.

    remarks (Sequence[str]): How training went.
    """
    options, stats, config = plan.options, plan.stats, plan.config
    if options.package is not None:
        meta["name"] = package_name(options.package, options.lang)
    labels = ", ".join(labels_of(stats.splits["train"]))
    what = "Classifies texts" if options.textcat else "Predicts entities"
    meta["description"] = f"{what} ({labels}) in texts of the language {options.lang}."
    vectors = config["paths"]["vectors"]
    meta["sources"] = [{"name": plan.name}, *([] if vectors is None else [{"name": str(vectors)}])]
    best = arm.scores[best_split(arm.scores)]
    if not options.textcat:
        meta["performance"] = {
            **{f"ents_{key}": getattr(best.best, key) or 0.0 for key in "pr"},
            "ents_f": best.best.f or 0.0,
            "speed": arm.speed,
        }
    needs = any(our_names({key: config[key] for key in ("nlp", "components")}))
    leave = " `python -m spacy multihash restore` turns it into a pipeline that needs spaCy alone."
    if needs:
        require(meta)
    meta["notes"] = "\n\n".join(
        [
            "### Scores",
            ". ".join(f"{name}: {value}" for name, value in headline(arm).items()) + ".",
            markdown(scores_table(arm.scores)),
            *about_scores(arm.scores, stats),
            markdown(labels_table(arm.scores, stats)),
            "### Data",
            f"The corpus is {plan.name}:",
            markdown(corpus_table(stats)),
            "### How it was made",
            f"Trained by `fit` of {PACKAGE} {get_package_version(PACKAGE)} with spaCy "
            f"{spacy.__version__}, seed {options.seed}:",
            "\n".join(f"- {_line(line)}" for line in (plan.settings, *plan.reasons, *remarks)),
            *([f"{NEEDS}, which pip installs with it.{leave * (options.config != 'ner')}"] * needs),
        ]
    )


def markdown(table: Table) -> str:
    """Write a table as Markdown."""
    sides: Mapping[str, str] = {"l": "---", "r": "--:"}
    rows = [table.header, [sides[side] for side in table.sides], *table.rows]
    return "\n".join("| " + " | ".join(map(_line, row)) + " |" for row in rows)


def _line(text: Optional[str]) -> str:
    return " ".join((text or "").replace("|", "\\|").split())
