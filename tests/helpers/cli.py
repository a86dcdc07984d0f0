"""Commands, and what they print."""

from collections.abc import Callable
from typing import Any

import typer
from typer.testing import CliRunner, Result


def invoke_command(command: Callable[..., Any], *args: Any) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(arg) for arg in args])


def said(result: Result) -> str:
    """What a command printed, on one line."""
    return " ".join(result.output.split())
