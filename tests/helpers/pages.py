"""Code blocks of pages, run in order as a reader would run them."""

import contextlib
import io
import re
import runpy
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.util import get_model_meta
from thinc.api import Config

# What needs a network, half an hour, or an environment of its own.
NOT_RUN = re.compile(
    r"python -m (venv|pip|build|benchmarks|spacy (download|project)|experiments (grid|collate))\b"
    r"|mkdir "
)
STEPS = ["--training.max_steps", "2", "--training.eval_frequency", "1"]
FENCED = r"^```(?P<kind>\w*)\n(?P<fenced>.*?)^```$"
INDENTED = r"(?<=\n\n)(?P<indented>    \S[^\n]*\n(?:    [^\n]*\n|\n(?=    ))*)"


class Block(NamedTuple):
    """A block of code: the language of its fence, "" for an indented one, and its lines."""

    kind: str
    text: str


def blocks(page: str) -> list[Block]:
    """List the blocks of code of a page, in order."""
    found = re.finditer(f"{FENCED}|{INDENTED}", page, re.M | re.S)
    return [
        Block(match["kind"], match["fenced"])
        if match["indented"] is None
        else Block("", re.sub("^    ", "", match["indented"], flags=re.M))
        for match in found
    ]


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the commands of an indented block, as lists of arguments, that can be run here."""
    for part in re.split(r"\n\n+", block.text.strip()):
        if block.kind == "" and re.match(r"python |mkdir ", part):
            for line in part.replace("\\\n", " ").split("\n"):
                if not NOT_RUN.match(line):
                    yield shlex.split(line.partition(" > ")[0])


def run_page(page: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the commands, the Python and the configs of a page, and count its blocks.

    A block of text that follows a block of Python is what the Python prints.
    """
    names: dict[str, Any] = {"__name__": "page"}
    number, printed = 0, ""
    for block in blocks(page):
        if block.kind == "text" and printed:
            assert printed == block.text
        printed = ""
        if block.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.text, "page", "exec"), names)
            printed = out.getvalue()
        elif is_excerpt(block):
            build(read_excerpt(block.text))
        elif arguments := list(commands(block)):
            for line in arguments:
                run(line, monkeypatch)
        else:
            continue
        number += 1
    return number


def is_excerpt(block: Block) -> bool:
    """Tell whether a block has sections of a config."""
    return re.match(r"\[[\w.]+\]\n", block.text) is not None


def read_excerpt(excerpt: str) -> Config:
    """Read some sections of a config."""
    paths = re.findall(r"^\[(.+)\]$", excerpt, re.M)
    parents = {path[: dot.start()] for path in paths for dot in re.finditer(r"\.", path)}
    sections = {**dict.fromkeys(sorted(parents - {*paths}), ""), "paths": 'train = "train.spacy"\n'}
    before = "".join(f"[{path}]\n{lines}" for path, lines in sections.items())
    return Config().from_str(before + excerpt)


def build(section: Mapping[str, Any]) -> None:
    """Build what is in a section and below."""
    if "factory" in section:
        factory = section["factory"]
        settings = {name: value for name, value in section.items() if name != "factory"}
        spacy.blank("en").add_pipe(factory, config=settings)
    elif any(name.startswith("@") for name in section):
        spacy.registry.resolve({"section": section})
    else:
        for value in section.values():
            if isinstance(value, dict):
                build(value)


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command `python -m MODULE ...` in this process; trainings have two steps.

    A link to the pipeline stands in for its package.
    """
    python, flag, module, *rest = arguments
    assert (python, flag) == ("python", "-m"), arguments
    if rest[0] == "package":
        in_meta = get_model_meta(rest[1])["name"] if "--name" not in rest else ""
        name = in_meta or rest[rest.index("--name") + 1]
        Path(f"en_{name}").symlink_to(rest[1])
        return
    if rest[0] == "train" or rest[:2] == ["multihash", "fit"]:
        rest += STEPS
    monkeypatch.setattr(sys, "argv", [module, *rest])
    # Other tests may have imported it, and runpy warns of a second run.
    monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as done:
            assert not done.code, f"{shlex.join(arguments)}\n{printed.getvalue()}"


def write_formats(page: str, folder: Path) -> None:
    """Write the examples of formats that a page shows as files: my.conll, my.jsonl, my.csv."""
    names = {"conll": "my.conll", "json": "my.jsonl", "csv": "my.csv"}
    for block in blocks(page):
        if block.kind in names:
            # More documents than the page shows, of other towns, so that there are enough to split.
            texts = [block.text.replace("Rome", f"R{i:02}e") for i in range(30)]
            (folder / names[block.kind]).write_text("\n".join([*texts, ""]), "utf8")
