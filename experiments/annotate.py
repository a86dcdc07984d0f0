"""Which texts should be annotated next? The choice of `estimate --next`, against random choice.

A model is trained on 200 sentences of a corpus, five rounds of 50 are added, and after each round a
model is trained anew and scored on the corpus's own test set. Gold stands for the annotators.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from experiments.estimate import add_rows, language_of, read_rows, read_texts
from experiments.figures import as_svg, new_figure
from experiments.new_texts import predict_gold, train_pipeline
from spacy_multihash.corpus.evaluation import score
from spacy_multihash.ner.calibration import calibrate
from spacy_multihash.ner.estimate import next_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORPORA = ("masakhaner-hau", "gum", "wnut17")
HOW = ("chosen", "random")
SEEDS = 3
START, ROUNDS, EACH = 200, 5, 50
# Sentences that the choice is from, in each round, and of the test set.
POOL, TEST = 1000, 600
# Short trainings: there are ninety of them.
STEPS = 500
RESULTS = "annotate.csv"


@dataclass(frozen=True)
class Round:
    """A model: F1 on the corpus's own test set after a round, and what it was trained on."""

    corpus: str
    how: str
    seed: int
    round: int
    f: float
    sentences: int
    tokens: int
    entities: int


def simulate(corpus: str, how: str, seed: int, assets: Path) -> list[Round]:
    """Annotate in rounds, and score after each."""
    train, test = read_texts(corpus, assets)
    rng = Random(seed)
    order = rng.sample(range(len(train)), len(train))
    known, pool = order[:START], order[START:]
    test = Random(0).sample(test, min(TEST, len(test)))
    rows = []
    for number in range(ROUNDS + 1):
        docs = [train[i] for i in known]
        nlp = _train(corpus, docs, number)
        f = score(predict_gold(nlp, test)).f or 0.0
        tokens, entities = sum(map(len, docs)), sum(len(doc.ents) for doc in docs)
        rows.append(Round(corpus, how, seed, number, round(f, 4), len(docs), tokens, entities))
        some = rng.sample(pool, min(POOL, len(pool)))
        if how == "chosen":
            places = {train[i].text: i for i in some}
            added = [
                places[one.doc.text] for one in next_texts(nlp, [train[i] for i in some], EACH)
            ]
        else:
            added = some[:EACH]
        known, pool = known + added, [i for i in pool if i not in set(added)]
    return rows


def _train(corpus: str, docs: Sequence[Doc], number: int) -> Language:
    """Train on four fifths, the first round's too in each round, and calibrate on the rest."""
    dev, train = docs[::5], [doc for i, doc in enumerate(docs) if i % 5]
    split = {"train": train, "dev": dev}
    nlp = train_pipeline(language_of(corpus), split, max_steps=STEPS, eval_frequency=100)
    try:
        calibrate(nlp, dev)
    except ValueError as error:
        msg.warn(f"Round {number} of {corpus} isn't calibrated", str(error))
    return nlp


def run_all(assets: Path, results: Path, minutes: float) -> int:
    """Simulate what's missing, add it to the results, and return the number of simulations."""
    end, number = monotonic() + 60 * minutes, 0
    done = {(row.corpus, row.how, row.seed) for row in read_rows(results, Round)}
    for seed, corpus, how in product(range(SEEDS), CORPORA, HOW):
        if (corpus, how, seed) in done:
            continue
        if monotonic() > end:
            break
        add_rows(results, simulate(corpus, how, seed, assets))
        number += 1
    return number


# What annotating may cost.
COSTS = ("sentences", "tokens", "entities")


def gain_of(rows: Sequence[Round], corpus: str, seed: int, cost: str) -> float:
    """Return the mean F1 of chosen less that of random texts, where both cost the same.

    cost (str): One of `COSTS`. Between rounds, F1 is interpolated.
    """
    curves = [
        sorted(
            (getattr(row, cost), row.f)
            for row in rows
            if (row.corpus, row.how, row.seed) == (corpus, how, seed)
        )
        for how in HOW
    ]
    costs = numpy.linspace(curves[0][0][0], min(curve[-1][0] for curve in curves), 101)[1:]
    chosen, random = (numpy.array(curve).T for curve in curves)
    gains = numpy.interp(costs, chosen[0], chosen[1]) - numpy.interp(costs, random[0], random[1])
    return float(gains.mean())


def render_annotate(results: Path) -> str:
    """Make tables of F1 after each round, and of what the choice gains for the same cost."""
    rows = read_rows(results / RESULTS, Round)
    heads = ["corpus", "texts", "seeds", *(f"{START + EACH * n}" for n in range(ROUNDS + 1))]
    lines = [f"| {' | '.join([*heads, 'tokens at the end', 'entities'])} |"]
    lines.append("| --- | --- |" + " --: |" * len(heads))
    for corpus, how in product(CORPORA, HOW):
        of_rounds = [
            [row for row in rows if (row.corpus, row.how, row.round) == (corpus, how, n)]
            for n in range(ROUNDS + 1)
        ]
        if not all(of_rounds):
            continue
        cells = [corpus, how, str(len(of_rounds[0]))]
        cells += [f"{100 * fmean(row.f for row in of_round):.1f}" for of_round in of_rounds]
        cells += [f"{fmean(getattr(row, x) for row in of_rounds[-1]):,.0f}" for x in COSTS[1:]]
        lines.append(f"| {' | '.join(cells)} |")
    gains = ["| corpus | for the same sentences | tokens | entities |", "| --- | --: | --: | --: |"]
    for corpus in CORPORA:
        seeds = sorted({row.seed for row in rows if row.corpus == corpus})
        cells = []
        for cost in COSTS if seeds else ():
            points = [100 * gain_of(rows, corpus, seed, cost) for seed in seeds]
            mean, low, high = (f"{x:+.1f}" for x in (fmean(points), min(points), max(points)))
            cells.append(f"{mean} ({low} to {high})".replace("-", "−"))
        if cells:
            gains.append(f"| {corpus} | {' | '.join(cells)} |")
    return "\n\n".join("\n".join(part) for part in (lines, gains))


def draw_annotate(results: Path) -> bytes:
    """Draw F1 by the number of sentences and tokens, a column for each corpus: an SVG."""
    rows = read_rows(results / RESULTS, Round)
    with new_figure(4.2) as figure:
        panels = figure.subplots(2, len(CORPORA), squeeze=False)
        for (line, cost), (column, corpus) in product(enumerate(COSTS[:2]), enumerate(CORPORA)):
            axes: Axes = panels[line, column]
            for how, color in zip(HOW, ("C0", "0.6"), strict=True):
                some = [row for row in rows if (row.corpus, row.how) == (corpus, how)]
                rounds = [[r for r in some if r.round == n] for n in range(ROUNDS + 1)]
                points = [
                    (fmean(getattr(r, cost) for r in of_round), fmean(100 * r.f for r in of_round))
                    for of_round in rounds
                    if of_round
                ]
                if points:
                    axes.plot(
                        *zip(*points, strict=True), color=color, marker="o", markersize=3, label=how
                    )
            axes.set(xlabel=cost, title=corpus if line == 0 else "")
        for axes in panels[:, 0]:
            axes.set_ylabel("F1 on test")
        panels[0, 0].legend(loc="lower right")
        return as_svg(figure)
