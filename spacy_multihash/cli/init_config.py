"""`python -m spacy multihash init-config`: a complete config, ready to train."""

from pathlib import Path
from typing import Optional

import typer

from ..common.files import standard_stream, write_bytes
from ..common.outputs import check_file_output, spacy_command
from ..training.settings import MAX_SIZE, Pipeline, init_config
from ._util import command, msg

STDOUT = Path("-")


@command("Cannot make the config", needs={"dev": ["train"], "max_size": ["train"]})
def init_config_cli(
    pipeline: Pipeline = typer.Argument(
        ...,
        help="ner: entities, by tagger_ner (recommended). batch_ner: entities, as spaCy's ner "
        "predicts them, with a tok2vec that other components may share. textcat: a label for each "
        "text, by spaCy's TextCatBOW. textcat_multilabel: any number of labels",
    ),
    output: Path = typer.Argument(
        ..., help="Config to write, or - for standard output", allow_dash=True, dir_okay=False
    ),
    lang: str = typer.Option(..., "--lang", "-l", help="Language, such as en, or xx for any"),
    train: Optional[Path] = typer.Option(
        None, help="ner: training corpus to choose settings by, a .spacy file or a folder of them"
    ),
    dev: Optional[Path] = typer.Option(None, help="With --train: development corpus"),
    vectors: Optional[str] = typer.Option(
        None, help="Static vectors to use: a package's name, or the path of a pipeline"
    ),
    max_size: Optional[str] = typer.Option(
        None,
        help="With --train: maximum parameters of the embedding's tables, e.g. 500K or 5M. "
        f"Default: {MAX_SIZE}",
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
) -> None:
    """Write a complete config, for entities or texts.

    With --train, features, rows, static vectors and the batch size are chosen to fit the corpus,
    and each reason is printed. With --vectors, text classifiers use another model, since TextCatBOW
    doesn't use vectors.
    """
    if output != STDOUT:
        check_file_output(output, "OUTPUT", train, dev, vectors, force=force)
    made = init_config(pipeline, lang, train=train, dev=dev, vectors=vectors, max_size=max_size)
    options = {"lang": lang, "train": train, "dev": dev, "vectors": vectors, "max-size": max_size}
    given = [arg for name, value in options.items() if value for arg in (f"--{name}", value)]
    text = made.to_str(f"Made by: {spacy_command('multihash', 'init-config', pipeline, *given)}")
    if output == STDOUT:
        typer.echo(text, nl=False)
        return
    write_bytes(output, text.encode("utf8"))
    if standard_stream(output) is not None:
        return  # stdout is the config
    for reason in made.reasons:
        typer.echo(reason)
    msg.good(f"Wrote {output}")
    paths = {"train": train, "dev": dev}
    missing = [
        arg for name in paths if not paths[name] for arg in (f"--paths.{name}", f"{name}.spacy")
    ]
    msg.commands("Train with:", spacy_command("train", output, "--output", "training", *missing))
