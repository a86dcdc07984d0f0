"""The expected gain of a setting on corpora that didn't choose it.

Each corpus is left out in turn: the settings with the best mean on the others are scored on it. The
mean of these scores is what you can expect of the choice on a new corpus, and its standard error
over corpora says how certain that is.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pandas

from experiments.arms import CRF, SPACY
from experiments.statistics import Cell, Runs
from experiments.tables import CHOSEN, CHOSEN_FEW, NINE, SLICES_FEW, markdown, shown

SIZES = {"300 sentences": "-300", "1,000 sentences": "-1000", "whole": ""}
CANDIDATES = {
    "recommended": CHOSEN,
    "learned transitions": f"{CHOSEN}-transitions",
    "slices for n-grams": "recipe-lower_slices",
    "without n-grams": "recipe",
    "batch_ner, without n-grams": "regularized",
    "batches of 200 words, patience 600": f"{CHOSEN}-few",
    "the same, without n-grams": "recipe-few",
    "the same, mean of n-grams": "recipe-ngrams-few",
    "the same, batch_ner without n-grams": "regularized_few",
    "the same, 1 MB": "few_small",
    "the same, slices for n-grams": SLICES_FEW,
    "slices, learned transitions": CHOSEN_FEW,
    "slices, maxout windows": "recipe-lower_slices-maxout_4-few",
    "slices, dropout 0.5": "recipe-lower_slices-dropout_50-few",
}
# Compared, but never chosen.
BASELINES = {"spaCy's efficiency config": SPACY}


class Choice(NamedTuple):
    """The choice made without each corpus, by corpus: the candidate, and its gain there."""

    candidates: "pandas.Series[str]"
    gains: "pandas.Series[float]"


def leave_one_out(gains: pandas.DataFrame) -> Choice:
    """Choose a candidate for each corpus by its mean over the other corpora.

    gains (DataFrame): The score of each candidate (rows) on each corpus (columns), less that of a
        base. At least two corpora.
    """
    others = {corpus: gains.drop(columns=corpus).mean(axis=1) for corpus in gains}
    chosen = pandas.Series({corpus: means.idxmax() for corpus, means in others.items()})
    return Choice(chosen, pandas.Series({c: gains.loc[name, c] for c, name in chosen.items()}))


def collect_gains(
    runs: Runs, candidates: Mapping[str, str], size: str, base: str = CRF, score: str = "dev_f"
) -> pandas.DataFrame:
    """Return the mean difference over seeds of each candidate and corpus, NaN without runs."""
    gains = {
        corpus: {
            name: runs.mean_gain(Cell(corpus + size, arm, score), Cell(corpus + size, base, score))
            for name, arm in candidates.items()
        }
        for corpus in NINE
    }
    return pandas.DataFrame(gains, index=list(candidates), columns=list(NINE), dtype=float)


def render_choice(runs: Runs) -> str:
    """Write the gains of candidates over a CRF, by size of the training set."""
    by_size = {
        title: collect_gains(runs, CANDIDATES | BASELINES, size) for title, size in SIZES.items()
    }
    rows = [
        [name, *(_shown_gains(gains.loc[name]) for gains in by_size.values())]
        for name in (*CANDIDATES, *BASELINES)
    ]
    rows = [row for row in rows if any(row[1:])]
    choices = {title: choose(gains.loc[list(CANDIDATES)]) for title, gains in by_size.items()}
    of_choices = [_shown_gains(choice.gains) if choice else "" for choice in choices.values()]
    rows.append(["**chosen on the other corpora**", *of_choices])
    names = [
        ", ".join(f"{name} {n}" for name, n in choice.candidates.value_counts().items())
        if choice
        else ""
        for choice in choices.values()
    ]
    rows.append(["what they chose, how often", *names])
    note = (
        "F1 on dev, minus the CRF's: the mean over corpora, ± its standard error over corpora, and "
        "on how many corpora the settings are ahead. Each corpus is left out in turn, and the "
        "others choose. Cells need runs on all corpora."
    )
    return f"{note}\n\n{markdown(['settings', *by_size], rows)}"


def choose(gains: pandas.DataFrame) -> Choice | None:
    """Leave out each corpus, among the candidates with runs on all of them."""
    complete = gains.dropna()
    return leave_one_out(complete) if len(complete) > 1 else None


def _shown_gains(gains: "pandas.Series[float]") -> str:
    if gains.isna().any():
        return ""
    ahead = f"{(gains > 0).sum()} of {len(gains)}"
    return f"{shown(float(gains.mean()), sign=True)} ± {shown(float(gains.sem()))}, {ahead}"
