"""`python -m spacy multihash vectors`: commands for tables of static vectors."""

from pathlib import Path
from typing import Literal, Optional

import typer

from ..tables.vectors import align_vectors, merge_vectors, prune_vectors, reduce_vectors
from ._util import PROGRESS, command, show, wrote

HELP = """Align, merge, shorten and prune static vectors.

Tables are packages, folders of pipelines or vocabs, and vectors as text.
"""
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
@command("Cannot align the vectors")
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
    """Rotate a table into another table's space, such as another language's."""
    done = align_vectors(source, target, output, dictionary=dictionary, lang=lang, force=force)
    show(done)
    wrote("the vectors", output)


@vectors_cli.command("merge")
@command("Cannot merge the vectors")
def merge_cli(
    sources: list[str] = typer.Argument(..., metavar="IN...", help="Two or more tables"),
    output: Path = _OUT,
    width: int = typer.Option(..., "--width", "-w", min=1, help="Columns of the result"),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Merge tables into one, with the words of all tables: PCA of the tables side by side."""
    show(merge_vectors(sources, output, width=width, lang=lang, force=force, progress=PROGRESS))
    wrote("the vectors", output)


@vectors_cli.command("pca")
@command("Cannot reduce the vectors")
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
        help="Estimate on these words: a file with a word on each line, or a corpus (.spacy file "
        "or folder). Default: all words of IN. A floret table needs them",
    ),
    lang: Optional[str] = _LANG,
    force: bool = _FORCE,
) -> None:
    """Make vectors shorter, by their principal axes."""
    done = reduce_vectors(
        source,
        output,
        width=width,
        drop_top=drop_top,
        keep_origin=keep_origin,
        words=words,
        lang=lang,
        force=force,
        progress=PROGRESS,
    )
    show(done)
    wrote("the vectors", output)


@vectors_cli.command("prune")
@command("Cannot prune the vectors")
def prune_cli(
    source: str = _IN,
    output: Path = _OUT,
    words: Path = typer.Option(
        ...,
        exists=True,
        help="Words to keep: a file with a word on each line, or a corpus (.spacy file or folder)",
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
    """Keep the vectors of a corpus's words."""
    done = prune_vectors(
        source,
        output,
        words=words,
        first=first,
        attr=attr,
        lang=lang,
        force=force,
        progress=PROGRESS,
    )
    show(done)
    wrote("the vectors", output)
