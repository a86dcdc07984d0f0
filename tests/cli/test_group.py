"""What all commands of the group share: options, errors, files to write, and terminals."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest
import spacy
import typer
from spacy.tokens import Doc

from spacy_multihash.cli.group import COMMANDS, EXAMPLES, load_command
from spacy_multihash.cli.vectors import vectors_cli
from spacy_multihash.compute.dispatch import available_kernels
from tests.helpers.cli import invoke, ok, refused
from tests.helpers.corpora import write_corpus
from tests.helpers.kernels import using_kernels
from tests.helpers.paths import ROOT
from tests.helpers.processes import run_python
from tests.helpers.spacy_pipelines import add_rules

MODULES = [f"spacy_multihash.cli.{name.replace('-', '_')}" for name in COMMANDS]
OF_VECTORS = [f"vectors {command.name}" for command in vectors_cli.registered_commands]
# Arguments of each command with --json that lead to an error.
BAD = {
    "corpus-stats": ("corpus.spacy", "--lang", "nolanguage"),  # an ImportError
    "evaluate": ("nowhere", "corpus.spacy", "--train", "corpus.spacy"),
    "inspect-tables": ("nowhere",),
}


@pytest.fixture
def folder(here: Path) -> Path:
    """Write a pipeline and a corpus, and go there."""
    nlp = add_rules(spacy.blank("en"), {"東京": "GPE", "Rome": "GPE"})
    nlp.to_disk(here / "model")
    doc = Doc(nlp.vocab, words=["東京", "Rome"], ents=["B-GPE", "B-Übel"])
    write_corpus(here / "corpus.spacy", [doc])
    return here


def run(*args: Any, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, with more environment variables."""
    command = [sys.executable, "-m", "spacy", "multihash", *map(str, args)]
    return subprocess.run(command, capture_output=True, env=os.environ | environ, check=False)


# Help and options


@pytest.mark.parametrize("command", ["", *COMMANDS, *OF_VECTORS])
def test_help_links_the_page_that_describes_the_command(command: str) -> None:
    result = invoke(*command.split(), "--help")
    (link,) = re.findall(r"DOCS: (docs/\S+?),? ?(?:in the repository.*)?\n", result.output)
    page, _, anchor = link.partition("#")
    headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text("utf8"), re.M)
    assert not command or anchor in [heading.replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("path", [name for name in COMMANDS if name != "vectors"] + OF_VECTORS)
def test_help_has_an_example_that_the_command_takes(path: str, here: Path) -> None:
    for name in re.findall(r"\S+\.(?:spacy|conll|cfg)\b", EXAMPLES[path]):  # files to read
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    name, _, part = path.partition(" ")
    command: Any = load_command(name)
    command = command.commands[part] if part else command
    assert command.make_context(path, shlex.split(EXAMPLES[path])).params
    example = f"For example: python -m spacy multihash {path} {EXAMPLES[path]}\n"
    assert example in invoke(*path.split(), "--help").output


def test_summary_of_a_command_begins_its_own_help() -> None:
    output = invoke("--help").output
    for name, summary in COMMANDS.items():
        module = name.replace("-", "_")
        function = getattr(import_module(f"spacy_multihash.cli.{module}"), f"{module}_cli")
        text = (function.info.help if isinstance(function, typer.Typer) else function.__doc__) or ""
        assert summary == text.partition("\n\n")[0]
        assert f"  {name} " in output


def test_help_of_the_group_and_start_of_spacy_import_no_command() -> None:
    code = (
        "import sys; from spacy.cli._util import setup_cli\n"
        "sys.argv = ['spacy', 'multihash', '--help']\n"
        "try:\n    setup_cli()\n"
        "except SystemExit:\n"
        "    ours = {name for name in sys.modules if name.startswith('spacy_multihash.')}\n"
        "    print(sorted(ours))"
    )
    listed, modules = run_python(code).stdout.rstrip().rsplit("\n", 1)
    assert "init-tables" in listed
    parts = {name.split(".")[1] for name in ast.literal_eval(modules)}
    assert parts <= {"cli", "common", "tables"}
    assert not {*ast.literal_eval(modules)} & {*MODULES}


def test_commands_import_no_heavy_module_at_their_heads() -> None:
    heavy = {"dask", "distributed", "matplotlib", "pandas", "scipy"}
    code = f"import sys, {', '.join(MODULES)}; print(*{{n.split('.')[0] for n in sys.modules}})"
    assert not heavy & {*run_python(code).stdout.split()}


@pytest.mark.parametrize("kernels", available_kernels())
def test_version_is_that_of_the_package_and_its_kernels(kernels: str) -> None:
    with using_kernels(kernels):
        result = invoke("--version")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"spacy-multihash {metadata.version('spacy-multihash')}",
        f"kernels: {kernels}" if kernels != "none" else "kernels: none (array code)",
    ]


@pytest.mark.parametrize("option", ["--nothing", "-x", "word"])
def test_option_that_overrides_no_setting_is_an_error(option: str, folder: Path) -> None:
    (folder / "config.cfg").touch()
    error = refused("init-tables", "config.cfg", "out", "--training.seed", "-1", option)
    assert re.search("No such option.* .?--nothing|name should start with --", error)


# Errors


@pytest.mark.parametrize("command", BAD)
def test_errors_are_on_stderr_and_leave_json_alone(command: str, folder: Path) -> None:
    for options in ((), ("--json",)):
        assert "✘ Cannot" in refused(command, *BAD[command], *options)


# Arguments of commands with --code: made of a function, by hand, and with options of a dataclass.
WITH_CODE = {
    "compress": ("model", "out"),
    "evaluate": ("model", "corpus.spacy", "--train", "corpus.spacy", "--json"),
    "fit": ("corpus.spacy", "--lang", "en", "--output", "out"),
    "inspect-tables": ("model", "--json"),
}


@pytest.mark.parametrize("command", WITH_CODE)
def test_code_that_cannot_be_imported_is_an_error_on_stderr(command: str, folder: Path) -> None:
    (folder / "broken.py").write_text("print('hello')\nraise KeyError('the cause')")
    for code, message in (("missing.py", "no Python file"), ("broken.py", "'the cause'")):
        assert message in refused(command, *WITH_CODE[command], "--code", code)


# Files to write


def test_force_replaces_files(folder: Path) -> None:
    (folder / "out.json").write_text("old")
    (folder / "masked").mkdir()
    (folder / "masked" / "seen.spacy").touch()
    result = ok("corpus-stats", "corpus.spacy", "--output", "out.json", "--force")
    assert json.loads((folder / "out.json").read_text("utf8"))
    args = ("evaluate", "model", "corpus.spacy", "--train", "corpus.spacy", "--json", "--force")
    result = ok(*args, "--output", "out.json", "--masked", "masked")
    assert json.loads((folder / "out.json").read_text("utf8")) == json.loads(result.stdout)
    assert (folder / "masked" / "seen.spacy").stat().st_size


# Terminals


def test_letters_that_a_terminal_lacks_are_escaped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    args = ("evaluate", "model", "corpus.spacy", "--train", "corpus.spacy")
    done = run(*args, "--output", "größe東.json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    printed = done.stdout.decode("ascii")
    assert "\x1b" not in printed  # colours are for terminals
    assert r"\xdcbel" in printed and "Wrote" in printed
    done = run("evaluate", "größe東", *BAD["evaluate"][1:], PYTHONIOENCODING="cp1252")
    assert done.returncode == 1
    error = done.stderr.decode("cp1252")
    assert "Traceback" not in error and r"größe\u6771" in error
