"""Commands of the group `vectors` that map each vector by itself."""

from pathlib import Path
from typing import Optional

import typer

from ..vectors.affine import identity, load_map
from ..vectors.lookup import stream_of
from ..vectors.morty import morty
from ..vectors.principal import Moments, centre, drop_top, moments, pca
from ..vectors.scale import z_norm
from ..vectors.table import VectorTable
from ._messages import msg
from ._vectors import FORCE, IN, LANG, OUT, WORDS, failing, opened, read_words, write_mapped

_KEEP_ORIGIN = typer.Option(
    False,
    "--keep-origin",
    help="Subtract no mean, so that the zeros of words without a vector stay apart from words",
)


def centre_cli(
    source: str = IN,
    output: Path = OUT,
    words: Optional[Path] = WORDS,
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Subtract the mean vector.

    Words without a vector have zeros, which is the mean afterwards.

    DOCS: python -m pydoc spacy_multihash.vectors.principal
    """
    with (
        failing("centre the vectors"),
        opened([source], output, lang=lang, force=force, inputs=[words]) as (table,),
    ):
        write_mapped(output, table, centre(_moments(table, words)))


def drop_top_cli(
    source: str = IN,
    output: Path = OUT,
    number: int = typer.Option(7, "--number", "-n", min=1, help="Components to remove"),
    keep_origin: bool = _KEEP_ORIGIN,
    words: Optional[Path] = WORDS,
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Remove the components of the largest variance (PPA). The width stays.

    DOCS: python -m pydoc spacy_multihash.vectors.principal
    """
    with (
        failing("remove the top components"),
        opened([source], output, lang=lang, force=force, inputs=[words]) as (table,),
    ):
        function = drop_top(_moments(table, words), number, keep_origin=keep_origin)
        write_mapped(output, table, function)


def pca_cli(
    source: str = IN,
    output: Path = OUT,
    width: int = typer.Option(..., "--width", "-w", min=1, help="Axes to keep"),
    drop_top: int = typer.Option(
        0,
        "--drop-top",
        min=0,
        help="Axes of the largest variance to leave out. With 2 D, and a width of N - D, it is "
        "PPA, PCA to N, and PPA again",
    ),
    keep_origin: bool = _KEEP_ORIGIN,
    words: Optional[Path] = WORDS,
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Make vectors shorter, by their principal axes.

    DOCS: python -m pydoc spacy_multihash.vectors.principal
    """
    with (
        failing("reduce the vectors"),
        opened([source], output, lang=lang, force=force, inputs=[words]) as (table,),
    ):
        found = _moments(table, words)
        write_mapped(output, table, pca(found, width, skip=drop_top, keep_origin=keep_origin))


def z_norm_cli(
    source: str = IN,
    output: Path = OUT,
    no_unit: bool = typer.Option(
        False, "--no-unit", help="Leave lengths as they come, as a floret table needs it"
    ),
    words: Optional[Path] = WORDS,
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Give each column mean 0 and deviation 1, and then each vector the length 1.

    DOCS: python -m pydoc spacy_multihash.vectors.scale
    """
    with (
        failing("normalize the vectors"),
        opened([source], output, lang=lang, force=force, inputs=[words]) as (table,),
    ):
        write_mapped(output, table, z_norm(_moments(table, words), unit=not no_unit))


def unit_cli(
    source: str = IN, output: Path = OUT, lang: Optional[str] = LANG, force: bool = FORCE
) -> None:
    """Give each vector the length 1. Vectors of zeros stay.

    DOCS: python -m pydoc spacy_multihash.vectors.affine
    """
    with failing("scale the vectors"), opened([source], output, lang=lang, force=force) as (table,):
        write_mapped(output, table, identity(table.width, unit=True))


def morty_cli(
    source: str = IN,
    output: Path = OUT,
    width: Optional[int] = typer.Option(
        None, "--width", "-w", min=1, help="Columns of the result. Default: those of IN"
    ),
    seed: int = typer.Option(0, "--seed", min=0, help="Draws the weights. Try several"),
    epochs: int = typer.Option(1, "--epochs", min=1, help="How often all vectors are used"),
    learn_rate: float = typer.Option(0.02, "--learn-rate", min=0, help="Learning rate of Adam"),
    batch: int = typer.Option(128, "--batch", min=1, help="Vectors of an update"),
    words: Optional[Path] = WORDS,
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Map vectors to the hidden layer of a linear autoencoder (MoRTy).

    DOCS: python -m pydoc spacy_multihash.vectors.morty
    """
    with (
        failing("map the vectors"),
        opened([source], output, lang=lang, force=force, inputs=[words]) as (table,),
    ):
        function, losses = morty(
            stream_of(table, read_words(words), show_progress=True),
            table.width,
            hidden=width or table.width,
            seed=seed,
            epochs=epochs,
            learn_rate=learn_rate,
            batch=batch,
        )
        write_mapped(output, table, function)
        msg.text(f"Loss of each epoch: {', '.join(f'{loss:.4f}' for loss in losses)}")


def apply_cli(
    source: str = IN,
    output: Path = OUT,
    map_path: Path = typer.Option(
        ..., "--map", help="Parameters that another command saved beside its table"
    ),
    lang: Optional[str] = LANG,
    force: bool = FORCE,
) -> None:
    """Map further vectors with the parameters of a former map, such as those of new words.

    DOCS: python -m pydoc spacy_multihash.vectors.affine
    """
    with failing("map the vectors"):
        function = load_map(map_path)
        with opened([source], output, lang=lang, force=force, inputs=[map_path]) as (table,):
            write_mapped(output, table, function)


def _moments(table: VectorTable, words: Optional[Path]) -> Moments:
    return moments(stream_of(table, read_words(words), show_progress=True))
