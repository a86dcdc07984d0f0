"""Commands, and what they print."""

from typing import Any

from typer.testing import CliRunner, Result

from spacy_multihash.cli.group import multihash_cli


def invoke(command: str, *args: Any, stdin: str | bytes | None = None) -> Result:
    """Run a command of the group."""
    return CliRunner().invoke(multihash_cli, [command, *map(str, args)], input=stdin)


def ok(command: str, *args: Any) -> Result:
    """Run a command that succeeds."""
    result = invoke(command, *args)
    assert result.exit_code == 0, said(result)
    return result


def refused(command: str, *args: Any, stdin: str | bytes | None = None) -> str:
    """Run a command that prints nothing but an error, and return the error on one line."""
    result = invoke(command, *args, stdin=stdin)
    assert result.exit_code in (1, 2) and result.stdout == "", result.output
    assert isinstance(result.exception, SystemExit), result.exception
    return " ".join(result.stderr.split())


def said(result: Result) -> str:
    """What a command printed, on one line."""
    return " ".join(result.output.split())
