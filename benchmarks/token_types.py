"""What embedding each distinct token once saves, side by side with every token and with spaCy.

All three layers have the same weights, and give the same vectors. They take turns, round by round,
in one process and on one BLAS thread; what counts is the ratio of their times in each round.
"""

import os
import time
from collections.abc import Callable
from itertools import chain as flatten
from pathlib import Path
from typing import Any, Optional

import numpy
import spacy
import srsly
import typer
from spacy.attrs import IDS
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc, DocBin
from thinc.api import Model
from thinc.types import Ragged
from threadpoolctl import threadpool_limits
from wasabi import msg

from spacy_multihash import embed_from_spacy
from spacy_multihash.layers.with_token_types import TokenTypes

ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [5000, 2500, 2500, 2500]

Step = Callable[[], Any]


def take_words(docs: list[Doc], words: int) -> list[Doc]:
    """Take docs from the start until they hold so many words."""
    taken: list[Doc] = []
    for doc in docs:
        if sum(map(len, taken)) + len(doc) > words:
            break
        taken.append(doc)
    return taken


def every_token(model: Model) -> Model:
    """Build a layer from the parts of ours that embeds every token, repeated or not."""
    (inner,) = model.layers[0].layers
    attrs = [IDS[attr] for attr in ATTRS]

    def forward(self: Model, docs: list[Doc], is_train: bool) -> tuple[list[Any], Callable]:
        ids = numpy.concatenate([doc.to_array(attrs) for doc in docs])
        vectors, backprop = inner([TokenTypes(ids, attrs, docs[0].vocab)], is_train)
        lengths = self.ops.asarray1i([len(doc) for doc in docs])

        def finish(d_vectors: list[Any]) -> list[Doc]:
            backprop(Ragged(self.ops.flatten(d_vectors), vectors.lengths))
            return []

        return self.ops.unflatten(vectors.dataXd, lengths), finish

    return Model("every_token", forward, layers=[inner])


def steps(model: Model, docs: list[Doc]) -> dict[str, Step]:
    """List what is timed: prediction, and a training step without the optimizer."""
    d_vectors = [numpy.ones_like(vectors) for vectors in model.predict(docs)]

    def train() -> None:
        model.begin_update(docs)[1]([d.copy() for d in d_vectors])

    return {"predict": lambda: model.predict(docs), "train": train}


def seconds(step: Step) -> float:
    """Time one call."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def compare(docs: list[Doc], width: int, rounds: int) -> list[dict[str, Any]]:
    """Time the three layers on a batch, and give the ratios of each task."""
    theirs = MultiHashEmbed(width, ATTRS, ROWS, False).initialize(X=docs)
    once = embed_from_spacy(theirs)
    layers = {"every token": every_token(once), "spaCy": theirs}
    tokens = [tuple(row) for doc in docs for row in doc.to_array(ATTRS).tolist()]
    rows = []
    for task, once_step in steps(once, docs).items():
        others = {name: steps(layer, docs)[task] for name, layer in layers.items()}
        for step in (once_step, *others.values()):
            step()  # warm up
        ratios: dict[str, list[float]] = {name: [] for name in others}
        for _ in range(rounds):
            once_seconds = seconds(once_step)
            for name, step in others.items():
                ratios[name].append(seconds(step) / once_seconds)
        for name, values in ratios.items():
            low, median, high = numpy.percentile(values, [10, 50, 90]).round(2).tolist()
            rows.append(
                {
                    "docs": len(docs),
                    "tokens": len(tokens),
                    "types": len(set(tokens)),
                    "width": width,
                    "task": task,
                    "against": name,
                    "ratio": median,
                    "ratio_10": low,
                    "ratio_90": high,
                    "rounds": rounds,
                }
            )
    return rows


def main(
    corpus: Path = typer.Argument(..., help="A .spacy file", exists=True),
    lang: str = typer.Option("es", help="Language of the corpus"),
    rounds: int = typer.Option(30, help="Rounds of each comparison"),
    output: Optional[Path] = typer.Option(None, help="JSON file for the figures"),
) -> None:
    """Measure what embedding each distinct token of a batch once saves."""
    docs = list(DocBin().from_disk(corpus).get_docs(spacy.blank(lang).vocab))
    # the two batches of practice, then how the ratio goes with tokens, and with width
    cases = [(take_words(docs, 1000), 96), (docs[:256], 96)]
    cases += [(take_words(docs, words), 96) for words in (250, 4000, 16_000)]
    cases += [(take_words(docs, 1000), width) for width in (64, 128, 256)]
    with threadpool_limits(1):
        rows = list(flatten.from_iterable(compare(batch, w, rounds) for batch, w in cases))
    header = ("docs", "tokens", "types", "width", "task", "against", "ratio", "10-90 %")
    table = [
        [row[key] for key in header[:6]]
        + [f"{row['ratio']:.2f}", f"{row['ratio_10']:.2f} to {row['ratio_90']:.2f}"]
        for row in rows
    ]
    msg.table(table, header=header, divider=True)
    msg.text("ratio: time of the other layer divided by that of ours, both in the same round.")
    if output is not None:
        partial = output.with_suffix(".partial")
        srsly.write_json(partial, rows)
        os.replace(partial, output)


if __name__ == "__main__":
    typer.run(main)
