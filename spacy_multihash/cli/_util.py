"""Helpers for the commands: options, messages and tables, files to read and write, workers.

No other module imports the private module of spaCy's command line.
"""

import errno
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from configparser import InterpolationError
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Optional, Union

import spacy
import srsly
import typer
from spacy.cli import _util as spacy_cli
from spacy.language import Language
from spacy.util import load_config, load_model, load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config, ConfigValidationError
from wasabi import Printer
from wasabi.util import wrap

from ..common.files import (
    UnreadableFile,
    being_read,
    check_staging,
    reading,
    recover,
    replacing_folder,
    standard_stream,
)
from ..corpus.shards import DOCS
from ..scale.workers import Here, Processes, Workers
from ..vectors.compressed import CompressedVectors, is_compressed
from ..vectors.files import source_path

# Arguments and options that several commands have.
MODEL = typer.Argument(..., help="Trained pipeline: a package's name, or a path")
CODE = typer.Option(None, "--code", "-c", help="Python file with registered functions to import")
GPU_ID = typer.Option(-1, "--gpu-id", "-g", help="GPU, or -1 for CPU")
AS_JSON = typer.Option(False, "--json", help="Print JSON instead of tables")
WORKERS = typer.Option(
    None, "--workers", min=1, help="Number of processes, with a thread each. Default: 1"
)
DASK = typer.Option(None, "--dask", help="Address of a Dask scheduler, to use its workers")
# The files of a folder that a command may replace: a pipeline, or a vocab with vectors.
_OURS = (("meta.json", "config.cfg"), ("vectors", "strings.json"))


class Messages(Printer):
    """Messages as spaCy's commands print them, with errors on stderr.

    Only terminals get colours, and none if NO_COLOR is set (https://no-color.org).
    """

    def __init__(self) -> None:
        """Print to the current stdout."""
        # wasabi cannot print its icons with other encodings.
        super().__init__(pretty=(sys.stdout.encoding or "").lower().replace("-", "") == "utf8")
        self.show_color &= sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def fail(self, title: str = "", text: str = "", **settings: Any) -> NoReturn:  # type: ignore[override]  # noqa: ANN401
        """Print an error on stderr, each line of its text wrapped by itself, and exit.

        Indented lines, which are commands to copy, aren't wrapped.
        """
        with redirect_stdout(sys.stderr):
            super().fail(title)
            for line in text.split("\n"):
                typer.echo(line if line.startswith("    ") else wrap(line, indent=0))
        sys.exit(1)

    def warn(self, title: str = "", text: str = "", *, err: bool = False, **settings: Any) -> None:  # type: ignore[override]  # noqa: ANN401
        """Print a warning, on stderr if stdout has to be JSON."""
        with redirect_stdout(sys.stderr if err else sys.stdout):
            super().warn(title, text)

    def command(self, intro: str, command: str) -> None:
        """Print a command to copy, on a line of its own that isn't wrapped."""
        self.text(intro)
        typer.echo(f"    {command}")


msg = Messages()


def command(*args: Union[str, Path]) -> str:
    """Return a command of spaCy to copy, with its arguments quoted.

    args (Union[str, Path]): Words and options. Paths may begin with a dash, as options do.
    """
    shown = [arg if isinstance(arg, str) else path_argument(arg) for arg in args]
    return shlex.join(["python", "-m", "spacy", *shown])


def path_argument(path: Path) -> str:
    """Return a path as a command takes it: not as an option, even if it begins with a dash."""
    return f".{os.sep}{path}" if str(path).startswith("-") else str(path)


