"""`python -m spacy multihash compress`: make the files of a trained pipeline small."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Optional

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import import_file, is_package

from ..common.files import replacing_folder, write_json
from ..common.memory import resident_memory
from ..compute.quantization import Precision
from ..corpus.evaluation import annotate, score
from ..corpus.read import model_examples
from ..pipelines.compare import largest_change, shares_kept, tokens_per_second
from ..pipelines.compress import LeftOut, Precisions, compress, kept_bytes
from ..scale.workers import ItemError, Processes
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
# How often each pipeline is loaded to measure time and memory.
LOADS = 3
_MEGA = 10**6


@dataclass(frozen=True)
class Change:
    """A measure before and after, and after divided by before. None where it isn't measured."""

    before: Optional[float] = None
    after: Optional[float] = None
    ratio: Optional[float] = None

    @classmethod
    def of(cls, before: Optional[float], after: Optional[float]) -> "Change":
        """Divide the measure after by the measure before."""
        ratio = after / before if before and after is not None else None
        return cls(before, after, ratio)


@dataclass(frozen=True)
class Predictions:
    """The compressed pipeline's predictions, compared with the original's.

    f (Change): F1 of entities, 0 to 1. None without gold entities.
    shares_kept (Mapping[str, float]): The share of annotations that stay, by kind.
    largest_change (Optional[float]): The largest change of a class's score. None without classes.
    """

    f: Change
    shares_kept: Mapping[str, float]
    largest_change: Optional[float]


@dataclass(frozen=True)
class Report:
    """Sizes, times and predictions before and after compressing.

    memory (Change): Bytes by which a process grows as it loads the pipeline.
    load_seconds (Change): Time to load it in a new process.
    left_out (LeftOut): Rows of vectors, and strings.
    predictions (Optional[Predictions]): None without a corpus.
    kept_bytes (Mapping[str, int]): Bytes of weights of other frameworks, by component.
    """

    bytes: Change
    memory: Change
    load_seconds: Change
    tokens_per_second: Change
    left_out: LeftOut
    predictions: Optional[Predictions]
    kept_bytes: Mapping[str, int]


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
        with replacing_folder(output.resolve()) as new:
            precisions = Precisions(vectors, tables, weights)
            left_out = compress(nlp, new, precisions, keep_strings=keep_strings)
            package = model if is_package(model) else None
            files = measure_files(Path(nlp.path), new, code, package)
            speed, predictions = Change(), None
            if stream is not None:
                examples = list(stream)  # only now, since it adds strings to the vocab
                small = spacy.load(new)
                predictions = compare(nlp, small, examples)
                texts = [example.reference.text for example in examples]
                speed = Change.of(*tokens_per_second([nlp, small], texts))
            report = Report(
                **files,
                tokens_per_second=speed,
                left_out=left_out,
                predictions=predictions,
                kept_bytes=kept_bytes(new, nlp.component_names),
            )
        if report_path is not None:
            write_json(report_path, asdict(report))
    show_report(report)
    msg.good(f"Wrote the pipeline to {output}")


def measure_files(
    before: Path, after: Path, code: Optional[Path], package: Optional[str]
) -> dict[str, Change]:
    """Measure the size of two pipelines, and the time and memory to load them.

    code, package: The Python file and the package that they need.

    Raises ValueError if a pipeline can't be loaded in a new process.
    """
    paths = (before, after)
    runs = [[_measure_load(path, code, package) for path in paths] for _ in range(LOADS)]
    loads = {
        name: Change.of(*(_median(run[i][name] for run in runs) for i in (0, 1)))
        for name in ("memory", "load_seconds")
    }
    return {"bytes": Change.of(*map(folder_size, paths)), **loads}


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
    has_gold = any(example.reference.ents for example in examples)
    f = Change.of(*(score(arm).f if has_gold else None for arm in arms))
    old, new = ([example.predicted for example in arm] for arm in arms)
    return Predictions(f, shares_kept(old, new), largest_change(old, new))


def show_report(report: Report) -> None:
    """Print the figures in two tables."""
    predictions, mega = report.predictions, 1 / _MEGA
    changes = [
        ("MB on disk", report.bytes, mega),
        ("MB of memory", report.memory, mega),
        ("seconds to load", report.load_seconds, 1),
        ("tokens a second", report.tokens_per_second, 1),
        ("F1 of entities", predictions.f if predictions else Change(), 100),
    ]
    rows: list[tuple[str, ...]] = []
    for name, change, factor in changes:
        before, after, ratio = change.before, change.after, change.ratio
        if before is not None and after is not None:
            numbers = (f"{value * factor:,.2f}" for value in (before, after))
            rows.append((name, *numbers, "-" if ratio is None else f"{ratio:.3f}"))
    show_table("Before and after", ("", "before", "after", "after / before"), rows)
    if predictions is not None:
        rows = [(name, f"{100 * share:.2f}") for name, share in predictions.shares_kept.items()]
        show_table("Predictions that stay the same", ("", "%"), rows)
        if predictions.largest_change is not None:
            msg.text(f"Scores of classes change by up to {predictions.largest_change:.4f}.")
    for component, size in report.kept_bytes.items():
        msg.warn(
            f"{component}: {size / _MEGA:,.1f} MB of weights are of another framework, such as "
            "PyTorch, and stay as they are."
        )
    left = report.left_out
    msg.text(
        f"Left out: {left.strings:,} of {left.strings_before:,} strings, which no component needs, "
        f"and {left.rows:,} rows of vectors, which no word has."
    )


def _measure_load(path: Path, code: Optional[Path], package: Optional[str]) -> dict[str, Any]:
    """Measure time and memory to load a pipeline in a new process. Raises ValueError."""
    load = partial(_load, code=code, package=package)
    try:
        with closing(Processes(1)) as processes:
            return dict(processes.imap(load, [path], names=[f"Loading {path}"]))[0]
    except ItemError as error:
        raise ValueError(f"{error}. Pipelines that need code of their own need --code.") from error


def _load(path: Path, code: Optional[Path], package: Optional[str]) -> dict[str, Any]:
    if code is not None:
        import_file("python_code", code)
    if package is not None:
        import_module(package)
    before, start = resident_memory(), perf_counter()
    nlp = spacy.load(path)
    seconds, after = perf_counter() - start, resident_memory()
    del nlp  # until here, it takes memory
    memory = None if before is None or after is None else after - before
    return {"load_seconds": seconds, "memory": memory}


def _median(values: Iterable[Optional[float]]) -> Optional[float]:
    measured = [value for value in values if value is not None]
    return median(measured) if measured else None
