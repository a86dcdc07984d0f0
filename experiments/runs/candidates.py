"""What candidates cost and give: entities below the best, of en_core_web_md on WNUT 2017."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from experiments.runs.english import ENGLISH, NER, load_english
from experiments.runs.files import CANDIDATES, FORMAT
from experiments.runs.grid import CORPUS
from spacy_multihash.common.files import write_json
from spacy_multihash.corpus.read import model_examples

DATASET = "wnut17"
KEY = "entities"
# None is for the entities of doc.ents alone.
THRESHOLDS = (None, 0.2, 0.1, 0.05, 0.01, 0.001)


def count_candidates(nlp: Language, examples: Sequence[Example]) -> dict[str, Any]:
    """Count the entities that a pipeline puts into doc.spans, for each threshold.

    Gold entities count as found by their boundaries alone, whatever their label.

    nlp (Language): A pipeline whose batch_ner, called "ner", puts entities into doc.spans.

    Returns counts of all docs. "greedy" is the number of entities in doc.ents, and "best" that of
    the most probable sequences. "left_out" has the mean and the maximum over docs.
    """
    pipe: Any = nlp.get_pipe(NER)
    lines = []
    for threshold in THRESHOLDS:
        pipe.candidates_above = threshold
        docs = _find(nlp, examples)
        boundaries = [{(span.start, span.end) for span in doc.spans[KEY]} for doc in docs]
        gold = [
            {(span.start, span.end) for span in one.get_aligned_spans_y2x(one.reference.ents)}
            for one in examples
        ]
        lines.append(
            {
                "candidates_above": threshold,
                "spans": sum(len(doc.spans[KEY]) for doc in docs),
                "boundaries": sum(map(len, boundaries)),
                "found": sum(len(a & b) for a, b in zip(boundaries, gold, strict=True)),
            }
        )
    left_out = [doc.spans[KEY].attrs["left_out"] for doc in docs]
    pipe.candidates_above, pipe.decoder = None, "best"
    best = _find(nlp, examples)
    return {
        "format": FORMAT,
        "docs": len(examples),
        "gold": sum(map(len, gold)),
        "left_out": {"mean": fmean(left_out), "max": max(left_out)},
        "greedy": sum(len(doc.ents) for doc in docs),
        "best": sum(len(doc.ents) for doc in best),
        "thresholds": lines,
    }


def _find(nlp: Language, examples: Sequence[Example]) -> list[Doc]:
    return list(nlp.pipe(example.predicted.copy() for example in examples))


def candidates_cli(
    english: Annotated[str, typer.Option(help="en_core_web_md: a package, or a path")] = ENGLISH,
    output: Annotated[Path, typer.Option(help="The file of results")] = CANDIDATES,
) -> None:
    """Count the candidates of en_core_web_md on dev of WNUT 2017, for several thresholds.

    DOCS: docs/ner.md
    """
    corpus = CORPUS / DATASET / "dev.spacy"
    try:
        if not corpus.is_file():
            raise FileNotFoundError(
                f"There is no corpus at {corpus}. Make it with: "
                f"python -m experiments convert {DATASET} assets {corpus.parent}"
            )
        nlp = load_english(english, {"spans_key": KEY})
        with nlp.select_pipes(enable=NER):
            counts = count_candidates(nlp, list(model_examples(nlp, corpus)))
        write_json(output, counts)
    except (OSError, ValueError) as error:
        msg.fail("Could not count candidates", str(error), exits=1)
    msg.good(f"{counts['gold']} entities, {counts['thresholds'][-1]['found']} of them found")
