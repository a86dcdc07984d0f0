"""`python -m spacy multihash evaluate`: scores on seen and unseen entities."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Optional

import spacy
import typer
from spacy.tokens import DocBin

from ..common.files import write_bytes, write_json
from ..common.load import load_pipeline
from ..common.outputs import check_file_output
from ..common.templates import render
from ..corpus.evaluation import (
    Evaluation,
    Matching,
    Scores,
    evaluate_entities,
    masked_parts,
    predict,
    read_known_entities,
)
from ..corpus.read import model_examples, write_corpora
from ..corpus.spans import side_by_side
from ._util import AS_JSON, CODE, GPU_ID, MODEL, failing, import_code, msg, print_json, show_table


def evaluate_cli(
    model: str = MODEL,
    data: Path = typer.Argument(..., help="Corpus to evaluate on: a .spacy file, or a folder"),
    train: Path = typer.Option(..., help="Corpus that the pipeline was trained on"),
    ignore_case: bool = typer.Option(False, "--ignore-case", help="Compare texts in lower case"),
    match_label: bool = typer.Option(
        False, "--match-label", help="An entity with another label than in TRAIN is unseen"
    ),
    output: Optional[Path] = typer.Option(None, help="JSON file to write the scores to"),
    as_json: bool = AS_JSON,
    masked: Optional[Path] = typer.Option(
        None, help="Folder to write the masked corpora to, seen.spacy and unseen.spacy"
    ),
    displacy_path: Optional[Path] = typer.Option(
        None, "--displacy-path", "-dp", help="Folder for entities.html, gold beside found entities"
    ),
    displacy_limit: int = typer.Option(
        25, "--displacy-limit", "-dl", min=1, help="Maximum number of docs in entities.html"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace files to write that exist"),
    gpu_id: int = GPU_ID,
    code: Optional[Path] = CODE,
) -> None:
    """Score an entity recognizer on seen and unseen entities.

    An entity is seen if TRAIN has an entity with the same text. When seen entities are scored, as
    in the report, unseen entities count as missing annotation, and the other way round. Other false
    positives count in both parts.

    DOCS: python -m pydoc spacy_multihash.corpus.evaluation
    """
    import_code(code)
    masks = [] if masked is None else [masked / "seen.spacy", masked / "unseen.spacy"]
    page = None if displacy_path is None else displacy_path / "entities.html"
    with failing("Cannot evaluate the pipeline"):
        outputs = [(output, "--output"), (page, "--displacy-path")]
        for path, option in [*outputs, *((mask, "--masked") for mask in masks)]:
            check_file_output(path, option, model, data, train, code, force=force)
        if gpu_id >= 0:
            spacy.require_gpu(gpu_id)
        nlp = load_pipeline(model)
        train_entities = read_known_entities(train, nlp.vocab, Matching(ignore_case, match_label))
        examples = list(model_examples(nlp, data))
        predict(nlp, examples)
        evaluation = evaluate_entities(examples, train_entities)
        if masked is not None:
            bins = {
                name: DocBin(docs=[example.reference for example in masked_examples])
                for name, masked_examples in masked_parts(examples, train_entities).items()
            }
            write_corpora(masked, bins)
        if page is not None:
            shown = examples[:displacy_limit]
            docs = [side_by_side(eg.reference, eg.predicted) for eg in shown]
            html = render("side_by_side.html", title=f"Entities of {data}", docs=docs)
            write_bytes(page, html.encode())
        if output is not None:
            write_json(output, asdict(evaluation))
    if as_json:
        print_json(asdict(evaluation))
        return
    _show(evaluation)
    if masked is not None:
        msg.good(f"Wrote seen.spacy and unseen.spacy to {masked}")
    for path in filter(None, (output, page)):
        msg.good(f"Wrote {path}")


def _show(evaluation: Evaluation) -> None:
    """Print tables of scores: all entities and parts, and the labels of each part."""
    parts = {"all": evaluation.overall, **evaluation.masked}
    _show_scores("Entities", parts)
    msg.text(
        "Seen: the training corpus has the entity. A false positive counts in both parts, unless "
        "it touches an entity of the other part."
    )
    for name, scores in parts.items():
        _show_scores(f"Labels: {name}", scores.per_label)


def _show_scores(title: str, by_name: Mapping[str, Scores]) -> None:
    rows = []
    for name, scores in by_name.items():
        prf = (scores.p, scores.r, scores.f)
        percents = ("-" if value is None else f"{100 * value:.2f}" for value in prf)
        rows.append((name, f"{scores.entities:,}", *percents))
    show_table(title, ("", "gold", "P", "R", "F1"), rows)
