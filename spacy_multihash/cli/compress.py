"""`python -m spacy multihash compress`: make the files of a trained pipeline small."""

from enum import Enum
from pathlib import Path
from typing import Optional, Union

import spacy
import typer
from spacy.util import is_package

from ..common.files import replacing_folder
from ..compute.quantization import PRECISIONS
from ..convert.compress import check_compressible, compress
from ..convert.compressed_folder import Precisions, kept_bytes
from ..corpus.read import model_examples
from ._compress_report import Change, Report, compare, measure_files, measure_speed, show_report
from ._messages import msg
from ._pipelines import check_apart, check_pipeline_output
from ._util import check_file_output, import_code, load_pipeline, save_json

PrecisionName = Enum("PrecisionName", {name: name for name in PRECISIONS}, type=str)  # type: ignore[misc]
_DEFAULTS = {name: PrecisionName(value) for name, value in vars(Precisions()).items()}


def compress_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    vectors: PrecisionName = typer.Option(
        _DEFAULTS["vectors"], "--vectors", help="Numbers of static vectors"
    ),
    tables: PrecisionName = typer.Option(
        _DEFAULTS["tables"], "--tables", help="Numbers of tables of embeddings"
    ),
    weights: PrecisionName = typer.Option(
        _DEFAULTS["weights"], "--weights", help="Numbers of all other weights"
    ),
    keep_strings: bool = typer.Option(
        False, "--keep-strings", help="Keep strings that no component needs"
    ),
    data: Optional[Path] = typer.Option(
        None, "--data", help="Corpus to compare predictions on: a .spacy file, or a folder"
    ),
    report_path: Optional[Path] = typer.Option(
        None, "--report", help="JSON file to write all figures to"
    ),
    force: bool = typer.Option(
        False, "--force", "-f", help="Replace OUTPUT, and the file of --report, if they exist"
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Make the files of a trained pipeline small.

    Vectors and tables are saved as int8 with a scale a row, weights as float16. spacy.load makes
    float32 of them wherever this package is installed. Strings that no component needs, and rows of
    vectors that no word has, are left out. --data compares what both pipelines find.

    DOCS: python -m pydoc spacy_multihash.convert.compress
    """
    import_code(code)
    precisions = Precisions(vectors.value, tables.value, weights.value)
    try:
        check_file_output(
            report_path,
            "--report",
            force=force,
            inputs=[data, code],
            replaced=output,
            model=model,
        )
        report = compress_pipeline(
            model,
            output,
            precisions,
            keep_strings=keep_strings,
            data=data,
            force=force,
            code=code,
        )
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot compress the pipeline", str(error))
    show_report(report)
    if report_path is not None:
        save_json(report_path, report.as_json(), quiet=False)
    msg.good(f"Wrote the pipeline to {output}")


def compress_pipeline(
    model: Union[str, Path],
    output: Path,
    precisions: Precisions,
    *,
    keep_strings: bool = False,
    data: Optional[Path] = None,
    force: bool = False,
    code: Optional[Path] = None,
) -> Report:
    """Load a pipeline, write a small one, load that, and compare them.

    model (Union[str, Path]): Name of a package, or path of a pipeline.
    output (Path): The directory to write. It appears when all of it is written and measured.
    precisions (Precisions): What numbers become.
    keep_strings (bool): Whether all strings stay.
    data (Optional[Path]): The corpus to compare predictions on: a .spacy file, or a folder.
    force (bool): Replace the directory if it is a pipeline.
    code (Optional[Path]): The Python file that pipelines need to load, imported already.

    Raises ValueError or OSError, and writes nothing, if the pipeline or the corpus cannot be
    loaded, if the pipeline cannot be compressed, or if something else has the directory's name.
    """
    check_pipeline_output(output, force=force, inputs=[data, code])
    nlp = load_pipeline(model)
    check_apart(nlp, output)
    check_compressible(nlp)
    stream = None if data is None else model_examples(nlp, data)
    with replacing_folder(output.resolve()) as new:
        left_out = compress(nlp, new, precisions, keep_strings=keep_strings)
        package = model if isinstance(model, str) and is_package(model) else None
        files = measure_files(Path(nlp.path), new, code, package)
        speed, predictions = Change(None, None), None
        if stream is not None:
            examples = list(stream)  # not before, since its strings become the vocab's
            small = spacy.load(new)
            predictions = compare(nlp, small, examples)
            speed = measure_speed(nlp, small, [example.reference.text for example in examples])
        return Report(
            **files,
            tokens_per_second=speed,
            left_out=left_out,
            predictions=predictions,
            kept_bytes=kept_bytes(new, nlp.component_names),
        )