@contextmanager
def failing(title: str) -> Iterator[None]:
    """Print an error that users can fix, and exit."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        msg.fail(title, f"{error}: python -m pip install {package}")
    except (ImportError, OSError, ValueError) as error:
        msg.fail(title, str(error))


def show_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, aligns: str = "l"
) -> None:
    """Print a table, if it has rows.

    aligns (str): "l" or "r" for each column. Further columns are right-aligned.
    """
    if rows:
        typer.echo(f"\n{f' {title} ':=^{msg.line_max}}")  # wasabi's divider is always bold
        sides = aligns.ljust(len(header), "r")[: len(header)]
        msg.table(rows, header=header, divider=True, aligns=[*sides])


def print_json(value: Any) -> None:  # noqa: ANN401 (any JSON)
    """Print JSON."""
    with failing("Cannot write to standard output"):
        typer.echo(srsly.json_dumps(value, indent=2))


@contextmanager
def open_workers(workers: Optional[int] = None, dask: Optional[str] = None) -> Iterator[Workers]:
    """Start processes and stop them at the end, or use the workers of a Dask scheduler.

    Without workers and dask, or with one worker, this process does all. Raises ValueError for
    both, and the errors of `open_cluster`.
    """
    if dask is not None:
        if workers is not None:
            raise ValueError("Give either a number of workers or the address of a Dask scheduler.")
        from ..scale.cluster import open_cluster

        with open_cluster(dask) as cluster:
            yield cluster
    elif workers is None or workers == 1:
        yield Here()
    else:
        with closing(Processes(workers)) as processes:
            yield processes


def import_code(path: Optional[Path]) -> None:
    """Import the Python file of --code. Its output goes to stderr."""
    with redirect_stdout(sys.stderr):
        spacy_cli.import_code(path)


def parse_overrides(ctx: typer.Context) -> dict[str, Any]:
    """Read the settings of a config that the command line overrides, as --training.seed 1."""
    try:
        with redirect_stdout(sys.stderr):
            return spacy_cli.parse_config_overrides(ctx.args)
    except spacy_cli.NoSuchOption as error:  # typer may have its own click
        ctx.fail(str(error))


@contextmanager
def naming_config(path: Path) -> Iterator[None]:
    """Raise errors in a config as ValueErrors that name its path."""
    try:
        yield
    except ConfigValidationError as error:
        shown = ConfigValidationError.from_error(error, title="", show_config=False)
        raise UnreadableFile(f"{path}: {shown.text.strip()}") from error
    except InterpolationError as error:
        raise UnreadableFile(f"{path}: {error}") from error


def read_config(
    path: Path,
    overrides: Mapping[str, Any] = MappingProxyType({}),
    *,
    interpolate: bool = False,
) -> Config:
    """Read a config. Raises ValueError, with the path, if it's damaged or can't be filled in."""
    with reading(path, "correct it"), naming_config(path):
        return load_config(path, overrides=dict(overrides), interpolate=interpolate)


def pipeline_of_config(path: Path, overrides: Mapping[str, Any] = MappingProxyType({})) -> Language:
    """Build the pipeline of a config, without weights. Raises ValueError, with the path."""
    config = read_config(path, overrides)
    with reading(path, "correct it"), naming_config(path):
        return load_model_from_config(config, auto_fill=True)


def load_pipeline(
    model: Union[str, Path], *, expected: str = "a package's name, or a pipeline's folder"
) -> Language:
    """Load a trained pipeline. Raises ValueError, with `expected` in the message."""
    recover(model)
    best = Path(model) / "model-best"
    if not (Path(model) / "config.cfg").exists() and best.is_dir():
        raise ValueError(f"{model} is the folder of a training. Give the pipeline in it, {best}.")
    if Path(model).is_file():
        raise ValueError(
            f"{model} is a file, and no trained pipeline. Expected {expected}. Train a pipeline "
            "with: python -m spacy train CONFIG --output FOLDER"
        )
    missing = f"There is no pipeline '{model}'. Expected {expected}. spaCy says:"
    with _loading(f"the pipeline '{model}'", model, missing):
        return spacy.load(model)


@contextmanager
def _loading(what: str, name: Union[str, Path], missing: str) -> Iterator[None]:
    """Raise all errors but ImportError as ValueErrors that say what is loaded.

    spaCy's errors about damaged files name neither the file nor the pipeline.

    missing (str): What to say of a missing file, before spaCy's own message.
    """
    try:
        yield
    except (ImportError, UnreadableFile):
        raise
    except OSError as error:
        if error.errno not in (None, errno.ENOENT):  # such as a missing permission
            place = error.filename or being_read(error, name)
            raise OSError(error.errno, error.strerror, str(place)) from error
        is_spacys = re.fullmatch("[a-z]{2,3}_(core|dep|ent)_[a-z]+_(sm|md|lg|trf)", str(name))
        offer = f"\nspaCy offers it:\n    python -m spacy download {name}" if is_spacys else ""
        raise ValueError(f"{missing} {error}{offer}") from error
    except Exception as error:  # whatever a damaged file makes spaCy, srsly or numpy raise
        unknown = re.search(r"\[E893\] Could not find function '(.+?)'", str(error))
        if unknown:
            raise ValueError(
                f"{what[0].upper()}{what[1:]} needs {unknown[1]}, which isn't registered. If it's "
                "in a Python file of yours, give --code FILE; otherwise install its package."
            ) from error
        file_ = being_read(error, Path(name))
        where = what if file_ == Path(name) else f"{what}: {file_}"
        raise UnreadableFile(
            f"Cannot load {where} ({type(error).__name__}: {str(error).strip()}). If a file of it "
            "is damaged, copy or make it again."
        ) from error


def load_vectors(name: Union[str, Path], *, or_vocab: bool = True) -> Vocab:
    """Load the vocab of a pipeline, or a vocab by itself, and check that it has vectors.

    or_vocab (bool): Whether to accept the folder of a vocab, too. Training doesn't.

    Raises ValueError.
    """
    recover(name)
    is_vocab = (Path(name) / "vectors").is_file()
    expected = "a pipeline (a package's name or a path)" + ", or the folder of a vocab" * or_vocab
    if is_vocab and not or_vocab:
        raise ValueError(
            f"{name} is the folder of a vocab: expected {expected}. Make one with: python -m spacy "
            "init vectors"
        )
    missing = f"Cannot load the vectors of {name}: expected {expected}. Check the name."
    with _loading(f"the vectors of {name}", name, missing):
        if is_vocab:
            vocab = Vocab()
            if is_compressed(Path(name)):
                vocab.vectors = CompressedVectors(strings=vocab.strings)
            vocab.from_disk(name, exclude=["lookups"])
        else:
            vocab = load_model(name).vocab
    # Vectors of floret have rows, but no keys: their number of keys is -1.
    if not len(vocab.vectors) or not vocab.vectors.n_keys:
        raise ValueError(
            f"{name} has no vectors: its table is empty. Give a pipeline that has some, such as an "
            "_md or _lg package, or leave --vectors out."
        )
    return vocab


def check_file_output(
    path: Optional[Path], name: str, *inputs: Union[str, Path, None], force: bool
) -> None:
    """Check before the work that a file can be written. None, devices and pipes pass.

    name (str): The option or argument, for the message.
    inputs (Union[str, Path, None]): Files, folders and pipelines that the command reads. The file
        must not be among them, or belong to a corpus that's read.

    Raises ValueError.
    """
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {path}.")
    if path.exists() and (not path.is_file() or standard_stream(path) is not None):
        return
    target = path.resolve()
    for source in (source_path(source).resolve() for source in inputs if source):
        if target == source or (path.suffix == DOCS and source in target.parents):
            raise ValueError(f"{name} can't be {path}: the command has another use for {source}.")
    if path.exists() and not force:
        raise ValueError(f"{path} exists. Give another {name}, or --force to replace it.")
    check_writable(target.parent, name)
    check_staging(target)


def check_folder_output(path: Path, *inputs: Union[str, Path, None], force: bool) -> None:
    """Check before the work that a folder OUTPUT can be written as a whole.

    `force` only replaces pipelines and vocabs. Raises ValueError.
    """
    check_apart(path, *inputs)
    recover(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if not force:
            raise ValueError(f"{path} exists. Give another OUTPUT, or --force to replace it.")
        if not any(all((path / name).is_file() for name in names) for names in _OURS):
            raise ValueError(
                f"{path} is neither a pipeline nor a vocab, and --force replaces nothing else. "
                "Give another OUTPUT."
            )
    check_writable(path.resolve().parent, "OUTPUT")
    check_staging(path.resolve())


def check_apart(output: Path, *inputs: Union[str, Path, None]) -> None:
    """Check that neither the output nor an input contains the other."""
    target = output.resolve()
    for source in (source_path(source).resolve() for source in inputs if source):
        if target == source or source in target.parents or target in source.parents:
            raise ValueError(
                f"OUTPUT at {target} and {source}, which is read, may not contain each other. Give "
                "another OUTPUT."
            )


def check_writable(path: Path, name: str) -> None:
    """Check that a folder is writable, or its nearest parent if it doesn't exist."""
    folder = next(folder for folder in (path, *path.parents) if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{name} can't be written: {folder} isn't a writable folder.")


def folder_size(folder: Path) -> int:
    """Return the total bytes of a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_pipeline(nlp: Language, output: Path) -> None:
    """Write a pipeline. An existing folder stays whole until the new pipeline replaces it."""
    with replacing_folder(output) as new:
        nlp.to_disk(new)
