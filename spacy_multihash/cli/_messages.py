"""What commands say: results on stdout, errors on stderr, in letters that a terminal has.

Only a terminal gets colours, and none if the environment has NO_COLOR (https://no-color.org).
"""

import os
import sys
from io import TextIOWrapper
from typing import NoReturn, Optional

import typer
from wasabi.util import wrap

WIDTH = 80


class Messages:
    """Print lines as spaCy's commands do.

    wasabi's printer, which they use, colours files too, prints errors on stdout, and fails where
    stdout has another encoding than UTF-8.
    """

    def good(self, title: str, text: str = "") -> None:
        """Say that something is done."""
        _say(_with_icon("✔", "[+]", title), text, color=typer.colors.GREEN)

    def info(self, title: str, text: str = "") -> None:
        """Say what is worth knowing."""
        _say(_with_icon("ℹ", "[i]", title), text, color=typer.colors.BLUE)  # noqa: RUF001

    def warn(self, title: str, text: str = "", *, err: bool = False) -> None:
        """Warn of something in the results, or on stderr of something else."""
        _say(_with_icon("⚠", "[!]", title, err=err), text, color=typer.colors.YELLOW, err=err)

    def text(self, text: str) -> None:
        """Say something about the results."""
        _say(text)

    def command(self, intro: str, command: str) -> None:
        """Print a command to copy, on a line of its own that is not broken."""
        _say(intro)
        echo(f"    {command}")

    def heading(self, title: str) -> None:
        """Print the title of a table, after an empty line."""
        line = f" {title} ".center(WIDTH, "=")
        echo(f"\n{line}", bold=True)

    def fail(self, title: str, text: str = "", *, exits: int = 1) -> NoReturn:
        """Say on stderr what went wrong, and exit."""
        echo("", err=True)
        _say(_with_icon("✘", "[x]", title, err=True), text, color=typer.colors.RED, err=True)
        echo("", err=True)
        raise typer.Exit(exits)


msg = Messages()


def echo(text: str, *, color: Optional[str] = None, bold: bool = False, err: bool = False) -> None:
    """Print a text as it is, on stdout or stderr."""
    # None lets the stream decide. Without a stream, typer would write UTF-8 instead of ASCII.
    colored = False if os.environ.get("NO_COLOR") else None
    file_ = sys.stderr if err else sys.stdout
    typer.secho(text, file=file_, fg=color, bold=bold or None, color=colored)


def write_any_text() -> None:
    """Let stdout and stderr write letters that their encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say(title: str, text: str = "", *, color: Optional[str] = None, err: bool = False) -> None:
    echo(wrap(title, WIDTH, indent=0), color=color, err=err)
    if text:
        echo("\n".join(wrap(line, WIDTH, indent=0) for line in text.split("\n")), err=err)


def _with_icon(icon: str, plain: str, title: str, *, err: bool = False) -> str:
    encoding = (sys.stderr if err else sys.stdout).encoding or "ascii"
    try:
        icon.encode(encoding)
    except UnicodeEncodeError:
        icon = plain
    return f"{icon} {title}"
