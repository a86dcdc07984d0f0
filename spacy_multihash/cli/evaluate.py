"""`python -m spacy multihash evaluate`: scores on seen and unseen entities."""

from dataclasses import asdict
from pathlib import Path
from typing import Optional, Union

import spacy
import typer
from spacy.tokens import DocBin
from spacy.training import Corpus

from ..common.files import write_bytes
from ..corpus.entities import Matching
from ..corpus.evaluation import (
    Evaluation,
    Scores,
    evaluate_entities,
    masked_parts,
    predict,
    read_known_entities,
)
from ..corpus.noise import CharNoise, characters_of
from ..corpus.noisy_evaluation import NoisyEvaluation, evaluate_noise
from ..corpus.read import read_docs, write_corpora
from ._displacy import labels_of, render_page
from ._messages import msg
from ._show import show_table, unbroken
from ._util import (
    check_file_output,
    check_folder_output,
    import_code,
    load_pipeline,
    print_json,
    save_json,
)

# How often noise is drawn.
NOISE_SEEDS = 5
# How many documents a page shows.
DISPLACY_LIMIT = 25
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
    force: bool = typer.Option(False, "--force", "-f", help="Replace files to write that exist"),
    displacy_path: Optional[Path] = typer.Option(
        None, "--displacy-path", "-dp", help="Folder to write entities.html to, found entities"
    ),
    displacy_limit: Optional[int] = typer.Option(
        None,
        "--displacy-limit",
        "-dl",
        min=1,
        help=f"With --displacy-path: how many documents to show. Default: {DISPLACY_LIMIT}",
    ),
    noise: Optional[float] = typer.Option(
        None, min=0, max=1, help="Score under noise too: the share of characters to change"
    ),
    noise_seeds: Optional[int] = typer.Option(
        None, min=1, help=f"With --noise: how often it is drawn. Default: {NOISE_SEEDS}"
    ),
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

    With --noise, the pipeline is scored on texts with masked or replaced characters as well.

    DOCS: python -m pydoc spacy_multihash.corpus.evaluation
    """
    import_code(code)
    matching = Matching(ignore_case, match_label)
    try:
        inputs = [data, train, code]
        parts = ("seen.spacy", "unseen.spacy")
        check_file_output(output, "--output", force=force, inputs=inputs, model=model)
        check_folder_output(masked, "--masked", parts, force=force, inputs=inputs)
        check_folder_output(displacy_path, "--displacy-path", ("entities.html",), force=force)
        if noise is None and noise_seeds is not None:
            raise ValueError("--noise-seeds is for noise. Give --noise, or leave it out.")
        if displacy_path is None and displacy_limit is not None:
            raise ValueError(
                "--displacy-limit is for a page. Give --displacy-path, or leave it out."
            )
        evaluation = evaluate(
            model,
            data,
            train,
            matching=matching,
            masked=masked,
            displacy_path=displacy_path,
            displacy_limit=displacy_limit or DISPLACY_LIMIT,
            noise=noise,
            noise_seeds=noise_seeds or NOISE_SEEDS,
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
    if displacy_path is not None and not as_json:
        msg.good(f"Wrote entities.html to {displacy_path}")


def evaluate(
    model: Union[str, Path],
    data: Path,
    train: Path,
    *,
    matching: Matching,
    masked: Optional[Path] = None,
    displacy_path: Optional[Path] = None,
    displacy_limit: int = DISPLACY_LIMIT,
    noise: Optional[float] = None,
    noise_seeds: int = NOISE_SEEDS,
    gpu_id: int = -1,
) -> Evaluation:
    """Evaluate a trained pipeline on a corpus.

    model (Union[str, Path]): Name of a package, or path of a pipeline.
    data (Path): The corpus to evaluate on: a .spacy file, or a folder of them.
    train (Path): The corpus that the pipeline was trained on.
    matching (Matching): What makes an entity the same as one of the training corpus.
    masked (Optional[Path]): The folder to write the masked corpora to. None writes none.
    displacy_path (Optional[Path]): The folder to write entities.html to, where displacy shows the
        entities that the pipeline finds. None writes none.
    displacy_limit (int): How many docs entities.html shows, from the first on.
    noise (Optional[float]): The probability that noise changes a character. The result is a
        NoisyEvaluation then. None scores without noise alone.
    noise_seeds (int): How often noise is drawn, with the seeds 0, 1, and so on.
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
    if noise is not None:
        characters = CharNoise(noise, characters_of(doc.text for doc in docs))
        inputs = list(Corpus(data).make_examples(nlp, docs))
        scores = evaluate_noise(nlp, inputs, known, characters, [*range(noise_seeds)])
        evaluation = NoisyEvaluation(**vars(evaluation), noise=scores)
    if masked is not None:
        parts = masked_parts(examples, known)
        bins = {name: DocBin(docs=[e.reference for e in part]) for name, part in parts.items()}
        write_corpora(masked, bins)
    if displacy_path is not None:
        shown = [example.predicted for example in examples[:displacy_limit]]
        page = render_page(shown, list(map(labels_of, shown)))
        write_bytes(displacy_path / "entities.html", page)
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
    if isinstance(evaluation, NoisyEvaluation):
        _show_noise(evaluation)
    for name, scores in by_label.items():
        rows = [_row(label, of_label) for label, of_label in scores.per_label.items()]
        show_table(f"Labels: {name}", _HEADER, rows)


def _show_noise(evaluation: NoisyEvaluation) -> None:
    """Print a table of all entities and parts under noise."""
    noise = evaluation.noise
    clean, means, sds = map(_parts, (evaluation, noise.mean, noise.sd))
    rows = [
        (*_row(name, scores)[:-1], _percent(scores.f, sds[name].f), _percent(clean[name].f))
        for name, scores in means.items()
    ]
    header = (*_HEADER, "F1 without")
    show_table(f"Entities under noise of {noise.level:g}", header, rows)
    count = len(noise.seeds)
    msg.text(
        "Noise was drawn once, so that there is no standard deviation."
        if count == 1
        else f"Means of {count} draws of noise; F1 with its standard deviation."
    )


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


def _percent(value: Optional[float], sd: Optional[float] = None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2f}" if sd is None else unbroken(f"{100 * value:.2f} ± {100 * sd:.2f}")
