"""`python -m spacy multihash evaluate`: scores on seen and unseen entities."""

from dataclasses import asdict
from pathlib import Path
from typing import Optional, Union

import spacy
import typer
from spacy.tokens import DocBin
from spacy.training import Corpus

from ..common.files import write_bytes
from ..corpus.evaluation import (
    Evaluation,
    Matching,
    Scores,
    evaluate_entities,
    masked_parts,
    predict,
    read_known_entities,
)
from ..corpus.read import read_docs, write_corpora
from ..inspection.errors_page import render_side_by_side
from ._util import (
    check_file_output,
    import_code,
    load_pipeline,
    msg,
    print_json,
    save_json,
    show_table,
)

_HEADER = ("", "gold", "P", "R", "F1")


def evaluate_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    data: Path = typer.Argument(..., help="Corpus to evaluate on: a .spacy file, or a folder"),
    train: Path = typer.Option(..., help="Corpus that the pipeline was trained on"),
    ignore_case: bool = typer.Option(False, "--ignore-case", help="Compare texts in lower case"),
    match_label: bool = typer.Option(
        False, "--match-label", help="An entity with another label than in TRAIN is unseen"
    ),
    output: Optional[Path] = typer.Option(None, help="JSON file to write the scores to"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
    masked: Optional[Path] = typer.Option(
        None, help="Folder to write the masked corpora to, seen.spacy and unseen.spacy"
    ),
    displacy_path: Optional[Path] = typer.Option(
        None, "--displacy-path", "-dp", help="Folder to write entities.html to, gold beside found"
    ),
    displacy_limit: int = typer.Option(
        25, "--displacy-limit", "-dl", min=1, help="Documents of entities.html"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace files to write that exist"),
    gpu_id: int = typer.Option(-1, "--gpu-id", "-g", help="GPU, or -1 for CPU"),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Score an entity recognizer on seen and unseen entities.

    An entity is seen if its exact text is that of an entity of TRAIN. Seen and unseen entities are
    scored in two ways. In the report's way, the entities of the other part are masked as missing,
    and every other false positive counts in both parts. In the second way, each false positive
    counts once, in the part that its own text belongs to. Entities are also scored by how often
    they occur in TRAIN.

    DOCS: python -m pydoc spacy_multihash.corpus.evaluation
    """
    import_code(code)
    matching = Matching(ignore_case, match_label)
    try:
        check_file_output(output, "--output", model, data, train, code, force=force)
        if masked is not None:
            for name in ("seen.spacy", "unseen.spacy"):
                check_file_output(masked / name, "--masked", model, data, train, code, force=force)
        page = None if displacy_path is None else displacy_path / "entities.html"
        check_file_output(page, "--displacy-path", model, data, train, code, force=force)
        evaluation = evaluate(
            model,
            data,
            train,
            matching=matching,
            masked=masked,
            page=page,
            limit=displacy_limit,
            gpu_id=gpu_id,
        )
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot evaluate the pipeline", str(error))
    if as_json:
        print_json(asdict(evaluation))
    else:
        _show(evaluation)
    if output is not None:
        save_json(output, asdict(evaluation), quiet=as_json)
    if masked is not None and not as_json:
        msg.good(f"Wrote seen.spacy and unseen.spacy to {masked}")
    if page is not None and not as_json:
        msg.good(f"Wrote {page}")


def evaluate(
    model: Union[str, Path],
    data: Path,
    train: Path,
    *,
    matching: Matching,
    masked: Optional[Path] = None,
    page: Optional[Path] = None,
    limit: int = 25,
    gpu_id: int = -1,
) -> Evaluation:
    """Evaluate a trained pipeline on a corpus.

    model (Union[str, Path]): Name of a package, or path of a pipeline.
    data (Path): The corpus to evaluate on: a .spacy file, or a folder of them.
    train (Path): The corpus that the pipeline was trained on.
    matching (Matching): What makes an entity the same as one of the training corpus.
    masked (Optional[Path]): The folder to write the masked corpora to. None writes none.
    page (Optional[Path]): The HTML page to write, with gold entities beside found ones.
    limit (int): How many docs the page has at most.
    gpu_id (int): The GPU, or -1 for the CPU.

    Raises ValueError or OSError, and writes nothing, if something cannot be read or scored.
    """
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    nlp = load_pipeline(model)
    known = read_known_entities(train, nlp.vocab, matching)
    docs = list(read_docs(data, nlp.vocab))
    examples = list(Corpus(data).make_examples(nlp, docs))
    predict(nlp, examples)
    evaluation = evaluate_entities(examples, known)
    if masked is not None:
        parts = masked_parts(examples, known)
        bins = {name: DocBin(docs=[e.reference for e in part]) for name, part in parts.items()}
        write_corpora(masked, bins)
    if page is not None:
        write_bytes(page, render_side_by_side(examples[:limit], f"Entities of {data}"))
    return evaluation


def _show(evaluation: Evaluation) -> None:
    """Print a table of all entities and parts, and one of labels for each except frequencies."""
    by_label = _labelled_parts(evaluation)
    rows = [_row(name, scores) for name, scores in _parts(evaluation).items()]
    show_table("Entities", _HEADER, rows)
    msg.text(
        "Seen: the training corpus has the entity. Others masked: a false positive counts in both "
        "parts, unless it touches an entity of the other part. Counted once: it counts in the part "
        "of its own text alone. In training: how often the training corpus has the entity."
    )
    for name, scores in by_label.items():
        rows = [_row(label, of_label) for label, of_label in scores.per_label.items()]
        show_table(f"Labels: {name}", _HEADER, rows)


def _labelled_parts(evaluation: Evaluation) -> dict[str, Scores]:
    return {
        "all": evaluation.overall,
        **{f"{name}, others masked": s for name, s in evaluation.masked.items()},
        **{f"{name}, counted once": s for name, s in evaluation.once.items()},
    }


def _parts(evaluation: Evaluation) -> dict[str, Scores]:
    bands = {f"in training: {name}": s for name, s in evaluation.by_frequency.items()}
    return {**_labelled_parts(evaluation), **bands}


def _row(name: str, scores: Scores) -> tuple[str, ...]:
    prf = (_percent(getattr(scores, key)) for key in "prf")
    return (name, f"{scores.entities:,}", *prf)


def _percent(value: Optional[float]) -> str:
    return "-" if value is None else f"{100 * value:.2f}"
