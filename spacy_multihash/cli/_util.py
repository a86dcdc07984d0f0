"""Helpers for the commands: options, messages, results, workers.

No other module imports the private module of spaCy's command line.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import (
    Any,
    NoReturn,
    Optional,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import srsly
import typer
from spacy.cli import _util as spacy_cli
from tqdm import tqdm
from typer.models import OptionInfo
from wasabi import Printer
from wasabi.util import wrap

from ..common.arguments import range_of
from ..common.files import standard_stream, write_bytes
from ..common.load import import_code
from ..common.outputs import check_apart, check_file_output, paths_in
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
PAGE = typer.Option(None, help="HTML page to write")
FORCE_PAGE = typer.Option(False, "--force", "-f", help="Replace the page if it exists")
AS_JSON = typer.Option(False, "--json", help="Print JSON instead of tables")


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

    def commands(self, intro: str, *commands: str) -> None:
        """Print commands to copy, each on a line of its own that isn't wrapped."""
        self.text(intro)
        for command in commands:
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
Settings = Mapping[str, Mapping[str, Any]]
_NONE: Names = MappingProxyType({})
# Parameters that a command line can't give.
_PYTHONS = ("loads", "overrides", "progress", "settings")
_SHORT = {"code": "-c", "force": "-f", "lang": "-l", "width": "-w"}
REPLACE = {"help": "Replace OUTPUT if it exists"}


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
                with redirect_stdout(sys.stderr):  # of the code
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


def command_of(
    function: Callable[..., Result],
    title: str,
    arguments: str,
    *,
    written: Mapping[str, str] = MappingProxyType({}),
    settings: Settings = MappingProxyType({}),
    page: bool = False,
    needs: Names = _NONE,
) -> Callable[..., None]:
    """Make the command of a public function: it calls the function, and prints the result.

    The signature and the docstring of the function give the options and the help. An error of the
    function is the command's, and its exit code is 1 as well if the result has `failed` parts.

    title (str): As in `command`.
    arguments (str): The parameters that are arguments and not options. `nlp` is MODEL.
    written (Mapping[str, str]): What is written, by its parameter.
    settings (Settings): Settings of typer, by their parameter, such as another help.
    page (bool): Whether --output is for the page of the result.
    needs (Names): As in `command`.
    """
    taken, text = inspect.signature(function).parameters, describe(function)[0]
    shown = [*parameters_of(function, arguments.split(), settings), _parameter("as_json", AS_JSON)]
    if page:
        shown += [_parameter("output", PAGE), _parameter("force", FORCE_PAGE)]
        needs = {**needs, "force": ["output"]}
    if "code" not in taken:
        shown.append(_parameter("code", CODE))

    def run(ctx: typer.Context, **given: Any) -> None:  # noqa: ANN401
        as_json, output, paths = given.pop("as_json"), None, dict(given)
        if page:
            output, force = given.pop("output"), given.pop("force")
            check_file_output(output, "--output", *paths_in(*given.values()), force=force)
        ways = {"progress": lambda: PROGRESS, "overrides": lambda: parse_overrides(ctx)}
        given |= {name: make() for name, make in ways.items() if name in taken}
        if "model" in given:
            given["nlp"] = given.pop("model")
        done = function(**{name: value for name, value in given.items() if name in taken})
        outputs = {title: paths[name] for name, title in written.items() if paths[name]}
        if not any(standard_stream(path) is not None for path in outputs.values()):
            show(done, as_json=as_json, page=output)
            for title, path in outputs.items():
                wrote(title, path, as_json=as_json)
        if getattr(done, "failed", None):
            sys.exit(1)

    context = _parameter("ctx", inspect.Parameter.empty, typer.Context)
    signature = inspect.Signature(sorted([context, *shown], key=lambda parameter: parameter.kind))
    run.__signature__, run.__doc__ = signature, text  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return command(title, needs=needs)(run)


