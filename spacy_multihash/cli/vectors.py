"""`python -m spacy multihash vectors`: commands for tables of static vectors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Optional

import spacy
import typer
from spacy.vocab import Vocab

from ..common.load import source_path
from ..common.outputs import check_file_output, check_folder_output
from ..corpus.read import read_docs
from ..corpus.texts import read_lines
from ..embed.features import attr_id
from ..vectors import reduce
from ..vectors.align import alike_vectors, pair_vectors, procrustes
from ..vectors.files import read_table, text_words, write_table
from ..vectors.table import VectorTable
from ..vectors.text import SUFFIXES, is_text
from ._util import failing, msg

HELP = """Align, merge, shorten and prune static vectors.

Tables are packages, folders of pipelines or vocabs, and vectors as text.

DOCS: python -m pydoc spacy_multihash.vectors
"""
# Suffixes of files that can't be written, and that no folder should have.
_NOT_WRITTEN = (".tar.gz", ".tgz", ".zip", ".tar", ".bz2", ".xz", ".zst", ".7z", ".rar", ".bin")
_IN = typer.Argument(
    ...,
    metavar="IN",
    help="Table of vectors: a package's name, the folder of a pipeline or of a vocab, or vectors "
    "as text (.txt, .vec, .gz, .zip, .tar.gz)",
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
    help="Language of the pipeline to write, as in the config that takes the vectors. Default: "
    "the language of IN, and xx for text",
)
_FORCE = typer.Option(False, "--force", "-f", help="Replace OUT if it exists")
Attr = Literal["ORTH", "LOWER", "NORM", "LEMMA"]

vectors_cli = typer.Typer(
    name="vectors", help=HELP, add_completion=False, no_args_is_help=True, rich_markup_mode=None
)


@vectors_cli.command("align")
def align_cli(
    source: str = typer.Argument(..., metavar="IN", help="Table to map"),
    target: str = typer.Argument(..., metavar="TARGET", help="Table whose space IN is mapped into"),
    output: Path = _OUT,
    dictionary: Optional[Path] = typer.Option(
        None,
        exists=True,
        dir_okay=False,
        help="File with a word of IN and of TARGET on each line. Default: words spelled alike",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Rotate a table into another table's space, such as another language's.

    DOCS: python -m pydoc spacy_multihash.vectors.align
    """
    with failing("Cannot align the vectors"):
        table, other = _read([source, target], output, lang=lang, force=force, inputs=[dictionary])
        if dictionary is None:
            Y, X = alike_vectors(table, other)
        else:
            Y, X = pair_vectors(table, other, read_pairs(dictionary))
        _write(output, reduce.map_table(table, procrustes(Y, X)))
        msg.text(f"Pairs: {len(Y):,}")


