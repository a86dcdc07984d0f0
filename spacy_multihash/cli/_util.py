"""Helpers for the commands: options, messages, results, workers.

No other module imports the private module of spaCy's command line.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import MISSING, fields
from functools import partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Optional, TypeVar, cast, get_type_hints

import srsly
import typer
from spacy.cli import _util as spacy_cli
from tqdm import tqdm
from wasabi import Printer
from wasabi.util import wrap

from ..common.files import write_bytes
from ..common.outputs import check_apart
from ..common.progress import Progress
from ..common.result import Result

F = TypeVar("F", bound=Callable[..., None])
# Bars in terminals only.
PROGRESS: Progress = partial(tqdm, disable=None, leave=False)
# Arguments and options that several commands have.
MODEL = typer.Argument(..., help="Trained pipeline: a package's name, or a path")
CODE = typer.Option(None, "--code", "-c", help="Python file with registered functions to import")
GPU_ID = typer.Option(-1, "--gpu-id", "-g", help="GPU, or -1 for CPU")
NAME = typer.Option(
    None, help="New name of the pipeline. Default: the former name, and what was done to it"
)
AS_JSON = typer.Option(False, "--json", help="Print JSON instead of tables")
WORKERS = typer.Option(
    None,
    "--workers",
    min=1,
    help="Number of processes, with a thread each. Needs the extra dask. Default: 1",
)
DASK = typer.Option(None, "--dask", help="Address of a Dask scheduler, to use its workers")


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


Names = Mapping[str, Sequence[str]]
_NONE: Names = MappingProxyType({})


def command(title: str, *, needs: Names = _NONE, excludes: Names = _NONE) -> Callable[[F], F]:
    """Make a function a command: import --code, and turn errors that users can fix into messages.

    An option that's given, but doesn't apply, is refused: see `check_options`.

    title (str): What can't be done, such as "Cannot compress the pipeline". It may have arguments,
        as in "Cannot convert {data}".
    needs (Names): For a parameter, the parameters of which it needs at least one.
    excludes (Names): For a parameter, the parameters that can't be given with it.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        takes_context = "ctx" in signature.parameters

        @wraps(function)
        def run(ctx: typer.Context, **arguments: Any) -> None:  # noqa: ANN401
            with failing(title.format(**arguments)):
                check_options(ctx, needs, excludes)
                code = arguments.get("code")
                if arguments.get("force") and arguments.get("output"):
                    check_apart(arguments["output"], code)  # it may be replaced
                import_code(code)
                function(**({"ctx": ctx} if takes_context else {}), **arguments)

        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        others = [shown for name, shown in signature.parameters.items() if name != "ctx"]
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[context.replace(annotation=typer.Context), *others]
        )
        run.__annotations__ = {"ctx": typer.Context, **function.__annotations__}
        return cast(F, run)

    return decorate


def with_options(options: type) -> Callable[[F], F]:
    """Give a command an option for each field of a dataclass, in the place of `**options`.

    The docstring of the dataclass describes them, as in "name (type): What it does.". A field whose
    metadata say `{"option": False}` has none.
    """
    described = r"^(\w+) \(.*?\): (.*?)(?=^\w|^$)"
    about = dict(re.findall(described, inspect.getdoc(options) or "", re.M | re.S))
    types, parameters = get_type_hints(options), list[inspect.Parameter]()
    for setting in fields(options):
        if setting.metadata.get("option", True):
            name = setting.name
            flags = [f"--{name.replace('_', '-')}", *setting.metadata.get("names", ())]
            default = ... if setting.default is MISSING else setting.default
            text = " ".join(about[name].split()).rstrip(".")
            option = typer.Option(default, *([] if default is True else flags), help=text)
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=option, annotation=types[name]))

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind != inspect.Parameter.VAR_KEYWORD
        ]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *parameters]
        )
        return function

    return decorate


def check_options(ctx: typer.Context, needs: Names, excludes: Names) -> None:
    """Raise ValueError for an option that's given where it has no effect."""
    shown = {
        str(param.name): param.opts[0] if param.opts[0].startswith("-") else param.opts[0].upper()
        for param in ctx.command.params
    }

    def is_given(name: str) -> bool:
        source = ctx.get_parameter_source(name)
        return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")

    for name, others in needs.items():
        if is_given(name) and not any(map(is_given, others)):
            other = " or ".join(shown[needed] for needed in others)
            raise ValueError(f"{shown[name]} is for {other}. Leave it out, or give {other}.")
    for name, others in excludes.items():
        for other in filter(is_given, others if is_given(name) else ()):
            raise ValueError(
                f"{shown[name]} has no effect with {shown[other]}. Leave one of them out."
            )


def show(
    result: Result, *, as_json: bool = False, page: Optional[Path] = None, html: str = ""
) -> None:
    """Print a result as text or as JSON, and write its page, if there's a path for it.

    html (str): The page. Default: the result's own.
    """
    if page is not None:
        write_bytes(page, (html or result.page()).encode())
    if as_json:
        print_json(result.to_json())
    else:
        with failing("Cannot write to standard output"):
            write(f"\n{result}\n")
    if page is not None:
        wrote("the page", page, as_json=as_json)


def write(text: str) -> None:
    """Print text, with letters escaped that the terminal lacks. typer.echo prints UTF-8 instead."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def wrote(what: str, path: Path, *, as_json: bool = False) -> None:
    """Say what was written. It goes to stderr if stdout has to be JSON."""
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        msg.good(f"Wrote {what} to {path}")


def print_json(value: Any) -> None:  # noqa: ANN401 (any JSON)
    """Print JSON."""
    with failing("Cannot write to standard output"):
        typer.echo(srsly.json_dumps(value, indent=2))


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
