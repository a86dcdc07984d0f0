"""What the commands of the group `vectors` share: options, tables to open, outputs to check."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Optional

import spacy
import typer
from spacy.util import get_lang_class
from spacy.vocab import Vocab

from ..corpus.read import read_docs
from ..vectors.affine import KIND, AffineMap, map_table
from ..vectors.files import BESIDE, beside_path, open_table, text_words, write_table
from ..vectors.table import VectorTable
from ..vectors.text import check_no_codes, check_written, is_codes, is_text
from ..vectors.vocab import source_path
from ._messages import msg
from ._pipelines import check_folders_apart, check_inputs_stay, check_pipeline_output
from ._util import check_file_output

_TABLE = (
    "a package's name, the folder of a pipeline or of a vocab, vectors as text (.txt, .vec, .gz,"
    " .zip, .tar.gz), or codes that quantize wrote (.npz)"
)
IN = typer.Argument(..., metavar="IN", help=f"Table of vectors: {_TABLE}")
OUT = typer.Argument(
    ...,
    metavar="OUT",
    help="File to write, if its name ends in .txt, .vec, .floret or .gz, otherwise a folder",
)
WORDS = typer.Option(
    None,
    "--words",
    help="Estimate on these words: a file with one a line, or a corpus (.spacy file or folder). "
    "Default: all words of IN. A floret table needs them",
)
LANG = typer.Option(
    None,
    "--lang",
    "-l",
    help="Language of the pipeline to write, that of the config which takes the vectors. Default: "
    "that of IN, and xx of text",
)
# What Click calls the source of a value that was not given.
_NOT_GIVEN = "DEFAULT"
FORCE = typer.Option(False, "--force", "-f", help="Replace OUT if it exists")


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Say why a command cannot do something, and exit."""
    try:
        yield
    except (ImportError, OSError, ValueError) as error:
        msg.fail(f"Cannot {what}", str(error))


@contextmanager
def opened(
    sources: Sequence[str],
    output: Optional[Path],
    *,
    lang: Optional[str] = None,
    force: bool,
    inputs: Sequence[Optional[Path]] = (),
    keeps_words: bool = True,
    makes_codes: bool = False,
) -> Iterator[list[VectorTable]]:
    """Check the output, and open tables, each given once.

    lang (Optional[str]): The language that the tables get. Null leaves each its own.
    inputs (Sequence[Optional[Path]]): What the command reads beside the tables.
    keeps_words (bool): Whether the output has the words of the first table, all of them and no
        other ones.
    makes_codes (bool): Whether the output may be codes.

    Raises ValueError if one is given twice, or for an unknown language, and what `check_output` and
    `open_table` raise, and `text_words` if the output is text. Raises ImportError if the output is
    a pipeline of a language whose tokenizer needs a package that is missing.
    """
    places = [_place(source) for source in sources]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise ValueError(f"The table {sources[i]} is given twice. Give each one once.")
    if lang is not None:
        check_language(lang)
    if output is not None:
        if not makes_codes:
            check_no_codes(output)
        check_output(sources, output, force=force, inputs=inputs)
    writes_pipeline = output is not None and not is_text(output) and not is_codes(output)
    if writes_pipeline and lang is not None and is_text(Path(sources[0])):
        spacy.blank(lang)  # whose tokenizer may need a package
    with ExitStack() as stack:
        tables = [open_table(source, lang=lang, show_progress=True) for source in sources]
        found = [stack.enter_context(table) for table in tables]
        if output is not None and is_text(output) and keeps_words:
            text_words(found[0])
        if writes_pipeline and found[0].kind != "vocab":
            spacy.blank(lang or found[0].lang)
        yield found if lang is None else [replace(table, lang=lang) for table in found]


def _place(source: str) -> str:
    """Name the place of a table. A pipeline's table is that of its vocab."""
    path = source_path(source)
    if (path / "vocab").is_dir():
        path = path / "vocab"
    return str(path.resolve()) if path.exists() else source


def check_language(lang: str) -> None:
    """Refuse a code of a language that spaCy does not know. Raises ValueError."""
    try:
        get_lang_class(lang)
    except ImportError as error:
        raise ValueError(
            f"--lang must be the code of a language, such as es, or xx for any, was: {lang!r}. "
            f"spaCy says: {error}"
        ) from error


def check_output(
    sources: Sequence[str], output: Path, *, force: bool, inputs: Sequence[Optional[Path]] = ()
) -> None:
    """Refuse an output before the work, if it exists, is an input, or cannot be written.

    inputs (Sequence[Optional[Path]]): What the command reads beside the tables. None is fine.

    Raises ValueError.
    """
    check_written(output)
    tables = [path for path in map(source_path, sources) if path.exists()]
    for table in tables:
        check_folders_apart(table, output, "table")
    if not (is_text(output) or is_codes(output)):
        check_pipeline_output(output, force=force, inputs=inputs)
        return
    beside = [beside_path(output, name) for name in BESIDE] if is_text(output) else []
    for path in (output, *beside):
        check_inputs_stay([*tables, *inputs], path)
        check_file_output(path, "OUT", force=force)


def check_unused(ctx: typer.Context, names: Sequence[str], why: str) -> None:
    """Refuse options that would do nothing.

    ctx (typer.Context): That of the command, which knows what was given.
    names (Sequence[str]): The parameters of the options.
    why (str): What makes them useless, such as "with --map".

    Raises ValueError if one is given, be it with its default.
    """
    options = {param.name: param.opts[0] for param in ctx.command.params}
    sources = {name: ctx.get_parameter_source(name) for name in names}
    given = [
        options[name] for name, source in sources.items() if source and source.name != _NOT_GIVEN
    ]
    if given:
        raise ValueError(f"{' and '.join(given)} would do nothing {why}. Leave out what does not.")


def read_words(path: Optional[Path]) -> Optional[list[str]]:
    """Read the distinct words of a file with one a line, or of a corpus, in their order.

    Raises FileNotFoundError or ValueError if there are none.
    """
    if path is None:
        return None
    if path.is_dir() or path.suffix == ".spacy":
        docs = read_docs(path, Vocab())
        words = list(dict.fromkeys(token.text for doc in docs for token in doc))
    else:
        if not path.is_file():
            raise FileNotFoundError(f"There is no file of words, and no corpus, at {path}.")
        try:
            lines = path.read_text("utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be UTF-8, with one word a line: {error}") from error
        words = list(dict.fromkeys(filter(None, (line.rstrip("\r") for line in lines))))
    if not words:
        raise ValueError(f"There are no words in {path}. Check the path.")
    return words


def write_mapped(output: Path, table: VectorTable, function: AffineMap) -> None:
    """Write a mapped table, with the parameters of the map beside it, and say so."""
    mapped = map_table(table, function)
    write_table(output, mapped, {"map": (KIND, function.arrays())}, show_progress=True)
    say_written(output, mapped, "map")


def say_written(
    output: Path, table: VectorTable, beside: Optional[str] = None, *, taken_by: str = "apply"
) -> None:
    """Say what was written, and where the arrays are that were saved beside it.

    beside (Optional[str]): The name of the arrays: "map" or "codes".
    taken_by (str): The command that takes the parameters of a map.
    """
    rows, width = table.data.shape
    msg.good(f"Wrote {rows:,} vectors of width {width} to {output}")
    if beside is not None and not is_codes(output):
        what = {"map": f"parameters, for --map of {taken_by}", "codes": "codes"}[beside]
        msg.text(f"The {what}: {beside_path(output, beside, table.kind)}")