def with_options(options: type) -> Callable[[F], F]:
    """Give a command an option for each field of a dataclass, in the place of `**options`.

    A parameter of the command itself takes the place of the option of the same name.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        others = [p for p in parameters_of(options) if p.name not in signature.parameters]
        parameters = [*own, *others]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorate


def parameters_of(
    described: Callable, arguments: Sequence[str] = (), settings: Settings = MappingProxyType({})
) -> list[inspect.Parameter]:
    """Make the arguments and options of a command from a function or a dataclass."""
    hints, about, parameters = get_type_hints(described), describe(described)[1], []
    ranges = get_type_hints(described, include_extras=True)
    for name, parameter in inspect.signature(described).parameters.items():
        if name in _PYTHONS:
            continue
        if name == "nlp":
            parameters.append(_parameter("model", MODEL, str))
            continue
        kind, default = _type_of(hints[name]), parameter.default
        default = [] if get_origin(kind) is list and default is None else default
        text = CODE.help if name == "code" else about.get(name)
        low, high = range_of(ranges[name]) or (None, None)
        given = {"help": text, "min": low, "max": high, **settings.get(name, {})}
        if name in arguments:
            info = typer.Argument(..., **given)
            kind = kind if get_origin(kind) is not Union else get_args(kind)[0]
        else:
            flags = [f"--{name.replace('_', '-')}", *filter(None, [_SHORT.get(name)])]
            default = ... if default is inspect.Parameter.empty else default
            info = typer.Option(default, *([] if default is True else flags), **given)
        parameters.append(_parameter(name, info, kind))
    return parameters


def _parameter(name: str, default: Any, kind: Any = None) -> inspect.Parameter:  # noqa: ANN401
    is_option = isinstance(default, OptionInfo)
    where = inspect.Parameter.KEYWORD_ONLY if is_option else inspect.Parameter.POSITIONAL_OR_KEYWORD
    kind = kind or {"as_json": bool, "force": bool}.get(name, Optional[Path])
    return inspect.Parameter(name, where, default=default, annotation=kind)


def _type_of(hint: Any) -> Any:  # noqa: ANN401
    """Return what the command line gives for a type: a path if it may be one."""
    kinds = get_args(hint) if get_origin(hint) is Union else (hint,)
    if any(get_origin(kind) is Sequence for kind in kinds) and Path not in kinds:
        return list[str]
    kind = Path if Path in kinds else kinds[0]
    return Optional[kind] if type(None) in kinds else kind


def describe(described: Callable) -> tuple[str, dict[str, str]]:
    """Return what a docstring says before its arguments, without the example, and of each argument.

    "None: the default" becomes "Default: the default", and `output` the name of the argument.
    """
    name = "|".join(inspect.signature(described).parameters)
    pattern = rf"^((?:(?:{name}), )*(?:{name}))(?: \([^\n]+\))?: "
    before, *entries = re.split(pattern, inspect.getdoc(described) or "", flags=re.M)
    about = dict[str, str]()
    for names, entry in zip(entries[::2], entries[1::2], strict=True):
        text = " ".join(entry.partition("\n\n")[0].split()).rstrip(".")
        about |= dict.fromkeys(names.split(", "), text.replace("None: ", "Default: "))
    paragraphs = [text for text in before.strip().split("\n\n") if not text.startswith("    ")]
    clean = partial(re.sub, f"`({name})`", lambda match: match[1].upper())
    return clean("\n\n".join(paragraphs)), {name: clean(text) for name, text in about.items()}


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
    text = srsly.json_dumps(result.to_json(), indent=2) if as_json else f"\n{result}\n"
    with failing("Cannot write to standard output"):
        # Letters that the terminal lacks are escaped. typer.echo would print UTF-8 instead.
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    if page is not None:
        wrote("the page", page, as_json=as_json)


def wrote(what: str, path: Path, *, as_json: bool = False) -> None:
    """Say what was written. It goes to stderr if stdout has to be JSON."""
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        msg.good(f"Wrote {what} to {path}")


def parse_overrides(ctx: typer.Context) -> dict[str, Any]:
    """Read the settings of a config that the command line overrides, as --training.seed 1."""
    try:
        with redirect_stdout(sys.stderr):
            return spacy_cli.parse_config_overrides(ctx.args)
    except spacy_cli.NoSuchOption as error:  # typer may have its own click
        ctx.fail(str(error))
