"""`python -m spacy multihash compress`: make the files of a trained pipeline small."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..common.files import replacing_folder, write_json
from ..compute.quantization import Precision
from ..corpus.evaluation import annotate, score
from ..corpus.read import model_examples
from ..pipelines.compare import largest_change, shares_kept
from ..pipelines.compress import LeftOut, Precisions, compress
from ._util import (
    CODE,
    MODEL,
    check_file_output,
    check_folder_output,
    failing,
    folder_size,
    import_code,
    load_pipeline,
    msg,
    show_table,
)

_DEFAULTS = Precisions()
_MEGA = 10**6


@dataclass(frozen=True)
class Predictions:
    """The compressed pipeline's predictions, compared with the original's.

    f_before, f_after (Optional[float]): F1 of entities, 0 to 1. None if the corpus has no entities
        with labels of the pipeline.
    shares_kept (Mapping[str, float]): The share of annotations that stay, by kind.
    largest_change (Optional[float]): The largest change of a class's score. None without classes.
    """

    f_before: Optional[float]
    f_after: Optional[float]
    shares_kept: Mapping[str, float]
    largest_change: Optional[float]


@dataclass(frozen=True)
class Report:
    """Sizes and predictions before and after compressing.

    bytes_before, bytes_after (int): The size of the files.
    left_out (LeftOut): Rows of vectors, and strings.
    predictions (Optional[Predictions]): None without a corpus.
    """

    bytes_before: int
    bytes_after: int
    left_out: LeftOut
    predictions: Optional[Predictions]


def compress_cli(
    model: str = MODEL,
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    vectors: Precision = typer.Option(_DEFAULTS.vectors, help="Precision of static vectors"),
    tables: Precision = typer.Option(_DEFAULTS.tables, help="Precision of embedding tables"),
    weights: Precision = typer.Option(_DEFAULTS.weights, help="Precision of all other weights"),
    keep_strings: bool = typer.Option(
        False, "--keep-strings", help="Keep strings that no component needs"
    ),
    data: Optional[Path] = typer.Option(
        None, help="Corpus to compare predictions on: a .spacy file, or a folder"
    ),
    report_path: Optional[Path] = typer.Option(
        None, "--report", help="JSON file to write all figures to"
    ),
    force: bool = typer.Option(
        False, "--force", "-f", help="Replace OUTPUT, and the file of --report, if they exist"
    ),
    code: Optional[Path] = CODE,
) -> None:
    """Make the files of a trained pipeline small.

    Vectors and tables are saved as int8 with a scale per row, weights as float16. spacy.load makes
    them float32 wherever this package is installed. Strings that no component needs, and rows of
    vectors that no word has, are left out. --data compares the predictions of both pipelines.

    DOCS: python -m pydoc spacy_multihash.pipelines.compress
    """
    import_code(code)
    with failing("Cannot compress the pipeline"):
        check_file_output(report_path, "--report", model, data, code, output, force=force)
        check_folder_output(output, model, data, code, force=force)
        nlp = load_pipeline(model)
        stream = None if data is None else model_examples(nlp, data)
        with replacing_folder(output) as new:
            precisions = Precisions(vectors, tables, weights)
            left_out = compress(nlp, new, precisions, keep_strings=keep_strings)
            small = load_pipeline(new)
            predictions = None
            if stream is not None:
                examples = list(stream)  # only now, since it adds strings to the vocab
                predictions = compare(nlp, small, examples)
            before, after = folder_size(Path(nlp.path)), folder_size(new)
            report = Report(before, after, left_out, predictions)
        if report_path is not None:
            write_json(report_path, asdict(report))
    show_report(report)
    msg.good(f"Wrote the pipeline to {output}")


def compare(before: Language, after: Language, examples: Sequence[Example]) -> Predictions:
    """Compare the predictions of two pipelines on examples that aren't annotated yet."""
    arms = []
    for nlp in (before, after):
        arm = []
        for example in examples:
            words = [token.text for token in example.x]
            spaces = [bool(token.whitespace_) for token in example.x]
            arm.append(Example(Doc(nlp.vocab, words, spaces), example.reference))
        annotate(nlp, arm)
        arms.append(arm)
    old, new = ([example.predicted for example in arm] for arm in arms)
    gold = {ent.label_ for example in examples for ent in example.reference.ents}
    labels = entity_labels(before) | {ent.label_ for doc in old for ent in doc.ents}
    if gold and not gold & labels:
        msg.warn(
            "F1 isn't shown",
            f"The corpus has entities of {', '.join(sorted(gold))}, and the pipeline finds "
            f"{', '.join(sorted(labels)) or 'none'}.",
        )
    f_before, f_after = (score(arm).f if gold & labels else None for arm in arms)
    return Predictions(f_before, f_after, shares_kept(old, new), largest_change(old, new))


def entity_labels(nlp: Language) -> set[str]:
    """Return the labels of the components that find entities."""
    finders = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    return {label for name in finders for label in nlp.pipe_labels.get(name, [])}


def show_report(report: Report) -> None:
    """Print the figures in two tables."""
    predictions, left = report.predictions, report.left_out
    before, after = report.bytes_before, report.bytes_after
    rows = [("MB on disk", f"{before / _MEGA:,.2f}", f"{after / _MEGA:,.2f}")]
    if predictions and predictions.f_before is not None and predictions.f_after is not None:
        f_before, f_after = 100 * predictions.f_before, 100 * predictions.f_after
        rows.append(("F1 of entities", f"{f_before:.2f}", f"{f_after:.2f}"))
    show_table("Before and after", ("", "before", "after"), rows)
    if predictions is not None:
        shares = [(name, f"{100 * share:.2f}") for name, share in predictions.shares_kept.items()]
        show_table("Predictions that stay the same", ("", "%"), shares)
        if predictions.largest_change is not None:
            msg.text(f"Scores of classes change by up to {predictions.largest_change:.4f}.")
    msg.text(
        f"Left out: {left.strings:,} of {left.strings_before:,} strings, which no component needs, "
        f"and {left.rows:,} rows of vectors, which no word has."
    )