@vectors_cli.command("merge")
def merge_cli(
    sources: list[str] = typer.Argument(..., metavar="IN...", help="Two or more tables"),
    output: Path = _OUT,
    width: int = typer.Option(..., "--width", "-w", min=1, help="Columns of the result"),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Merge tables into one, with the words of all tables: PCA of the tables side by side.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with failing("Cannot merge the vectors"):
        if len(sources) < 2:
            raise ValueError(
                f"Expected two or more tables to merge, got {sources[0]}. Name the others before "
                "OUT."
            )
        tables = _read(sources, output, lang=lang, force=force)
        joined = reduce.join_words(tables)
        if is_text(output):
            text_words(joined)
        _write(output, reduce.merge(joined, tables, width))


@vectors_cli.command("pca")
def pca_cli(
    source: str = _IN,
    output: Path = _OUT,
    width: int = typer.Option(..., "--width", "-w", min=1, help="Axes to keep"),
    drop_top: int = typer.Option(
        0,
        min=0,
        help="Axes of the largest variance to leave out. 2 D, with a width of N - D, means "
        "PPA, PCA to N, and PPA again",
    ),
    keep_origin: bool = typer.Option(
        False,
        "--keep-origin",
        help="Don't subtract the mean, so that words without a vector (zeros) stay apart",
    ),
    words: Optional[Path] = typer.Option(
        None,
        exists=True,
        help="Estimate on these words: a file with a word a line, or a corpus (.spacy file or "
        "folder). Default: all words of IN. A floret table needs them",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Make vectors shorter, by their principal axes.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with failing("Cannot reduce the vectors"):
        (table,) = _read([source], output, lang=lang, force=force, inputs=[words])
        chosen = None if words is None else _read_words(words)
        stats = reduce.moments(table.estimation_vectors(chosen))
        function = reduce.pca(stats, width, skip=drop_top, keep_origin=keep_origin)
        _write(output, reduce.map_table(table, function))


@vectors_cli.command("prune")
def prune_cli(
    source: str = _IN,
    output: Path = _OUT,
    words: Path = typer.Option(
        ...,
        exists=True,
        help="Words to keep: a file with a word a line, or a corpus (.spacy file or folder)",
    ),
    first: int = typer.Option(
        0, min=0, help="Keep the first rows of IN as well, with all their words"
    ),
    attr: Optional[Attr] = typer.Option(
        None,
        help="Attribute of the words to keep vectors by, as in the key_attrs of "
        "MetaVectors. Default: the attribute of IN",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Keep the vectors of a corpus's words.

    DOCS: python -m pydoc spacy_multihash.vectors.reduce
    """
    with failing("Cannot prune the vectors"):
        (table,) = _read([source], output, lang=lang, force=force, inputs=[words])
        values = table.values(_read_words(words), None if attr is None else attr_id(attr))
        _write(output, reduce.prune(table, values, first=first))


def _read(
    sources: Sequence[str],
    output: Path,
    *,
    lang: Optional[str],
    force: bool,
    inputs: Sequence[Optional[Path]] = (),
) -> list[VectorTable]:
    """Check the output, and read tables.

    lang (Optional[str]): The language to set. None keeps the language of each table.
    inputs (Sequence[Optional[Path]]): Other files that the command reads.
    """
    paths = []
    for source in sources:
        path = source_path(source).resolve()
        # A pipeline's table is in its vocab.
        paths.append(path / "vocab" if (path / "vocab").is_dir() else path)
        if paths[-1] in paths[:-1]:
            raise ValueError(f"The table {source} is given twice. Give each one once.")
    if output.name.lower().endswith(_NOT_WRITTEN):
        raise ValueError(
            f"OUT must be a folder or a file that ends in {', '.join(SUFFIXES)}, got {output}. "
            "Give another name."
        )
    if is_text(output):
        check_file_output(output, "OUT", *sources, *inputs, force=force)
    else:
        check_folder_output(output, *sources, *inputs, force=force)
    if lang is not None:
        spacy.blank(lang)
    return [read_table(source, lang) for source in sources]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of words, a pair on each line, separated by tabs or blanks. Skips blank lines.

    Raises ValueError if a line isn't UTF-8, doesn't have two words, or repeats a pair.
    """
    pairs: dict[tuple[str, ...], int] = {}
    for number, line in read_lines(path):
        words = [word.strip() for word in (line.split("\t") if "\t" in line else line.split())]
        if not any(words):
            continue
        pair = tuple(words)
        if len(words) != 2 or not all(words) or pair in pairs:
            problem = f"a pair that line {pairs[pair]} has" if pair in pairs else repr(line[:40])
            raise ValueError(
                f"{path}, line {number}: expected two words, separated by a tab, got {problem}. "
                "Correct or remove the line."
            )
        pairs[pair] = number
    if not pairs:
        raise ValueError(f"{path} has no pairs. Write two words on each line.")
    return [(word, other) for word, other in pairs]


def _read_words(path: Path) -> list[str]:
    """Read the distinct words of a corpus, or of a file with a word a line, in their order."""
    if path.is_dir() or path.suffix == ".spacy":
        words = [token.text for doc in read_docs(path, Vocab()) for token in doc]
    else:
        words = [line for _, line in read_lines(path)]
    words = list(dict.fromkeys(filter(None, words)))
    if not words:
        raise ValueError(f"There are no words in {path}. Check the path.")
    return words


def _write(output: Path, table: VectorTable) -> None:
    write_table(output, table)
    rows, width = table.data.shape
    msg.good(f"Wrote {rows:,} vectors of width {width} to {output}")
