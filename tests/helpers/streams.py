"""Commands that write to a link to their stdout, as /dev/stdout is one."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc has the links to streams")
into = pytest.mark.parametrize("into", ["file", "pipe"])


def run_into(command: Sequence[str], into: str, folder: Path) -> Path:
    """Run a command with a link to its stdout as the last argument, and return what got all of it.

    into (str): What the stdout is, a "file" or a "pipe".
    folder (Path): Where the link is made, "stdout", and a file for what was written, "out".
    """
    link, out = folder / "stdout", folder / "out"
    link.symlink_to("/proc/self/fd/1")
    command = [*command, str(link)]
    if into == "pipe":
        out.write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    else:
        with out.open("wb") as file_:
            subprocess.run(command, stdout=file_, check=True)
    assert link.is_symlink()
    return out
