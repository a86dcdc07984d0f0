"""`python -m spacy multihash vectors`: commands for tables of static vectors."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Optional, get_args

import spacy
import typer
from spacy.util import get_lang_class
from spacy.vocab import Vocab

from ..common.types import TEXT_ATTRS
from ..corpus.read import read_docs
from ..embed.features import attr_id
from ..vectors import reduce
from ..vectors.align import accuracy, alike_vectors, pair_vectors, procrustes, read_pairs
from ..vectors.files import open_table, text_words, write_codes, write_table
from ..vectors.table import (
    WORD_BATCH,
    MappedRows,
    VectorTable,
    chunks,
    join_words,
    progress,
    stream_of,
)
from ..vectors.text import SUFFIXES, is_codes, is_text
from ..vectors.vocab import source_path
from ._util import (
    check_file_output,
    check_folder_output,
    msg,
)

HELP = """Align, merge, shorten, prune and quantize static vectors.

Tables are packages, folders of pipelines or vocabs, vectors as text, and codes of quantize.

DOCS: python -m pydoc spacy_multihash.vectors
"""
# Names of files that are not written, and that no folder should have.
_NOT_WRITTEN = (".tar.gz", ".tgz", ".zip", ".tar", ".bz2", ".xz", ".zst", ".7z", ".rar", ".bin")
_IN = typer.Argument(
    ...,
    metavar="IN",
    help="Table of vectors: a package's name, the folder of a pipeline or of a vocab, vectors as "
    "text (.txt, .vec, .gz, .zip, .tar.gz), or codes that quantize wrote (.npz)",
)
_OUT = typer.Argument(
    ...,
    metavar="OUT",
    help="File to write, if its name ends in .txt, .vec, .floret or .gz, otherwise a folder",
)
_LANG = typer.Option(
    None,
    "--lang",
    "-l",
    help="Language of the pipeline to write, that of the config which takes the vectors. Default: "
    "that of IN, and xx of text",
)
_FORCE = typer.Option(False, "--force", "-f", help="Replace OUT if it exists")
Attr = Enum("Attr", {name: name for name in TEXT_ATTRS}, type=str)  # type: ignore[misc]
Method = Enum("Method", {name: name for name in get_args(reduce.Method)}, type=str)  # type: ignore[misc]

vectors_cli = typer.Typer(
    name="vectors",
    help=HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@vectors_cli.command("align")
def align_cli(
    source: str = typer.Argument(..., metavar="IN", help="Table to map"),
    target: str = typer.Argument(..., metavar="TARGET", help="Table whose space IN is mapped into"),
    output: Path = _OUT,
    dictionary: Optional[Path] = typer.Option(
        None,
        "--dictionary",
        help="Pairs, a word of IN and one of TARGET a line. Default: words written alike in both",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Rotate a table into the space of another one, such as that of another language.

    DOCS: python -m pydoc spacy_multihash.vectors.align
    """
    with (
        _failing("align the vectors"),
        _opened([source, target], output, lang=lang, force=force, inputs=[dictionary]) as tables,
    ):
        table, other = tables
        if dictionary is None:
            Y, X = alike_vectors(table, other, show_progress=True)
        else:
            Y, X = pair_vectors(table, other, read_pairs(dictionary))
        mapped = reduce.map_table(table, procrustes(Y, X))
        held_out = accuracy(Y, X)
        write_table(output, mapped, show_progress=True)
        _say_written(output, mapped)
        if held_out is None:
            msg.text(f"Pairs: {len(Y):,}, too few to hold some out")
        else:
            msg.text(
                f"Pairs: {len(Y):,}. Of {held_out.words:,} that were held out, {held_out.share:.1%}"
                f" are nearest to their translation, of {held_out.candidates:,} candidates."
            )


