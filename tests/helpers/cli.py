"""Commands, and what they print."""

from typing import Any

from typer.testing import CliRunner, Result

from spacy_multihash.cli.group import multihash_cli


def invoke(command: str, *args: Any, stdin: str | bytes | None = None) -> Result:
    """Run a command of the group."""
    return CliRunner().invoke(multihash_cli, [command, *map(str, args)], input=stdin)


def said(result: Result) -> str:
    """What a command printed, on one line."""
    return " ".join(result.output.split())