@vectors_cli.command("merge")
def merge_cli(
    sources: list[str] = typer.Argument(..., metavar="IN...", help="Two or more tables"),
    output: Path = _OUT,
    width: int = typer.Option(..., "--width", "-w", min=1, help="Columns of the result"),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Make one table of several, with the words of all of them: PCA of the tables side by side.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with _failing("merge the vectors"):
        if len(sources) < 2:
            raise ValueError(
                f"Expected two or more tables to merge, was: {sources[0]}. Name the others before "
                "OUT."
            )
        with _opened(sources, output, lang=lang, force=force, keeps_words=False) as tables:
            joined, look_up = join_words(tables)
            if is_text(output):
                text_words(joined)
            batches = chunks(len(joined.keys), WORD_BATCH)
            function = reduce.merge(lambda: map(look_up, progress(batches, "Reading", True)), width)
            data = MappedRows(joined.rows, lambda rows: function(look_up(rows)), width)
            merged = replace(joined, data=data)
            write_table(output, merged, show_progress=True)
            _say_written(output, merged)


@vectors_cli.command("pca")
def pca_cli(
    source: str = _IN,
    output: Path = _OUT,
    width: int = typer.Option(..., "--width", "-w", min=1, help="Axes to keep"),
    drop_top: int = typer.Option(
        0,
        "--drop-top",
        min=0,
        help="Axes of the largest variance to leave out. With 2 D, and a width of N - D, it is "
        "PPA, PCA to N, and PPA again",
    ),
    keep_origin: bool = typer.Option(
        False,
        "--keep-origin",
        help="Subtract no mean, so that the zeros of words without a vector stay apart from words",
    ),
    words: Optional[Path] = typer.Option(
        None,
        "--words",
        help="Estimate on these words: a file with one a line, or a corpus (.spacy file or "
        "folder). Default: all words of IN. A floret table needs them",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Make vectors shorter, by their principal axes.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with (
        _failing("reduce the vectors"),
        _opened([source], output, lang=lang, force=force, inputs=[words]) as (table,),
    ):
        chosen = None if words is None else _read_words(words)
        stats = reduce.moments(stream_of(table, chosen, show_progress=True))
        function = reduce.pca(stats, width, skip=drop_top, keep_origin=keep_origin)
        mapped = reduce.map_table(table, function)
        write_table(output, mapped, show_progress=True)
        _say_written(output, mapped)


@vectors_cli.command("prune")
def prune_cli(
    source: str = _IN,
    output: Path = _OUT,
    words: Path = typer.Option(
        ...,
        "--words",
        help="Words to keep: a file with one a line, or a corpus (.spacy file or folder)",
    ),
    first: int = typer.Option(
        0, "--first", min=0, help="Keep the first rows of IN besides, with all their words"
    ),
    attr: Optional[Attr] = typer.Option(
        None,
        "--attr",
        help="By which attribute of the words vectors are kept, such as the key_attrs of "
        "MetaVectors. Default: that of IN",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Keep the vectors of a corpus's words.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with (
        _failing("prune the vectors"),
        _opened([source], output, lang=lang, force=force, inputs=[words], keeps_words=False) as (
            table,
        ),
    ):
        by = None if attr is None else attr_id(attr.value)
        pruned = reduce.prune(table, table.values(_read_words(words), by), first=first)
        write_table(output, pruned, show_progress=True)
        _say_written(output, pruned)


@vectors_cli.command("quantize")
def quantize_cli(
    source: str = _IN,
    output: Path = typer.Argument(
        ...,
        metavar="OUT",
        help="File to write, if its name ends in .npz (the codes alone), .txt, .vec, .floret or "
        ".gz, otherwise a folder",
    ),
    method: Method = typer.Option("int8", "--method", "-m", help="What a number is kept in"),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Round vectors to fewer bits.

    If the name of OUT ends in .npz, it has the codes alone, which all commands of the group and
    MetaVectors read. Otherwise it has the rounded numbers as float32, which spaCy needs.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with (
        _failing("quantize the vectors"),
        _opened([source], output, lang=lang, force=force, makes_codes=True) as (table,),
    ):
        if is_codes(output):
            write_codes(output, table, method.value, show_progress=True)
        else:
            table = reduce.rounded(table, method.value)
            write_table(output, table, show_progress=True)
        _say_written(output, table)


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Say why a command cannot do something, and exit."""
    try:
        yield
    except (ImportError, OSError, ValueError) as error:
        msg.fail(f"Cannot {what}", str(error))


@contextmanager
def _opened(
    sources: Sequence[str],
    output: Path,
    *,
    lang: Optional[str],
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

    Raises ValueError, or ImportError if the output is a pipeline of a language whose tokenizer
    needs a package that is missing.
    """
    places = [_place(source) for source in sources]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise ValueError(f"The table {sources[i]} is given twice. Give each one once.")
    if lang is not None:
        try:
            get_lang_class(lang)
        except ImportError as error:
            raise ValueError(
                f"--lang must be the code of a language, such as es, or xx for any, was: {lang!r}. "
                f"spaCy says: {error}"
            ) from error
    if is_codes(output) and not makes_codes:
        raise ValueError(f"{output} would be codes, which quantize writes. Give another OUT.")
    _check_output(sources, output, force=force, inputs=inputs)
    writes_pipeline = not is_text(output) and not is_codes(output)
    if writes_pipeline and lang is not None and is_text(Path(sources[0])):
        spacy.blank(lang)  # whose tokenizer may need a package
    with ExitStack() as stack:
        tables = [
            stack.enter_context(open_table(source, lang=lang, show_progress=True))
            for source in sources
        ]
        if is_text(output) and keeps_words:
            text_words(tables[0])
        if writes_pipeline and tables[0].kind != "vocab":
            spacy.blank(lang or tables[0].lang)
        yield tables if lang is None else [replace(table, lang=lang) for table in tables]


def _place(source: str) -> str:
    """Name the place of a table. A pipeline's table is that of its vocab."""
    path = source_path(source)
    if (path / "vocab").is_dir():
        path = path / "vocab"
    return str(path.resolve()) if path.exists() else source


def _check_output(
    sources: Sequence[str], output: Path, *, force: bool, inputs: Sequence[Optional[Path]]
) -> None:
    """Raise ValueError before the work for an output that exists, is read, or can't be written."""
    if output.name.lower().endswith(_NOT_WRITTEN):
        raise ValueError(
            f"OUT must be a folder, or a file that ends in {', '.join(SUFFIXES)} or .npz, was: "
            f"{output}. Archives and binary files are not written: give another name."
        )
    if output.exists() and not (output.is_file() or output.is_dir()):
        raise ValueError(f"OUT must be a file or a folder, was a device or pipe: {output}.")
    if is_text(output) or is_codes(output):
        check_file_output(output, "OUT", *sources, *inputs, force=force)
    else:
        check_folder_output(output, *sources, *inputs, force=force)


def _read_words(path: Path) -> list[str]:
    """Read the distinct words of a file with one a line, or of a corpus, in their order.

    Raises FileNotFoundError or ValueError if there are none.
    """
    if path.is_dir() or path.suffix == ".spacy":
        words = [token.text for doc in read_docs(path, Vocab()) for token in doc]
    else:
        if not path.is_file():
            raise FileNotFoundError(f"There is no file of words, and no corpus, at {path}.")
        try:
            lines = path.read_text("utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be UTF-8, with one word a line: {error}") from error
        words = [word for word in (line.rstrip("\r") for line in lines) if word]
    if not words:
        raise ValueError(f"There are no words in {path}. Check the path.")
    return list(dict.fromkeys(words))


def _say_written(output: Path, table: VectorTable) -> None:
    rows, width = table.data.shape
    msg.good(f"Wrote {rows:,} vectors of width {width} to {output}")
